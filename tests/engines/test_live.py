"""Rows that stay where they are: the same answers as from a snapshot, and none of rows that have changed."""

import os
import threading

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.read import parse_domain
from discreet.domain.region import Box, Region
from discreet.errors import DomainError, EngineError, TableError, UnsupportedQuery
from discreet.query.query import Count, SubsetCount, Sum
from discreet.query.subset import Everyone
from discreet.table import postgres_live
from discreet.vault import Vault
from tests.populations import live_table, population

TOML = """
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 9
outside = "clamp"
null = true
source = "a test"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "a test"
[attributes.income]
kind = "bins"
edges = [-10, 0, 10, 25, 50]
grain = 0.5
outside = "other"
source = "a test"
"""
DOMAIN = parse_domain(TOML)
EVERYONE = DOMAIN.everything
SOME = Region.of([Box((0, 0, 1), (4, 1, 3)), Box((8, 1, 0), (10, 1, 4))])
SCATTERED = Region.of(Box((age, age % 2, age % 4), (age, age % 2, age % 4)) for age in range(11))
QUERIES = [
    *(Count(where) for where in (EVERYONE, SOME, SCATTERED, Region(()))),
    *(Count(where, ("income", "age")) for where in (EVERYONE, SOME)),
    *(Sum("income", where, by) for where in (EVERYONE, SOME) for by in ((), ("sex",))),
    Sum("age", SCATTERED, ("sex", "income")),
]
CHANGED = "the table has changed since the vault was made, or last refreshed"


@pytest.fixture(scope="module")
def people():
    chance = np.random.default_rng(5)
    sexes = np.array(["F", "M", "X", "f", None], object)
    return pa.table(
        {
            "age": pa.array([None if age == 12 else int(age) for age in chance.integers(-2, 13, 700)], pa.int64()),
            "sex": pa.array(sexes[chance.integers(0, 5, 700)], pa.string()),
            "income": chance.integers(-60, 260, 700) / 4,
        }
    )


def answers(table, queries):
    table.require(queries)
    return [answer.tolist() for answer in table.evaluate(queries)]


def test_answers_are_those_of_a_snapshot(live_engine, people, tmp_path):
    place = live_engine(people, tmp_path)
    expected = [answer.tolist() for answer in population(people, DOMAIN).evaluate(QUERIES)]
    live = live_table(place, DOMAIN)
    assert answers(live, QUERIES) == expected
    assert answers(live, QUERIES[1:2]) == expected[1:2]


def test_an_empty_table_has_empty_answers(live_engine, people, tmp_path):
    live = live_table(live_engine(people.slice(0, 0), tmp_path), DOMAIN)
    assert answers(live, [Count(EVERYONE), Count(EVERYONE, ("sex",)), Sum("income", SOME)]) == [0, [0, 0], 0]


def test_nothing_is_read_to_count_everybody_where_nobody_can_be_left_out(live_engine, tmp_path):
    domain = Domain("t", (Category(name="x", source="s", values=("a",), outside="other"),))
    live = live_table(live_engine(pa.table({"x": ["a", "b", None] * 5}), tmp_path), domain)
    assert answers(live, [Count(domain.everything), Count(domain.everything, ("x",))]) == [15, [5, 10]]


def test_names_that_sql_would_stumble_over_are_columns_like_any_other(live_engine, tmp_path):
    """In particular those that the reading itself uses."""
    names = ('a"b', "a`b", "select", "a b", "c0", "c1", "copies", "x", "1", "a.b", "everyone", "query", "cell", "low")
    domain = Domain("t", tuple(Bins(name=n, source="s", edges=(0, 50), grain=1) for n in names))
    table = pa.table({n: [float(i), float(i), 9.0, 70.0] for i, n in enumerate(names)})
    live = live_table(live_engine(table, tmp_path), domain)
    found = answers(live, [Sum(name, domain.everything) for name in names] + [Count(domain.everything)])
    assert found == [*(2 * i + 9 for i in range(len(names))), 3]


def test_large_sums_saturate_and_are_exact_below(live_engine, tmp_path):
    wide = Domain("t", (Integer(name="x", source="s", low=-(2**53), high=2**53),))
    query = Sum("x", wide.everything)
    for values, total in (([2**53] * 600, 2**62), ([2**53] * 400 + [-(2**53), 7], 399 * 2**53 + 7)):
        live = live_table(live_engine(pa.table({"x": pa.array(values, pa.int64())}), tmp_path), wide)
        assert answers(live, [query]) == [total]


def test_what_is_asked_of_a_roster_or_of_people_comes_from_a_snapshot(live_engine, people, tmp_path):
    place = live_engine(people, tmp_path)
    with pytest.raises(UnsupportedQuery, match="come from a snapshot"):
        live_table(place, DOMAIN).require([SubsetCount((Everyone(),), EVERYONE)])
    with pytest.raises(DomainError, match="people with several rows are counted from a snapshot"):
        make(tmp_path, place, id="sex", max_rows=3)
    assert not (tmp_path / "vault").exists()


def test_digests_depend_on_every_value_on_the_key_and_on_nothing_else(live_engine, people, tmp_path):
    first = live_engine(people, tmp_path)
    digest = live_table(first, DOMAIN).id
    assert live_table(first, DOMAIN).id == digest
    assert live_table(first, DOMAIN, bytes(32)).id != digest
    other = people.set_column(2, "income", pa.array([99.0, *people["income"].to_pylist()[1:]]))
    for changed in (other, people.slice(1), pa.concat_tables([people, people.slice(0, 1)])):
        assert live_table(live_engine(changed, tmp_path), DOMAIN).id != digest


# --- vaults ---


def make(folder, table, **more):
    (folder / "people.toml").write_text(TOML)
    given = {"table": table, "domain": folder / "people.toml", "epsilon": 100, "neighbours": "replace", "live": True}
    return Vault.init(folder / "vault", **{**given, **more})


def near(vault, rows):
    return abs(int(vault.measure(vault.count(), scale=1).value) - rows) < 60  # scale 1: e^-60


def test_a_live_vault_is_asked_opened_again_and_made_one_of_a_snapshot(live_engine, people, tmp_path, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "p@ss/w:rd#1?")
    rows = population(people, DOMAIN).rows.size
    vault = make(tmp_path, live_engine(people, tmp_path))
    assert not (tmp_path / "vault" / "snapshots").exists()
    assert near(vault, rows)
    again = Vault.open(tmp_path / "vault")
    assert near(again, rows)
    assert again.source_state() == "read live, where it is"
    with pytest.raises(UnsupportedQuery, match="take a snapshot: `discreet refresh`"):
        again.buckets.publish(sensitive="sex", limits="0.9", out=tmp_path / "buckets")
    again.refresh(live=False)
    assert len(list((tmp_path / "vault" / "snapshots").iterdir())) == 1
    assert near(vault, rows)
    assert again.source_state() != "read live, where it is"
    again.refresh(live=True)
    assert not list((tmp_path / "vault" / "snapshots").glob("0*"))
    assert near(again, rows)


# --- Postgres ---


CHANGES = {
    "an update": ("UPDATE here SET age = 3 WHERE ctid = (SELECT min(ctid) FROM here WHERE age = 4)",),
    "an insertion": ("INSERT INTO here VALUES (1, 'F', 5)",),
    "a deletion": ("DELETE FROM here WHERE ctid = (SELECT min(ctid) FROM here)",),
    "two that keep the number of rows": (
        "DELETE FROM here WHERE age = 1",
        "INSERT INTO here SELECT 2, sex, income FROM here WHERE age = 2",
    ),
    "an emptying": ("TRUNCATE here",),
    "another type": ("ALTER TABLE here ALTER age TYPE numeric USING age + 1",),
    "another table": (
        "ALTER TABLE here RENAME TO gone",
        "CREATE TABLE here AS SELECT * FROM gone LIMIT 10",
        "DROP TABLE gone",
    ),
}


@pytest.mark.xdist_group("postgres")
class TestPostgres:
    @pytest.fixture
    def table(self, postgres):
        postgres.execute(
            "DROP TABLE IF EXISTS here CASCADE",
            "CREATE TABLE here AS SELECT i % 10 AS age, CASE WHEN i % 2 = 0 THEN 'F' ELSE 'M' END AS sex, 5.0 AS income"
            " FROM generate_series(1, 1000) i",
        )
        return postgres.uri("here")

    @pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
    def test_issue_16_a_plain_table_that_changes_is_refused_at_once(self, postgres, table, tmp_path, change):
        """It was answered within 2 s of the change."""
        vault = make(tmp_path, table)
        assert near(vault, 1000)
        postgres.execute(*change)
        with pytest.raises(TableError, match=CHANGED):
            vault.measure(vault.count(), scale=1)
        assert vault.budget().charges == 1
        with pytest.raises(TableError, match=CHANGED):
            Vault.open(tmp_path / "vault", table=table).measure(vault.count(), scale=1)
        vault.refresh()
        vault.measure(vault.count(), scale=1)
        assert vault.budget().charges == 2

    def test_a_column_that_nobody_asks_about_may_change(self, postgres, table, tmp_path):
        postgres.execute("ALTER TABLE here ADD note text")
        vault = make(tmp_path, table)
        postgres.execute("UPDATE here SET note = 'seen'", "VACUUM FULL here", "CREATE INDEX ON here (age)")
        assert near(vault, 1000)

    def test_rows_that_are_put_back_are_the_old_ones(self, postgres, table, tmp_path):
        vault = make(tmp_path, table)
        postgres.execute("UPDATE here SET age = age + 1")
        with pytest.raises(TableError, match=CHANGED):
            vault.measure(vault.count(), scale=1)
        postgres.execute("UPDATE here SET age = age - 1")
        assert near(vault, 1000)

    def test_what_is_not_committed_is_not_there(self, postgres, table, tmp_path):
        vault = make(tmp_path, table)
        with postgres.connect() as session:
            session.execute("BEGIN")
            session.execute("DELETE FROM here")
            assert near(vault, 1000)
            session.execute("COMMIT")
            with pytest.raises(TableError, match=CHANGED):
                vault.measure(vault.count(), scale=1)

    def test_a_change_between_the_charge_and_the_reading_is_not_read(self, postgres, table, tmp_path, monkeypatch):
        vault = make(tmp_path, table)
        charge = vault.ledger.charge

        def changed_meanwhile(*given):
            made = charge(*given)
            postgres.execute("DELETE FROM here WHERE age = 1")
            return made

        monkeypatch.setattr(vault.ledger, "charge", changed_meanwhile)
        with pytest.raises(EngineError, match="the answer could not be computed; charge 2 stands"):
            vault.measure(vault.count(), scale=1)

    @pytest.mark.parametrize(
        "statement", ["TRUNCATE here", "ALTER TABLE here ALTER age TYPE bigint", "DROP TABLE here"]
    )
    def test_what_no_snapshot_of_the_server_hides_waits_for_the_reading(self, postgres, table, monkeypatch, statement):
        """TRUNCATE shows at once in transactions that began before it: an emptied table under an old digest."""
        domain = Domain("people", DOMAIN.attributes[:1])
        live, query = live_table(table, domain), Count(domain.everything)
        live.require([query])
        copied, waited = postgres_live.copied, []

        def meanwhile(*given):
            with postgres.connect() as session:
                session.execute("SET lock_timeout = '200ms'")
                with pytest.raises(psycopg.errors.LockNotAvailable):
                    session.execute(statement)
            waited.append(statement)
            return copied(*given)

        monkeypatch.setattr(postgres_live, "copied", meanwhile)
        assert live.evaluate([query])[0] == 1000
        assert waited

    def test_rows_are_hashed_once_while_nobody_writes(self, postgres, table, monkeypatch):
        assert postgres
        live, hashed = live_table(table, DOMAIN), []
        execute = psycopg.Connection.execute

        def watched(self, query, *more, **options):
            hashed.extend([1] if b"hashtextextended" in bytes(query if isinstance(query, bytes) else b"") else [])
            return execute(self, query, *more, **options)

        monkeypatch.setattr(psycopg.Connection, "execute", watched)
        for _ in range(3):
            assert answers(live, [Count(EVERYONE)]) == [1000]
        assert not hashed
        postgres.execute("CREATE TABLE IF NOT EXISTS elsewhere (a int)", "INSERT INTO elsewhere VALUES (1)")
        assert answers(live, [Count(EVERYONE)]) == [1000]
        assert hashed

    def test_many_readers_at_once_agree(self, table):
        live, query, found = live_table(table, DOMAIN), Count(EVERYONE, ("sex",)), []

        def read():
            found.append(answers(live, [query]))

        threads = [threading.Thread(target=read) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [[[500, 500]]] * 6

    def test_a_server_that_crashed_is_asked_anew_and_a_table_that_is_gone_spends_nothing(
        self, mortal_postgres, tmp_path
    ):
        mortal_postgres.execute("CREATE TABLE here AS SELECT 1 AS age, 'F' AS sex, 5.0 AS income")
        vault = make(tmp_path, mortal_postgres.uri("here"))
        mortal_postgres.restart()
        assert near(vault, 1)
        mortal_postgres.execute("DROP TABLE here")
        with pytest.raises(TableError, match="cannot be read"):
            vault.measure(vault.count(), scale=1)
        assert vault.budget().charges == 1


# --- Spark ---


@pytest.mark.xdist_group("spark")
class TestSpark:
    @pytest.fixture
    def files(self, spark, people, tmp_path):
        assert spark
        (tmp_path / "here").mkdir()
        for part in range(2):
            pq.write_table(people.slice(part * 350, 350), tmp_path / "here" / f"{part}.parquet")
        return tmp_path / "here"

    def test_files_that_change_are_refused_at_once(self, files, people, tmp_path):
        vault = make(tmp_path, f"spark+parquet:{files}")
        assert near(vault, population(people, DOMAIN).rows.size)
        before = (files / "1.parquet").stat()
        content = (files / "1.parquet").read_bytes()
        changes = [
            lambda: pq.write_table(people.slice(351), files / "1.parquet"),
            lambda: (files / "1.parquet").rename(files / "2.parquet"),
            lambda: pq.write_table(people.slice(0, 1), files / "9.parquet"),
            lambda: (files / "1.parquet").unlink(),
            lambda: os.utime(files / "1.parquet"),
        ]
        for change in changes:
            change()
            with pytest.raises(TableError, match=CHANGED):
                vault.measure(vault.count(), scale=1)
            for path in files.glob("*.parquet"):
                if path.name not in ("0.parquet", "1.parquet"):
                    path.unlink()
            (files / "1.parquet").write_bytes(content)
            os.utime(files / "1.parquet", ns=(before.st_atime_ns, before.st_mtime_ns))
        assert near(vault, population(people, DOMAIN).rows.size), "put back as they were, they are the same table"
        for path in files.glob("*"):
            path.unlink()
        with pytest.raises(TableError, match="there is no file"):
            vault.measure(vault.count(), scale=1)
        assert vault.budget().charges == 2

    def test_files_that_change_between_the_charge_and_the_reading_are_not_read(
        self, files, people, tmp_path, monkeypatch
    ):
        vault = make(tmp_path, f"spark+parquet:{files}")
        charge = vault.ledger.charge

        def changed_meanwhile(*given):
            made = charge(*given)
            pq.write_table(people.slice(351), files / "1.parquet")
            return made

        monkeypatch.setattr(vault.ledger, "charge", changed_meanwhile)
        with pytest.raises(EngineError, match="the answer could not be computed; charge 2 stands"):
            vault.measure(vault.count(), scale=1)

    def test_issue_16_a_parquet_text_that_is_not_utf_8(self, spark, tmp_path):
        """It made every query on its column fail."""
        assert spark
        column = pa.array([b"Arden", b"\xff\xfe", b"Bel\xe9", None, b"Arden"])
        text = pa.Array.from_buffers(pa.string(), 5, column.buffers())
        pq.write_table(pa.table({"x": text}), tmp_path / "t.parquet")
        domain = Domain("t", (Category(name="x", source="s", values=("Arden",), outside="other", null=True),))
        query, place = Count(domain.everything, ("x",)), f"spark+parquet:{tmp_path / 't.parquet'}"
        assert answers(live_table(place, domain), [query]) == [[2, 2, 1]]
        assert population(place, domain).evaluate([query])[0].tolist() == [2, 2, 1]
