"""A journal that is followed: counted as it grows, by any number of threads and processes, and never let go back.

What was seen of it is remembered as a receipt, in memory and beyond this process; a journal that does not hold the last
one is an older one that somebody put back.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.domain.domain import Domain
from discreet.errors import JournalCorrupt
from discreet.ledger.budget import Budget
from discreet.ledger.journal import ORIGIN, Entry, Journal, chained, verified
from discreet.ledger.messages import rolled_back
from discreet.ledger.receipt import Receipt, keep_checkpoint, keep_receipt
from discreet.ledger.state import LedgerState


class FollowedJournal:
    """A journal, the lock of whoever looks at it here, and what its entries add up to."""

    def __init__(self, journal: Journal, domain: Domain, budget: Budget, compared: Receipt = ORIGIN) -> None:
        """Counting begins at a checkpoint that this user has `compared` with the entries before it, or at the first
        entry."""
        self.journal, self.state, self.compared = journal, LedgerState(domain, budget, {}), compared
        self.lock = threading.RLock()
        self.last = self.given = ORIGIN

    @property
    def vault_id(self) -> str:
        return str(self.state.header["vault_id"])

    @contextmanager
    def current(self) -> Iterator[LedgerState]:
        """Hold the lock, with everything counted that is in the journal, and a receipt given for what others wrote."""
        with self.lock:
            self.count()
            if ORIGIN.seq < self.given.seq < self.state.head.seq:
                self.give(self.state.head)
            yield self.state

    @contextmanager
    def turn(self) -> Iterator[LedgerState]:
        """Be the only writer, with everything counted. What is appended is counted when it is next read back."""
        with self.lock, self.journal.turn():
            self.count()
            yield self.state

    def count(self) -> None:
        """Count everything that is in the journal, which must go on from where it was."""
        if self.last != ORIGIN and self.last != self.state.head:
            self.require_held(self.last)
        if self.state.head == ORIGIN and self.compared != ORIGIN:
            self.state = self._begun()
        self.state.absorb(self._following(self.state.head))
        self.last = self.state.head

    def _following(self, head: Receipt) -> Iterator[Entry]:
        """The entries after the last that was counted, which the journal must hold."""
        following = self.journal.entries() if head == ORIGIN else self.journal.following(head)
        if following is None:
            raise rolled_back(head, self.vault_id)
        return following

    def _begun(self) -> LedgerState:
        """What the compared checkpoint states; nothing counted where the journal does not have it, or where it is of
        another domain or form."""
        try:
            return self.state.restored(self._proven(self.compared), self._content)
        except (JournalCorrupt, LookupError, TypeError, ValueError):
            self.compared = ORIGIN
            return self.state

    def _content(self, receipt: Receipt) -> object:
        return self._proven(receipt).parsed()["content"]

    def _proven(self, receipt: Receipt) -> Entry:
        """The entry with this receipt. Its hash proves what it says. Raises LookupError where there is none."""
        entry = self.journal.entry(receipt.seq)
        if entry is None or entry.receipt != receipt:
            raise LookupError(receipt.seq)
        return self._checked(entry)

    def entry(self, seq: int) -> Entry | None:
        """An entry by its number."""
        found = self.journal.entry(seq)
        return self._checked(found) if found is not None and self._is_uncounted(found.seq) else found

    def record_of(self, charge: int) -> Entry | None:
        """The entry that completes a charge; None while there is none."""
        found = self.journal.record_of(charge)
        return self._checked(found) if found is not None and self._is_uncounted(found.seq) else found

    def _is_uncounted(self, seq: int) -> bool:
        """Whether an entry is before the checkpoint that counting began at, and its hash was not looked at."""
        return seq <= self.state.begun_at.seq

    def _checked(self, entry: Entry) -> Entry:
        """The same entry, whose hash must be that of what it says after the entry before it."""
        before = self.journal.receipt_at(entry.seq - 1) or ORIGIN
        return next(verified([entry], before))

    def append(self, kind: str, charge: int | None, body: str) -> Entry:
        """The next entry, in one's turn."""
        entry = chained(self.state.head, kind, charge, body)
        self.journal.append(entry)
        return entry

    def give(self, receipt: Receipt) -> None:
        """Remember, here and beyond this process, that the journal came so far. No row is read, and nothing leaves,
        before that is done.

        Raises JournalRolledBack where the journal does not hold both this receipt and the one that was remembered
        before: an older one was put back since it was opened. Of two that went on differently from the same entry, only
        one is ever answered from: whoever comes second finds the other's receipt.
        """
        with self.lock:
            self.last = max(self.last, receipt, key=_seq)
            other = keep_receipt(self.vault_id, receipt, goes_on_from=self.holds)
            if other is not None:
                raise rolled_back(other, self.vault_id)
            self.require_held(receipt)
            self.given = max(self.given, receipt, key=_seq)
            if self.state.checkpoint.seq > self.compared.seq:
                self.compared = self.state.checkpoint
                keep_checkpoint(self.vault_id, self.compared)

    def holds(self, receipt: Receipt) -> bool:
        return self.journal.receipt_at(receipt.seq) == receipt

    def require_held(self, receipt: Receipt) -> None:
        """Raise JournalRolledBack unless the journal went on from where it was when the receipt was given."""
        if not self.holds(receipt):
            raise rolled_back(receipt, self.vault_id)

    def upto(self, head: Receipt, after: int) -> Iterator[Entry]:
        """The entries from one to another."""
        entries = self.journal.entries(after)
        if self._is_uncounted(after + 1):
            entries = verified(entries, self.journal.receipt_at(after) or ORIGIN)
        for entry in entries:
            if entry.seq < head.seq:
                yield entry
            elif entry.receipt == head:
                yield entry
                return
            else:
                break
        if after < head.seq:
            raise rolled_back(head, self.vault_id)

    def close(self) -> None:
        with self.lock:
            self.journal.close()

    def after_fork(self) -> None:
        """Called in a forked child, where another thread of the parent may have been at work in here. Nothing in memory
        is trusted: the next look at the journal starts from its first entry, or from a checkpoint that was compared."""
        self.lock = threading.RLock()
        self.journal.after_fork()
        self.state = LedgerState(self.state.domain, self.state.own_budget, self.state.header)


def _seq(receipt: Receipt) -> int:
    return receipt.seq
