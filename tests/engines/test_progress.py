"""How far a reading has come: told on every engine that can tell, and in public terms only."""

import time
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from discreet.table.table import open_table
from discreet.table.watch import watching

from discreet.domain.read import parse_domain
from discreet.query.query import Count
from discreet.table import postgres as postgres_module
from discreet.table import watch
from discreet.table.open import open_source
from discreet.table.unit import Unit
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


@pytest.fixture
def people():
    ages = np.random.default_rng(3).integers(0, 100, 2_000)
    return pa.table({"age": ages, "person": np.arange(2_000) // 2})


@pytest.fixture
def heard():
    """A list of what is told, and the one who is told it."""
    told = []
    return told, lambda what, share: told.append((what, share))


def rising(shares):
    return all(0 <= before <= after <= 1 for before, after in pairwise([0, *shares]))


def test_watching_changes_no_fingerprint_and_no_answer(engine, people, heard, tmp_path):
    told, tell = heard
    where, domain, unit = engine(people, tmp_path), parse_domain(DOMAIN), Unit("person", 1)
    queries = [Count(domain.everything), Count(domain.everything, ("age",))]
    quiet, watched = (open_table(where, domain, unit, KEY, *more) for more in ((), (tell,)))
    assert watched.fingerprint(KEY) == quiet.fingerprint(KEY)
    for expected, answer in zip(quiet.evaluate(queries), watched.evaluate(queries), strict=True):
        assert np.array_equal(answer, expected)
    assert {what for what, _ in told} <= {"reading the table", "choosing the rows of each person", "counting"}
    for words in {what for what, _ in told}:
        assert rising([share for what, share in told if what == words])


def test_a_vault_tells_how_far_it_is_when_it_is_made_refreshed_and_first_asked(people, heard, tmp_path):
    told, tell = heard
    (tmp_path / "people.toml").write_text(DOMAIN)
    given = {"table": people, "domain": tmp_path / "people.toml", "epsilon": 100, "neighbours": "replace"}
    Vault.init(tmp_path / "vault", **given, progress=tell)
    assert told.pop() == ("reading the table", 1.0)
    vault = Vault.open(tmp_path / "vault", table=people, progress=tell)
    assert not told
    vault.ask("SELECT COUNT(*) FROM people", scale=10)
    assert ("reading the table", 1.0) in told
    quiet, told[:] = Vault.open(tmp_path / "vault", table=people), []
    quiet.refresh(people, progress=tell)
    assert told == [("reading the table", 1.0)]
    quiet.measure(quiet.count(), scale=10)
    assert told == [("reading the table", 1.0)]


def test_files_are_told_by_their_bytes(tmp_path):
    for part in range(3):
        (tmp_path / f"part{part}.csv").write_bytes(b"age\n" + b"7\n" * 2**21)
    shares = []
    source = open_source(str(tmp_path / "part*.csv"))
    assert source.fingerprint(KEY, shares.append) == source.fingerprint(KEY)
    assert rising(shares)
    assert len(shares) >= 3
    assert shares[-1] == 1


@pytest.mark.xdist_group("postgres")
def test_a_large_table_of_postgres_is_hashed_in_pieces_to_the_same_fingerprint(postgres, monkeypatch):
    postgres.execute(
        "DROP TABLE IF EXISTS pieces CASCADE",
        "CREATE TABLE pieces AS SELECT i % 100 AS age, NULLIF(i % 7, 0) AS a, 'x' || i AS t"
        " FROM generate_series(1, 20000) i",
        "INSERT INTO pieces SELECT NULL",
        "DELETE FROM pieces WHERE age = 13",
    )
    source = open_source(postgres.uri("pieces"))
    whole, shares = source.fingerprint(KEY), []
    monkeypatch.setattr(postgres_module, "PIECE_BLOCKS", 7)
    assert source.fingerprint(KEY, shares.append) == whole
    assert rising(shares)
    assert len(shares) > 10
    assert shares[-1] == 1
    postgres.execute("INSERT INTO pieces SELECT NULL")
    assert source.fingerprint(KEY) != whole


@pytest.mark.xdist_group("postgres")
@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_a_view_has_a_fingerprint_too(postgres, kind, monkeypatch):
    postgres.execute(
        f"DROP {kind} IF EXISTS seen",
        f"CREATE {kind} seen AS SELECT i AS age FROM generate_series(1, 9000) i",
    )
    source = open_source(postgres.uri("seen"))
    whole, shares = source.fingerprint(KEY), []
    monkeypatch.setattr(postgres_module, "PIECE_BLOCKS", 7)
    assert source.fingerprint(KEY, shares.append) == whole
    assert bool(shares) == (kind == "MATERIALIZED VIEW")
    postgres.execute(f"DROP {kind} seen")


@pytest.mark.xdist_group("spark")
def test_spark_tells_which_share_of_its_tasks_is_done(spark, heard, monkeypatch):
    ibis = pytest.importorskip("ibis")
    monkeypatch.setattr(watch, "EVERY", 0.01)
    spark.range(0, 2_000_000, 1, 16).selectExpr("id % 100 AS age").createOrReplaceTempView("many")
    shares = []
    source = open_source(ibis.pyspark.connect(spark).table("many"))
    assert source.fingerprint(KEY, shares.append) == source.fingerprint(KEY)
    assert shares
    assert rising(shares)
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None
    told, tell = heard
    table = open_table(ibis.pyspark.connect(spark).table("many"), parse_domain(DOMAIN), progress=tell)
    assert table.evaluate([Count(table.domain.everything)])[0] == 2_000_000
    assert {what for what, _ in told} == {"counting"}


def test_duckdb_tells_what_it_has_read_and_draws_nothing_itself(monkeypatch, capfd):
    ibis = pytest.importorskip("ibis")
    monkeypatch.setattr(watch, "EVERY", 0.005)
    backend = ibis.duckdb.connect()
    backend.raw_sql("CREATE TABLE many AS SELECT range % 100 AS age FROM range(2000000)")
    shares = []
    source = open_source(backend.table("many"))
    assert source.fingerprint(KEY, shares.append) == source.fingerprint(KEY)
    assert shares
    assert rising(shares)
    assert capfd.readouterr() == ("", "")


class TestWatching:
    @pytest.fixture(autouse=True)
    def often(self, monkeypatch):
        monkeypatch.setattr(watch, "EVERY", 0.001)

    def test_only_what_is_further_is_told(self):
        seen, shares = iter([None, 0.25, 0.125, 0.5, 0.5, 1.5]), []
        with watching(lambda: next(seen), shares.append):
            deadline = time.monotonic() + 10
            while shares[-1:] != [1.0] and time.monotonic() < deadline:
                time.sleep(0.001)
        assert shares == [0.25, 0.5, 1.0]

    def test_a_look_that_fails_ends_the_looking_and_not_the_work(self):
        def broken():
            raise RuntimeError("the engine is gone")

        with watching(broken, pytest.fail):
            time.sleep(0.02)

    def test_nobody_looks_any_more_when_the_work_has_failed(self):
        looks = []

        def work():
            with watching(lambda: looks.append(1), pytest.fail):
                time.sleep(0.02)
                raise ValueError("the work")

        with pytest.raises(ValueError, match="the work"):
            work()
        after = len(looks)
        time.sleep(0.01)
        assert len(looks) == after > 0
