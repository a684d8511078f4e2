"""The ledger: what a decision costs, how far a budget goes, what a charge adds to its syncs, how fast it opens."""

import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from bench.figure import Figure
from discreet.demo.relaxation import relaxation_domain_path
from discreet.domain.read import read_domain
from discreet.ledger.buckets import BucketedSpend
from discreet.ledger.budget import PureBudget
from discreet.ledger.capacity import capacity_at_volume
from discreet.ledger.grid import GridSpend
from discreet.ledger.journal import canonical, chained
from discreet.ledger.ledger import Ledger
from discreet.ledger.spend import Cost, SpendMap, units_up
from discreet.ledger.sqlite import SQLiteJournal
from experiments.relaxation.workload import NOISE_SCALE, workload

CENSUS = read_domain(relaxation_domain_path())
EPSILON, SCALE, VOLUME = Fraction(3, 10), Fraction(NOISE_SCALE), Fraction(4, 100)
BUDGET = PureBudget(EPSILON, "replace")
UNIT = units_up(1 / SCALE)
ENTRIES = 100_000


def figures() -> Iterator[Figure]:
    costs = [Cost(0, ((box, UNIT),)) for box in workload("uniform", float(VOLUME))]
    for warm in (GridSpend(CENSUS, 3 * UNIT), BucketedSpend(CENSUS, 3 * UNIT)):  # compiles, or loads what was compiled
        decide(warm, costs[:100])
    yield from decision_figures(costs)
    with tempfile.TemporaryDirectory() as folder, state_home(folder):
        yield charge_figure(Path(folder), costs)
        yield opening_figure(Path(folder), costs)


def decide(spend: SpendMap, costs: list[Cost]) -> list[float]:
    """Seconds for each look and update of the charges that fit."""
    seconds = []
    for cost in costs:
        start = time.perf_counter()
        if spend.refusal(cost) is None:
            spend.add(cost)
            seconds.append(time.perf_counter() - start)
    return seconds


def decision_figures(costs: list[Cost]) -> Iterator[Figure]:
    grid = decide(GridSpend(CENSUS, BUDGET.limit), costs)
    histogram = decide(BucketedSpend(CENSUS, BUDGET.limit), costs)
    paper = decide(BucketedSpend(CENSUS, BUDGET.limit, cut_by="sum"), costs)
    bound = float(capacity_at_volume(EPSILON, SCALE, VOLUME))
    yield Figure(
        "capacity, histogram (θ = 10^5) to grid",
        len(histogram) / len(grid),
        0.9,
        "higher",
        "×",
        f"{len(histogram)} and {len(grid)} of Lemma 3's {bound:.0f}; with the paper's cuts {len(paper)}",
    )
    looked, counted = statistics.median(grid) * 1000, statistics.median(histogram) * 1000
    yield Figure("decision, grid", looked, 0.15, "lower", "ms", "median of the charges that fit")
    yield Figure("decision, histogram (θ = 10^5) to grid", counted / looked, 3, "lower", "×", f"{counted:.3f} ms")


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


def charge_figure(folder: Path, costs: list[Cost]) -> Figure:
    """Charge and record beside two bare synced commits of as many bytes, turn by turn."""
    ledger, bare = new_ledger(folder / "charges.db"), sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, x)"
    )
    ours, syncs, text = [], [], "x" * 500
    for cost in costs[:1000]:
        times = [time.perf_counter()]
        charge = ledger.charge(cost, {"query": text})
        ledger.record(charge.id, {"value": text})
        times.append(time.perf_counter())
        for _ in range(2):
            bare.execute("BEGIN IMMEDIATE")
            bare.execute("INSERT INTO t (x) VALUES (?)", (text,))
            bare.execute("COMMIT")
        times.append(time.perf_counter())
        mine, theirs = (b - a for a, b in pairwise(times))
        ours.append(mine)
        syncs.append(theirs)
    whole, synced = statistics.median(ours) * 1000, statistics.median(syncs) * 1000
    note = f"{whole:.2f} ms, of which {synced:.2f} ms are two synced commits"
    return Figure(
        "charge and record, beyond two syncs (of the 1 ms that measure has)", whole - synced, 1, "lower", "ms", note
    )


def opening_figure(folder: Path, costs: list[Cost]) -> Figure:
    path = folder / "long.db"
    head = new_ledger(path).head
    journal = SQLiteJournal(path)
    with journal.turn():
        for i in range(ENTRIES // 2):
            small = Cost(0, ((costs[i % len(costs)].regional[0][0], 1),))
            body = canonical({"v": 1, "at": "", "content": {"query": "x" * 200}, "cost": small.to_json()})
            for kind, charge, text in [("charge", None, body), ("record", head.seq + 1, canonical({"v": 1}))]:
                entry = chained(head, kind, charge, text)
                journal.append(entry)
                head = entry.receipt
    journal.close()
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        Ledger.open(path, CENSUS, BUDGET).close()
        seconds.append(time.perf_counter() - start)
    return Figure("opening, 10^5 entries", min(seconds), 2, "lower", "s", "chain verified, 50,000 boxes replayed")


def new_ledger(path: Path) -> Ledger:
    Ledger.create(path, {"vault_id": f"bench-{path.stem}"})
    return Ledger.open(path, CENSUS, BUDGET)
