"""The seed's histogram with Figure 4 exactly as it is printed: a bucket that is full is split once, and no part again
until a counter grows. A part that keeps all charges stays full for ever: no counter of it can grow any more.

But for line 9, which gives new buckets the counter of the old one: they are counted anew, as in Example 4.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.domain.region import Box
from experiments.relaxation.workload import SHAPE

Ints = NDArray[np.int64]


class PrintedHistogram:
    """Figures 2 and 4 [relaxation]: at most θ buckets, each counting the regions that meet it."""

    def __init__(self, limit: int, most_buckets: int) -> None:
        self.limit, self.most_buckets = limit, most_buckets
        self.lows = np.zeros((1, len(SHAPE)), np.int64)
        self.highs = np.array([SHAPE], np.int64) - 1
        self.counters = np.zeros(1, np.int64)
        self.regions: list[tuple[Ints, Ints]] = []

    def ask(self, asked: Box) -> bool:
        """Figure 2, *Process*: whether the query is answered."""
        low, high = np.array(asked.low), np.array(asked.high)
        meeting = _meet(self.lows, self.highs, low, high)
        if (self.counters[meeting] >= self.limit).any():
            return False
        self.regions.append((low, high))
        self.counters[meeting] += 1
        full = np.flatnonzero(meeting & (self.counters == self.limit))
        for bucket in full.tolist():
            if len(self.counters) < self.most_buckets:
                self._split(bucket)
        return True

    def _split(self, bucket: int) -> None:
        """Figure 4."""
        low, high = self.lows[bucket], self.highs[bucket]
        lows, highs = (np.array(ends) for ends in zip(*self.regions, strict=True))
        meeting = _meet(lows, highs, low, high)
        partly = meeting & ((lows > low) | (highs < high)).any(axis=1)
        if not partly.any():
            return
        common_low, common_high = np.maximum(lows[partly].max(axis=0), low), np.minimum(highs[partly].min(axis=0), high)
        if (common_low > common_high).any():
            parts = _best_cut(low, high, lows[meeting], highs[meeting])
        else:
            parts = _around(low, high, common_low, common_high)
        counters = [int(_meet(lows, highs, *part).sum()) for part in parts]
        others = np.arange(len(self.counters)) != bucket
        self.lows = np.vstack([self.lows[others], *(part[0] for part in parts)])
        self.highs = np.vstack([self.highs[others], *(part[1] for part in parts)])
        self.counters = np.concatenate([self.counters[others], counters])


def _meet(lows: Ints, highs: Ints, low: Ints, high: Ints) -> NDArray[np.bool_]:
    return ((lows <= high) & (highs >= low)).all(axis=1)


def _best_cut(low: Ints, high: Ints, lows: Ints, highs: Ints) -> list[tuple[Ints, Ints]]:
    """Line 6: the cut along a region's border with the smallest sum of counters."""
    best, chosen = np.inf, (0, 0)
    for axis in range(len(low)):
        for cut in np.unique(np.concatenate([lows[:, axis], highs[:, axis] + 1])).tolist():
            if low[axis] < cut <= high[axis]:
                total = int((lows[:, axis] < cut).sum() + (highs[:, axis] >= cut).sum())
                if total < best:
                    best, chosen = total, (axis, cut)
    return _cut(low, high, *chosen)


def _cut(low: Ints, high: Ints, axis: int, cut: int) -> list[tuple[Ints, Ints]]:
    """The part below a cut, and the part from it on."""
    below, above = high.copy(), low.copy()
    below[axis], above[axis] = cut - 1, cut
    return [(low, below), (above, high)]


def _around(low: Ints, high: Ints, common_low: Ints, common_high: Ints) -> list[tuple[Ints, Ints]]:
    """Line 8: cuts along the borders of the common part, until a bucket is the common part."""
    parts = []
    for axis in range(len(low)):
        if low[axis] < common_low[axis]:
            part, (low, high) = _cut(low, high, axis, int(common_low[axis]))
            parts.append(part)
        if common_high[axis] < high[axis]:
            (low, high), part = _cut(low, high, axis, int(common_high[axis]) + 1)
            parts.append(part)
    return [*parts, (low, high)]
