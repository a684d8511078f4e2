"""Asking: a fresh count beside the bare engine, and a GROUP BY of a thousand groups."""

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import duckdb

from bench.figure import Figure
from discreet.demo.census import census_domain_path, write_census
from discreet.vault import Vault

PEOPLE = 1_000_000
ROUNDS = 200


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        home = Path(folder)
        write_census(home / "people.parquet", PEOPLE)
        vault = Vault.init(
            home / "vault",
            table=home / "people.parquet",
            domain=census_domain_path(),
            epsilon=1000,
            neighbours="replace",
        )
        yield from _fresh_counts(vault, home)
        yield from _groups(vault)


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
    # The first reads of the vault's table make its copy in memory.
    ask, exact, memory, sync = (statistics.median(times[3:]) for times in (asked, bare, bare_memory, writes))
    shown = (
        f"ask {1e3 * ask:.2f} ms; DuckDB on the Parquet file {1e3 * exact:.2f} ms, in memory {1e3 * memory:.2f} ms; "
    )
    shown += f"two synced writes {1e3 * sync:.2f} ms"
    yield Figure(
        "ask, fresh count / (exact DuckDB count + two synced writes)", ask / (exact + sync), 1.5, "lower", "×", shown
    )


def _groups(vault: Vault) -> Iterator[Figure]:
    """1,200 groups: age by region. Engine queries are counted where the table runs them."""
    table, statements = vault.gate.table(), []
    run = type(table)._run
    type(table)._run = lambda self, sql, *told: statements.append(sql) or run(self, sql, *told)  # type: ignore[method-assign]
    try:
        before = vault.budget().charges
        answer = vault.ask("SELECT age, region, COUNT(*) FROM people GROUP BY age, region", scale=1000)
        charges = vault.budget().charges - before
    finally:
        type(table)._run = run  # type: ignore[method-assign]
    note = f"{len(answer.rows):,} groups, cost ε = {answer.cost} (one group's: {Fraction(2, 1000)})"
    yield Figure("GROUP BY 1,200 groups: engine queries", len(statements), 1, "lower", "", note)
    yield Figure("GROUP BY 1,200 groups: charges", charges, 1, "lower", "", note)
    yield Figure(
        "GROUP BY 1,200 groups: cost / one group's", float(answer.cost / Fraction(2, 1000)), 1, "lower", "×", note
    )


def _seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
