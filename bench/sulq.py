"""SuLQ databases: a query beside DuckDB's filtered count, what a query takes besides its syncs, attacks on a row."""

import statistics
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.figure import Figure, race
from bench.foundation import Heard, state_home
from discreet.mining.sulq import exact_trials
from discreet.noise.bits import SeededBits
from discreet.query.query import SubsetCount
from discreet.query.subset import Seeded
from discreet.sql.parse import parse_predicate
from discreet.vault import Vault
from experiments.sulq.privacy import ATTACKS, DELTA, QUERIES, attacks

PEOPLE = 10**6
ASKED = 400
PREDICATE = "smoker AND age > 50"
DOMAIN = """\
name = "hospital"
[attributes.smoker]
kind = "category"
values = ["false", "true"]
source = "generated"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "generated"
"""
BOUND = Fraction(1, 100)


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, state_home(folder):
        vault = make_vault(Path(folder))
        yield query_figure(vault)
        yield count_figure(vault, Path(folder, "hospital.parquet"))
    yield from attack_figures()


def make_vault(folder: Path) -> Vault:
    draw = np.random.default_rng(1)
    people = {
        "person": np.arange(PEOPLE),
        "smoker": draw.random(PEOPLE) < 0.5,
        "age": draw.integers(0, 100, PEOPLE),
    }
    pq.write_table(pa.table(people), folder / "hospital.parquet")
    (folder / "hospital.toml").write_text(DOMAIN)
    return Vault.init(
        folder / "vault",
        table=folder / "hospital.parquet",
        domain=folder / "hospital.toml",
        id="person",
        roster=pa.table({"person": people["person"]}),
        queries=2 * ASKED,
        delta=1,
    )


def query_figure(vault: Vault) -> Figure:
    """`vault.sulq.ask` with the vector of its predicate kept and its subset made afresh, less the two commits."""
    for seed in range(10):
        vault.sulq.ask((seed, "1/2"), PREDICATE)
    journal: Any = vault.ledger._followed.journal
    disk = Heard(journal._connection, "execute")
    journal._connection = disk
    whole, own = [], []
    for seed in range(ASKED):
        disk.seconds.clear()
        disk.told.clear()
        start = time.perf_counter()
        vault.sulq.ask((seed, "1/2"), PREDICATE)
        whole.append(time.perf_counter() - start)
        commits = sum(t for t, told in zip(disk.seconds, disk.told, strict=True) if told == "COMMIT")
        own.append(whole[-1] - commits)
    journal._connection = disk.inner
    note = f"median of {ASKED}, {PEOPLE:,} rows; {statistics.median(whole) * 1000:.2f} ms with two synced commits"
    return Figure("a query, without the journal's syncs", statistics.median(own) * 1000, 1, "lower", "ms", note)


def count_figure(vault: Vault, people: Path) -> Figure:
    """The exact count behind a query beside DuckDB's, whose table is in memory and whose subset is a hash as well."""
    table = vault._own.snapshot()
    where, _ = parse_predicate(PREDICATE, vault.domain)
    engine = duckdb.connect()
    engine.execute("SET enable_progress_bar = false")
    engine.execute(f"CREATE TABLE hospital AS SELECT * FROM read_parquet('{people}')")
    asked = "SELECT COUNT(*) FROM hospital WHERE smoker AND age > 50 AND hash(xor(person, ?)) < 9223372036854775808"
    seeds = iter(range(10**9))
    ours, theirs = race(
        lambda: table.evaluate([SubsetCount((Seeded(next(seeds)),), where)]),
        lambda: engine.execute(asked, [next(seeds)]).fetchall(),
        repeats=200,
    )
    note = f"{PEOPLE:,} rows: {ours * 1000:.2f} ms, DuckDB {theirs * 1000:.2f} ms on all cores; shortest of 200"
    return Figure("a count over a fresh subset, DuckDB's time to ours", theirs / ours, 5, "higher", "×", note)


def attack_figures() -> Iterator[Figure]:
    """The most successful adversary, who stops as soon as the breach shows; a share within the stated bound."""
    for bound in (BOUND, Fraction(1, 10**6)):
        trials = exact_trials(QUERIES, DELTA, bound)
        moved = attacks(trials, "stops in time", ATTACKS, SeededBits(int(1 / bound)))
        share = float(np.count_nonzero(moved > float(DELTA)) / moved.size)
        note = f"{ATTACKS:,} attacks of {QUERIES:,} queries, R = {trials:,}; largest Δconf {moved.max():.2f}, δ = 1"
        yield Figure(f"share of attacks with Δconf > δ, bound {float(bound):g}", share, float(bound), "lower", "", note)
