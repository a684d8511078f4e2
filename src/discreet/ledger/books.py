"""The books: a ledger as it is read. Whoever holds them this way cannot write in them, by the type checker's word."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.domain.tables import Place
from discreet.errors import JournalCorrupt
from discreet.ledger.asker import Asker
from discreet.ledger.budget import Budget
from discreet.ledger.charge import Charge, Record, read_charge, read_record
from discreet.ledger.followed import FollowedJournal
from discreet.ledger.guarantee import FPrivacy, Guarantee
from discreet.ledger.journal import Entry
from discreet.ledger.receipt import Receipt
from discreet.ledger.reserve import Reserve
from discreet.ledger.snapshot import Era, SnapshotId
from discreet.ledger.spend import Cost, Refusal
from discreet.ledger.standing import FactNote, Standing


class Books:
    """What a journal tells: nothing in here charges, records or notes."""

    def __init__(self, followed: FollowedJournal, place: Place | None = None) -> None:
        """With `place`, the books of one of several tables: costs and regions are of that table's points, and so are
        the charges that it tells of."""
        self._followed = followed
        self._place = place

    @property
    def table(self) -> str | None:
        """The table that these are the books of, where the vault has several."""
        return None if self._place is None else self._place.table.name

    @property
    def whole(self) -> "Books":
        """The books of all tables together: regions and costs are of what a person is in all of them."""
        return self if self._place is None else Books(self._followed)

    @property
    def domain(self) -> Domain:
        """What may be asked about: the domain, and of a table that grows the periods that are closed by now."""
        if self.horizon.growing is None:
            return self.horizon
        with self._followed.current() as state:
            return state.growth.so_far(self.horizon)

    @property
    def horizon(self) -> Domain:
        """The same with all periods that can come: what the spend map is over."""
        return self._followed.state.domain if self._place is None else self._place.table.domain

    def domain_of(self, snapshot: SnapshotId | None) -> Domain:
        """What could be asked about when a snapshot was the last, as far as the journal was looked at."""
        return self._followed.state.growth.cut(self.horizon, snapshot)

    @property
    def closed_period(self) -> str | None:
        """The last period that is closed; None where no table grows."""
        with self._followed.current() as state:
            return state.growth.last

    def last_of(self, kind: str) -> int:
        """The number of the last entry of a kind that is no charge, nor of one; 0 where there is none."""
        with self._followed.current() as state:
            return state.noted[kind].seq if kind in state.noted else 0

    def is_of_table(self, charge: Charge) -> bool:
        """Whether what a charge pays for can be read: its snapshot is the current one, or was only appended to."""
        with self._followed.current() as state:
            return state.is_of_table(charge)

    @property
    def budget(self) -> Budget:
        """The limit under the facts, when the journal was last looked at."""
        budget = self._followed.state.budget
        return budget if self._place is None else budget.over(self._place.table.max_rows)

    def of_person(self, cost: Cost) -> Cost:
        """A cost as the spend map has it."""
        return cost if self._place is None else cost.moved(self._place.box)

    def tells_of(self, charge: Charge) -> bool:
        """Whether a charge is of the table that these are the books of."""
        return self._place is None or charge.table == self.table

    def _where(self, region: Region) -> Region:
        return region if self._place is None else self._place.region(region)

    @property
    def header(self) -> Mapping[str, Any]:
        """What the vault was made with."""
        return self._followed.state.header

    @property
    def vault_id(self) -> str:
        return self._followed.vault_id

    @property
    def head(self) -> Receipt:
        """The receipt of the last entry."""
        with self._followed.current() as state:
            return state.head

    def head_at_once(self) -> Receipt | None:
        """The same without waiting; None where another thread is at work in here."""
        if not self._followed.lock.acquire(blocking=False):
            return None
        try:
            return self.head
        finally:
            self._followed.lock.release()

    # The table that the vault is over.

    @property
    def snapshot(self) -> SnapshotId | None:
        """What the vault is over now; None where it was made by a version that took no snapshots."""
        with self._followed.current() as state:
            return state.snapshot

    @property
    def is_live(self) -> bool:
        """Whether rows are read where they are, each time."""
        with self._followed.current() as state:
            content = state.notes.get("refresh", state.header)
            return isinstance(content, dict) and bool(content.get("live"))

    @property
    def refreshed(self) -> int:
        """The number of the entry that put the vault over the table as it is now, a refresh or an erasure; 0 for the
        first table."""
        with self._followed.current() as state:
            return state.refreshed

    @property
    def eras(self) -> tuple[Era, ...]:
        """The snapshots since the last refresh that people were taken out of, in order. An erasure that nobody here has
        seen yet may be passed over: where there was none before, this looks at nothing."""
        if not self._followed.state.eras:
            return ()
        with self._followed.current() as state:
            return state.eras

    @property
    def reach(self) -> tuple[SnapshotId | None, int, int]:
        """What the vault is over now, the number of the entry since when (0 is the first), and that of the last."""
        with self._followed.current() as state:
            return state.snapshot, state.refreshed, state.head.seq

    # Entries: charges, their records, facts, notes.

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """All entries in order, as they are in the journal; those that come in meanwhile are left for the next time."""
        return self._followed.upto(self.head, after)

    def notes(self, kind: str, after: int = 0) -> Iterator[Entry]:
        """The entries of a kind that are about the table that these are the books of, in order."""
        for entry in self.entries(after):
            if entry.kind == kind and (self._place is None or entry.parsed().get("table") == self.table):
                yield entry

    @property
    def untrue_checkpoints(self) -> list[int]:
        """Checkpoints, of those that were come upon, that state something else than the entries before them add up to.
        They are not gone by."""
        with self._followed.current() as state:
            return list(state.untrue)

    @property
    def charges(self) -> int:
        """How many charges there are."""
        with self._followed.current() as state:
            return state.charges

    def charge_at(self, number: int) -> Charge | None:
        """The charge with this number, answered or not; None where that entry is no charge."""
        entry = self._followed.entry(number)
        return None if entry is None or entry.kind != "charge" else read_charge(entry)

    def pending(self) -> list[Charge]:
        """Charges without a record: each waits for its answer in some process, or was cut off by a crash."""
        with self._followed.current() as state:
            entries = [self._followed.entry(seq) for seq in sorted(state.pending)]
        charges = [read_charge(entry) for entry in entries if entry is not None]
        return [charge for charge in charges if self.tells_of(charge)]

    def unanswered(self) -> list[int]:
        """The numbers of the charges without a record, of the table as it is now, when the journal was last looked at.

        Takes no lock: whoever asks waits for no writer.
        """
        state = self._followed.state
        numbers = sorted(number for number in state.pending.copy() if number > state.refreshed)
        if self._place is None:
            return numbers
        charges = (self.charge_at(number) for number in numbers)
        return [charge.id for charge in charges if charge is not None and self.tells_of(charge)]

    def closed(self) -> list[int]:
        """The numbers of the charges that were closed unanswered."""
        with self._followed.current() as state:
            return sorted(state.closed)

    def recorded(self, charge_id: int) -> Record | None:
        """The answer of a charge, if it has one."""
        with self._followed.current() as state:
            if charge_id in state.pending or self.charge_at(charge_id) is None:
                return None
            found = self._followed.record_of(charge_id)
            self._followed.require_held(state.head)  # then it was when the record was read
        return None if found is not None and found.kind == "close" else read_record(charge_id, found)

    def answered(self, after: int = 0) -> Iterator[tuple[Charge, Record]]:
        """Every charge with its record, in the order of the records; only records after an entry where one is given.

        Those of earlier snapshots are among them: see `Charge.snapshot`.
        """
        waiting: dict[int, Entry] = {}
        for entry in self.entries(after):
            if entry.kind == "charge":
                waiting[entry.seq] = entry
            elif entry.kind == "record" and entry.charge is not None:
                charge = waiting.pop(entry.charge, None) or self._followed.entry(entry.charge)
                if charge is None:
                    raise JournalCorrupt(f"entry {entry.seq} records a charge that is not there", "restore a backup")
                found = read_charge(charge)
                if self.tells_of(found):
                    yield found, read_record(entry.charge, entry)

    @property
    def reserves(self) -> tuple[int, ...]:
        """The entries that set something aside for the table as it is now."""
        with self._followed.current() as state:
            return tuple(state.reserves)

    def reserved(self, number: int) -> Reserve | None:
        """What was set aside by an entry, for the table as it is now; None where nothing was."""
        with self._followed.current() as state:
            return state.reserves.get(number)

    @property
    def facts(self) -> tuple[FactNote, ...]:
        """Every fact about the table that these are the books of, in order."""
        return tuple(fact for fact in self.all_facts if self._place is None or fact.of == self.table)

    @property
    def all_facts(self) -> tuple[FactNote, ...]:
        """Every fact about any table, in order."""
        with self._followed.current() as state:
            return tuple(state.facts)

    def facts_before(self, number: int) -> tuple[int, ...]:
        """The numbers of the facts before an entry: what a charge was calibrated to."""
        with self._followed.lock:
            return tuple(fact.number for fact in self._followed.state.facts if fact.number < number)

    def latest(self, kind: str) -> Any:
        """The content of the last note of a kind; None where there is none."""
        with self._followed.current() as state:
            return state.notes.get(kind)

    def check_receipt(self, receipt: Receipt) -> None:
        """Raise JournalRolledBack unless this journal went on from where it was when the receipt was given."""
        with self._followed.current() as state:
            self._followed.require_held(receipt)
            if receipt.seq < state.begun_at.seq:
                for _ in self._followed.upto(state.begun_at, receipt.seq):
                    """Each must follow the one before."""

    # What is promised.

    @property
    def guarantee(self) -> Guarantee:
        """What holds for everything that was ever released, together, by all that is in the journal."""
        with self._followed.current() as state:
            return state.standing.guarantee(state.map.spent_max)

    def promise(self, units: int) -> Guarantee:
        """What a release promises by itself that spends at most so many units at any point: by what the journal said
        when it was last looked at, as it is before each answer."""
        with self._followed.lock:
            state = self._followed.state
            return state.standing.promise(units, state.spent_max)

    def promise_of(self, charge_id: int, receipt: Receipt, earlier: Sequence[int] = ()) -> Guarantee | None:
        """What a release promises by now, together with `earlier` charges that it is made of as well; None where it is
        of another journal, or of entries that were lost."""
        with self._followed.current():
            charges = [self.charge_at(number) for number in (*earlier, charge_id)]
            if not self._followed.holds(receipt) or any(charge is None for charge in charges):
                return None
            return self.promise(sum((charge.cost for charge in charges if charge is not None), Cost()).peak)

    def f_privacy(self, receipt: Receipt) -> FPrivacy | None:
        """What a publication of rows promises by now that was begun with this receipt; None as in `promise_of`."""
        with self._followed.current() as state:
            return state.standing.f_privacy() if self._followed.holds(receipt) else None

    def promised_so_far(self, units: int) -> list[Guarantee]:
        """What a release promises, before each rollback that was accepted and now: what a folder may have stated."""
        with self._followed.current() as state:
            return [standing.promise(units, state.spent_max) for standing in state.standing.by_rollbacks()]

    def with_fact(self, content: Mapping[str, Any]) -> tuple[Budget, Guarantee]:
        """What would hold if a fact were noted now: the budget under it, and the guarantee. Nothing is noted."""
        with self._followed.current() as state:
            standing = state.standing.after_fact(FactNote(state.head.seq + 1, state.refreshed, content))
            return standing.budget, standing.guarantee(state.map.spent_max)

    @property
    def publications(self) -> tuple[int, ...]:
        """The entries that began a publication of rows which was not withdrawn: finished, under way or cut off."""
        with self._followed.current() as state:
            return state.standing.rows

    @property
    def made_to_promise(self) -> Guarantee:
        """What the vault was to promise when it was made."""
        return Standing.of(self._followed.state.own_budget).guarantee()

    # What is spent, and what is left.

    def refusal(self, cost: Cost) -> Refusal | None:
        """What a charge would be refused for now; None where it would fit."""
        with self._followed.current() as state:
            found = state.refusal(self.of_person(cost))
        seen = None if found is None or self._place is None else replace(found, where=self._place.seen(found.where))
        return seen or found

    def require(self, cost: Cost, asker: Asker | None = None) -> None:
        """Raise what a charge would be refused with now; charge nothing."""
        with self._followed.current() as state:
            state.require_fit(self.of_person(cost), asker)

    def fits(self, cost: Cost, asker: Asker | None = None) -> bool:
        """Whether a charge would be let through now, by the vault's budget and by its asker's quota."""
        with self._followed.current() as state:
            cost = self.of_person(cost)
            return state.refusal(cost) is None and state.askers.let(asker, cost, state.budget)

    def left(self, region: Region) -> int:
        """The least units left at any point of a region."""
        with self._followed.current() as state:
            return 0 if state.is_overdrawn else state.map.left(self._where(region))

    def left_by(self, axes: Sequence[int]) -> NDArray[np.int64]:
        """The least units left for each combination of codes on some axes, over all codes of the others; of a table
        that grows, up to the horizon."""
        with self._followed.current() as state:
            mine = axes if self._place is None else [self._place.axes[axis] for axis in axes]
            return state.map.left_by(mine) * (not state.is_overdrawn)

    @property
    def spent_max(self) -> int:
        """The most units spent at any point."""
        with self._followed.current() as state:
            return state.map.spent_max

    def spent_by(self) -> dict[str, int]:
        """The most units that each asker's charges spent at any point."""
        with self._followed.current() as state:
            return state.askers.spent()

    def quota_left(self, asker: Asker, region: Region) -> Fraction | None:
        """The least that an asker's quota leaves at any point of a region; None without a quota."""
        with self._followed.current() as state:
            return state.askers.left(asker, self._where(region), state.budget)
