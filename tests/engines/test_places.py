"""Where tables live: Postgres, Spark and Ibis; what goes wrong there, and what a vault keeps of it."""

import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, urlsplit

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.domain.read import parse_domain
from discreet.errors import DiscreetError, TableError
from discreet.postgres_address import table_place
from discreet.table.open import locate, open_source
from discreet.table.postgres import Relation
from discreet.table.propose import propose
from discreet.table.source import FRAME, nobody
from discreet.vault import Vault
from tests.patience import wait_until
from tests.populations import bag, points, population

DOMAIN = """
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a test"
"""
SECRET = "hunter2"


@pytest.fixture
def ages():
    return pa.table({"age": [30, 40, 50, 60] * 25, "person": list(range(50)) * 2})


@pytest.fixture
def domain():
    return parse_domain(DOMAIN)


@pytest.fixture
def home(tmp_path):
    (tmp_path / "people.toml").write_text(DOMAIN)
    return tmp_path


def make(home, table, **more):
    given = {"table": table, "domain": home / "people.toml", "epsilon": 100, "neighbours": "add-remove", **more}
    return Vault.init(home / "vault", **given)


def near(release, truth):
    return abs(int(release.answers[0].values) - truth) < 50


# --- every engine ---


def test_a_vault_is_made_asked_and_opened_again_without_its_source(engine, ages, home):
    made = make(home, engine(ages, home))
    assert near(made.measure(made.count(), scale=1), 100)
    again = Vault.open(home / "vault")
    assert near(again.measure(again.count(age=(40, 60)), scale=1), 75)
    assert again.budget().charges == 2


def test_a_vault_of_people_spends_k_times_as_fast(engine, ages, home):
    make(home, engine(ages, home), id="person", max_rows=2)
    vault = Vault.open(home / "vault")
    vault.measure(vault.count(), scale=1)
    assert vault.budget().spent == 2
    assert "up to 2 rows" in str(vault.budget().guarantee)
    assert vault.ledger.header["unit"] == {"id": "person", "max_rows": 2, "null_ids": "drop"}


def test_a_domain_is_proposed_from_the_columns(engine, ages, tmp_path):
    assert '[attributes.age]\nkind = "integer"' in propose(engine(ages, tmp_path), "people")


# --- Postgres ---


@pytest.mark.parametrize(
    "uri",
    [
        "postgres://u:{secret}@host/db",
        "postgres://u:{secret}@host:many/db?table=t",
        "postgres://u:{secret}@host/db?table=t&password={secret}",
        "postgres://u:{secret}@host/?table=t",
        "postgres://u:{secret}#x@host/db?table=t",
        "postgres://u:5/{secret}@host/db?table=t",
        "postgres://u:5?{secret}@host/db?table=t",
        "postgres://u:{secret}@host/db?{secret}",
        "postgres://[u:{secret}@host/db?table=t",
    ],
)
def test_a_malformed_location_is_refused_and_not_echoed(uri):
    with pytest.raises(TableError, match="postgres://USER@HOST:PORT/DATABASE") as refusal:
        open_source(uri.format(secret=SECRET))
    assert SECRET not in str(refusal.value)
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_a_location_is_kept_without_its_password():
    uri = f"postgresql://me:{quote('p@:/?#', safe='')}@host:99/db?table=t&schema=s&sslmode=require"
    place = table_place(uri)
    assert place.location == locate(uri) == "postgresql://me@host:99/db?table=t&schema=s&sslmode=require"
    assert place.parameters["password"] == "p@:/?#"
    assert "p@" not in repr(place)
    assert urlsplit(uri).password is not None
    assert urlsplit(place.location).password is None
    assert table_place(place.location).parameters.keys() == {"host", "port", "user", "dbname", "sslmode"}


def refused(table, words):
    with pytest.raises(DiscreetError, match=words) as refusal:
        open_source(table)
    assert refusal.value.__suppress_context__
    return str(refusal.value)


@pytest.mark.xdist_group("postgres")
class TestPostgres:
    @pytest.fixture
    def table(self, postgres):
        postgres.execute(
            "DROP TABLE IF EXISTS ages CASCADE",
            "CREATE TABLE ages AS SELECT 20 + i % 50 AS age, i % 10 AS person FROM generate_series(1, 1000) i",
        )
        return postgres.uri("ages")

    def test_a_server_that_is_down_is_named(self, postgres):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            uri = postgres.uri("ages", SECRET).replace(str(postgres.port), str(free.getsockname()[1]))
            assert SECRET not in refused(uri, r"keeper@localhost:\d+/people cannot be reached")

    def test_wrong_credentials_are_not_echoed(self, postgres, table):
        assert SECRET not in refused(postgres.uri("ages", SECRET), "refuses this user with this password")
        assert "nobody" in refused(table.replace("keeper", "nobody"), "refuses this user")

    def test_a_missing_password_is_asked_for(self, table, monkeypatch, tmp_path):
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
        monkeypatch.delenv("PGPASSWORD", raising=False)
        refused(table_place(table).location, "asks for a password; set PGPASSWORD, or write it to ~/.pgpass")

    def test_a_password_file_is_read(self, postgres, table, monkeypatch, tmp_path):
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "passwords"))
        (tmp_path / "passwords").write_text("*:*:*:keeper:p@ss/w\\:rd#1?\n")
        (tmp_path / "passwords").chmod(0o600)
        assert list(open_source(table_place(table).location).columns) == ["age", "person"]
        assert str(postgres.port) in table

    def test_the_driver_is_asked_for_where_it_is_missing(self, table, monkeypatch):
        monkeypatch.setitem(sys.modules, "psycopg", None)
        refused(table, r"pip install 'discreet\[postgres\]'")

    def test_a_table_that_is_not_there_is_named(self, postgres, table):
        assert table
        refused_plainly(postgres.uri("agess"), "has no table agess that you may see")
        refused_plainly(postgres.uri("ages", schema="elsewhere"), "has no table elsewhere.ages")

    def test_a_schema_may_be_named(self, postgres, table):
        postgres.execute("CREATE SCHEMA IF NOT EXISTS other", "DROP TABLE IF EXISTS other.ages")
        postgres.execute("CREATE TABLE other.ages AS SELECT 1.5 AS height")
        assert list(open_source(postgres.uri("ages", schema="other")).columns) == ["height"]
        assert list(open_source(table).columns) == ["age", "person"]

    def test_what_becomes_of_a_table_is_nothing_to_its_vault_until_a_refresh(self, postgres, table, home):
        vault = make(home, table)
        postgres.execute("DELETE FROM ages WHERE person < 5")
        assert near(vault.measure(vault.count(), scale=1), 1000)
        vault.refresh()
        assert near(vault.measure(vault.count(), scale=1), 500)
        postgres.execute("DROP TABLE ages")
        assert near(vault.measure(vault.count(), scale=1), 500)
        with pytest.raises(TableError, match="has no table ages that you may see"):
            vault.refresh()

    def test_whether_a_table_was_written_to_is_told(self, postgres, table, home):
        self.wait_until(postgres, "SELECT n_tup_ins FROM pg_stat_all_tables WHERE relid = 'public.ages'::regclass")
        vault = make(home, table)
        assert vault.source_state() == "not written to since the snapshot"
        postgres.execute("UPDATE ages SET age = 99 WHERE age = 20")
        self.wait_until(postgres, "SELECT n_tup_upd FROM pg_stat_all_tables WHERE relid = 'public.ages'::regclass")
        assert vault.source_state() == "written to since the snapshot; `refresh` takes it in"
        vault.refresh()
        assert vault.source_state() == "not written to since the snapshot"
        postgres.execute("TRUNCATE ages")
        assert vault.source_state().startswith("written to")
        postgres.execute("DROP TABLE ages")
        assert vault.source_state() == "cannot be reached"

    def wait_until(self, postgres, count):
        """The server's counts of writes are a little late."""

        def counted():
            with postgres.connect() as session:
                return session.execute(count).fetchone()[0]

        wait_until(counted)

    def test_a_table_that_fails_half_way_says_nothing_of_the_data(self, postgres, table):
        postgres.execute(
            "CREATE OR REPLACE VIEW torn AS SELECT CASE WHEN age = 69 THEN 1 / (age - 69) ELSE age END AS age FROM ages"
        )
        source = open_source(postgres.uri("torn"))
        with pytest.raises(TableError, match="cannot be read; is it still there") as failure:
            list(source.read(["age"], nobody))
        assert failure.value.__suppress_context__
        assert "division" not in str(failure.value)
        assert table

    def test_all_columns_of_a_reading_are_of_one_moment(self, postgres, table, monkeypatch):
        """Somebody deletes everybody between the first block and the next."""
        monkeypatch.setattr("discreet.table.postgres.BLOCK_BYTES", 100)
        batches = open_source(table).read(["age", "person"], nobody)
        first = next(batches)
        postgres.execute("DELETE FROM ages")
        assert first.num_rows + sum(batch.num_rows for batch in batches) == 1000

    def test_the_sessions_cannot_write(self, table):
        place = table_place(table)
        relation = Relation(place.parameters, place.where, "ages")
        with pytest.raises(TableError, match="cannot be read"), relation.session() as session:
            session.execute("CREATE TABLE mine (a int)")

    def test_no_password_is_shown(self, table):
        place = table_place(table)
        assert place.parameters["password"] not in repr(Relation(place.parameters, place.where, "ages"))

    def test_an_ibis_table_is_read_where_it_is(self, postgres, table, home):
        assert table
        backend = ibis.postgres.connect(
            host="localhost", port=postgres.port, user="keeper", password="p@ss/w:rd#1?", database="people"
        )
        adults = backend.table("ages").filter(ibis._.age >= 30)
        vault = make(home, adults)
        assert near(vault.measure(vault.count(), scale=1), 800)
        assert near(Vault.open(home / "vault").measure(vault.count(), scale=1), 800)
        with pytest.raises(TableError, match="hand it over again"):
            Vault.open(home / "vault").refresh()
        Vault.open(home / "vault").refresh(backend.table("ages"))
        assert near(Vault.open(home / "vault").measure(vault.count(), scale=1), 1000)


# --- Spark ---


@pytest.mark.xdist_group("spark")
class TestSpark:
    def test_a_directory_of_parquet_files_is_a_table(self, spark, ages, domain, tmp_path):
        spark.createDataFrame(ages.to_pandas()).write.parquet(str(tmp_path / "ages"))
        assert bag(population(f"spark+parquet:{tmp_path / 'ages'}", domain)) == bag(population(ages, domain))

    def test_a_file_whose_name_looks_like_a_pattern_is_that_file(self, spark, domain, tmp_path):
        assert spark
        for place, name in enumerate(
            ("people[1].parquet", "people1.parquet", "a{b,c}.parquet", "a*.parquet", "a b?.parquet")
        ):
            pq.write_table(pa.table({"age": [place]}), tmp_path / name)
            assert points(population(f"spark+parquet:{tmp_path / name}", domain)) == [(place,)]

    def test_types_that_are_not_read_are_named(self, spark, tmp_path):
        assert spark
        moments = pa.table({"age": [1], "seen": pa.array([0], pa.timestamp("us")), "list": [[1]], "raw": [b"a"]})
        pq.write_table(moments, tmp_path / "t.parquet")
        source = open_source(f"spark+parquet:{tmp_path / 't.parquet'}")
        assert list(source.columns) == ["age", "seen"]
        assert source.unread["list"].startswith("array in Spark, not a type that is read here")
        assert source.unread.keys() == {"list", "raw"}

    def test_a_relative_path_is_kept_as_an_absolute_one(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert locate("spark+parquet:people/*.parquet") == f"spark+parquet:{tmp_path}/people/*.parquet"
        assert locate("spark+parquet:s3a://bucket/people") == "spark+parquet:s3a://bucket/people"
        assert locate("spark://host:7077?table=people") == "spark://host:7077?table=people"

    @pytest.mark.parametrize(
        "uri", ["spark://host:7077", "spark://?table=t", "spark://me:{s}@host?table=t", "spark://host/x?table=t"]
    )
    def test_a_malformed_location_is_refused(self, uri):
        assert SECRET not in refused_plainly(uri.format(s=SECRET), "a table in Spark is spark://HOST:PORT")

    def test_files_that_are_not_there_or_not_parquet_are_refused(self, spark, tmp_path):
        assert spark
        refused_plainly(f"spark+parquet:{tmp_path}/none-*.parquet", "there is no file")
        (tmp_path / "broken.parquet").write_bytes(b"private words" * 100)
        assert "private" not in refused(f"spark+parquet:{tmp_path}/broken.parquet", "cannot be read as Parquet")

    def test_a_second_spark_in_one_process_is_refused(self, spark):
        assert spark
        refused_plainly("spark://elsewhere:7077?table=people", r"has a Spark at local\[\*\] already")

    def test_an_ibis_table_is_read_where_it_is(self, spark, ages, home):
        spark.createDataFrame(ages.to_pandas()).createOrReplaceTempView("ages")
        table = ibis.pyspark.connect(spark).table("ages")
        vault = make(home, table.filter(table.age > 30))
        assert near(vault.measure(vault.count(), scale=1), 75)
        spark.createDataFrame(ages.slice(50).to_pandas()).createOrReplaceTempView("ages")
        assert near(Vault.open(home / "vault").measure(vault.count(), scale=1), 75)
        vault.refresh(table)
        assert near(vault.measure(vault.count(), scale=1), 50)

    def test_workers_here_run_the_python_of_this_process(self, spark, ages, tmp_path, monkeypatch):
        """The one that is first on the path may lack what they need."""
        monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
        monkeypatch.setattr(spark.sparkContext, "pythonExec", "/bin/false")
        pq.write_table(ages, tmp_path / "ages.parquet")
        source = open_source(f"spark+parquet:{tmp_path / 'ages.parquet'}")
        assert sum(batch.num_rows for batch in source.read(["age"], nobody)) == 100

    def test_java_is_asked_for_where_it_is_missing(self, tmp_path):
        """In a process of its own: a Spark that runs needs no other Java."""
        pq.write_table(pa.table({"age": [1]}), tmp_path / "ages.parquet")
        code = f"from discreet.table.open import open_source; open_source('spark+parquet:{tmp_path}/ages.parquet')"
        environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
        assert "TableError: Spark needs Java 17" in done.stderr
        assert "openjdk-17-jre-headless" in done.stderr

    def test_pyspark_is_asked_for_where_it_is_missing(self, monkeypatch, tmp_path):
        pq.write_table(pa.table({"age": [1]}), tmp_path / "ages.parquet")
        monkeypatch.setitem(sys.modules, "pyspark", None)
        refused(f"spark+parquet:{tmp_path}/ages.parquet", r"pip install 'discreet\[spark\]'")


def refused_plainly(table, words):
    with pytest.raises(TableError, match=words) as refusal:
        open_source(table)
    return str(refusal.value)


# --- Ibis ---


def test_an_ibis_table_of_duckdb_is_read_where_it_is(ages, home):
    backend = ibis.duckdb.connect()
    backend.create_table("ages", ages)
    table = backend.table("ages")
    assert locate(table) == FRAME
    vault = make(home, table.filter(table.age > 30), id="person", max_rows=1)
    assert near(vault.measure(vault.count(), scale=1), 50)
    assert backend.con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("ages",)]


EXPRESSIONS = {
    "a join": (lambda table: table.join(table.select("person").distinct(), "person"), 100),
    "a limit": (lambda table: table.order_by("age").limit(7), 7),
    "an aggregate": (lambda table: table.group_by("age").agg(n=table.count()), 4),
    "a union": (lambda table: table.union(table), 200),
    "a computed column": (lambda table: table.mutate(age=table.age + table.person * 0), 100),
    "a plain table": (lambda table: table, 100),
}


@pytest.fixture(
    params=[
        "duckdb",
        pytest.param("postgres", marks=pytest.mark.xdist_group("postgres")),
        pytest.param("spark", marks=pytest.mark.xdist_group("spark")),
    ]
)
def ibis_table(request, ages):
    """The same rows as a plain table of each database that Ibis reads."""
    match request.param:
        case "duckdb":
            backend = ibis.duckdb.connect()
        case "postgres":
            server = request.getfixturevalue("postgres")
            place = {"host": "localhost", "port": server.port, "user": "keeper", "database": "people"}
            backend = ibis.postgres.connect(**place, password=server.password)
        case "spark":
            spark = request.getfixturevalue("spark")
            spark.createDataFrame(ages.to_pandas()).createOrReplaceTempView("expressed")
            return ibis.pyspark.connect(spark).table("expressed")
    return backend.create_table("expressed", ages, overwrite=True)


@pytest.mark.parametrize(("expression", "rows"), EXPRESSIONS.values(), ids=EXPRESSIONS.keys())
def test_any_ibis_expression_can_be_snapshotted_and_none_is_read_live(ibis_table, expression, rows, domain, home):
    expression = expression(ibis_table)
    assert population(expression, domain).rows.size == rows
    with pytest.raises(TableError, match="Leave out --live, and a snapshot is taken"):
        make(home, expression, live=True)


def test_what_is_temporary_in_a_connection_is_read(ages, domain, tmp_path):
    """Such as files that Ibis reads, which are views of that connection."""
    backend = ibis.duckdb.connect()
    pq.write_table(ages, tmp_path / "ages.parquet")
    for table in (
        backend.create_table("short_lived", ages, temp=True),
        backend.read_parquet(tmp_path / "ages.parquet"),
    ):
        assert population(table, domain).rows.size == 100


@pytest.mark.parametrize("make_table", [lambda: ibis.memtable({"age": [1]}), lambda: ibis.table({"age": "int64"}, "t")])
def test_an_ibis_table_without_a_database_is_refused(make_table):
    refused_plainly(make_table(), "no database behind it")


def test_an_ibis_table_of_another_database_is_refused(tmp_path):
    sqlite = pytest.importorskip("ibis.backends.sqlite")
    assert sqlite
    backend = ibis.sqlite.connect(Path(tmp_path) / "base.sqlite")
    backend.raw_sql("CREATE TABLE t (age INTEGER)").close()
    refused_plainly(backend.table("t"), "of DuckDB, Postgres and Spark are read here, not of sqlite")
