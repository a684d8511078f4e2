"""The ledger: the journal joined with the spend map that is rebuilt from it.

A charge is one turn of the journal: apply the entries since the last one seen, decide, append, commit and sync. The map
in memory changes only for what is durably in the journal. A charge without a record, after a crash in between, stays
charged; it may be completed with the same plan, and the first record that is synced is its answer for ever.
"""

import os
import re
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import BudgetExceeded, JournalCorrupt, JournalError, JournalRolledBack, Refreshed
from discreet.ledger.asker import Asker
from discreet.ledger.askers import Askers
from discreet.ledger.budget import Budget
from discreet.ledger.facts import FactNote
from discreet.ledger.guarantee import FPrivacy, Guarantee
from discreet.ledger.journal import ORIGIN, VERSION, Entry, Journal, canonical, chained, verified
from discreet.ledger.messages import overdrawn, refused, rolled_back
from discreet.ledger.places import journal_at, new_journal
from discreet.ledger.receipt import Receipt, keep_lost, keep_receipt, last_receipt, lost_receipts
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import Cost, Refusal, SpendMap
from discreet.ledger.spend_map import spend_map
from discreet.ledger.standing import Standing

ROLLBACK = "rollback-accepted"
"""The kind of the note that goes on without what an older journal has lost."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What was spent, durably, and the public plan that it was spent for."""

    id: int
    receipt: Receipt
    cost: Cost
    plan: Any
    snapshot: SnapshotId | None = None
    """The snapshot that it pays for; None in a vault that had none yet."""
    by: str | None = None
    """Who asked, where it was asked through a server."""


@dataclass(frozen=True, slots=True)
class Record:
    """The one answer of a charge, durably: the first that was recorded, whoever drew it."""

    charge_id: int
    receipt: Receipt
    body: Any


@dataclass(frozen=True, slots=True)
class _Span:
    """Charges under one limit, of one table: after a refresh the map is levelled first."""

    budget: Budget
    levelled: bool = False
    charges: list[tuple[Cost, str | None]] = field(default_factory=list)


class Ledger:
    """The account of one vault. Any number of threads and processes may hold it."""

    _map: SpendMap
    _notes: dict[str, Any]
    _pending: set[int]
    _closed: set[int]
    _facts: list[FactNote]
    _askers: Askers
    _standing: Standing
    _head: Receipt
    _snapshot: SnapshotId | None

    def __init__(self, journal: Journal, domain: Domain, budget: Budget) -> None:
        """Verify the whole chain and replay it."""
        self.domain, self.budget, self._own_budget = domain, budget, budget
        self.header: dict[str, Any] = {}
        self._journal = journal
        self._lock = threading.RLock()
        self._last = self._given = ORIGIN
        self._forget()
        with self._current():
            if "vault_id" not in self.header:
                raise JournalCorrupt("the journal has no first entry: its vault was never finished", "make it again")
        _ledgers.add(self)

    @staticmethod
    def create(location: Path | str, header: Mapping[str, Any]) -> None:
        """A new journal, in a file or in Postgres, that begins with a header; no other vault has its `vault_id`."""
        if not re.fullmatch(r"[A-Za-z0-9-]{8,64}", str(header.get("vault_id"))):
            raise ValueError("the header needs a vault_id of 8 to 64 letters, digits and dashes")
        body = _body(dict(header))
        journal = new_journal(location, header["vault_id"])
        with closing(journal), journal.turn():
            journal.append(chained(ORIGIN, "init", None, body))

    @classmethod
    def open(cls, location: Path | str, domain: Domain, budget: Budget, *, accept_rollback: bool = False) -> "Ledger":
        """The ledger of an existing journal.

        Raises JournalRolledBack where the journal is behind the last receipt that this user saw of its vault.
        `accept_rollback` goes on with such a journal, and notes so in it: see `accept_lost`. It is the custodian's to
        decide, when the newer journal is lost for good.
        """
        journal = journal_at(location)
        try:
            ledger = cls(journal, domain, budget)
            ledger._check_last_receipt(accept_rollback)
        except BaseException:
            journal.close()
            raise
        return ledger

    @property
    def vault_id(self) -> str:
        return str(self.header["vault_id"])

    @property
    def head(self) -> Receipt:
        """The receipt of the last entry."""
        with self._current():
            return self._head

    def head_at_once(self) -> Receipt | None:
        """The same without waiting; None where another thread is at work in here."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            return self.head
        finally:
            self._lock.release()

    def charge(self, cost: Cost, plan: Any, asker: Asker | None = None, snapshot: SnapshotId | None = None) -> Charge:
        """Spend, durably, for a plan (JSON) that is read from a snapshot. Records nothing, and raises BudgetExceeded
        where it does not fit, QuotaExceeded where it does not fit what its asker may spend, and Refreshed where the
        vault is over another snapshot by now: a charge pays for the one that it names."""
        paid = {} if snapshot is None else {"snapshot": snapshot.to_json()}
        body = _body(plan, cost=cost.to_json(), **paid, **({} if asker is None else {"by": asker.name}))
        self._refuse_hopeless(cost, asker)
        with self._turn():
            self._require_current(snapshot)
            self._require_fit(cost, asker)
            entry = self._append("charge", None, body)
        if asker is not None:
            asker.charges.append(entry.seq)
        self._give(entry.receipt)
        return Charge(entry.seq, entry.receipt, cost, plan, snapshot, None if asker is None else asker.name)

    def _refuse_hopeless(self, cost: Cost, asker: Asker | None) -> None:
        """Spending only grows: what did not fit when the journal was last seen is refused, and no writer waits."""
        with self._lock:
            if self._refusal(cost) is not None:
                self.require(cost, asker)

    def _require_fit(self, cost: Cost, asker: Asker | None) -> None:
        self._askers.require(asker, cost, self.budget)
        refusal = self._refusal(cost)
        if refusal is not None:
            raise self._overdrawn() or refused(self.domain, self.budget, refusal)

    def _require_current(self, snapshot: SnapshotId | None) -> None:
        if snapshot != self._snapshot:
            raise Refreshed(
                "the vault was refreshed in the meantime, and is over another table; nothing was spent: ask again"
            )

    def record(self, charge_id: int, body: Any) -> Record:
        """Complete a charge with its answer, durably. If it has one already, that one is returned and this one lost."""
        text = _body(body)
        with self._turn():
            pending = charge_id in self._pending
            stored = self._append("record", charge_id, text) if pending else self._journal.record_of(charge_id)
            if stored is None:
                raise JournalError(f"entry {charge_id} is not a charge", "nothing was recorded")
        self._give(stored.receipt)
        return _record(charge_id, stored)

    def close_charge(self, charge_id: int) -> bool:
        """Close a charge that will never be answered: it paid for a snapshot that is gone. What it spent stays spent.
        False where it was answered, or closed, before; and where the vault is over its snapshot, so that it can be."""
        text = _body({"because": "refreshed"})
        with self._turn():
            charge = self.charge_at(charge_id) if charge_id in self._pending else None
            if charge is None or charge.snapshot == self._snapshot:
                return False
            receipt = self._append("close", charge_id, text).receipt
        self._give(receipt)
        return True

    def note(self, kind: str, body: Any, snapshot: SnapshotId | None = None) -> Receipt:
        """Any other entry: it is kept in order with the charges. Where it is about a snapshot, that is the current one,
        or it raises Refreshed."""
        if kind in ("init", "charge", "record", "close", "fact", "refresh"):
            raise ValueError(f"{kind} has a method of its own")
        text = _body(body)
        with self._turn():
            if snapshot is not None:
                self._require_current(snapshot)
            receipt = self._append(kind, None, text).receipt
        if kind != ROLLBACK:  # the one entry that does not go on from the last receipt
            self._give(receipt)
        return receipt

    def note_refresh(self, snapshot: SnapshotId, live: bool = False) -> Receipt:
        """The vault is over another snapshot from now on: the one after the current one."""
        text = _body({"snapshot": snapshot.to_json(), **({"live": True} if live else {})})
        with self._turn():
            if snapshot.number != self._next_number:
                raise Refreshed("another refresh came in between; the vault is over its table now: refresh again")
            receipt = self._append("refresh", None, text).receipt
        self._give(receipt)
        return receipt

    @property
    def snapshot(self) -> SnapshotId | None:
        """What the vault is over now; None where it was made by a version that took no snapshots."""
        with self._current():
            return self._snapshot

    @property
    def is_live(self) -> bool:
        """Whether rows are read where they are, each time."""
        with self._current():
            return bool(self._about_table().get("live"))

    @property
    def _next_number(self) -> int:
        return 1 if self._snapshot is None else self._snapshot.number + 1

    def _about_table(self) -> Mapping[str, Any]:
        content = self._notes.get("refresh", self.header)
        return content if isinstance(content, dict) else {}

    @property
    def charges(self) -> int:
        """How many charges there are."""
        with self._current():
            return self._charges

    def with_fact(self, content: Mapping[str, Any]) -> tuple[Budget, Guarantee]:
        """What would hold if a fact were noted now: the budget under it, and the guarantee. Nothing is noted."""
        with self._current():
            fact = FactNote(self._head.seq + 1, self._refreshed, content)
            standing = self._standing.after_fact(fact)
            return standing.budget, standing.guarantee(self._map.spent_max)

    def note_fact(self, content: Mapping[str, Any], known: int, *, stopping: bool = True) -> FactNote:
        """A fact, durably. From now on its `induced` neighbours set the limit, for all that was spent and will be.

        `known` is how many entries the journal had when they were worked out: where a fact or another table came after
        that, it is refused. So is one that leaves nothing to spend, unless it may be `stopping`.
        """
        text = _body(dict(content))
        with self._turn():
            if max((self._refreshed, *(fact.number for fact in self._facts))) > known:
                raise JournalError("another fact or another table came in between", "add the fact again")
            fact = FactNote(self._head.seq + 1, self._refreshed, content)
            if not stopping and self._map.spent_max > fact.lowered(self._own_budget, self.budget).limit:
                raise JournalError("more was spent in between, and now the fact would stop the vault: look at it again")
            entry = self._append("fact", None, text)
        self._give(entry.receipt)
        return self.facts[-1]

    @property
    def facts(self) -> tuple[FactNote, ...]:
        """Every fact, in order."""
        with self._current():
            return tuple(self._facts)

    def facts_before(self, number: int) -> tuple[int, ...]:
        """The numbers of the facts before an entry: what a charge was calibrated to."""
        with self._lock:
            return tuple(fact.number for fact in self._facts if fact.number < number)

    def pending(self) -> list[Charge]:
        """Charges without a record: each waits for its answer in some process, or was cut off by a crash."""
        with self._current():
            entries = [self._journal.entry(seq) for seq in sorted(self._pending)]
        return [_charge(entry) for entry in entries if entry is not None]

    def unanswered(self) -> list[int]:
        """The numbers of the charges without a record, of the table as it is now, when the journal was last looked at.

        Takes no lock: whoever asks waits for no writer.
        """
        return sorted(number for number in self._pending.copy() if number > self._refreshed)

    def closed(self) -> list[int]:
        """The numbers of the charges that were closed unanswered."""
        with self._current():
            return sorted(self._closed)

    def charge_at(self, number: int) -> Charge | None:
        """The charge with this number, answered or not; None where that entry is no charge."""
        entry = self._journal.entry(number)
        return None if entry is None or entry.kind != "charge" else _charge(entry)

    def recorded(self, charge_id: int) -> Record | None:
        """The answer of a charge, if it has one."""
        with self._current():
            if charge_id in self._pending or self.charge_at(charge_id) is None:
                return None
            found = self._journal.record_of(charge_id)
            self._require_held(self._head)  # then it was when the record was read
        return None if found is not None and found.kind == "close" else _record(charge_id, found)

    def answered(self, after: int = 0) -> Iterator[tuple[Charge, Record]]:
        """Every charge with its record, in the order of the records; only records after an entry where one is given.

        Those of earlier snapshots are among them: see `Charge.snapshot`.
        """
        waiting: dict[int, Entry] = {}
        for entry in self.entries(after):
            if entry.kind == "charge":
                waiting[entry.seq] = entry
            elif entry.kind == "record" and entry.charge is not None:
                charge = waiting.pop(entry.charge, None) or self._journal.entry(entry.charge)
                if charge is None:
                    raise JournalCorrupt(f"entry {entry.seq} records a charge that is not there", "restore a backup")
                yield _charge(charge), _record(entry.charge, entry)

    def latest(self, kind: str) -> Any:
        """The content of the last note of a kind; None where there is none."""
        with self._current():
            return self._notes.get(kind)

    @property
    def guarantee(self) -> Guarantee:
        """What holds for everything that was ever released, together, by all that is in the journal."""
        with self._current():
            return self._standing.guarantee(self._map.spent_max)

    def promise(self, units: int) -> Guarantee:
        """What a release promises by itself that spends at most so many units at any point: by what the journal said
        when it was last looked at, as it is before each answer."""
        with self._lock:
            return self._standing.promise(units, self._spent_max)

    def promise_of(self, charge_id: int, receipt: Receipt) -> Guarantee | None:
        """What a release promises by now; None where it is of another journal, or of entries that were lost."""
        with self._current():
            charge = self.charge_at(charge_id)
            if charge is None or self._journal.receipt_at(receipt.seq) != receipt:
                return None
            return self.promise(charge.cost.peak)

    def f_privacy(self, receipt: Receipt) -> FPrivacy | None:
        """What a publication of rows promises by now that was begun with this receipt; None as in `promise_of`."""
        with self._current():
            return self._standing.f_privacy() if self._journal.receipt_at(receipt.seq) == receipt else None

    def promised_so_far(self, units: int) -> list[Guarantee]:
        """What a release promises, before each rollback that was accepted and now: what a folder may have stated."""
        with self._current():
            return [standing.promise(units, self._spent_max) for standing in self._standing.by_rollbacks()]

    @property
    def publications(self) -> tuple[int, ...]:
        """The entries that began a publication of rows which was not withdrawn: finished, under way or cut off."""
        with self._current():
            return self._standing.rows

    @property
    def made_to_promise(self) -> Guarantee:
        """What the vault was to promise when it was made."""
        return Standing.of(self._own_budget).guarantee()

    @property
    def refreshed(self) -> int:
        """The number of the entry that accepted the table as it is now; 0 for the first table."""
        with self._current():
            return self._refreshed

    @property
    def reach(self) -> tuple[SnapshotId | None, int, int]:
        """What the vault is over now, the number of the entry since when (0 is the first), and that of the last."""
        with self._current():
            return self._snapshot, self._refreshed, self._head.seq

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """All entries in order, as they are in the journal; those that come in meanwhile are left for the next time."""
        with self._current():
            head = self._head
        return self._upto(head, after)

    def _upto(self, head: Receipt, after: int) -> Iterator[Entry]:
        for entry in self._journal.entries(after):
            if entry.seq < head.seq:
                yield entry
            elif entry.receipt == head:
                yield entry
                return
            else:
                break
        if after < head.seq:
            raise rolled_back(head, self.vault_id)

    def check_receipt(self, receipt: Receipt) -> None:
        """Raise JournalRolledBack unless this journal went on from where it was when the receipt was given."""
        with self._current():
            self._require_held(receipt)

    def refusal(self, cost: Cost) -> Refusal | None:
        """What a charge would be refused for now; None where it would fit."""
        with self._current():
            return self._refusal(cost)

    def require(self, cost: Cost, asker: Asker | None = None) -> None:
        """Raise what a charge would be refused with now; charge nothing."""
        with self._current():
            self._require_fit(cost, asker)

    def fits(self, cost: Cost, asker: Asker | None = None) -> bool:
        """Whether a charge would be let through now, by the vault's budget and by its asker's quota."""
        with self._current():
            return self._refusal(cost) is None and self._askers.let(asker, cost, self.budget)

    def left(self, region: Region) -> int:
        """The least units left at any point of a region."""
        with self._current():
            return 0 if self._is_overdrawn else self._map.left(region)

    def left_by(self, axes: Sequence[int]) -> NDArray[np.int64]:
        """The least units left for each combination of codes on some axes, over all codes of the others."""
        with self._current():
            return self._map.left_by(axes) * (not self._is_overdrawn)

    @property
    def spent_max(self) -> int:
        """The most units spent at any point."""
        with self._current():
            return self._map.spent_max

    def _spent_max(self) -> int:
        return self._map.spent_max

    def spent_by(self) -> dict[str, int]:
        """The most units that each asker's charges spent at any point."""
        with self._current():
            return self._askers.spent()

    def quota_left(self, asker: Asker, region: Region) -> Fraction | None:
        """The least that an asker's quota leaves at any point of a region; None without a quota."""
        with self._current():
            return self._askers.left(asker, region, self.budget)

    @property
    def _is_overdrawn(self) -> bool:
        """Whether a fact has lowered the limit below what was spent: then nothing more is charged, anywhere."""
        return self._map.overdrawn

    def _refusal(self, cost: Cost) -> Refusal | None:
        if self._is_overdrawn:
            return Refusal(0, cost.peak, self.domain.everything.boxes[0])
        return self._map.refusal(cost)

    def _overdrawn(self) -> BudgetExceeded | None:
        return overdrawn(self.budget, self._map.spent_max) if self._is_overdrawn else None

    def close(self) -> None:
        with self._lock:
            self._journal.close()

    def accept_lost(self, seen: Receipt) -> None:
        """Go on without the entries that led to a receipt, and note so; nothing where the journal has it.

        From then on every guarantee counts a whole budget for what they may have spent, and for those of every branch
        that was given up in them.
        """
        try:
            self.check_receipt(seen)
        except JournalRolledBack:
            also = sorted(lost_receipts(self.vault_id) - self._standing.lost - {str(seen)})
            self.note(ROLLBACK, {"seen": str(seen), **({"also": also} if also else {})})
            keep_receipt(self.vault_id, self.head, even_if_older=True)
            keep_lost(self.vault_id, self._standing.lost)

    def _check_last_receipt(self, accept_rollback: bool) -> None:
        seen = last_receipt(self.vault_id)
        if seen is not None and accept_rollback:
            self.accept_lost(seen)
        elif seen is not None:
            self.check_receipt(seen)
        self._give(self.head)
        keep_lost(self.vault_id, self._standing.lost)

    @contextmanager
    def _current(self) -> Iterator[None]:
        """Hold the lock, with everything counted that is in the journal, and a receipt given for what others wrote."""
        with self._lock:
            self._count()
            if ORIGIN.seq < self._given.seq < self._head.seq:
                self._give(self._head)
            yield

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Be the only writer, with everything counted. What is appended is counted when it is next read back."""
        with self._lock, self._journal.turn():
            self._count()
            yield

    def _count(self) -> None:
        """Count everything that is in the journal, which must go on from where it was."""
        if self._last != ORIGIN:
            self._require_held(self._last)
        self._absorb()
        self._last = self._head

    def _give(self, receipt: Receipt) -> None:
        """Remember, here and beyond this process, that the journal came so far. No row is read, and nothing leaves,
        before that is done.

        Raises JournalRolledBack where the journal does not hold both this receipt and the one that was remembered
        before: an older one was put back since it was opened. Of two that went on differently from the same entry, only
        one is ever answered from: whoever comes second finds the other's receipt.
        """
        with self._lock:
            self._last = max(self._last, receipt, key=_seq)
            other = keep_receipt(self.vault_id, receipt, goes_on_from=self._holds)
            if other is not None:
                raise rolled_back(other, self.vault_id)
            self._require_held(receipt)
            self._given = max(self._given, receipt, key=_seq)

    def _holds(self, receipt: Receipt) -> bool:
        return self._journal.receipt_at(receipt.seq) == receipt

    def _require_held(self, receipt: Receipt) -> None:
        if not self._holds(receipt):
            raise rolled_back(receipt, self.vault_id)

    def _append(self, kind: str, charge: int | None, body: str) -> Entry:
        entry = chained(self._head, kind, charge, body)
        self._journal.append(entry)
        return entry

    def _absorb(self) -> None:
        """Count the entries after the last one seen. On any failure the map stays as it was."""
        spans, facts, standing = [_Span(self.budget)], list(self._facts), self._standing
        last = None
        for entry in verified(self._journal.entries(self._head.seq), self._head):
            match entry.kind:
                case "init":
                    self.header = entry.parsed()["content"]
                    self._snapshot = _snapshot_in(self.header)
                    standing = standing.after("init", entry.seq, self.header)
                case "charge":
                    charge = _charge(entry)
                    spans[-1].charges.append((charge.cost, charge.by))
                    self._pending.add(entry.seq)
                case "record" if entry.charge is not None:
                    self._pending.discard(entry.charge)
                case "close" if entry.charge is not None:
                    self._pending.discard(entry.charge)
                    self._closed.add(entry.charge)
                case "refresh":
                    spans.append(_Span(spans[-1].budget, levelled=True))
                    self._notes["refresh"], self._refreshed = entry.parsed()["content"], entry.seq
                    self._snapshot = _snapshot_in(entry.parsed()["content"])
                    standing = standing.after("refresh", entry.seq, self._notes["refresh"])
                case "fact":
                    fact = FactNote(entry.seq, self._refreshed, entry.parsed()["content"])
                    standing = standing.after_fact(fact)
                    spans.append(_Span(standing.budget))
                    facts.append(fact)
                    self._notes["fact"] = fact.content
                case note:
                    self._notes[note] = entry.parsed()["content"]
                    standing = standing.after(note, entry.seq, self._notes[note])
            last = entry
        if last is None:
            return
        try:
            for span in spans:
                self.budget, self._map.limit = span.budget, span.budget.limit
                if span.levelled:
                    self._map = self._levelled()
                self._map.replay([cost for cost, _ in span.charges])
        except (ValueError, OverflowError):
            raise JournalCorrupt("the journal has charges that its domain cannot have", "restore a backup") from None
        self._head, self._facts, self._standing = last.receipt, facts, standing
        self._charges += sum(len(span.charges) for span in spans)
        for span in spans:
            if span.levelled:
                self._askers.level()
            for cost, name in span.charges:
                self._askers.add(name, cost)

    def _levelled(self) -> SpendMap:
        """A map for the next table: somebody may be at another point of it, so all points start at the most spent."""
        levelled = spend_map(self.domain, self.budget.limit)
        levelled.add(Cost(self._map.spent_max))
        return levelled

    def _forget(self) -> None:
        """Trust nothing in memory: the next look at the journal starts from its first entry."""
        self.budget, self._standing = self._own_budget, Standing.of(self._own_budget)
        self._map = spend_map(self.domain, self.budget.limit)
        self._notes, self._facts, self._askers = {}, [], Askers(self.domain)
        self._refreshed, self._snapshot = 0, None
        self._pending, self._closed = set(), set()
        self._charges = 0
        self._head = ORIGIN

    def after_fork(self) -> None:
        """Called in a forked child, where another thread of the parent may have been at work in here."""
        self._lock = threading.RLock()
        self._journal.after_fork()
        self._forget()


_ledgers: "weakref.WeakSet[Ledger]" = weakref.WeakSet()


def _after_fork() -> None:
    for ledger in list(_ledgers):
        ledger.after_fork()


os.register_at_fork(after_in_child=_after_fork)


def _body(content: Any, **more: Any) -> str:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return canonical({"v": VERSION, "at": at, "content": content, **more})


def _snapshot_in(content: Any) -> SnapshotId | None:
    """What a header or a refresh names; None in journals of a version that took no snapshots."""
    try:
        return SnapshotId.from_json(content["snapshot"]) if "snapshot" in content else None
    except (LookupError, TypeError, ValueError):
        raise JournalCorrupt("the journal names a snapshot that cannot be read", "restore it from a backup") from None


def _charge(entry: Entry) -> Charge:
    body = entry.parsed()
    try:
        cost, snapshot = Cost.from_json(body["cost"]), _snapshot_in(body)
        return Charge(entry.seq, entry.receipt, cost, body["content"], snapshot, body.get("by"))
    except (LookupError, TypeError, ValueError):
        raise JournalCorrupt(f"entry {entry.seq} of the journal is no charge", "restore it from a backup") from None


def _seq(receipt: Receipt) -> int:
    return receipt.seq


def _record(charge_id: int, entry: Entry | None) -> Record:
    if entry is None or entry.charge != charge_id:  # it was found by an index, which no hash covers
        raise JournalCorrupt(f"the journal cannot find the record of charge {charge_id}", "restore it from a backup")
    if entry.kind == "close":
        raise Refreshed(
            f"charge {charge_id} paid for a table that the vault is no longer over: it was closed unanswered"
        )
    return Record(charge_id, entry.receipt, entry.parsed()["content"])
