"""The ground: people to count, a marginal beside DuckDB's GROUP BY, what a measurement adds to its syncs, opening."""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from bench.figure import Figure, race
from discreet.demo.census import census, census_domain_path, wide_census_domain_path, write_census
from discreet.domain.read import read_domain
from discreet.home import JOURNAL
from discreet.ledger.journal import canonical, chained
from discreet.ledger.snapshot import snapshot_folder
from discreet.ledger.sqlite import SQLiteJournal
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count
from discreet.release.taking import Taking
from discreet.table.open import open_source
from discreet.table.snapshot import open_snapshot
from discreet.vault import Vault

ROWS, PEOPLE = 10**7, 10**6
EIGHT = ("age", "sex", "region", "education", "occupation", "income", "hours", "marital")
MEASUREMENTS = 400
ENTRIES = 100_000


def figures() -> Iterator[Figure]:
    yield census_figure()
    with tempfile.TemporaryDirectory() as folder, state_home(folder):
        write_census(Path(folder, "many.parquet"), ROWS)
        yield marginal_figure(Path(folder, "many.parquet"))
        write_census(Path(folder, "people.parquet"), PEOPLE)
        vault = Vault.init(
            Path(folder, "vault"),
            table=Path(folder, "people.parquet"),
            domain=census_domain_path(),
            epsilon=10_000,
            neighbours="replace",
        )
        yield measure_figure(vault)
        yield opening_figure(vault)


def census_figure() -> Figure:
    [seconds] = race(lambda: census(PEOPLE), repeats=3)
    return Figure(f"a census of {PEOPLE:,} people", seconds, 5, "lower", "s", "generated, in memory")


@contextmanager
def state_home(folder: str) -> Iterator[None]:
    """Receipts go to a folder that is thrown away."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = folder
    try:
        yield
    finally:
        if before is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = before


@dataclass
class Heard:
    """An engine, or a database connection, that is listened to: what it was told, and how long it took."""

    inner: Any
    method: str
    told: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return self._listen if name == self.method else getattr(self.inner, name)

    def _listen(self, text: str, *more: Any) -> Any:
        start = time.perf_counter()
        try:
            return getattr(self.inner, self.method)(text, *more)
        finally:
            self.told.append(text)
            self.seconds.append(time.perf_counter() - start)


def marginal_figure(people: Path) -> Figure:
    """A marginal from the snapshot against the same GROUP BY of the file's codes, as DuckDB counts it."""
    domain = read_domain(wide_census_domain_path())
    with tempfile.TemporaryDirectory() as folder:
        id = Taking(domain, None, None, bytes(32), Path(folder)).take(open_source(people), 1)
        snapshot = open_snapshot(snapshot_folder(Path(folder), id), domain, id, bytes(32), None)
        codes = pa.table({name: snapshot.rows.codes(name) for name in EIGHT})
        bare = duckdb.connect()
        bare.execute("SET enable_progress_bar = false")
        bare.register("handed_over", codes)
        bare.execute("CREATE TABLE codes AS SELECT * FROM handed_over")
        names = ", ".join(EIGHT)
        ours, theirs = race(
            lambda: snapshot.evaluate([Count(domain.everything, EIGHT)]),
            lambda: bare.execute(f"SELECT {names}, COUNT(*) FROM codes GROUP BY {names}").fetchnumpy(),
            repeats=3,
        )
    cells = f"{domain.points // domain['children'].size:,} cells"
    note = f"{ROWS:,} rows, {cells}: {ours:.2f} s; DuckDB's GROUP BY of the same codes {theirs:.2f} s"
    return Figure("marginal over 8 attributes, to the bare GROUP BY", ours / theirs, 1.3, "lower", "×", note)


def measure_figure(vault: Vault) -> Figure:
    """A count by `vault.measure`, its reading included, less the commits of charge and record."""
    count = vault.count(age=(20, 50), sex="F")
    disk = Heard(None, "execute")
    for _ in range(10):  # compiled, loaded, and the codes in memory
        vault.measure(count, scale=100)
    journal: Any = vault.ledger._followed.journal
    disk.inner, journal._connection = journal._connection, disk
    whole, own = [], []
    for _ in range(MEASUREMENTS):
        disk.seconds.clear()
        disk.told.clear()
        start = time.perf_counter()
        vault.measure(count, scale=100)
        whole.append(time.perf_counter() - start)
        commits = sum(t for t, told in zip(disk.seconds, disk.told, strict=True) if told == "COMMIT")
        own.append(whole[-1] - commits)
    journal._connection = disk.inner
    note = f"median of {MEASUREMENTS}; {statistics.median(whole) * 1000:.1f} ms with two synced commits"
    return Figure(
        "vault.measure of a fresh count, beyond two syncs", statistics.median(own) * 1000, 1, "lower", "ms", note
    )


def opening_figure(vault: Vault) -> Figure:
    head, noise = vault.ledger.head, Laplace(Fraction(10**6))
    vault.ledger.close()
    journal = SQLiteJournal(vault.path / JOURNAL)
    with journal.turn():
        while head.seq < ENTRIES:
            plan = Plan((Measurement(vault.count(age=(head.seq % 60, head.seq % 60 + 30), sex="F"), noise),))
            cost = plan.cost(vault.domain, vault.ledger.budget).to_json()
            charge = chained(
                head, "charge", None, canonical({"v": 1, "at": "", "content": plan.to_json(), "cost": cost})
            )
            record = canonical({"v": 1, "at": "", "content": {"values": [[1234]]}})
            for entry in (charge, chained(charge.receipt, "record", charge.seq, record)):
                journal.append(entry)
                head = entry.receipt
    journal.close()
    [seconds] = race(lambda: Vault.open(vault.path).ledger.close(), repeats=3)
    return Figure("opening a vault of 10^5 entries", seconds, 2, "lower", "s", "chain verified, every charge counted")
