"""The promise, as a judge of worlds: what must hold whatever the processes do, in whatever order.

1. Each answer was read from the snapshot that its charge paid for, or from the same rows in one that others were only
   appended to.
2. The sum over one person, who may be at another point of each table, of all that left or may be seen stays within the
   limit; after m rollbacks that were accepted, within (m + 1) times that. In a snapshot without some people, everybody
   else is where they were; and all are, where rows of later periods were appended.
3. An answer that left is the one record of its charge.
4. Answers about earlier snapshots do not serve as answers about the one that was current when it was asked, and no
   answer is put together from two; but for those that were only appended to.
5. The audit, which reads the journal with code of its own, finds nothing, and spends what the ledger spends.
6. The snapshot that the journal names is there; when all is quiet, no other is, unless somebody died over it.
7. Nobody is refused but for what they did: for the budget, for a refresh, for an older journal; and what was released
   about a snapshot is known for as long as it is the current one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from discreet.audit.bodies import Bodies
from discreet.audit.compared import check_map, ledger_of
from discreet.audit.replay import replay
from discreet.audit.spending import spend_again
from discreet.ledger.charge import read_charge
from discreet.ledger.journal import Entry
from discreet.ledger.receipt import Receipt
from discreet.ledger.snapshot import SnapshotId
from discreet.progress import silent
from tests.trust.protocol_world import Books, Head, Left, World

FINE = frozenset({"BudgetExceeded", "Refreshed"})
AFTER_A_ROLLBACK = frozenset({"JournalRolledBack", "TableError"})
POINTS = 3
"""Of either domain: towns are two, and have nothing at the third."""
RULES = "1234567"


@dataclass
class Promise:
    """Judges worlds. What it found of a journal, or of what left, is remembered."""

    books: Books
    limit: int
    rules: str = RULES
    """Those that are looked at: a fault may break several."""
    _journals: dict[Head, list[str]] = field(default_factory=dict)
    _worlds: dict[object, list[str]] = field(default_factory=dict)

    def __call__(self, world: World, quiet: bool) -> str | None:
        """What is wrong, if anything is."""
        head = world.files[-1]
        if head not in self._journals:
            self._journals[head] = self._kept(self._of_journal(self.books.entries[head]))
        what = (world.draws, world.left, world.accepted, self._journals_of(world) if world.left else None)
        if what not in self._worlds:
            self._worlds[what] = self._kept(self._of_answers(world))
        around = self._kept((*self._of_files(world, quiet), *_of_failures(world)))
        return next(iter((*self._worlds[what], *self._journals[head], *around)), None)

    def _kept(self, found: Iterable[str]) -> list[str]:
        return [wrong for wrong in found if wrong[0] in self.rules]

    def _journals_of(self, world: World) -> frozenset[Head]:
        """The journal, and those that were given up."""
        return world.lost | frozenset(world.files)

    def _of_answers(self, world: World) -> Iterator[str]:
        read_from = {draw.number: draw.snapshot for draw in world.draws}
        records = [self.books.records(head) for head in self._journals_of(world)]
        for left in world.left:
            yield from self._of_one(left, read_from)
            for answer in left.answers:
                if not any(record.get(answer.charge) == answer.draw for record in records):
                    yield f"3: draw {answer.draw} left, and is not the record of its charge"
        yield from self._of_everybody(world, read_from)

    def _of_one(self, left: Left, read_from: dict[int, SnapshotId]) -> Iterator[str]:
        paid_for = [self._paid_for(answer.charge) for answer in left.answers]
        first = self.books.beginnings() if left.answers else {}
        for answer, paid in zip(left.answers, paid_for, strict=True):
            read = read_from[answer.draw]
            if read != paid and (paid is None or first[read] != first[paid] or read.number < paid.number):
                yield f"1: an answer was read from {_name(read)}, and its charge paid for {_name(paid)}"
        if len({paid and first[paid] for paid in paid_for}) > 1:
            yield "4: an answer is put together from two snapshots"
        # Where an older journal was put back meanwhile, an earlier snapshot is the current one again.
        since = {first[id].number for id in first if id.number == left.since}
        if left.free and not left.era and any(paid is None or paid.number < min(since) for paid in paid_for):
            yield f"4: what is known of {_name(paid_for[0])} answered about snapshot {left.since}"

    def _of_everybody(self, world: World, read_from: dict[int, SnapshotId]) -> Iterator[str]:
        """The largest loss of a person who may stand anywhere in each table."""
        seen = {(answer.charge, answer.draw) for left in world.left for answer in left.answers}
        answered = {charge for charge, _ in seen}
        if not world.accepted and len(answered) < len(seen):
            yield "3: two draws of one charge have left"
        # One draw of a charge is its record at last, and rows that were only appended to are the same rows.
        first = self.books.beginnings() if world.draws else {}
        looks = [(charge, read_from[draw]) for charge, draw in seen]
        looks += {(draw.charge, first[draw.snapshot]) for draw in world.draws if draw.charge not in answered}
        spent: dict[SnapshotId, list[int]] = {}
        tables = self.books.tables() if looks else {}
        for charge, snapshot in looks:
            cost = read_charge(self.books.entries[charge][-1]).cost
            at = spent.setdefault(tables[snapshot], [0] * POINTS)
            for point in range(POINTS):
                at[point] += cost.at((point,))
        loss, most = sum(max(at) for at in spent.values()), self.limit * (1 + world.accepted)
        if loss > most:
            yield f"2: somebody lost {Fraction(loss, self.limit)} of the limit"

    def _paid_for(self, charge: Head) -> SnapshotId | None:
        return read_charge(self.books.entries[charge][-1]).snapshot

    def _of_journal(self, entries: tuple[Entry, ...]) -> Iterator[str]:
        journal = AtRest(entries)
        read = replay(entries, Bodies(Path("/dev/null")))
        read.look_up(journal)
        spending, account = spend_again(read, silent), ledger_of(journal, read)
        by_user = read.spent_by({} if account is None else account.spent_by())
        for check in (*read.checks(), spending.check(), check_map(account, spending, read, by_user)):
            yield from (f"5: {finding.what}" for finding in check.findings if finding.outcome == "failed")

    def _of_files(self, world: World, quiet: bool) -> Iterator[str]:
        if world.era:
            return  # who is at work while a backup is put back may remove what it brings
        named = self.books.snapshot(world.files[-1])
        if named not in world.folders:
            yield f"6: the vault is over {_name(named)}, which is not there"
        elif quiet and not world.crashes and len(world.folders) > 1:
            yield "6: a snapshot was left behind"


@dataclass(frozen=True)
class AtRest:
    """A Journal that nobody writes to."""

    all: tuple[Entry, ...]

    def entries(self, after: int = 0) -> Iterator[Entry]:
        return iter(self.all[after:])

    def following(self, receipt: Receipt) -> Iterator[Entry] | None:
        return self.entries(receipt.seq) if self.receipt_at(receipt.seq) == receipt else None

    def entry(self, seq: int) -> Entry | None:
        return self.all[seq - 1] if 0 < seq <= len(self.all) else None

    def receipt_at(self, seq: int) -> Receipt | None:
        found = self.entry(seq)
        return found and found.receipt

    def record_of(self, charge: int) -> Entry | None:
        return next((entry for entry in self.all if entry.charge == charge), None)


def _of_failures(world: World) -> Iterator[str]:
    for operation, error in world.failures:
        if error not in FINE and not (world.era and error in AFTER_A_ROLLBACK):
            yield f"7: {operation} failed with {error}"


def _name(snapshot: SnapshotId | None) -> str:
    return "no snapshot" if snapshot is None else f"snapshot {snapshot.number}"
