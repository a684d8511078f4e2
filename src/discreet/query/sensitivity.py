"""What one row can change: the charge of a measurement at each point of the domain.

Adding or removing one row at point p changes a query's answer by at most f(p), and only in the one group that p is in:
f(p) = 1 on a Count's region, 0 outside; for a Sum f(p) is the larger |value| that a row with p's code can add. Laplace
noise of scale λ on every group then bounds the pure privacy loss for that row by f(p)/λ, and Gaussian noise the
concentrated one by f(p)²/(2σ²). An exponential mechanism of "scale" λ draws with Pr ∝ exp(u/(2λ·Δu)), so its loss is at
most 1/λ on its region [cubes, Theorem 2.1.2, with the factor 2 that it lacks]. A row moves all numbers of a Residual:
`residual.py` says how far.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import groupby
from math import prod

from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import Budget
from discreet.ledger.spend import units_up
from discreet.noise.law import Law
from discreet.query.cells import Amount
from discreet.query.profiles import PersonGroup
from discreet.query.query import (
    Choice,
    Count,
    Distinct,
    People,
    ProfileSum,
    Quantile,
    Query,
    Residual,
    SubsetCount,
    Sum,
    answer_shape,
    grain_of,
    grains_of,
    group_attribute,
    require_people,
)
from discreet.query.residual import residual_loss

PIECES = 256
"""A Sum charges a box in at most so many pieces, each for the largest value in it: rounded up, never down."""


def spends(query: Query, law: Law, domain: Domain, budget: Budget) -> Iterator[tuple[Box, int]]:
    """Boxes, disjoint, with the units that a measurement of `query` with this noise spends on each of their points."""
    require_people(query)
    match query:
        case Count() | Quantile() | Choice() | Distinct():
            # A row more brings one combination of codes at most, and none is lost by it: it moves the number of
            # different ones in its group as it moves a count, by 0 or 1, and in no other group.
            amount = units_up(budget.loss(law, Fraction(1), one_signed=True))
            yield from ((box, amount) for box in query.where.boxes)
        case People() | ProfileSum():
            # A line is one person's, and each of their rows there pays for all of it; or all k of their rows do,
            # wherever they are. docs/explain/privacy-unit.md has the proof.
            adds, one_signed = (
                (Fraction(1), True) if isinstance(query, People) else (query.largest, query.is_one_signed)
            )
            loss = budget.loss(law, adds, one_signed, query.grain(domain))
            if _is_of_everybody(query, domain):
                loss = min(loss, budget.shared(loss, most_lines(query, domain, budget)))
            yield from ((box, units_up(loss)) for box in query.where.boxes)
        case Residual():
            amount = units_up(residual_loss(law, answer_shape(query, domain), budget))
            yield from ((box, amount) for box in query.where.boxes)
        case SubsetCount():
            # A person's row moves each answer by at most 1, wherever it is: a query is one of T for everybody.
            yield domain.everything.boxes[0], budget.units_of_queries(len(query.subsets), law)
        case Sum(of=Amount() as amount):
            # A row at p moves the sum by |f(p)| grains, and one of its groups alone.
            for box in query.where.boxes:
                for piece, grains in amount.pieces(box, domain):
                    yield piece, units_up(budget.loss(law, grains * amount.grain, amount.is_one_signed, amount.grain))
        case Sum(of=str() as name):
            axis, attribute = domain.axis(name), domain[name]
            grain, one_signed = grain_of(attribute), is_one_signed(attribute)
            for box in query.where.boxes:
                for low, high, grains in _pieces(attribute, box.low[axis], box.high[axis]):
                    yield _cut(box, axis, low, high), units_up(budget.loss(law, grains * grain, one_signed, grain))


def _is_of_everybody(query: People | ProfileSum, domain: Domain) -> bool:
    """Whether all rows of a person can pay for it together: it is charged wherever they may be."""
    return query.where == domain.everything and domain.growing is None


def part_of_rows(query: Query, domain: Domain, budget: Budget) -> Fraction:
    """How far a person moves a query, as a part of what all their rows would, each by itself. With so much less noise
    it costs what a count does."""
    if not isinstance(query, People | ProfileSum) or not _is_of_everybody(query, domain):
        return Fraction(1)
    return min(Fraction(most_lines(query, domain, budget), budget.max_rows), Fraction(1))


def most_lines(query: People | ProfileSum, domain: Domain, budget: Budget) -> int:
    """By how many lines' amounts a person moves the numbers: who comes or goes by theirs, of which there is one for
    each group of keys at most, or for each of some first rows; who loses some of their rows and keeps others by twice
    that, where a line can change its sign or its group. Where people are replaced, that is the step anyway, and the
    budget's own."""
    keys = query.by if isinstance(query, People) else [key for _, key in query.profiles.keys]
    rows = 1 if isinstance(query, People) or query.profiles.first is None else query.profiles.first.most
    lines = min(rows * prod(group_attribute(key, domain).size for key in keys), budget.max_rows)
    if isinstance(query, People):
        return lines
    may_turn = not query.is_one_signed or any(isinstance(group, PersonGroup) for group in query.by)
    return 2 * lines if may_turn and budget.neighbours == "add-remove" else lines


def is_one_signed(attribute: Attribute) -> bool:
    """Whether no two rows can move a sum in opposite directions."""
    match attribute:
        case Integer(low=low, high=high):
            return low >= 0 or high <= 0
        case Bins(edges=edges):
            return all(edge is not None and edge >= 0 for edge in edges) or all(
                edge is not None and edge <= 0 for edge in edges
            )
    return False


def _pieces(attribute: Attribute, first: int, last: int) -> Iterator[tuple[int, int, int]]:
    """Runs of codes within first … last with the most grains that a row adds. Missing and other values add none."""
    last = min(last, attribute.cells - 1)
    width = max(-(-(last - first + 1) // PIECES), 1)
    runs = [(start, min(start + width - 1, last)) for start in range(first, last + 1, width)]
    for grains, alike in groupby(runs, key=lambda run: _most_grains(attribute, *run)):
        if grains:
            starts, ends = zip(*alike, strict=True)
            yield starts[0], ends[-1], grains


def largest_move(query: Query, domain: Domain) -> Fraction:
    """The most that one row adds to a query, or that one line of a person does."""
    match query:
        case Sum(of=of):
            return largest_in_sum(of, domain) or Fraction(1)
        case ProfileSum():
            return query.largest or Fraction(1)
    return Fraction(1)


def largest_in_sum(of: str | Amount, domain: Domain) -> Fraction:
    """The largest |value| that any row can add to a sum."""
    return of.grain * of.largest if isinstance(of, Amount) else largest_addend(domain[of])


def largest_addend(attribute: Attribute) -> Fraction:
    """The largest |value| that any row can add to a sum of an attribute."""
    return grain_of(attribute) * _most_grains(attribute, 0, attribute.cells - 1)


def _most_grains(attribute: Attribute, first: int, last: int) -> int:
    """The largest |value| of a row with a code in first … last, in whole grains."""
    match attribute:
        case Integer(low=low):
            return max(abs(low + first), abs(low + last))
        case Bins(edges=edges):
            return max(_rounded(edges[first], attribute), _rounded(edges[last + 1], attribute))
    raise UnsupportedQuery(f"{attribute.name} is a category: it can be counted, not summed")


def _rounded(edge: Fraction | None, attribute: Bins) -> int:
    """|edge| in grains, rounded as an engine rounds the rows between edges: divided as doubles, then to the nearest.

    Division and rounding keep the order of numbers, so a row rounds to no more than the larger of its bin's edges.
    """
    return abs(grains_of(edge, attribute))


def _cut(box: Box, axis: int, low: int, high: int) -> Box:
    return Box((*box.low[:axis], low, *box.low[axis + 1 :]), (*box.high[:axis], high, *box.high[axis + 1 :]))
