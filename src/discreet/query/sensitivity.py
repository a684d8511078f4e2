"""What one row can change: the charge of a measurement at each point of the domain.

Adding or removing one row at point p changes a query's answer by at most f(p), and only in the one group that p is in.
Laplace noise of scale λ on every group then bounds the privacy loss for that row by f(p)/λ: f(p) = 1 on a Count's
region, 0 outside; for a Sum f(p) is the larger |value| that a row with p's code can add. An exponential mechanism of
"scale" λ draws with Pr ∝ exp(u/(2λ·Δu)), so its loss is at most 1/λ on its region [cubes, Theorem 2.1.2, with the
factor 2 that it lacks].
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

from discreet.domain.attribute import Bins, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.errors import UnsupportedQuery
from discreet.ledger.spend import units_up
from discreet.query.query import Count, Quantile, Query, Sum, grain_of


def largest_values(domain: Domain, name: str) -> list[Fraction]:
    """f of each code of a summed attribute: the largest |value| of a row with that code, once rounded to the grain."""
    attribute = domain[name]
    grain = grain_of(attribute)
    match attribute:
        case Integer():
            cells = [Fraction(abs(attribute.low + code)) for code in range(attribute.cells)]
        case Bins(edges=edges):
            closed = [edge for edge in edges if edge is not None]
            cells = [grain * max(abs(floor(low / grain)), abs(ceil(high / grain))) for low, high in pairwise(closed)]
        case _:
            raise UnsupportedQuery(f"{name} is a category: it can be counted, not summed")
    return cells + [Fraction(0)] * (attribute.size - attribute.cells)


def spends(query: Query, scale: Fraction, domain: Domain) -> Iterator[tuple[Box, int]]:
    """Boxes, disjoint, with the units that a measurement of `query` at `scale` spends on each of their points."""
    match query:
        case Count() | Quantile():
            amount = units_up(1 / scale)
            yield from ((box, amount) for box in query.where.boxes)
        case Sum():
            axis = domain.axis(query.of)
            largest = largest_values(domain, query.of)
            for box in query.where.boxes:
                for low, high in _runs(largest, box.low[axis], box.high[axis]):
                    if largest[low]:
                        yield (
                            Box(
                                (*box.low[:axis], low, *box.low[axis + 1 :]),
                                (*box.high[:axis], high, *box.high[axis + 1 :]),
                            ),
                            units_up(largest[low] / scale),
                        )


def _runs(values: list[Fraction], first: int, last: int) -> Iterator[tuple[int, int]]:
    """The runs of equal values within first … last."""
    low = first
    for code in range(first + 1, last + 2):
        if code > last or values[code] != values[low]:
            yield low, code - 1
            low = code
