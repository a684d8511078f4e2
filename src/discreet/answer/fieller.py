"""The interval of an average: Fieller's, by the law of the noise itself.

An average θ is one of those that the noisy sum T and count N allow if T − θ·N, which is nothing but noise for the true
one, stays within the half-width w(θ) of that noise: so the true average is among them with the confidence of w, and the
interval reaches from the least of them to the greatest. w is looked up in a table: it grows with |θ|, but for a step of
the noise (`noise/spread.md`), and between two entries the larger one is taken.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.answer.estimate import Estimate, spread_of
from discreet.noise.spread import Spread, halfwidth

ENTRIES = 24
"""Entries of a table: where a row can add as much to the sum as its noise is scaled by, w differs by 2% between two."""

Floats = NDArray[np.float64]


def bounds(total: Estimate, count: Estimate, confidence: Fraction, low: float, high: float) -> tuple[float, float]:
    """The averages between `low` and `high` that a sum and a count which are independent allow. All of them where the
    count may be 0; and where none is allowed at all, for such noise tells nothing of the average."""
    if count.value <= count.halfwidth(confidence):
        return low, high
    nodes, widths = _widths(total, count, confidence, low, high)
    first = np.maximum((total.value - widths) / count.value, nodes[:-1])
    last = np.minimum((total.value + widths) / count.value, nodes[1:])
    some = first <= last
    return (float(first[some].min()), float(last[some].max())) if some.any() else (low, high)


def _widths(total: Estimate, count: Estimate, confidence: Fraction, low: float, high: float) -> tuple[Floats, Floats]:
    """Averages in a row, and between each and the next the largest w."""
    if total.parts or count.parts:
        # What these have in common is not known: each may fail with half the chance.
        each = (1 + confidence) / 2
        nodes = _nodes(low, high)
        width = total.halfwidth(each) + np.abs(nodes) * count.halfwidth(each)
        return nodes, np.maximum(width[:-1], width[1:])
    return _table(spread_of(total), spread_of(count), confidence, low, high)


@lru_cache(256)
def _table(total: Spread, count: Spread, confidence: Fraction, low: float, high: float) -> tuple[Floats, Floats]:
    nodes = _nodes(low, high)
    grain = max((abs(draw.weight) for draw in total), default=0.0)
    widths = [halfwidth((*total, *(draw.times(node) for draw in count)), confidence) for node in nodes.tolist()]
    return nodes, np.maximum(widths[:-1], widths[1:]) + grain


def _nodes(low: float, high: float) -> Floats:
    """From the least value to the greatest, 0 among them where it is between: |θ| has no other turn."""
    return np.unique(np.append(np.linspace(low, high, ENTRIES + 1), min(max(0.0, low), high)))
