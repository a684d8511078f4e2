"""The interval of an average of two estimates: `noise/fieller.py` has how."""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.answer.estimate import Estimate, Ratio, spread_of, worst
from discreet.noise import fieller
from discreet.noise.fieller import Floats
from discreet.noise.spread import Spread, halfwidth


def ratio(total: Estimate, count: Estimate, confidence: Fraction, low: float, high: float) -> Ratio:
    """Sum over count, with Fieller's interval. Values lie between `low` and `high`, so the mean does."""
    value = min(max(total.value / count.value, low), high) if count.value > 0 else None
    ends = bounds(total, count, confidence, low, high)
    return Ratio(value, *ends, kind=worst({total.kind, count.kind}), count=count, total=total)


def bounds(total: Estimate, count: Estimate, confidence: Fraction, low: float, high: float) -> tuple[float, float]:
    """The averages between `low` and `high` that a sum and a count which are independent allow."""
    sums, counts = np.array(float(total.value)), np.array(float(count.value))
    least, greatest = bounds_of_many(total, count, sums, counts, confidence, low, high)
    return float(least), float(greatest)


def bounds_of_many(
    total: Estimate, count: Estimate, totals: Floats, counts: Floats, confidence: Fraction, low: float, high: float
) -> tuple[Floats, Floats]:
    """The same for sums and counts that all have the noise of one."""
    nodes, widths = _table(total, count, confidence, low, high)
    return fieller.bounds(totals, counts, counts - count.halfwidth(confidence), nodes, widths)


def _table(total: Estimate, count: Estimate, confidence: Fraction, low: float, high: float) -> tuple[Floats, Floats]:
    if not total.parts and not count.parts:
        return _independent(spread_of(total), spread_of(count), confidence, low, high)
    # What their parts have in common is not known: each may fail with half the chance.
    each = (1 + confidence) / 2
    own, times = total.halfwidth(each), count.halfwidth(each)
    return fieller.table(low, high, lambda average: own + abs(average) * times, 0.0)


@lru_cache(256)
def _independent(total: Spread, count: Spread, confidence: Fraction, low: float, high: float) -> tuple[Floats, Floats]:
    step = max((abs(draw.weight) for draw in total), default=0.0)

    def width(average: float) -> float:
        return halfwidth((*total, *(draw.times(average) for draw in count)), confidence)

    return fieller.table(low, high, width, step)
