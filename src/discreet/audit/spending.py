"""What all charges together spent, at every point of the domain and at every time, added up again from their boxes.

Between two entries that change the terms, spending only grows: it is enough to look where it is largest at some times
in between, and at the end. Where that is beyond the limit, the entry that passed it is searched for. Where boxes lie
over each other in too many ways to find the most spent point, there are two numbers: what some point has, and what no
point has more than.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.audit.depth import Field, TooFine, deepest
from discreet.audit.finding import Check, Findings
from discreet.audit.load import NOTHING, Depth, Ints, Load
from discreet.audit.replay import Charged, Lowered, Replay, TableRefresh
from discreet.audit.terms import MOST_UNITS, Terms
from discreet.domain.domain import Domain
from discreet.progress import Progress

LOOKS = 120
"""How often spending is looked at over a journal's life, at most."""
WORK_EACH = 2000
"""Looks take less time than reading the charges does: so many steps for each of them."""
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
    """The spend map, made again. `grid` is what was spent by region since the last refresh, above `level`; None where
    its edges are too many. `claimed` is what the vault says is the most at any point: what has to be shown of a bound.
    """

    domain: Domain
    terms: Terms
    claimed: int | None = None
    level: Depth = NOTHING
    grid: Field | None = None
    moments: list[Moment] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    """What was charged by region since the last refresh."""
    _regional: Depth = NOTHING
    _found: Findings = field(default_factory=Findings)
    _undecided: bool = False

    @property
    def least(self) -> int:
        """Units that some point has spent."""
        return self.level.least + self._regional.least

    @property
    def most(self) -> int:
        """Units that no point has spent more than."""
        return self.level.most + self._regional.most

    @property
    def exact(self) -> bool:
        return self.least == self.most

    @property
    def overdrawn(self) -> bool:
        """Whether facts have lowered the limit below what was spent before them, for certain."""
        return self.least > self.terms.limit

    def by_code(self, axis: int) -> Ints | None:
        """The most units at any point with each code of an attribute; None where that was too much to work out."""
        return None if self.grid is None else self.grid.by_axis(axis) + self.level.most

    def period(self, charges: Sequence[Charged | Lowered], told: Callable[[], None], last: bool) -> None:
        """Count what happened to one table; `last`: to the one that the vault is over."""
        all_loads = [event.load for event in charges if isinstance(event, Charged)]
        self.loads = []
        try:
            self.grid = Field(self.domain.shape, all_loads)
            looks = max(1, min(LOOKS, WORK_EACH * len(all_loads) // self.grid.work))
        except TooFine:
            self.grid, looks = None, 1
        most = max(1, -(-len(charges) // looks))
        held: list[Charged] = []
        weight = 0
        for event in charges:
            told()
            if isinstance(event, Charged):
                held.append(event)
                weight += event.peak
            # Sums stay below 64 bits: what was counted is within the limit, and what is held is not much more.
            full = self.grid is not None and (len(held) >= most or weight > MOST_UNITS // 2)
            if isinstance(event, Lowered) or full:
                self._count(held, self.terms.limit)
                held, weight = [], 0
            if isinstance(event, Lowered):
                self._lower(event)
        self._count(held, self.claimed if last and self.claimed is not None else self.terms.limit)

    def _count(self, held: list[Charged], enough: int) -> None:
        """Add some charges, and see that no point has more than the limit."""
        if not held:
            return
        before = self.least
        everywhere = sum(charge.everywhere for charge in held)
        self.level = Depth(self.level.least + everywhere, self.level.most + everywhere)
        loads = [charge.load for charge in held if charge.load.boxes]
        self.loads += loads
        if self.grid is not None:
            self.grid.add(loads)
            self._regional = Depth(self.grid.most, self.grid.most)
        else:
            self._regional = deepest(self.loads, self.domain.shape, max(enough - self.level.most, 0))
        if self.least > self.terms.limit:
            self._pin_down(held, before)
        elif self.most > self.terms.limit:
            self._undecided = True
        self._moment(held[-1].seq, held[-1].at, "charge")

    def _pin_down(self, held: list[Charged], start: int) -> None:
        """Say which entry passed the limit, by halving."""
        limit = self.terms.limit
        if start > limit:
            self._found.failed(f"charge {held[0].seq} was made when nothing was left", STOP, held[0].seq)
            return
        base = self.level.least - sum(charge.everywhere for charge in held)
        before = self.loads[: len(self.loads) - sum(bool(charge.load.boxes) for charge in held)]
        low, high = 0, len(held)  # the first `low` fit, as far as is known; the first `high` do not
        while high - low > 1:
            middle = (low + high) // 2
            some = held[:middle]
            deep = deepest([*before, *(charge.load for charge in some)], self.domain.shape).least
            fits = base + sum(charge.everywhere for charge in some) + deep <= limit
            low, high = (middle, high) if fits else (low, middle)
        worst = self.terms.amount(self.least)
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
            amount, total = float(self.terms.amount(self.least)), float(self.terms.total)
            self._found.warning(
                f"the fact of entry {fact.seq} made what was spent before it {self.terms.symbol} = {amount:.6g} to "
                f"whoever knows it, more than the {total:.6g} that was to be promised",
                "nothing more is measured, and every guarantee says so; tell whoever holds earlier releases",
                fact.seq,
            )

    def _moment(self, seq: int, at: str, kind: str) -> None:
        self.moments.append(Moment(seq, at, self.most, self.terms.limit, self.terms.amount(self.most), kind))

    def refresh(self, seq: int, at: str) -> None:
        """Somebody may be at another point of the next table: all points start at the most spent one."""
        self.level, self._regional, self.grid, self.loads = Depth(self.least, self.most), NOTHING, None, []
        self._moment(seq, at, "refresh")

    def check(self) -> Check:
        if self._undecided:
            limit, least, most = (
                float(self.terms.amount(units)) for units in (self.terms.limit, self.least, self.most)
            )
            self._found.warning(
                f"the charges lie over each other in too many ways to find the most spent point: it has between "
                f"{self.terms.symbol} = {least:.6g} and {most:.6g}, and the limit is {limit:.6g}",
                "the vault's own bound, which never counts too little, is within the limit if the next check passed",
            )
        limit = self.terms.limit
        least, most = (units / limit if limit else 1.0 for units in (self.least, self.most))
        share = f"{most:.1%}" if self.exact else f"between {least:.1%} and {most:.1%}"
        return self._found.check("limit", "Spending stayed within the limit", f"{share} of it, at the most spent point")


def spend_again(read: Replay, progress: Progress, claimed: int | None = None) -> Spending:
    """The spending of a journal that was read. Requires that its header was understood. `claimed` as in `Spending`."""
    assert read.domain is not None, "the header was read"
    assert read.own_terms is not None, "the header was read"
    spending = Spending(read.domain, read.own_terms, claimed)
    done, total = 0, max(len(read.events), 1)

    def told() -> None:
        nonlocal done
        done += 1
        if not done % 1000:
            progress("adding up", done / total)

    current: list[Charged | Lowered] = []
    for event in read.events:
        if isinstance(event, Charged) and event.kind == "draw":
            told()  # the reserve that it is drawn on was counted
        elif isinstance(event, TableRefresh):
            spending.period(current, told, last=False)
            spending.refresh(event.seq, event.at)
            current = []
        else:
            current.append(event)
    spending.period(current, told, last=True)
    return spending
