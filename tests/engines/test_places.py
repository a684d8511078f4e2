"""Where tables live: Postgres, Spark and Ibis; what goes wrong there, and what a vault keeps of it."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from discreet.table.table import open_table

from discreet.domain.read import parse_domain
from discreet.errors import DiscreetError, DomainError, EngineError, TableError
from discreet.query.query import Count
from discreet.table.open import FRAME, is_located, locate, open_source
from discreet.table.postgres_uri import parse_place
from discreet.table.propose import propose
from discreet.vault import Vault

KEY = bytes(32)
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


def test_a_vault_is_made_asked_and_opened_again(engine, ages, home, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "p@ss/w:rd#1?")
    made = make(home, engine(ages, home))
    assert near(made.measure(made.count(), scale=1), 100)
    again = Vault.open(home / "vault")
    assert near(again.measure(again.count(age=(40, 60)), scale=1), 75)
    assert again.budget().charges == 2


def test_a_vault_of_people_spends_k_times_as_fast(engine, ages, home, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "p@ss/w:rd#1?")
    make(home, engine(ages, home), id="person", max_rows=2)
    vault = Vault.open(home / "vault")
    vault.measure(vault.count(), scale=1)
    assert vault.budget().spent == 2
    assert "up to 2 rows" in str(vault.budget().guarantee)
    assert vault.ledger.header["unit"] == {"id": "person", "max_rows": 2, "null_ids": "drop"}


def test_a_fingerprint_does_not_depend_on_the_order_in_a_database_but_on_every_value(engine, ages, tmp_path):
    first = open_source(engine(ages, tmp_path))
    assert first.fingerprint(KEY) == first.fingerprint(KEY)
    assert first.fingerprint(KEY) != first.fingerprint(bytes([1] * 32))
    changed = ages.set_column(0, "age", pa.array([31, *ages["age"].to_pylist()[1:]]))
    for other in (changed, ages.slice(1), pa.concat_tables([ages, ages.slice(0, 1)])):
        assert open_source(engine(other, tmp_path)).fingerprint(KEY) != first.fingerprint(KEY)


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
    place = parse_place(uri)
    assert place.location == locate(uri) == "postgresql://me@host:99/db?table=t&schema=s&sslmode=require"
    assert place.parameters["password"] == "p@:/?#"
    assert "p@" not in repr(place)
    assert not is_located(uri)
    assert is_located(place.location)
    assert parse_place(place.location).parameters.keys() == {"host", "port", "user", "dbname", "sslmode"}


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
        refused(parse_place(table).location, "asks for a password; set PGPASSWORD, or write it to ~/.pgpass")

    def test_a_password_file_is_read(self, postgres, table, monkeypatch, tmp_path):
        monkeypatch.setenv("PGPASSFILE", str(tmp_path / "passwords"))
        (tmp_path / "passwords").write_text("*:*:*:keeper:p@ss/w\\:rd#1?\n")
        (tmp_path / "passwords").chmod(0o600)
        assert open_source(parse_place(table).location).rows.columns == ("age", "person")
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
        assert open_source(postgres.uri("ages", schema="other")).rows.columns == ("height",)
        assert open_source(table).rows.columns == ("age", "person")

    def test_a_changed_table_is_refused_and_a_refreshed_one_accepted(self, postgres, table, home):
        vault = make(home, table)
        vault.measure(vault.count(), scale=1)
        postgres.execute("UPDATE ages SET age = 99 WHERE age = 20")
        self.wait_until_counted(postgres)
        with pytest.raises(TableError, match="has changed"):
            vault.measure(vault.count(), scale=1)
        assert vault.budget().charges == 1
        vault.refresh(table)
        vault.measure(vault.count(), scale=1)
        assert vault.budget().charges == 2

    def wait_until_counted(self, postgres):
        """The server's count of writes, by which a change is noticed without a scan, is a little late."""
        updated = "SELECT n_tup_upd FROM pg_stat_all_tables WHERE relid = 'public.ages'::regclass"
        for _ in range(100):
            with postgres.connect() as session:
                if session.execute(updated).fetchone()[0]:
                    return
            time.sleep(0.1)
        pytest.fail("the server never counted the update")

    def test_a_table_that_vanishes_spends_nothing(self, postgres, table, home):
        vault = make(home, table)
        vault.measure(vault.count(), scale=1)
        postgres.execute("ALTER TABLE ages RENAME TO gone")
        with pytest.raises(TableError, match="has no table ages that you may see"):
            vault.measure(vault.count(), scale=1)
        assert vault.budget().charges == 1
        postgres.execute("ALTER TABLE gone RENAME TO ages")
        vault.measure(vault.count(), scale=1)

    def test_rows_are_hashed_once_while_nobody_writes(self, table, home, monkeypatch):
        vault = make(home, table)
        vault.measure(vault.count(), scale=1)
        monkeypatch.setattr("discreet.table.postgres.hash_rows", lambda *_: pytest.fail("hashed again"))
        vault.measure(vault.count(), scale=1)

    def test_connections_that_the_server_cut_are_made_anew(self, postgres, table, home):
        vault = make(home, table)
        vault.measure(vault.count(), scale=1)
        with postgres.connect() as session:
            session.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        vault.measure(vault.count(), scale=1)
        assert not vault.budget().pending

    def test_an_engine_that_fails_says_nothing_of_the_data(self, postgres, table, domain):
        opened = open_table(table, domain)
        postgres.execute("DROP TABLE ages")
        with pytest.raises(EngineError, match="the engine failed") as failure:
            opened.evaluate([Count(domain.everything)])
        assert failure.value.__suppress_context__

    def test_views_partitions_enumerations_and_domains_are_read(self, postgres, table, tmp_path):
        assert table
        postgres.execute(
            "DROP VIEW IF EXISTS view_of", "DROP TABLE IF EXISTS moods", "DROP TYPE IF EXISTS mood",
            "DROP DOMAIN IF EXISTS years",
            "CREATE TYPE mood AS ENUM ('good', 'bad')", "CREATE DOMAIN years AS smallint CHECK (VALUE < 200)",
            "CREATE TABLE moods (mood mood, age years, code char(4), at timestamptz, price money, list int[])"
            " PARTITION BY LIST (mood)",
            "CREATE TABLE moods_good PARTITION OF moods FOR VALUES IN ('good')",
            "CREATE TABLE moods_bad PARTITION OF moods DEFAULT",
            "INSERT INTO moods VALUES ('good', 20, 'ab', now(), 1, '{1}'), ('bad', 30, 'abcd', now(), 2, NULL)",
            "INSERT INTO moods VALUES (NULL)",
            "CREATE VIEW view_of AS SELECT * FROM moods",
        )  # fmt: skip
        toml = """
            name = "moods"
            [attributes]
            mood = {kind = "category", values = ["bad", "good"], null = true, source = "s"}
            age = {kind = "integer", low = 0, high = 99, null = true, source = "s"}
            code = {kind = "category", values = ["ab", "abcd"], null = true, source = "s"}
        """
        (tmp_path / "people.toml").write_text(toml)
        for name in ("moods", "view_of"):
            vault = make(tmp_path, postgres.uri(name))
            [batch] = vault.gate.table().codes()
            rows = sorted(tuple(row.values()) for row in batch.to_pylist())
            assert rows == [(0, 30, 1), (1, 20, 0), (2, 100, 2)]
            (tmp_path / "vault").rename(tmp_path / f"vault-{name}")
        (tmp_path / "people.toml").write_text(DOMAIN.replace("age", "price"))
        with pytest.raises(DomainError, match="'price' is unknown"):
            make(tmp_path, postgres.uri("moods"))

    def test_numbers_beyond_doubles_are_outside_or_zero(self, postgres, domain, tmp_path):
        assert tmp_path
        numbers = ["1e400", "-1e400", "1e-400", "NaN", "Infinity", "-Infinity", "0.1", "7", "1e-320", "1.7e308"]
        rows = ", ".join(f"('{number}'::numeric)" for number in [*numbers, *["1e100000", "-1e-10000"]])
        postgres.execute("DROP TABLE IF EXISTS huge", f"CREATE TABLE huge AS SELECT * FROM (VALUES {rows}) AS v (age)")
        [batch] = open_table(postgres.uri("huge"), domain).codes()
        # The domain drops what is outside, missing, or not whole; 10^-400, 10^-320 and −10^-10000 are 0.
        assert sorted(batch.column(0).to_pylist()) == [0, 0, 0, 7]

    def test_the_sessions_cannot_write(self, table):
        engine = open_source(table).engine
        with pytest.raises(EngineError):
            engine.texts("CREATE TABLE mine (a int)")

    def test_a_child_of_fork_has_connections_of_its_own(self, table, domain):
        opened = open_table(table, domain)
        [before] = opened.codes()
        reading, writing = os.pipe()
        if (child := os.fork()) == 0:
            count = sum(batch.num_rows for batch in opened.codes())
            os.write(writing, str(count).encode())
            os._exit(0)
        os.waitpid(child, 0)
        assert int(os.read(reading, 100)) == before.num_rows == sum(batch.num_rows for batch in opened.codes())

    def test_an_ibis_table_is_read_where_it_is(self, postgres, table, home):
        assert table
        backend = ibis.postgres.connect(
            host="localhost", port=postgres.port, user="keeper", password="p@ss/w:rd#1?", database="people"
        )
        adults = backend.table("ages").filter(ibis._.age >= 30)
        vault = make(home, adults)
        assert near(vault.measure(vault.count(), scale=1), 800)
        with pytest.raises(TableError, match="hand it over"):
            Vault.open(home / "vault").measure(vault.count(), scale=1)
        Vault.open(home / "vault", table=adults).measure(vault.count(), scale=1)


# --- Spark ---


@pytest.mark.xdist_group("spark")
class TestSpark:
    def test_a_directory_of_parquet_files_is_a_table(self, spark, ages, tmp_path):
        spark.createDataFrame(ages.to_pandas()).write.parquet(str(tmp_path / "ages"))
        source = open_source(f"spark+parquet:{tmp_path / 'ages'}")
        assert source.rows.columns == ("age", "person")
        assert source.fingerprint(KEY) == open_source(f"spark+parquet:{tmp_path / 'ages'}").fingerprint(KEY)

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

    def test_a_changed_file_is_noticed(self, spark, ages, home):
        assert spark
        pq.write_table(ages, home / "ages.parquet")
        vault = make(home, f"spark+parquet:{home / 'ages.parquet'}")
        pq.write_table(ages.slice(1), home / "ages.parquet")
        with pytest.raises(TableError, match="has changed"):
            vault.measure(vault.count(), scale=1)
        (home / "ages.parquet").unlink()
        with pytest.raises(TableError, match="there is no file"):
            vault.measure(vault.count(), scale=1)
        assert vault.budget().charges == 0

    def test_an_ibis_table_is_read_where_it_is_and_recognised_by_its_rows(self, spark, ages, home):
        spark.createDataFrame(ages.to_pandas()).createOrReplaceTempView("ages")
        table = ibis.pyspark.connect(spark).table("ages")
        vault = make(home, table.filter(table.age > 30))
        assert near(vault.measure(vault.count(), scale=1), 75)
        spark.createDataFrame(ages.slice(1).to_pandas()).createOrReplaceTempView("ages")
        with pytest.raises(TableError, match="has changed"):
            Vault.open(home / "vault", table=table).measure(vault.count(), scale=1)

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
        monkeypatch.setitem(sys.modules, "ibis.backends.pyspark", None)
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
    for _ in range(3):
        assert near(vault.measure(vault.count(), scale=1), 50)
    assert backend.con.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("ages",)]


@pytest.mark.parametrize("make_table", [lambda: ibis.memtable({"age": [1]}), lambda: ibis.table({"age": "int64"}, "t")])
def test_an_ibis_table_without_a_database_is_refused(make_table):
    refused_plainly(make_table(), "no database behind it")


def test_an_ibis_table_of_another_database_is_refused(tmp_path):
    sqlite = pytest.importorskip("ibis.backends.sqlite")
    assert sqlite
    backend = ibis.sqlite.connect(Path(tmp_path) / "base.sqlite")
    backend.raw_sql("CREATE TABLE t (age INTEGER)").close()
    refused_plainly(backend.table("t"), "of DuckDB, Postgres and Spark are read here, not of sqlite")
