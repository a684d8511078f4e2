"""What the processes of the protocol share, as one immutable value: the journal's file, the receipt that the user's
home keeps, the snapshots on disk; and, for whoever judges, what was read and what has left.

A process meets it at its seams only: each is a request, answered in one indivisible step. A turn of the journal is one
step, as no two writers have a turn at the same time, and what is written in it is seen when it is over.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from discreet.ledger.journal import Entry
from discreet.ledger.receipt import Receipt
from discreet.ledger.snapshot import SnapshotId

Head = bytes
"""A journal by the hash of its last entry: it covers all that are before it."""
Observation = Any
"""The answer to a request; hashable."""

MOVED = "moved"
"""The answer to a turn on a file that was moved away."""


def drawn(record: Entry) -> int:
    """The draw that a record holds: every number of it is the same."""
    return int(record.parsed()["content"]["values"][0][0])


def tables_in(entries: tuple[Entry, ...]) -> Iterator[tuple[SnapshotId, SnapshotId]]:
    """The snapshots that a vault was over, one after the other, each after the one that was taken of its table."""
    taken = None
    for entry in entries:
        if entry.kind in ("init", "refresh", "erase", "append"):
            id = SnapshotId.from_json(entry.parsed()["content"]["snapshot"])
            taken = id if taken is None or entry.kind not in ("erase", "append") else taken
            yield taken, id


def beginnings_in(entries: tuple[Entry, ...]) -> dict[SnapshotId, SnapshotId]:
    """Each snapshot, with the one that rows were only appended to since: what is read of that is the same in both."""
    found: dict[SnapshotId, SnapshotId] = {}
    last = None
    for entry in entries:
        if entry.kind in ("init", "refresh", "erase", "append"):
            id = SnapshotId.from_json(entry.parsed()["content"]["snapshot"])
            last = found[id] = id if last is None or entry.kind != "append" else last
    return found


class Books:
    """Every journal that ever was, by its head."""

    def __init__(self, first: Entry) -> None:
        self.entries: dict[Head, tuple[Entry, ...]] = {first.hash: (first,)}
        self._records: dict[Head, dict[Head, int]] = {}
        self._snapshots: dict[Head, SnapshotId] = {}

    def snapshot(self, head: Head) -> SnapshotId:
        """What a journal says that its vault is over."""
        if head not in self._snapshots:
            *_, (_, last) = tables_in(self.entries[head])
            self._snapshots[head] = last
        return self._snapshots[head]

    def tables(self) -> dict[SnapshotId, SnapshotId]:
        """Each snapshot of every journal, with the one that was taken of its table: others are that one without some
        people, and everybody else is where they were."""
        return {id: taken for entries in self.entries.values() for taken, id in tables_in(entries)}

    def beginnings(self) -> dict[SnapshotId, SnapshotId]:
        """Each snapshot of every journal, with the one that rows were only appended to since."""
        return {id: first for entries in self.entries.values() for id, first in beginnings_in(entries).items()}

    def records(self, head: Head) -> dict[Head, int]:
        """The draw that is the one record of each charge of a journal: the first, if there are more."""
        if head not in self._records:
            entries = self.entries[head]
            draws = [(entries[entry.charge - 1].hash, drawn(entry)) for entry in entries if entry.kind == "record"]
            self._records[head] = dict(reversed(draws))
        return self._records[head]

    def holds(self, head: Head, receipt: Receipt) -> bool:
        """Whether a journal has the entry of a receipt."""
        entries = self.entries[head]
        return receipt.seq <= len(entries) and entries[receipt.seq - 1].receipt == receipt

    def extended(self, head: Head, more: tuple[Entry, ...]) -> Head:
        for entry in more:
            self.entries.setdefault(entry.hash, (*self.entries[head], entry))
            head = entry.hash
        return head


class Draw(NamedTuple):
    """Rows were read: for which charge, from which snapshot."""

    number: int
    charge: Head
    snapshot: SnapshotId


class Answer(NamedTuple):
    """A number that left: of which charge, and the draw that it is."""

    charge: Head
    draw: int


class Left(NamedTuple):
    """Numbers that left together, as one answer; `since`: the number of the snapshot when it was asked for."""

    era: int
    since: int
    free: bool
    answers: tuple[Answer, ...]


class World(NamedTuple):
    """What is shared, and what happened. Values that are equal have the same future."""

    files: tuple[Head, ...]
    """The journal in each file that it was ever in; the last is where it is now."""
    lost: frozenset[Head]
    """Journals that another was put in the place of."""
    folders: frozenset[SnapshotId]
    """Snapshots on disk."""
    receipt: Receipt | None = None
    """The last receipt that the user's home keeps."""
    draws: frozenset[Draw] = frozenset()
    """What was read: it may be seen, whatever became of it."""
    left: frozenset[Left] = frozenset()
    failures: frozenset[tuple[str, str]] = frozenset()
    """What was refused or failed, and with which error."""
    accepted: int = 0
    """How often somebody went on with an older journal, and said so."""
    era: int = 0
    """How often an older journal was put back."""
    crashes: int = 0
    begun: tuple[int, ...] = ()
    """How many operations each process has begun."""
    lives: tuple[int, ...] = ()
    """How often each process was begun anew."""


class Request(NamedTuple):
    """What a process asks the world for at a seam."""

    kind: str
    what: Any = None


IDLE = "idle"


def answered(world: World, books: Books, request: Request) -> tuple[World, Observation]:
    """Answer a request: the world after it, and what the process is told."""
    match request.kind:
        case "read":
            file = len(world.files) - 1 if request.what is None else request.what
            return world, (file, world.files[file])
        case "turn":
            return world, world.files[-1] if request.what == len(world.files) - 1 else MOVED
        case "seen":
            return world, world.receipt
        case "keep":
            return _kept(world, books, *request.what)
        case "there":
            return world, request.what in world.folders
        case "list":
            return world, world.folders
        case "add":
            return world._replace(folders=world.folders | {request.what}), None
        case "remove":
            return world._replace(folders=world.folders - {request.what}), None
    raise AssertionError(request)


def _kept(world: World, books: Books, receipt: Receipt, file: int, even_if_older: bool) -> tuple[World, Receipt | None]:
    """As `keep_receipt`, which holds a lock: a later receipt of the same journal takes the place of an earlier one."""
    seen = world.receipt
    if seen is not None and not even_if_older and not books.holds(world.files[file], seen):
        return world, seen
    later = seen is None or seen.seq < receipt.seq or even_if_older
    return world._replace(receipt=receipt) if later else world, None


def put_back(world: World, books: Books, length: int, in_place: bool) -> World:
    """The journal as it was when it had so many entries, by a move of its file or in its place; and the snapshot that
    it names, as from a backup of both."""
    older = books.entries[world.files[-1]][:length]
    files = (*(world.files[:-1] if in_place else world.files), older[-1].hash)
    lost = world.lost | {world.files[-1]} if in_place else world.lost
    return world._replace(
        files=files, lost=lost, folders=world.folders | {books.snapshot(files[-1])}, era=world.era + 1
    )
