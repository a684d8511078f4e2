"""Years of history: what opening, asking and memory cost in a vault whose journal is very long.

Each vault is asked so often that its journal has so many entries, and then its table is refreshed, as an office does.
Others are never refreshed, so that all of their answers are of the table as it is and are looked at: each is of a
region of its own. `python -m bench.history 10000000 1000000` prints the same of a journal of another length, and of
so many answers.
"""

import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from bench.figure import Figure
from bench.ledger import state_home
from discreet.demo.census import census_domain_path, write_census
from discreet.domain.region import Box, Region
from discreet.home import JOURNAL
from discreet.ledger.journal import canonical, chained
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.sqlite import SQLiteJournal
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count
from discreet.vault import Vault

PEOPLE = 10_000
AT = "2026-01-01T00:00:00+00:00"
LENGTHS = (100_000, 1_000_000)
PAST_ANSWERS = (100_000,)
MOST_CUT = 4
"""Axes that the region of a past answer restricts, at most."""
ASKS = 200
AT_ONCE = 10_000
MEGABYTE = 1 << 20


class Opened(NamedTuple):
    """What a process of its own measured: seconds to open and of the first answer, its memory then, and the medians of
    later answers beside those of a fresh vault, asked in turn."""

    opening: float
    first: float
    memory: float
    later: float
    fresh: float


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, state_home(folder):
        yield from _figures(Path(folder), LENGTHS, PAST_ANSWERS)


def _figures(home: Path, lengths: tuple[int, ...], past: tuple[int, ...]) -> Iterator[Figure]:
    write_census(home / "people.parquet", PEOPLE)
    fresh = _vault(home, "fresh")
    fresh.ledger.close()
    counted = {length: _grow(_vault(home, str(length)), length) for length in lengths}
    opened = {length: _in_a_process(home / str(length), fresh.path) for length in lengths}
    for length, found in opened.items():
        many = _power(length)
        note = f"from a checkpoint; every entry counted, as at first: {counted[length]:.2f} s"
        yield Figure(f"opening, {many} entries", found.opening, 3, "lower", "s", note)
        note = f"in turn, medians of {ASKS}: {found.later * 1000:.1f} and {found.fresh * 1000:.1f} ms"
        yield Figure(
            f"ask after {many} entries and a refresh, to a fresh vault",
            found.later / found.fresh,
            1.5,
            "lower",
            "×",
            note,
        )
        note = f"opened and asked; the first answer took {found.first:.2f} s"
        yield Figure(f"memory, {many} entries and a refresh", found.memory, 1000, "lower", "MB", note)
    if len(lengths) > 1:
        short, long = (opened[length].opening for length in lengths)
        name = f"opening, {_power(lengths[1])} to {_power(lengths[0])} entries"
        yield Figure(name, long / short, 2, "lower", "×", f"{long:.2f} and {short:.2f} s")
    for count in past:
        yield from _of_past_answers(home, fresh.path, count)


def _of_past_answers(home: Path, fresh: Path, count: int) -> Iterator[Figure]:
    """Of a vault in which so many answers, all of the table as it is, are looked at."""
    vault, many = _vault(home, f"{count} answers"), f"{_power(count)} past answers"
    _write(vault, partial(_of_its_own, vault, _snapshot(vault)), 2 * count)
    _ask_some(Vault.open(vault.path))
    found = _in_a_process(vault.path, fresh)
    note = f"of which opening {found.opening:.2f} s; the first answer reads them all"
    yield Figure(f"opening and first answer, {many}", found.opening + found.first, 3, "lower", "s", note)
    note = f"in turn, medians of {ASKS}: {found.later * 1000:.1f} and {found.fresh * 1000:.1f} ms"
    yield Figure(f"ask after {many}, to a fresh vault", found.later / found.fresh, 1.5, "lower", "×", note)
    yield Figure(f"memory, {many}", found.memory, 1000, "lower", "MB", "opened and asked")


def _vault(home: Path, name: str) -> Vault:
    table, domain = home / "people.parquet", census_domain_path()
    return Vault.init(home / name, table=table, domain=domain, epsilon=1000, neighbours="replace")


def _grow(vault: Vault, length: int) -> float:
    """Charges and answers, as if they had been asked for; then what any vault does: it is opened, refreshed, and asked.
    Seconds that opening takes which counts every entry."""
    snapshot = _snapshot(vault)
    bodies = [_body(vault, snapshot, Region((_ages(vault, low, wide),))) for low in range(60) for wide in range(30)]
    _write(vault, lambda chance: chance.choice(bodies), length)
    start = time.perf_counter()
    grown = Vault.open(vault.path)
    seconds = time.perf_counter() - start
    grown.refresh()
    _ask_some(grown)
    return seconds


def _write(vault: Vault, body: Callable[[random.Random], str], length: int) -> None:
    """Entries up to so many: charges, each with an answer."""
    head, chance = vault.ledger.head, random.Random(length)
    vault.ledger.close()
    journal = SQLiteJournal(vault.path / JOURNAL)
    record = canonical({"v": 1, "at": AT, "content": {"values": [[1234]]}})
    while head.seq < length:
        with journal.turn():
            for _ in range(AT_ONCE):
                charge = chained(head, "charge", None, body(chance))
                answer = chained(charge.receipt, "record", charge.seq, record)
                journal.append(charge)
                journal.append(answer)
                head = answer.receipt
    journal.close()


def _ask_some(vault: Vault) -> None:
    """The first of them writes a checkpoint."""
    for scale in range(100_000, 100_000 + 10):
        vault.measure(vault.count(), scale=scale)
    vault.ledger.close()


def _ages(vault: Vault, low: int, wide: int) -> Box:
    [box] = vault.count(age=(low, low + wide), sex="F").where.boxes
    return box


def _of_its_own(vault: Vault, snapshot: SnapshotId, chance: random.Random) -> str:
    """A charge for a region by a few attributes; hardly any two are the same."""
    shape = vault.domain.shape
    low, high = [0] * len(shape), [size - 1 for size in shape]
    for axis in chance.sample(range(len(shape)), chance.randint(2, MOST_CUT)):
        low[axis], high[axis] = sorted((chance.randrange(shape[axis]), chance.randrange(shape[axis])))
    return _body(vault, snapshot, Region((Box(tuple(low), tuple(high)),)))


def _body(vault: Vault, snapshot: SnapshotId, where: Region) -> str:
    plan = Plan((Measurement(Count(where), Laplace(Fraction(10**9))),))
    cost = plan.cost(vault.domain, vault.ledger.budget).to_json()
    body = {"v": 1, "at": AT, "content": plan.to_json(), "snapshot": snapshot.to_json()}
    return canonical({**body, "cost": cost})


def _snapshot(vault: Vault) -> SnapshotId:
    snapshot = vault.ledger.snapshot
    assert snapshot is not None
    return snapshot


def _in_a_process(path: Path, fresh: Path) -> Opened:
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (path, fresh))


def _measured(path: Path, fresh: Path) -> Opened:
    start = time.perf_counter()
    vault = Vault.open(path)
    opening = time.perf_counter() - start
    first = _asked(vault, 0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE
    other = Vault.open(fresh)
    pairs = [(_asked(vault, number), _asked(other, number)) for number in range(1, ASKS + 1)]
    later, beside = map(statistics.median, zip(*pairs, strict=True))
    for opened in (vault, other):
        opened.ledger.close()
    return Opened(opening, first, memory, later, beside)


def _asked(vault: Vault, number: int) -> float:
    """Seconds for a question that was not asked before."""
    low = number % 60
    start = time.perf_counter()
    vault.ask(f"SELECT COUNT(*) FROM people WHERE age BETWEEN {low} AND {low + 1 + number // 60}", scale=1000 + number)
    return time.perf_counter() - start


def _power(length: int) -> str:
    return f"10^{len(str(length)) - 1}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as place, state_home(place):
        for figure in _figures(Path(place), (int(sys.argv[1]),), tuple(map(int, sys.argv[2:]))):
            print(f"{figure.name}: {figure.value:.3f} {figure.unit} ({figure.note})")
