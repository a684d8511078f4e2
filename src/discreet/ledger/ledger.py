"""The ledger: the books, and the one who writes in them.

A charge has a turn of the journal, with others that wait (`together.py`): apply the entries since the last one seen,
decide, append, commit and sync. The map in memory changes only for what is durably in the journal. A charge without a
record, after a crash in between, stays charged; it may be completed with the same plan, and the first record that is
synced is its answer for ever.
"""

import os
import re
import weakref
from collections.abc import Mapping
from contextlib import closing, suppress
from copy import copy
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from discreet.deadline import keep_working
from discreet.domain.domain import Domain
from discreet.domain.tables import Place
from discreet.errors import JournalCorrupt, JournalError, JournalRolledBack, Refreshed
from discreet.ledger import checkpoint, reserve
from discreet.ledger.asker import Asker
from discreet.ledger.books import Books
from discreet.ledger.budget import Budget
from discreet.ledger.charge import Charge, Record, read_record
from discreet.ledger.followed import FollowedJournal
from discreet.ledger.growth import CLOSED
from discreet.ledger.journal import NOTES, ORIGIN, VERSION, Entry, Journal, canonical, chained
from discreet.ledger.places import journal_at, new_journal
from discreet.ledger.receipt import (
    Receipt,
    keep_lost,
    keep_receipt,
    kept_checkpoint,
    last_receipt,
    lost_receipts,
)
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import Cost
from discreet.ledger.standing import FactNote
from discreet.ledger.together import JointTurn, Together

ROLLBACK = "rollback-accepted"
"""The kind of the note that goes on without what an older journal has lost."""

VAULT_ID = r"[A-Za-z0-9-]{8,64}"


class Ledger(Books):
    """The account of one vault. Any number of threads and processes may hold it."""

    def __init__(self, journal: Journal, domain: Domain, budget: Budget, compared: Receipt = ORIGIN) -> None:
        """Verify the chain and replay it: all of it, or from a checkpoint on that this user has compared with what was
        before it."""
        super().__init__(FollowedJournal(journal, domain, budget, compared))
        with self._followed.current() as state:
            if "vault_id" not in state.header:
                raise JournalCorrupt("the journal has no first entry: its vault was never finished", "make it again")
        self._next_checkpoint = 0
        self._together = Together(self._followed)
        _ledgers.add(self)

    def at(self, place: Place) -> "Ledger":
        """The same ledger for one of several tables: what is charged is charged for that, on the one account."""
        other = copy(self)
        other._place = place
        return other

    @staticmethod
    def create(location: Path | str, header: Mapping[str, Any]) -> None:
        """A new journal, in a file or in Postgres, that begins with a header; no other vault has its `vault_id`."""
        if not re.fullmatch(VAULT_ID, str(header.get("vault_id"))):
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
            ledger = cls(journal, domain, budget, _compared(journal))
            ledger._check_last_receipt(accept_rollback)
        except BaseException:
            journal.close()
            raise
        return ledger

    def reserve(self, cost: Cost, content: Any, snapshot: SnapshotId | None = None) -> Receipt:
        """Set aside, durably, what will be drawn later for the table as it is now. It is charged at once, and refused
        as a charge is: nobody else can spend it."""
        paid = {} if snapshot is None else {"snapshot": snapshot.to_json()}
        cost = self.of_person(cost)
        text = _body(content, cost=cost.to_json(), **paid, **self._named)
        with self._followed.turn() as state:
            state.require_current(snapshot)
            state.require_fit(cost, None)
            keep_working()
            receipt = self._followed.append(reserve.KIND, None, text).receipt
        self._followed.give(receipt)
        return receipt

    def draw(self, number: int, cost: Cost, plan: Any, snapshot: SnapshotId | None = None) -> Charge:
        """A charge that a reserve has paid for. Records nothing, and raises BudgetExceeded where the reserve has not so
        much left at every point, and Refreshed as `charge` does."""
        paid = {} if snapshot is None else {"snapshot": snapshot.to_json()}
        cost = self.of_person(cost)
        body = _body(plan, cost=cost.to_json(), **paid, **self._named, **{reserve.FROM: number})

        def step(turn: JointTurn) -> Entry:
            turn.state.require_current(snapshot)
            return turn.draw(number, cost, body)

        entry = self._together.write(step)
        return Charge(entry.seq, entry.receipt, cost, plan, snapshot, None, number, self.table)

    def charge(self, cost: Cost, plan: Any, asker: Asker | None = None, snapshot: SnapshotId | None = None) -> Charge:
        """Spend, durably, for a plan (JSON) that is read from a snapshot. Records nothing, and raises BudgetExceeded
        where it does not fit, QuotaExceeded where it does not fit what its asker may spend, and Refreshed where the
        vault is over another snapshot by now: a charge pays for the one that it names."""
        if asker is not None:
            asker.require_spending()
        paid = {} if snapshot is None else {"snapshot": snapshot.to_json()}
        self._refuse_hopeless(cost, asker)
        cost = self.of_person(cost)
        by = {} if asker is None else {"by": asker.name}
        body = _body(plan, cost=cost.to_json(), **paid, **self._named, **by)
        entry = self._together.write(partial(_charged, cost, body, asker, snapshot))
        if asker is not None:
            asker.charges.append(entry.seq)
        return Charge(entry.seq, entry.receipt, cost, plan, snapshot, by.get("by"), None, self.table)

    def _refuse_hopeless(self, cost: Cost, asker: Asker | None) -> None:
        """Spending only grows: what did not fit when the journal was last seen is refused, and no writer waits."""
        with self._followed.lock:
            if self._followed.state.refusal(self.of_person(cost)) is not None:
                self.require(cost, asker)

    def record(self, charge_id: int, body: Any) -> Record:
        """Complete a charge with its answer, durably. If it has one already, that one is returned and this one lost."""
        text = _body(body)

        def step(turn: JointTurn) -> Entry:
            if turn.is_pending(charge_id):
                return turn.record(charge_id, text)
            stored = self._followed.journal.record_of(charge_id)
            if stored is None:
                raise JournalError(f"entry {charge_id} is not a charge", "nothing was recorded")
            return stored

        stored = self._together.write(step)
        self._checkpoint_where_due()
        return read_record(charge_id, stored)

    def _checkpoint_where_due(self) -> None:
        """State what the entries add up to, where there are many since that was last done. No answer depends on it: one
        that cannot be written is tried again much later."""
        followed = self._followed
        if not followed.state.is_checkpoint_due or followed.state.head.seq < self._next_checkpoint:
            return
        self._next_checkpoint = followed.state.head.seq + checkpoint.EVERY
        with suppress(JournalError):
            with followed.turn() as state:
                if state.is_checkpoint_due:
                    followed.append(checkpoint.KIND, None, _body(checkpoint.packed(state.stated())))
            self._followed.give(self.head)  # read back and compared

    def close_charge(self, charge_id: int) -> bool:
        """Close a charge that will never be answered: it paid for a snapshot that is gone. What it spent stays spent.
        False where it was answered, or closed, before; and where the vault is over its snapshot, so that it can be."""
        text = _body({"because": "another snapshot"})
        with self._followed.turn() as state:
            charge = self.charge_at(charge_id) if charge_id in state.pending else None
            if charge is None or state.is_of_table(charge):
                return False
            keep_working()
            receipt = self._followed.append("close", charge_id, text).receipt
        self._followed.give(receipt)
        return True

    def note(self, kind: str, body: Any, snapshot: SnapshotId | None = None, *, of_table: bool = False) -> Receipt:
        """Any other entry: it is kept in order with the charges. Where it is about a snapshot, that is the current one,
        or it raises Refreshed; where it is about the table that these are the books of, it says so."""
        if kind not in NOTES:
            raise ValueError(f"{kind} has a method of its own, or no version knows it")
        text = _body(body, **(self._named if of_table else {}))
        with self._followed.turn() as state:
            if snapshot is not None:
                state.require_current(snapshot)
            keep_working()
            receipt = self._followed.append(kind, None, text).receipt
        if kind != ROLLBACK:  # the one entry that does not go on from the last receipt
            self._followed.give(receipt)
        return receipt

    def note_after(self, last: int, kind: str, body: Any) -> bool:
        """A note that goes on from the last one of its kind, entry `last` (0 where there is none). False, and nothing
        is written, where another came in between: what the note says would leave that out."""
        text = _body(body)
        with self._followed.turn() as state:
            if (state.noted[kind].seq if kind in state.noted else 0) != last:
                return False
            keep_working()
            receipt = self._followed.append(kind, None, text).receipt
        self._followed.give(receipt)
        return True

    def note_refresh(self, snapshot: SnapshotId, live: bool = False) -> Receipt:
        """The vault is over a snapshot of another table from now on, in which somebody may be at another point."""
        return self._go_over("refresh", snapshot, {"live": True} if live else {})

    def note_erasure(self, snapshot: SnapshotId) -> Receipt:
        """The vault is over the current snapshot without some people from now on. All others are where they were: no
        point counts as spent more than it was."""
        return self._go_over("erase", snapshot)

    def _go_over(self, kind: str, snapshot: SnapshotId, more: Mapping[str, Any] = MappingProxyType({})) -> Receipt:
        """The vault is over another snapshot from now on: the one after the current one."""
        text = _body({"snapshot": snapshot.to_json(), **more})
        with self._followed.turn() as state:
            if snapshot.number != (1 if state.snapshot is None else state.snapshot.number + 1):
                raise Refreshed("another snapshot was taken in between, and the vault is over it now: do it again")
            keep_working()
            receipt = self._followed.append(kind, None, text).receipt
        self._followed.give(receipt)
        return receipt

    def note_append(self, snapshot: SnapshotId, closed: str) -> Receipt:
        """The vault is over another snapshot from now on, which has the rows of the current one as they were, and those
        of periods after them, up to the one that is `closed` now. Nothing that was spent changes."""
        text = _body({"snapshot": snapshot.to_json(), CLOSED: closed})
        with self._followed.turn() as state:
            now = state.snapshot
            if now is None or snapshot.number != now.number + 1 or not state.growth.is_later(closed):
                raise Refreshed(
                    f"another append or refresh came in between: the table goes to {state.growth.last} now; look at "
                    "`discreet describe`, and append what is missing"
                )
            keep_working()
            receipt = self._followed.append("append", None, text).receipt
        self._followed.give(receipt)
        return receipt

    def note_fact(self, content: Mapping[str, Any], known: int, *, stopping: bool = True) -> FactNote:
        """A fact, durably. From now on its `induced` neighbours set the limit, for all that was spent and will be.

        `known` is how many entries the journal had when they were worked out: where a fact or another table came after
        that, it is refused. So is one that leaves nothing to spend, unless it may be `stopping`.
        """
        text = _body(dict(content))
        with self._followed.turn() as state:
            if max((state.refreshed, *(fact.number for fact in state.facts))) > known:
                raise JournalError("another fact or another table came in between", "add the fact again")
            fact = FactNote(state.head.seq + 1, state.refreshed, content)
            if not stopping and state.map.spent_max > fact.lowered(state.own_budget, state.budget).limit:
                raise JournalError("more was spent in between, and now the fact would stop the vault: look at it again")
            keep_working()
            entry = self._followed.append("fact", None, text)
        self._followed.give(entry.receipt)
        return self.facts[-1]

    def accept_lost(self, seen: Receipt) -> None:
        """Go on without the entries that led to a receipt, and note so; nothing where the journal has it.

        From then on every guarantee counts a whole budget for what they may have spent, and for those of every branch
        that was given up in them.
        """
        try:
            self.check_receipt(seen)
        except JournalRolledBack:
            also = sorted(lost_receipts(self.vault_id) - self._lost - {str(seen)})
            self.note(ROLLBACK, {"seen": str(seen), **({"also": also} if also else {})})
            keep_receipt(self.vault_id, self.head, even_if_older=True)
            keep_lost(self.vault_id, self._lost)

    def _check_last_receipt(self, accept_rollback: bool) -> None:
        seen = last_receipt(self.vault_id)
        if seen is not None and accept_rollback:
            self.accept_lost(seen)
        elif seen is not None:
            self.check_receipt(seen)
        self._followed.give(self.head)
        keep_lost(self.vault_id, self._lost)

    @property
    def _named(self) -> dict[str, str]:
        """What an entry says of the table that it is about, where there are several."""
        return {} if self.table is None else {"table": self.table}

    @property
    def _lost(self) -> frozenset[str]:
        return self._followed.state.standing.lost

    def close(self) -> None:
        self._followed.close()

    def after_fork(self) -> None:
        self._followed.after_fork()
        self._together.after_fork()


def _charged(cost: Cost, body: str, asker: Asker | None, snapshot: SnapshotId | None, turn: JointTurn) -> Entry:
    """A charge, in a turn that it may share."""
    turn.state.require_current(snapshot)
    turn.require_fit(cost, asker)
    keep_working()
    return turn.charge(cost, asker, body)


_ledgers: "weakref.WeakSet[Ledger]" = weakref.WeakSet()


def _after_fork() -> None:
    for ledger in list(_ledgers):
        ledger.after_fork()


os.register_at_fork(after_in_child=_after_fork)


def _compared(journal: Journal) -> Receipt:
    """The checkpoint that this user has compared, where one was kept of this journal's vault. Nothing is known of the
    journal yet, and so nothing but its name is taken from it."""
    first = journal.entry(1)
    try:
        vault_id = str(first.parsed()["content"]["vault_id"]) if first is not None else ""
    except (JournalError, LookupError, TypeError):
        return ORIGIN
    kept = kept_checkpoint(vault_id) if re.fullmatch(VAULT_ID, vault_id) else None
    return kept or ORIGIN


def _body(content: Any, **more: Any) -> str:
    at = datetime.now(UTC).isoformat(timespec="seconds")
    return canonical({"v": VERSION, "at": at, "content": content, **more})
