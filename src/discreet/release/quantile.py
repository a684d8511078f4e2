"""Quantiles by the exponential mechanism on an attribute's codes.

Let below(v) and upto(v) count the rows with a code < v and ≤ v, n all of them, and t the rank asked for. A code's
utility is minus the distance of t from [below(v), upto(v)]. The rank is t = the middle one of (c, level·n, n − c) with
the public c = ⌈2λ·ln cells⌉, so that MIN and MAX mean "about c people lie beyond": without it, every empty code beyond
the data would be as good as the true extreme. Adding a row moves t by 0 to 1 and each of below, upto by 0 or 1, hence
the utility by at most Δu = 1, and drawing v with Pr ∝ exp(u(v)/(2λ)) loses at most 1/λ for one row
[cubes, Theorem 2.1.2, with the factor 2 that it lacks].
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.noise.bits import Bits
from discreet.noise.exponential import sample_exponential
from discreet.query.query import Count, Quantile

Array = NDArray[np.int64]


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
    return math.ceil(2 * float(scale) * math.log(max(candidates, 2)))


def rank_error(scale: Fraction, candidates: int, confidence: float) -> int:
    """The drawn code's rank is within this many rows of the one asked for, with at least this probability."""
    return math.ceil(2 * float(scale) * math.log(max(candidates, 1) / (1 - confidence)))


def draw_quantiles(query: Quantile, scale: Fraction, histogram: Array, domain: Domain, bits: Bits) -> Array:
    """A code for each group, drawn by the exponential mechanism from the exact histogram."""
    candidates = candidate_codes(query, domain)
    counts = histogram.reshape(-1, histogram.shape[-1])[:, candidates]
    drawn = [candidates[_draw(row, query.level, scale, bits)] for row in counts.tolist()]
    return np.array(drawn, np.int64).reshape(histogram.shape[:-1])


def _draw(counts: list[int], level: Fraction, scale: Fraction, bits: Bits) -> int:
    total, margin = sum(counts), rank_margin(scale, len(counts))
    rank = sorted((Fraction(margin), level * total, Fraction(total - margin)))[1]
    utilities, below = [], 0
    for count in counts:
        distance = max(below - rank, rank - (below + count), Fraction(0))
        utilities.append(-int(distance * rank.denominator))
        below += count
    return sample_exponential(utilities, 1 / (2 * scale * rank.denominator), bits)
