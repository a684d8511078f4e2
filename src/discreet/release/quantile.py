"""Quantiles by the exponential mechanism on an attribute's codes, or on the values of an expression.

Let below(v) and upto(v) count the rows with a code < v and ≤ v, n all of them, and t the rank asked for. A code's
utility is minus the distance of t from [below(v), upto(v)]. The rank is t = the middle one of (c, level·n, n − c) with
the public c = ⌈2λ·ln(20·cells)⌉, so that MIN and MAX mean "about c people lie beyond": without it, every empty code
beyond the data would be as good as the true extreme; with it, all of them together have a chance below 1/20.

Adding a row moves t by 0 to 1 and each of below, upto by 0 or 1, hence the utility by at most Δu = 1, and drawing v
with Pr ∝ exp(u(v)/(2λ)) loses at most 1/λ for one row [cubes, Theorem 2.1.2, with the factor 2 that it lacks].

All groups are drawn at once, with 64-bit numbers throughout: what runs, and on arrays of which size, depends on the
question and not on the counts. Requires fewer than 2^62 rows.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.noise.bits import Bits
from discreet.noise.exponential import Gaps, sample_exponential
from discreet.query.query import Count, Quantile, answer_shape, group_attribute, group_name

HISTOGRAM_CELLS = 1 << 20
"""A quantile looks at this many counts at most, over all its groups."""

MOST_PARTS = 1 << 61
"""The largest denominator of a level: remainders by it are doubled in 64 bits. It is above 10^18."""

EMPTY_ODDS = 20
"""One in so many: how often MIN and MAX may be a value that lies beyond the data."""

Array = NDArray[np.int64]


def require_drawable(query: Quantile, domain: Domain) -> None:
    """Raise unless there is a value to draw, and the draw is small enough to be exact in reasonable time."""
    if not 0 <= query.level <= 1:
        raise UnsupportedQuery("the level of a quantile lies between 0, the minimum, and 1, the maximum")
    if query.level.denominator > MOST_PARTS:
        raise UnsupportedQuery("the level of a quantile has at most 18 decimal places")
    cells = math.prod(answer_shape(histogram_of(query), domain))
    if cells > HISTOGRAM_CELLS:
        raise UnsupportedQuery(
            f"that quantile would look at {cells:,} counts, and at most {HISTOGRAM_CELLS:,} are looked at; "
            f"group by less, or describe {group_name(query.of)} in bins"
        )
    if not candidate_codes(query, domain):
        raise UnsupportedQuery(f"no value of {group_name(query.of)} lies in that region")


def histogram_of(query: Quantile) -> Count:
    """The exact count that a quantile is drawn from: its region by code, within each group."""
    return Count(query.where, (*query.by, query.of))


def candidate_codes(query: Quantile, domain: Domain) -> list[int]:
    """The codes that may be the answer: ordinary cells that the region reaches."""
    cells = group_attribute(query.of, domain).cells
    if not isinstance(query.of, str):
        return [code for code, part in enumerate(query.of.sections(query.where, domain)) if part and code < cells]
    axis = domain.axis(query.of)
    reached = {code for box in query.where.boxes for code in range(box.low[axis], box.high[axis] + 1)}
    return sorted(code for code in reached if code < cells)


def rank_margin(scale: Fraction, candidates: int) -> int:
    """c: how far from either end of the order a quantile is asked for, at least."""
    return math.ceil(2 * float(scale) * math.log(EMPTY_ODDS * candidates))


def rank_error(scale: Fraction, candidates: int, confidence: Fraction) -> int:
    """The drawn code's rank is within this many rows of t, with at least this probability.

    t is level·n, or where that is closer than rank_margin to either end of the order, about so far from it.
    """
    return math.ceil(2 * float(scale) * math.log(max(candidates, 1) / float(1 - confidence)))


def draw_quantiles(query: Quantile, scale: Fraction, histogram: Array, domain: Domain, bits: Bits) -> Array:
    """A code for each group, drawn by the exponential mechanism from the exact histogram."""
    candidates = candidate_codes(query, domain)
    counts = histogram.reshape(-1, histogram.shape[-1])[:, candidates]
    rows, parts = distances(counts, query.level, rank_margin(scale, len(candidates)))
    unit, rate = query.level.denominator, 1 / (2 * scale)
    drawn = sample_exponential([Gaps(rows, rate), Gaps(parts, rate / unit, unit - 1)], bits)
    return np.array(candidates, np.int64)[drawn].reshape(histogram.shape[:-1])


def distances(counts: Array, level: Fraction, margin: int) -> tuple[Array, Array]:
    """How far each code's ranks are from the one asked for, group by group: minus its utility.

    As whole rows, and what is left over in parts of a row: as many as the level's denominator.
    """
    upto = np.cumsum(counts, axis=1)
    below, total = upto - counts, upto[:, -1:]
    rank, parts = _share(level, total)
    low, high = np.minimum(margin, total - margin), np.maximum(margin, total - margin)
    parts = parts * ((low <= rank) & (rank < high))
    rank = np.clip(rank, low, high)
    # A code lies above the rank, below it, or holds it: 1 in one of these at most, and 0 in the others.
    above, under = below > rank, rank >= upto
    short = parts > 0
    rows = above * (below - rank - short) + under * (rank - upto)
    return rows, above * short * (level.denominator - parts) + under * parts


def _share(level: Fraction, total: Array) -> tuple[Array, Array]:
    """level·total, in whole rows and parts of one: exactly, without a product that leaves 64 bits."""
    unit = level.denominator
    times, rest = np.divmod(total, unit)
    rows, parts = np.zeros_like(total), np.zeros_like(total)
    for place in reversed(range(unit.bit_length())):
        carried, parts = np.divmod(2 * parts + level.numerator * (rest >> place & 1), unit)
        rows = 2 * rows + carried
    return rows + level.numerator * times, parts
