"""The same processes over real files: SQLite, snapshots on disk; stopped at the same seams, in an order that is given.

What is in memory elsewhere must do what these do: the same requests, the same effects, the same journal in the end.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import greenlet
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet.home
import discreet.ledger.followed
import discreet.ledger.ledger
import discreet.table.erase
import discreet.table.open
from discreet.home import left_behind
from discreet.ledger.journal import Entry
from discreet.ledger.receipt import Receipt
from discreet.ledger.snapshot import SNAPSHOTS
from discreet.ledger.sqlite import SQLiteJournal
from discreet.noise.law import Laplace
from discreet.query.query import Count
from discreet.release.own_table import OwnTable, Table
from discreet.release.taking import Taking
from discreet.table.erase import erased_in
from discreet.table.open import open_source
from discreet.table.snapshot import Snapshot
from discreet.table.unit import person_keys
from tests.trust.protocol_process import Running, let_time_pass, stop
from tests.trust.protocol_search import Move, Search, State
from tests.trust.protocol_world import Request, World, drawn

MOST = 20
"""More snapshots than are ever taken."""


def write_people(path: Path, number: int) -> None:
    """The table as it is when a snapshot with this number is taken: one more has left Arden; one is in Belmont."""
    ids = [*range(number, MOST), MOST]
    pq.write_table(pa.table({"person": ids, "town": ["Arden"] * (MOST - number) + ["Belmont"]}), path)


class RealRunning(Running):
    """A process over real files."""

    def __init__(self, number: int, life: int, home: Path) -> None:
        super().__init__(number, life, None, home, receipts=False)
        self.shelf = RealShelf

    def remembered(self) -> None:
        return None

    def expect_known(self, *_: object) -> None:
        pass

    def leave(self, since: int, free: bool, answers: Sequence[tuple[int, int]]) -> None:
        self.effects.append(("left", since, free, tuple(answers)))


class RealShelf(type(Path())):  # type: ignore[misc]
    def glob(self, pattern: str) -> Iterator[Path]:
        if self.name == SNAPSHOTS:
            stop(Request("list"))
        return iter(sorted(super().glob(pattern)))


class StoppingJournal(SQLiteJournal):
    """The journal's file, with a stop before it is read, and before a turn."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.turning = self.was_read = False
        greenlet.getcurrent().journal = self

    @property
    def draws(self) -> dict[int, int]:
        """The charge of each draw that was recorded."""
        return {drawn(entry): entry.charge for entry in super().entries() if entry.kind == "record"}

    def _stop(self, kind: str) -> None:
        self.was_read = True
        if not self.turning:
            stop(Request(kind))

    @contextmanager
    def turn(self) -> Iterator[None]:
        self._stop("turn")
        with super().turn():
            self.turning = True
            try:
                yield
            finally:
                self.turning = False

    def entries(self, after: int = 0) -> Iterator[Entry]:
        self._stop("read")
        yield from super().entries(after)

    def following(self, receipt: Receipt) -> Iterator[Entry] | None:
        self._stop("read")
        return super().following(receipt)

    def entry(self, seq: int) -> Entry | None:
        if not self.was_read:
            self._stop("read")
        return super().entry(seq)


def put_in(patch: pytest.MonkeyPatch, source: Path) -> None:
    """Stops around the real steps; nothing stands in the place of one but noise, which is none."""
    ledger, take, opened, evaluate = discreet.ledger.ledger, Taking.take, OwnTable._snapshot, Snapshot.evaluate

    def taking(taking: Taking, opened: Any, number: int, live: bool = False, before: Any = None) -> Any:
        stop(Request("add"))
        write_people(source, number)
        return take(taking, opened, number, live, before)

    def mapped(snapshot: Snapshot) -> None:
        """All columns at once, also where a question reads none: how many rows there are stands in the manifest."""
        if not getattr(snapshot, "was_mapped", False):
            stop(Request("there"))
        for name in snapshot.manifest["columns"]:
            snapshot.column(name)
        snapshot.was_mapped = True

    def leaving_out(taking: Taking, _gone: object, snapshots: Sequence[Snapshot]) -> Any:
        [snapshot] = snapshots
        mapped(snapshot)
        stop(Request("add"))
        leaving = str(snapshot.id.number).encode()
        return without(taking, person_keys([leaving], taking.key), snapshots)

    def erased(snapshot: Snapshot) -> Any:
        mapped(snapshot)
        return erased_in(snapshot)

    def opening(own: OwnTable, id: Any) -> Table:
        stop(Request("there"))
        return opened(own, id)

    def requiring(snapshot: Snapshot, queries: Any) -> None:
        mapped(snapshot)
        require(snapshot, queries)

    def evaluating(snapshot: Snapshot, queries: Sequence[Count]) -> list[np.ndarray]:
        for query, count in zip(queries, evaluate(snapshot, queries), strict=True):
            assert count.sum() == _people(query, snapshot.id.number), "it was read from the snapshot that it says"
        process: RealRunning = greenlet.getcurrent()
        process.draws += 1
        draw = process.unique(process.draws)
        process.effects.append(("draw", draw, snapshot.id.number))
        return [np.full(count.shape, draw) for count in evaluate(snapshot, queries)]

    def removing(folder: Path, ignore_errors: bool) -> None:
        stop(Request("remove"))
        shutil.rmtree(folder, ignore_errors=ignore_errors)

    require, without = Snapshot.require, Taking.without
    patch.setattr(ledger, "journal_at", StoppingJournal)
    for module in (ledger, discreet.ledger.followed):  # files are not put back here, so receipts tell nothing
        patch.setattr(module, "keep_receipt", lambda *_, **__: None)
    patch.setattr(ledger, "last_receipt", lambda _: None)
    patch.setattr(discreet.home, "left_behind", lambda home, current: left_behind(RealShelf(home), current))
    patch.setattr(discreet.table.open, "open_source", lambda table: None if table is None else open_source(table))
    patch.setattr(discreet.table.erase, "keys_named_in", lambda *_, **__: None)
    patch.setattr(discreet.table.erase, "erased_in", erased)
    patch.setattr(Taking, "take", taking)
    patch.setattr(Taking, "without", leaving_out)
    patch.setattr(OwnTable, "_snapshot", opening)
    patch.setattr(Snapshot, "require", requiring)
    patch.setattr(Snapshot, "evaluate", evaluating)
    patch.setattr(discreet.home, "shutil", SimpleNamespace(rmtree=removing))
    patch.setattr(Laplace, "sample", lambda _law, size, _bits: np.zeros(size, np.int64))
    let_time_pass(patch)


def _people(query: Count, number: int) -> int:
    """How many a snapshot with this number has there."""
    return sum((MOST - number, 1)[town] for box in query.where.boxes for town in range(box.low[0], box.high[0] + 1))


def walk(search: Search, beginning: World, chance: Random) -> tuple[list[tuple[Move, str]], State]:
    """Some way to the end: each move, with what its process asks for then."""
    state, moves = search.start(beginning), []
    while choices := list(search.successors(state)):
        move, state = chance.choice(choices)
        assert move.process is not None, "files are put back in memory only"
        moves.append((move, search.standing(state, move.process).request.kind))
    return moves, state


def follow(moves: Sequence[tuple[Move, str]], processes: int, home: Path) -> list[tuple[Any, ...]]:
    """Go the same way over real files; all effects, by the process that had them."""
    running = [RealRunning(number, 0, home) for number in range(processes)]
    effects: list[tuple[Any, ...]] = []
    for process in running:
        process.tell(None)
        process.tell(("open", 0))
        while process.vault is None:
            process.tell(None)
    for move, asks in moves:
        process = running[move.process]
        if move.what == "dies":
            process.throw()
            process = running[move.process] = RealRunning(move.process, process.life + 1, home)
        done, request = process.tell((move.detail, 0) if move.what == "begins" else None)
        effects += done
        assert request.kind == asks, f"{move}: then {request.kind}, in memory {asks}"
    for process in running:
        process.throw()
    return effects


def told(effects: Sequence[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    """What can be compared of effects: which draws were made of which snapshot, which left, what was refused."""
    return {("left", effect[2], effect[3]) if effect[0] == "left" else effect for effect in effects}


def told_of(world: World, search: Search) -> set[tuple[Any, ...]]:
    """The same of a world in memory."""
    seq = {head: entries[-1].seq for head, entries in search.books.entries.items()}
    return {
        *(("draw", draw.number, draw.snapshot.number) for draw in world.draws),
        *(("left", left.free, tuple((seq[a.charge], a.draw) for a in left.answers)) for left in world.left),
        *(("failed", *failure) for failure in world.failures),
    }


def outline(entries: Sequence[Entry]) -> list[tuple[Any, ...]]:
    """A journal without times and digests."""
    found = []
    for entry in entries:
        body = entry.parsed()
        of = body if entry.kind == "charge" else body["content"]
        snapshot = of.get("snapshot", {}).get("number")
        found.append((entry.kind, entry.charge, snapshot, entry.kind == "record" and of["values"]))
    return found


def outline_on_disk(home: Path) -> tuple[list[tuple[Any, ...]], set[int]]:
    """The journal's outline, and the numbers of the snapshots that are there."""
    with closing(SQLiteJournal(home / "journal.sqlite")) as journal:
        entries = list(journal.entries())
    return outline(entries), {int(path.name.partition("-")[0]) for path in (home / SNAPSHOTS).glob("0*")}
