"""What all charges together spent, at every point of the domain and at every time, by brute force over their boxes.

Between two entries that change the terms, spending only grows: it is enough to look where it is largest at some times
in between, and at the end. Where that is beyond the limit, the entry that passed it is searched for.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.audit.depth import Boxes, Field, Ints, TooFine, deepest
from discreet.audit.finding import Check, Findings
from discreet.audit.replay import Charged, Lowered, Refreshed, Replay
from discreet.audit.terms import MOST_UNITS, Terms
from discreet.domain.domain import Domain
from discreet.progress import Progress

LOOKS = 120
"""How often spending is looked at over a journal's life; less often where one look takes long."""
WORK = 1 << 27
STOP = (
    "answer nothing more from this vault; what was released promises less than it said: state what was spent, and find "
    "out who wrote to the journal"
)


@dataclass(frozen=True)
class Moment:
    """The most that was spent at any point by an entry, and the limit then; in units, and as one person's amount."""

    entry: int
    at: str
    spent: int
    limit: int
    amount: Fraction
    kind: str = "charge"


@dataclass
class Spending:
    """The spend map, made again. `grid` is what was spent by region since the last refresh, above `level`."""

    domain: Domain
    terms: Terms
    level: int = 0
    grid: Field | None = None
    exact: bool = True
    moments: list[Moment] = field(default_factory=list)
    _regional: int = 0
    _found: Findings = field(default_factory=Findings)
    _undecided: bool = False

    @property
    def spent(self) -> int:
        """The most units at any point."""
        return self.level + self._regional

    @property
    def overdrawn(self) -> bool:
        """Whether facts have lowered the limit below what was spent before them."""
        return self.spent > self.terms.limit

    def by_code(self, axis: int) -> Ints | None:
        """The most units at any point with each code of an attribute; None where that was too much to work out."""
        return None if self.grid is None else self.grid.by_axis(axis) + self.level

    def period(self, charges: Sequence[Charged | Lowered], told: Callable[[], None]) -> None:
        """Count what happened to one table."""
        all_boxes = self._boxes([event for event in charges if isinstance(event, Charged)])
        try:
            self.grid = Field(self.domain.shape, all_boxes)
            looks = max(1, min(LOOKS, WORK // max(self.grid.cells, 1)))
        except TooFine:
            self.grid, looks = None, 1
        most = max(1, -(-len(charges) // looks))
        before: list[Charged] = []
        held: list[Charged] = []
        weight = 0
        for event in charges:
            told()
            if isinstance(event, Charged):
                held.append(event)
                weight += event.peak
            # Sums stay below 64 bits: what was counted is within the limit, and what is held is not much more.
            if isinstance(event, Lowered) or len(held) >= most or weight > MOST_UNITS // 2:
                self._count(held, before)
                held, weight = [], 0
            if isinstance(event, Lowered):
                self._lower(event)
        self._count(held, before)

    def _count(self, held: list[Charged], before: list[Charged]) -> None:
        """Add some charges, and see that no point has more than the limit."""
        if not held:
            return
        start_level, start = self.level, self._regional
        self.level += sum(charge.cost.everywhere for charge in held)
        self._add(held, before)
        if self.spent > self.terms.limit:
            self._pin_down(held, before, start_level + start)
        before.extend(held)
        self._moment(held[-1].seq, held[-1].at, "charge")

    def _add(self, held: list[Charged], before: list[Charged]) -> None:
        boxes = self._boxes(held)
        if self.grid is not None:
            if len(boxes.units):
                self.grid.add(boxes)
            self._regional = self.grid.most
        else:
            self._regional, exact = deepest(self._boxes([*before, *held]), self.domain.shape)
            self.exact &= exact

    def _pin_down(self, held: list[Charged], before: list[Charged], start: int) -> None:
        """Say which entry passed the limit, by halving; or that it cannot be told whether any did."""
        if not self.exact:
            self._undecided = True
            return
        limit = self.terms.limit
        if start > limit:
            self._found.failed(f"charge {held[0].seq} was made when nothing was left", STOP, held[0].seq)
            return
        base = self.level - sum(charge.cost.everywhere for charge in held)
        low, high = 0, len(held)  # the first `low` fit, the first `high` do not
        while high - low > 1:
            middle = (low + high) // 2
            some = held[:middle]
            deep, _ = deepest(self._boxes([*before, *some]), self.domain.shape)
            fits = base + sum(charge.cost.everywhere for charge in some) + deep <= limit
            low, high = (middle, high) if fits else (low, middle)
        worst = self.terms.amount(self.spent)
        self._found.failed(
            f"charge {held[high - 1].seq} spent more than was left: {self.terms.symbol} = {float(worst):.6g} at some "
            f"point, and the limit is {float(self.terms.amount(limit)):.6g}",
            STOP,
            held[high - 1].seq,
        )

    def _lower(self, fact: Lowered) -> None:
        """Other terms hold from now on, also for what was spent before."""
        self.terms = fact.terms
        self._moment(fact.seq, fact.at, "fact")
        if self.overdrawn:
            amount, total = float(self.terms.amount(self.spent)), float(self.terms.total)
            self._found.warning(
                f"the fact of entry {fact.seq} made what was spent before it {self.terms.symbol} = {amount:.6g} to "
                f"whoever knows it, more than the {total:.6g} that was to be promised",
                "nothing more is measured, and every guarantee says so; tell whoever holds earlier releases",
                fact.seq,
            )

    def _moment(self, seq: int, at: str, kind: str) -> None:
        self.moments.append(Moment(seq, at, self.spent, self.terms.limit, self.terms.amount(self.spent), kind))

    def _boxes(self, charges: Sequence[Charged]) -> Boxes:
        return Boxes.of([piece for charge in charges for piece in charge.cost.pieces], len(self.domain.shape))

    def refresh(self, seq: int, at: str) -> None:
        """Somebody may be at another point of the next table: all points start at the most spent one."""
        self.level, self._regional, self.grid = self.spent, 0, None
        self._moment(seq, at, "refresh")

    def check(self) -> Check:
        if self._undecided:
            self._found.warning(
                "the charges lie over each other in too many ways to find where most was spent",
                "the vault's own bound, which never counts too little, is within the limit if the next check passed",
            )
        share = self.spent / self.terms.limit if self.terms.limit else 1.0
        least = "" if self.exact else "at most "
        detail = f"{least}{share:.1%} of it, at the most spent point"
        return self._found.check("limit", "Spending stayed within the limit", detail)


def spend_again(read: Replay, progress: Progress) -> Spending:
    """The spending of a journal that was read. Requires that its header was understood."""
    assert read.domain is not None, "the header was read"
    assert read.own_terms is not None, "the header was read"
    spending = Spending(read.domain, read.own_terms)
    done, total = 0, max(len(read.events), 1)

    def told() -> None:
        nonlocal done
        done += 1
        if not done % 1000:
            progress("adding up", done / total)

    current: list[Charged | Lowered] = []
    for event in read.events:
        if isinstance(event, Refreshed):
            spending.period(current, told)
            spending.refresh(event.seq, event.at)
            current = []
        else:
            current.append(event)
    spending.period(current, told)
    return spending
