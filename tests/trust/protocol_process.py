"""A process of the protocol: the real vault, gate and ledger, stopped at every seam where it meets what it shares.

Nothing in Discreet knows of it: the test puts a journal in memory, a shelf of snapshots and a drawer for receipts where
the real ones are, each of which stops the process and hands it what the scheduler found. So a process is a function of
what it was told: told the same again, it does the same again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import greenlet
import numpy as np
import pytest

import discreet.answer.ask
import discreet.home
import discreet.ledger.followed
import discreet.ledger.ledger
import discreet.table.erase
import discreet.table.open
import discreet.table.snapshot
import discreet.vault.erasure
import discreet.vault.succession
import discreet.vault.vault
from discreet.answer.estimate import Estimate
from discreet.answer.reply import Row
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import BudgetExceeded, JournalRolledBack, TableError
from discreet.home import left_behind
from discreet.ledger.charge import Charge, read_charge
from discreet.ledger.journal import Entry
from discreet.ledger.ledger import _body, _charged
from discreet.ledger.receipt import Receipt
from discreet.ledger.snapshot import SNAPSHOTS, SnapshotId, snapshot_folder
from discreet.ledger.together import _Waiting
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, answer_shape
from discreet.release.gate import Gate
from discreet.release.own_table import OwnTable
from discreet.release.release import Release
from discreet.release.taking import Taking
from discreet.release.underway import Underway
from discreet.vault import Vault
from tests.trust.protocol_world import IDLE, MOVED, Answer, Books, Draw, Head, Observation, Request, drawn

TOWNS = ("Arden", "Belmont")
ALL, HALF = Fraction(1), Fraction(1, 2)


class Running(greenlet.greenlet):
    """A process in mid-life. `effects` is what it did since it was last told something.

    Where no older journal is ever put back, receipts tell nothing: then it need not stop for them.
    """

    def __init__(self, number: int, life: int, books: Books, home: Path, receipts: bool) -> None:
        super().__init__(self._live)
        self.number, self.life, self.books, self.home, self.receipts = number, life, books, home, receipts
        self.shelf: type[Path] = Shelf
        self.effects: list[tuple[Any, ...]] = []
        self.stops = self.draws = self.takings = 0
        self.vault: Vault | None = None
        self.journal: SeenJournal | None = None
        self.charge = b""

    def _live(self, _: object) -> None:
        while True:
            operation, since = stop(Request(IDLE, self.remembered()))
            try:
                OPERATIONS[operation](self, since)
            except Exception as error:
                self.effects.append(("failed", operation, type(error).__name__))

    def tell(self, observation: Observation) -> tuple[tuple[tuple[Any, ...], ...], Request]:
        """Go on until the next seam: what was done meanwhile, and what is asked for there."""
        self.effects = []
        request = self.switch(observation)
        return tuple(self.effects), request

    def remembered(self) -> tuple[Any, ...] | None:
        """All that an idle process remembers; None without a vault. Two that remember the same go on alike."""
        if self.vault is None:
            return None
        followed, opened = self.vault.ledger._followed, self.vault._own._opened
        state = followed.state
        known = self.vault._memories.of(state.growth.so_far(state.domain)).known
        return (
            self.journal.file,
            frozenset(self.journal.charges.items()),
            *(state.head, followed.last, followed.given),
            *(state.snapshot, state.refreshed, state.growth.closed, frozenset(state.pending)),
            state.map.left_by((0,)).tobytes(),
            opened and (opened.id, opened.mapped),
            *(known.snapshot, known._since, known._upto, frozenset(known._noises)),
            *(self.draws, self.takings),
        )

    def unique(self, count: int) -> int:
        """A number that no other process has, nor this one in another life: a digit of its own in base 4, so that up to
        three of each can be added up, and told from a double."""
        assert self.number < 3
        assert self.life < 2
        place = self.number + 3 * self.life + 6 * (count - 1)
        assert place < 26
        return 4**place

    def expect_known(self, charges: set[int], snapshot: SnapshotId | None) -> None:
        """What was released about a snapshot, as far as the journal was counted, need not be bought again."""
        seen = self.journal.seen[: self.vault.ledger._followed.state.head.seq]
        released = {entry.charge for entry in seen if entry.kind == "record"}
        if any(read_charge(seen[charge - 1]).snapshot == snapshot for charge in released - charges):
            self.effects.append(("failed", "ask", "what was released is not known"))

    def leave(self, since: int, free: bool, answers: Sequence[tuple[int, int]]) -> None:
        """Answers leave, each the number of a charge and a draw."""
        found = tuple(Answer(self.journal.charges[charge], draw) for charge, draw in answers)
        self.effects.append(("left", since, free, found))


def stop(request: Request) -> Observation:
    """Stop the process that runs, until the scheduler answers."""
    process = greenlet.getcurrent()
    process.stops += 1
    return process.parent.switch(request)


def _open(process: Running, accept_rollback: bool) -> None:
    vault = Vault.open(process.home, accept_rollback=accept_rollback)
    vault.path = vault._own.home = process.shelf(process.home)
    process.vault = vault


def _measure(town: str, share: Fraction) -> "Callable[[Running, int], None]":
    def measure(process: Running, since: int) -> None:
        release = process.vault.gate.measure(_plan(process.vault, share, town))
        process.leave(since, False, [_answer(release)])

    return measure


def _set_aside(process: Running, _since: int) -> None:
    """Half of what Arden has, for a count of it later."""
    process.vault.gate.set_aside([_plan(process.vault, HALF, "Arden")], {"for": "later"})


def _draw(process: Running, since: int) -> None:
    """What was set aside, where anything was: paid for already."""
    vault = process.vault
    for number in vault.ledger.reserves[:1]:
        process.leave(since, False, [_answer(vault.gate.measure(_plan(vault, HALF, "Arden"), reserve=number))])


def _at_once(*shares: tuple[str, Fraction]) -> "Callable[[Running, int], None]":
    """Two threads of one process, whose charges wait at the same time: one turn, or two where they do not fit
    together. What comes after it, one thread does after the other."""

    def measure(process: Running, since: int) -> None:
        gate = process.vault.gate
        first, second = (_plan(process.vault, share, town) for town, share in shares)
        table = gate._ready(first)
        cost, body = first.cost(gate.domain, gate.ledger.budget), first.condensed()
        charging = partial(
            _charged, cost, _body(body, cost=cost.to_json(), snapshot=table.id.to_json()), None, table.id
        )
        waiting = _Waiting(charging)
        gate.ledger._together._line.append(waiting)
        try:
            process.leave(since, False, [_answer(gate.measure(second))])
        except BudgetExceeded as error:
            process.effects.append(("failed", "too much at once", type(error).__name__))
        receipt = waiting.outcome().receipt
        process.leave(
            since, False, [_answer(gate._answer(Charge(receipt.seq, receipt, cost, body, table.id), first, table))]
        )

    return measure


def _ask(process: Running, since: int, buy: bool) -> None:
    """Both towns: from what is known where it is, and measured where it is not, on the snapshot that was decided on."""
    vault = process.vault
    known = vault._memory.known
    known.refresh()
    decided_on = known.snapshot
    process.expect_known({charge for charge, _ in known._noises}, decided_on)
    found = {town: known.of(_count(vault, town)).measured(_region(vault, town)) for town in TOWNS}
    answers = [(past.source[0], int(past.value)) for past in found.values() if past is not None]
    missing = [town for town, past in found.items() if past is None]
    if missing and buy:
        answers.append(_answer(vault.gate.measure(_plan(vault, HALF, *missing), decided_on)))
    process.leave(since, not (missing and buy), answers)


def _question(sql: str) -> "Callable[[Running, int], None]":
    """What people ask, through everything that `ask` does: known, awaited, bought, relaxed with patches."""

    def ask(process: Running, since: int) -> None:
        answer = process.vault.ask(sql, scale=1 / HALF)
        draws = {draw for row in answer.rows if row.value is not None for draw in _draws_in(row, process.journal.draws)}
        about = since if answer.as_of is None else answer.as_of  # what it says that it is about
        process.leave(about, answer.cost == 0, [(process.journal.draws[draw], draw) for draw in sorted(draws)])

    return ask


def _draws_in(row: Row, draws: Mapping[int, int]) -> Iterator[int]:
    """The draws that were added up to a number; of one that weighs several, those of the charges that it names."""
    value = row.value
    assert value is not None
    rest, draw = int(value), 1
    if rest != value:
        assert isinstance(row.source, Estimate)
        charges = {charge for charge, _ in row.source.sources}
        yield from (one for one, charge in draws.items() if charge in charges)
        return
    while rest:
        rest, times = divmod(rest, 4)
        if times:
            yield draw
        draw *= 4


def _complete(process: Running, since: int) -> None:
    for release in process.vault.complete():
        process.leave(since, False, [_answer(release)])


OPERATIONS: dict[str, Callable[[Running, int], None]] = {
    "open": lambda process, _: _open(process, accept_rollback=False),
    "accept": lambda process, _: _open(process, accept_rollback=True),
    "Arden": _measure("Arden", ALL),
    "Belmont": _measure("Belmont", ALL),
    "both at once": _at_once(("Arden", ALL), ("Belmont", ALL)),
    "too much at once": _at_once(("Arden", ALL), ("Arden", HALF)),
    "half of Arden": _measure("Arden", HALF),
    "set aside": _set_aside,
    "draw": _draw,
    "ask": lambda process, since: _ask(process, since, buy=True),
    "repeat": lambda process, since: _ask(process, since, buy=False),
    "everybody": _question("SELECT COUNT(*) FROM people"),
    "each town": _question("SELECT town, COUNT(*) FROM people GROUP BY town"),
    "refresh": lambda process, _: process.vault.refresh(),
    "erase": lambda process, _: process.vault.erase(None),
    "complete": _complete,
    "first year": _measure("2021", ALL),
    "half of the first year": _measure("2021", HALF),
    "last year": lambda process, since: _measure(process.vault.domain["town"].labels[-1], ALL)(process, since),
    "each year": _question("SELECT town, COUNT(*) FROM people GROUP BY town"),
    "refresh with all rows": lambda process, _: process.vault.refresh("all"),
    "append": lambda process, _: process.vault.append(),
}


def _region(vault: Vault, town: str) -> Region:
    return vault.count(town=town).where


def _count(vault: Vault, town: str) -> Count:
    return Count(_region(vault, town))


def _plan(vault: Vault, share: Fraction, *towns: str) -> Plan:
    """Each costs this share of all that there is, there."""
    return Plan(tuple(Measurement(_count(vault, town), Laplace(1 / share)) for town in towns))


def _answer(release: Release) -> tuple[int, int]:
    return release.charge, int(release.answers[0].units)


class SeenJournal:
    """A Journal as one process sees it. It has no constraint of its own: what keeps a second record out is the ledger.

    Entries that are read right after receipts were looked up are of the same moment: what is between is not seen by
    anybody, and the other moments are those of other interleavings.
    """

    def __init__(self) -> None:
        self.process: Running = greenlet.getcurrent()
        self.file: int | None = None
        self.seen: tuple[Entry, ...] = ()
        self.charges: dict[int, Head] = {}
        """The hash of each charge, as it was first seen."""
        self.draws: dict[int, int] = {}
        """The charge of each draw that was recorded."""
        self._looked_up_at = -1
        self._turn = False
        self.process.journal = self

    def _look(self) -> None:
        if not self._turn and self._looked_up_at != self.process.stops:
            self.file, head = stop(Request("read", self.file))
            self._see(self.process.books.entries[head])
        self._looked_up_at = -1

    def _see(self, entries: tuple[Entry, ...]) -> None:
        self.seen = entries
        for entry in entries:
            if entry.kind == "charge":
                self.charges.setdefault(entry.seq, entry.hash)
            elif entry.kind == "record":
                self.draws[drawn(entry)] = entry.charge

    @contextmanager
    def turn(self) -> Iterator[None]:
        head = stop(Request("turn", self.file))
        if head is MOVED:
            raise JournalRolledBack("the journal was replaced while it was open")
        before = self.process.books.entries[head]
        self._see(before)
        self._turn = True
        try:
            yield
        except BaseException:
            self.seen = before
            raise
        finally:
            self._turn = False
        if len(self.seen) > len(before):
            self.process.effects.append(("append", self.file, self.seen[len(before) :]))

    def append(self, entry: Entry) -> None:
        assert self._turn
        self.charges.pop(entry.seq, None)
        self._see((*self.seen, entry))

    def entries(self, after: int = 0) -> Iterator[Entry]:
        self._look()
        yield from self.seen[after:]

    def following(self, receipt: Receipt) -> Iterator[Entry] | None:
        self._look()
        found = self.entry(receipt.seq)
        return iter(self.seen[receipt.seq :]) if found is not None and found.receipt == receipt else None

    def entry(self, seq: int) -> Entry | None:
        if not self.seen:
            self._look()
        return self.seen[seq - 1] if 0 < seq <= len(self.seen) else None

    def receipt_at(self, seq: int) -> Receipt | None:
        if self.process.receipts:
            self._look()
            self._looked_up_at = self.process.stops
        found = self.entry(seq)
        return found and found.receipt

    def record_of(self, charge: int) -> Entry | None:
        return next((entry for entry in self.seen if entry.charge == charge), None)

    def close(self) -> None:
        pass

    def after_fork(self) -> None:
        raise AssertionError


@dataclass
class SeenTable:
    """A snapshot on the shelf. Its exact counts are the number of the draw, so that every answer tells where it is
    from."""

    id: SnapshotId
    domain: Domain
    process: Running
    mapped: bool = False

    def require(self, _queries: object) -> None:
        """Its columns are mapped when they are first read, and stay where they are from then on."""
        if not self.mapped and not stop(Request("there", self.id)):
            raise TableError("the snapshot was touched")
        self.mapped = True

    def until(self, domain: Domain) -> "SeenTable":
        """It stays mapped, where it was."""
        return replace(self, domain=domain)

    def evaluate(self, queries: Sequence[object]) -> list[np.ndarray]:
        assert self.mapped
        self.process.draws += 1
        draw = self.process.unique(self.process.draws)
        self.process.effects.append(("draw", Draw(draw, self.process.charge, self.id)))
        return [np.full(answer_shape(query, self.domain), draw) for query in queries]


class Shelf(type(Path())):  # type: ignore[misc]
    """A vault's folder whose snapshots are in the world's hands."""

    def glob(self, _pattern: str) -> "Iterator[Shelf]":
        assert self.name == SNAPSHOTS
        return (Shelf(snapshot_folder(self.parent, id)) for id in sorted(stop(Request("list")), key=str))


def _remove(folder: Path, **_: object) -> None:
    number, digest = folder.name.split("-")
    stop(Request("remove", SnapshotId(int(number), digest)))


def _take(
    _taking: Taking,
    _source: object,
    number: int,
    *_live_and_before: object,
    onto: "Sequence[SeenTable]" = (),
    **_: object,
) -> SnapshotId:
    """Every taking has a digest of its own, as it has a nonce. Rows are appended to those that are read before."""
    process: Running = greenlet.getcurrent()
    for one in onto:
        one.require(())
    process.takings += 1
    id = SnapshotId(number, f"{process.unique(process.takings):016}")
    stop(Request("add", id))
    return id


def _without(_taking: Taking, _gone: object, snapshots: "Sequence[SeenTable]") -> SnapshotId:
    """All columns are read before anything is written."""
    [snapshot] = snapshots
    snapshot.require(())
    return _take(_taking, None, snapshot.id.number + 1)


def _erased_in(snapshot: "SeenTable") -> None:
    snapshot.require(())


def _opened(_folder: Path, domain: Domain, id: SnapshotId, *_: object) -> SeenTable:
    if not stop(Request("there", id)):
        raise TableError("the snapshot is not there")
    return SeenTable(id, domain, greenlet.getcurrent())


@contextmanager
def _no_locks(_underway: Underway) -> Iterator[None]:
    """As on a disk without locks: nobody waits for anybody, and a question may be charged as often as it is asked."""
    yield None


def _keep_receipt(
    _vault_id: str, receipt: Receipt, *, goes_on_from: object = None, even_if_older: bool = False
) -> Receipt | None:
    """In one step, as the real one holds a lock; so is the look at the journal that `goes_on_from` is."""
    process: Running = greenlet.getcurrent()
    assert even_if_older or goes_on_from is not None
    return stop(Request("keep", (receipt, process.journal.file, even_if_older))) if process.receipts else None


def _last_receipt(_vault_id: str) -> Receipt | None:
    return stop(Request("seen")) if greenlet.getcurrent().receipts else None


def told_what_for(answer: Callable[..., Release]) -> Callable[..., Release]:
    """The gate's answering, with the charge that rows are read for told to whoever judges."""

    def answering(gate: Gate, charge: Charge, *args: Any) -> Release:
        greenlet.getcurrent().charge = charge.receipt.hash
        return answer(gate, charge, *args)

    return answering


def let_time_pass(patch: pytest.MonkeyPatch) -> None:
    """Nobody waits: a second is a stop."""
    patch.setattr(Underway, "_opened", _no_locks)
    patch.setattr(discreet.answer.ask, "sleep", lambda _seconds: None)
    patch.setattr(discreet.answer.ask, "monotonic", lambda: float(greenlet.getcurrent().stops))


@dataclass(frozen=True)
class Seams:
    """What stands in the place of journal, receipts, snapshots and noise, for as long as a test runs."""

    CLOCK: ClassVar = SimpleNamespace(now=lambda _: datetime(2026, 11, 16, tzinfo=UTC))
    patch: pytest.MonkeyPatch = field(repr=False)

    def put_in(self) -> None:
        ledger, put = discreet.ledger.ledger, self.patch.setattr
        put(ledger, "journal_at", lambda _location: SeenJournal())
        put(ledger, "keep_receipt", _keep_receipt)
        put(discreet.ledger.followed, "keep_receipt", _keep_receipt)
        put(ledger, "last_receipt", _last_receipt)
        put(ledger, "datetime", self.CLOCK)
        put(discreet.table.snapshot, "open_snapshot", _opened)
        put(discreet.table.open, "open_source", lambda _table: None)
        put(discreet.table.open, "locate", str)
        put(discreet.vault.succession, "relocate_table", lambda *_: None)
        put(discreet.home, "shutil", SimpleNamespace(rmtree=_remove))
        put(discreet.home, "left_behind", lambda home, current: left_behind(Shelf(home), current))
        put(discreet.table.erase, "keys_named_in", lambda *_, **__: None)
        put(discreet.table.erase, "erased_in", _erased_in)
        put(OwnTable, "snapshot", OwnTable.current)
        put(Taking, "take", _take)
        put(Taking, "without", _without)
        put(Gate, "_answer", told_what_for(Gate._answer))
        let_time_pass(self.patch)
        # A process is led to where it was many times.
        put(discreet.vault.vault, "read_settings", cache(discreet.vault.vault.read_settings))
        put(Laplace, "sample", lambda _law, size, _bits: np.zeros(size, np.int64))
        self.patch.setenv("XDG_STATE_HOME", "/dev/null")  # nothing of the user's is between two processes
