"""Quantiles by the exponential mechanism on an attribute's codes.

Let below(v) and upto(v) count the rows with a code < v and ≤ v, n all of them, and t the rank asked for. A code's
utility is minus the distance of t from [below(v), upto(v)]. The rank is t = the middle one of (c, level·n, n − c) with
the public c = ⌈2λ·ln(20·cells)⌉, so that MIN and MAX mean "about c people lie beyond": without it, every empty code
beyond the data would be as good as the true extreme; with it, all of them together have a chance below 1/20.

Adding a row moves t by 0 to 1 and each of below, upto by 0 or 1, hence the utility by at most Δu = 1, and drawing v
with Pr ∝ exp(u(v)/(2λ)) loses at most 1/λ for one row [cubes, Theorem 2.1.2, with the factor 2 that it lacks].
"""

import math
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.noise.bits import Bits
from discreet.noise.exponential import sample_exponential
from discreet.query.query import Count, Quantile, answer_shape

HISTOGRAM_CELLS = 1 << 20
"""A quantile looks at this many counts at most, over all its groups."""

EMPTY_ODDS = 20
"""One in so many: how often MIN and MAX may be a value that lies beyond the data."""

Array = NDArray[np.int64]


def require_drawable(query: Quantile, domain: Domain) -> None:
    """Raise unless there is a value to draw, and the draw is small enough to be exact in reasonable time."""
    if not 0 <= query.level <= 1:
        raise UnsupportedQuery("the level of a quantile lies between 0, the minimum, and 1, the maximum")
    cells = math.prod(answer_shape(histogram_of(query), domain))
    if cells > HISTOGRAM_CELLS:
        raise UnsupportedQuery(
            f"that quantile would look at {cells:,} counts, and at most {HISTOGRAM_CELLS:,} are looked at; "
            f"group by less, or describe {query.of} in bins"
        )
    if not candidate_codes(query, domain):
        raise UnsupportedQuery(f"no value of {query.of} lies in that region")


def histogram_of(query: Quantile) -> Count:
    """The exact count that a quantile is drawn from: its region by code, within each group."""
    return Count(query.where, (*query.by, query.of))


def candidate_codes(query: Quantile, domain: Domain) -> list[int]:
    """The codes that may be the answer: ordinary cells that the region reaches."""
    axis, attribute = domain.axis(query.of), domain[query.of]
    reached = {code for box in query.where.boxes for code in range(box.low[axis], box.high[axis] + 1)}
    return sorted(code for code in reached if code < attribute.cells)


def rank_margin(scale: Fraction, candidates: int) -> int:
    """c: how far from either end of the order a quantile is asked for, at least."""
    return math.ceil(2 * float(scale) * math.log(EMPTY_ODDS * candidates))


def rank_error(scale: Fraction, candidates: int, confidence: float) -> int:
    """The drawn code's rank is within this many rows of t, with at least this probability.

    t is level·n, or where that is closer than rank_margin to either end of the order, about so far from it.
    """
    return math.ceil(2 * float(scale) * math.log(max(candidates, 1) / (1 - confidence)))


def draw_quantiles(query: Quantile, scale: Fraction, histogram: Array, domain: Domain, bits: Bits) -> Array:
    """A code for each group, drawn by the exponential mechanism from the exact histogram."""
    candidates = candidate_codes(query, domain)
    counts = histogram.reshape(-1, histogram.shape[-1])[:, candidates]
    drawn = [candidates[_draw(row, query.level, scale, bits)] for row in counts.tolist()]
    return np.array(drawn, np.int64).reshape(histogram.shape[:-1])


def _draw(counts: list[int], level: Fraction, scale: Fraction, bits: Bits) -> int:
    utilities = scaled_utilities(counts, level, rank_margin(scale, len(counts)))
    return sample_exponential(utilities, 1 / (2 * scale * level.denominator), bits)


def scaled_utilities(counts: list[int], level: Fraction, margin: int) -> list[int]:
    """The utility of each code, times the level's denominator: whole numbers."""
    unit, total = level.denominator, sum(counts)
    rank = sorted((margin * unit, level.numerator * total, (total - margin) * unit))[1]
    upto = [rows * unit for rows in accumulate(counts, initial=0)]
    return [-max(low - rank, rank - high, 0) for low, high in pairwise(upto)]
