"""Charges and records of many threads that wait at the same time have one turn of the journal together, and one sync.

Whoever comes first leads: takes the turn, decides about everybody in the order in which they came, appends, and has all
of it synced before anybody goes on. Who comes meanwhile is in the next turn. Decisions are as exact as one by one: a
charge joins others only where it fits with all of theirs added up, point by point and by its asker's quota. One that
does not waits for a turn of its own, in which theirs are counted, and is let through or refused there.
"""

import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from copy import copy
from dataclasses import dataclass, field

from discreet.deadline import keep_working
from discreet.errors import JournalError
from discreet.ledger.asker import Asker
from discreet.ledger.followed import FollowedJournal
from discreet.ledger.journal import Entry, chained
from discreet.ledger.receipt import Receipt
from discreet.ledger.spend import Cost
from discreet.ledger.state import LedgerState


class NotTogetherError(Exception):
    """Whether it can be done depends on what others write in this turn."""


@dataclass
class JointTurn:
    """A turn as far as it has come. What was appended in it is not counted yet, in the `state` that it began with."""

    followed: FollowedJournal
    state: LedgerState
    head: Receipt
    cost: Cost = field(default_factory=Cost)
    """Of all charges so far, together."""
    own: dict[str, Cost] = field(default_factory=dict)
    """The same of each asker's."""
    completed: set[int] = field(default_factory=set)
    drawn_on: set[int] = field(default_factory=set)

    def charge(self, cost: Cost, asker: Asker | None, body: str) -> Entry:
        """Append a charge that was found to fit."""
        entry = self._append("charge", None, body)
        self.cost += cost
        if asker is not None:
            self.own[asker.name] = self._own(asker) + cost
        return entry

    def draw(self, reserve: int, cost: Cost, body: str) -> Entry:
        """Append a charge that is drawn on a reserve, where that has so much left; it is not charged again."""
        if reserve in self.drawn_on:
            raise NotTogetherError
        self.state.require_reserved(reserve, cost)
        keep_working()
        self.drawn_on.add(reserve)
        return self._append("charge", None, body)

    def record(self, charge: int, body: str) -> Entry:
        """Append what completes a charge."""
        self.completed.add(charge)
        return self._append("record", charge, body)

    def require_fit(self, cost: Cost, asker: Asker | None) -> None:
        """Raise what a charge would be refused with; NotTogetherError where those before it may be why."""
        if self.cost == Cost():
            self.state.require_fit(cost, asker)
            return
        own = self.state.askers.let(asker, self._own(asker) + cost, self.state.budget)
        if not own or self.state.refusal(self.cost + cost) is not None:
            raise NotTogetherError

    def is_pending(self, charge: int) -> bool:
        """Whether a charge has no answer; NotTogetherError where one has just been written for it."""
        if charge in self.completed:
            raise NotTogetherError
        return charge in self.state.pending

    def _own(self, asker: Asker | None) -> Cost:
        return self.own.get(asker.name, Cost()) if asker is not None else Cost()

    def _append(self, kind: str, charge: int | None, body: str) -> Entry:
        entry = chained(self.head, kind, charge, body)
        try:
            self.followed.journal.append(entry)
        except Exception as error:
            raise _TurnLostError from error
        self.head = entry.receipt
        return entry


class _TurnLostError(Exception):
    """Nothing of this turn can be written any more."""


Step = Callable[[JointTurn], Entry]
"""Decides, by raising what it is refused with, and then appends; or returns an entry that is there already."""


@dataclass(eq=False)
class _Waiting:
    step: Step
    context: Context = field(default_factory=copy_context)
    """Whose deadline it has."""
    entry: Entry | None = None
    error: BaseException | None = None
    leads: bool = False
    told: threading.Event = field(default_factory=threading.Event)

    def take(self, turn: JointTurn) -> bool:
        """Do the step in a turn; False where it has to wait for another."""
        try:
            self.entry = self.context.run(self.step, turn)
        except NotTogetherError:
            return False
        except _TurnLostError as lost:
            raise lost.__cause__ or lost from None
        except Exception as error:
            self.error = error
        return True

    def fail(self, error: BaseException) -> None:
        """The turn failed in which it would have been done."""
        self.entry = None
        if self.error is None:
            is_ours = isinstance(error, Exception)
            self.error = copy(error) if is_ours else JournalError("a turn was broken off", "ask again")

    def outcome(self) -> Entry:
        if self.error is not None:
            raise self.error
        assert self.entry is not None
        return self.entry


class Together:
    """The line before a journal, of all threads of a process."""

    def __init__(self, followed: FollowedJournal) -> None:
        self._followed = followed
        self.after_fork()

    def after_fork(self) -> None:
        """Called in a forked child: whoever waited here waits in the parent."""
        self._lock = threading.Lock()
        self._line: list[_Waiting] = []
        self._is_led = False

    def write(self, step: Step) -> Entry:
        """Do a step in a turn of the journal, with whoever waits as well. When it returns, the entry is synced, and a
        receipt is given for it."""
        mine = _Waiting(step)
        with self._lock:
            self._line.append(mine)
            mine.leads, self._is_led = not self._is_led, True
        if not mine.leads:
            mine.told.wait()
        while mine.leads:
            self._lead(mine)
        return mine.outcome()

    def _lead(self, mine: _Waiting) -> None:
        """Take a turn with all who wait; then let one of those lead who came meanwhile, or could not be in it."""
        with self._lock:
            line, self._line = self._line, []
        later: list[_Waiting] = []
        try:
            later = self._turn(line)
        except BaseException as error:
            for waiting in line:
                waiting.fail(error)
            if not isinstance(error, Exception):
                raise
        finally:
            done = [waiting for waiting in line if waiting not in later]
            with self._lock:
                self._line = [*later, *self._line]
                mine.leads = mine in later
                self._is_led = bool(self._line)
                if self._line and not mine.leads:
                    self._line[0].leads = True
                    done.append(self._line[0])
            for waiting in done:
                waiting.told.set()

    def _turn(self, line: list[_Waiting]) -> list[_Waiting]:
        with self._followed.turn() as state:
            turn = JointTurn(self._followed, state, state.head)
            later = [waiting for waiting in line if not waiting.take(turn)]
        written = [waiting.entry.receipt for waiting in line if waiting.entry is not None]
        if written:
            self._followed.give(max(written, key=lambda receipt: receipt.seq))
        return later
