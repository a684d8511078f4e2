"""Charges that have no answer yet: what each will answer is public as soon as it is charged, and worth waiting for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge
from discreet.noise.law import Law
from discreet.query.plan import Plan
from discreet.query.query import Count, Quantile, Query, Sum

Quantity = tuple[object, ...]
Axes = frozenset[int]


@dataclass(frozen=True)
class UnansweredCharge:
    """A charge without an answer."""

    charge: Charge
    plan: Plan
    domain: Domain

    def will_answer(self, query: Query, region: Region, law: Law) -> bool:
        """Whether it measures a number of this quantity and region, alone or as one of its groups, as sharply."""
        quantity = _quantity(query)
        for where, laws in self._laws.items():
            axes = _told_apart(where, region)
            found = None if axes is None else laws.get((quantity, axes))
            if found is not None and type(found) is type(law) and found.scale <= law.scale:
                return True
        return False

    @cached_property
    def _laws(self) -> dict[Region, dict[tuple[Quantity, Axes], Law]]:
        """The sharpest noise on each quantity, by where it is measured and by which axes it is told apart there."""
        laws: dict[Region, dict[tuple[Quantity, Axes], Law]] = {}
        for measurement in self.plan.measurements:
            query, law = measurement.query, measurement.law
            if isinstance(query, Count | Sum | Quantile):
                axes = frozenset(self.domain.axis(name) for name in query.by) - _single(query.where)
                known = laws.setdefault(query.where, {})
                key = _quantity(query), axes
                known[key] = min(law, known.get(key, law), key=lambda one: one.scale)
        return laws


@dataclass
class Others:
    """The charges of the table as it is now that have no answer yet, whoever made them. Each is read once."""

    domain: Domain
    ledger: Books
    _read: dict[int, UnansweredCharge] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __iter__(self) -> Iterator[UnansweredCharge]:
        unanswered = self.ledger.unanswered()
        with self._lock:
            self._read = {number: self._read.get(number) or self._expected(number) for number in unanswered}
            return iter(list(self._read.values()))

    def _expected(self, number: int) -> UnansweredCharge:
        charge = self.ledger.charge_at(number)
        assert charge is not None  # the ledger has it among its charges
        return UnansweredCharge(charge, Plan.from_json(charge.plan), self.domain)


def _quantity(query: Query) -> Quantity:
    match query:
        case Quantile():
            return Quantile, query.of, query.level
        case Sum():
            return Sum, query.of
    return (type(query),)


def _told_apart(where: Region, region: Region) -> Axes | None:
    """The axes by which one has to group what is in `where`, for `region` to be a group; None where it never is."""
    if where == region:
        return frozenset()
    if len(where.boxes) != 1 or len(region.boxes) != 1:
        return None
    [whole], [box] = where.boxes, region.boxes
    ends = zip(whole.low, box.low, whole.high, box.high, strict=True)
    axes = frozenset(axis for axis, (first, low, last, high) in enumerate(ends) if (first, last) != (low, high))
    return axes if axes <= _single(region) and whole.covers(box) else None


def _single(region: Region) -> Axes:
    """The axes on which a box has one code; none of several boxes."""
    if len(region.boxes) != 1:
        return frozenset()
    [box] = region.boxes
    return frozenset(axis for axis, (low, high) in enumerate(zip(box.low, box.high, strict=True)) if low == high)
