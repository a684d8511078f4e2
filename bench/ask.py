"""Asking: a fresh count beside the bare engine, a GROUP BY of a thousand groups, and one after very many others."""

import os
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import duckdb

from bench.figure import Figure
from discreet.demo.census import census_domain_path, write_census
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault

PEOPLE = 1_000_000
ROUNDS = 200
PAST = 100
BANDS = [0, 5_000, 10_000, 15_000, 20_000, 30_000, 40_000, 60_000, 90_000, 150_000]
"""Where the bins of income begin."""
ASKED = [(20_000, 90_000), (10_000, 60_000), (5_000, 40_000), (15_000, 150_000), (30_000, 90_000)]
REGIONS = ["'Northgate', 'Arden'", "'Belmont', 'Carrow', 'Dunmore'", "'Eastvale'", "'Isley', 'Kestrel Bay', 'Lowmarsh'"]


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        home = Path(folder)
        write_census(home / "people.parquet", PEOPLE)
        vault = _vault(home, "vault")
        yield from _fresh_counts(vault, home)
        yield from _groups(vault)
        yield from _after_many(_vault(home, "crowded"), _vault(home, "fresh"))


def _vault(home: Path, name: str) -> Vault:
    table, domain = home / "people.parquet", census_domain_path()
    return Vault.init(home / name, table=table, domain=domain, epsilon=1000, neighbours="replace")


def _fresh_counts(vault: Vault, home: Path) -> Iterator[Figure]:
    """Each round asks one new question, then counts it exactly in DuckDB and makes two synced writes."""
    engine = duckdb.connect()
    engine.execute(f"CREATE VIEW people AS SELECT * FROM '{home / 'people.parquet'}'")
    in_memory = duckdb.connect()
    in_memory.execute(f"CREATE TABLE people AS SELECT age, income FROM '{home / 'people.parquet'}'")
    journal = sqlite3.connect(home / "bare.sqlite", isolation_level=None)
    journal.execute("PRAGMA journal_mode = WAL")
    journal.execute("PRAGMA synchronous = FULL")
    journal.execute("CREATE TABLE entries (seq INTEGER PRIMARY KEY, body TEXT)")

    def synced_writes() -> None:
        for _ in range(2):
            journal.execute("INSERT INTO entries (body) VALUES (?)", ("x" * 300,))

    questions = [
        f"SELECT COUNT(*) FROM people WHERE age BETWEEN {low} AND {high} AND income >= 40000"
        for low in range(40)
        for high in range(50, 60)
    ][: ROUNDS + 3]
    asked, bare, bare_memory, writes = [], [], [], []
    for question in questions:
        asked.append(_seconds(lambda: vault.ask(question, scale=2000)))  # noqa: B023
        bare.append(_seconds(lambda: engine.execute(question).fetchall()))  # noqa: B023
        bare_memory.append(_seconds(lambda: in_memory.execute(question).fetchall()))  # noqa: B023
        writes.append(_seconds(synced_writes))
    # The first reads map the snapshot's columns.
    ask, exact, memory, sync = (statistics.median(times[3:]) for times in (asked, bare, bare_memory, writes))
    shown = (
        f"ask {1e3 * ask:.2f} ms; DuckDB on the Parquet file {1e3 * exact:.2f} ms, in memory {1e3 * memory:.2f} ms; "
    )
    shown += f"two synced writes {1e3 * sync:.2f} ms"
    yield Figure(
        "ask, fresh count / (exact DuckDB count + two synced writes)", ask / (exact + sync), 1.5, "lower", "×", shown
    )


def _groups(vault: Vault) -> Iterator[Figure]:
    """1,200 groups: age by region. Passes over the rows are counted where the snapshot is read."""
    passes: list[object] = []
    evaluate = Snapshot.evaluate
    Snapshot.evaluate = lambda self, queries: passes.extend(queries) or evaluate(self, queries)  # type: ignore[method-assign]
    try:
        before = vault.budget().charges
        answer = vault.ask("SELECT age, region, COUNT(*) FROM people GROUP BY age, region", scale=1000)
        charges = vault.budget().charges - before
    finally:
        Snapshot.evaluate = evaluate  # type: ignore[method-assign]
    note = f"{len(answer.rows):,} groups, cost ε = {answer.cost} (one group's: {Fraction(2, 1000)})"
    yield Figure("GROUP BY 1,200 groups: passes over the rows", len(passes), 1, "lower", "", note)
    yield Figure("GROUP BY 1,200 groups: charges", charges, 1, "lower", "", note)
    yield Figure(
        "GROUP BY 1,200 groups: cost / one group's", float(answer.cost / Fraction(2, 1000)), 1, "lower", "×", note
    )


def _after_many(crowded: Vault, fresh: Vault) -> Iterator[Figure]:
    """The same questions to a vault that has answered many others as sharply, and to one that has answered none."""
    for question in _overlapping():
        crowded.ask(question, scale=100)
    for by in ("age", "age, region"):
        spent: list[list[float]] = []
        for vault in (crowded, fresh):
            questions = [f"SELECT {by}, COUNT(*) FROM people WHERE {_within(*band)} GROUP BY {by}" for band in ASKED]
            spent.append([_seconds(lambda: vault.ask(question, scale=100)) for question in questions])  # noqa: B023
        after, alone = map(statistics.median, spent)
        groups = len(fresh.ask(questions[0], scale=100).rows)
        yield Figure(
            f"fresh GROUP BY of {groups:,} groups, after {PAST} overlapping questions / as the first ones",
            after / alone,
            4,
            "lower",
            "×",
            f"{1e3 * after:.0f} ms and {1e3 * alone:.0f} ms, medians of {len(ASKED)}",
        )


def _overlapping() -> Iterator[str]:
    """Questions whose bands of income, ages and regions overlap, none of them one of those that are asked later."""
    rng = random.Random(7)
    bands = [band for band in combinations(BANDS, 2) if band not in ASKED]
    for number in range(PAST):
        band = _within(*rng.choice(bands))
        ages = "age BETWEEN {} AND {}".format(*sorted(rng.sample(range(100), 2)))
        yield (
            f"SELECT age, COUNT(*) FROM people WHERE {band} GROUP BY age",
            f"SELECT age, region, COUNT(*) FROM people WHERE {ages} AND {band} GROUP BY age, region",
            # Groups that are no boxes are kept one by one.
            f"SELECT age, COUNT(*) FROM people WHERE region IN ({REGIONS[number % 4]}) OR {band} GROUP BY age",
            f"SELECT income, COUNT(*) FROM people WHERE {ages} GROUP BY income",
            f"SELECT COUNT(*) FROM people WHERE {ages} AND {band}",
        )[number % 5]


def _within(low: int, high: int) -> str:
    return f"income >= {low} AND income < {high}"


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
