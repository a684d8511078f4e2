"""Shrunken counts: the better estimate of many counts at once, from the noisy ones alone. Free, and biased.

The noise's law is known and counts are whole and not negative. So many lines tell what counts there are at all: the
distribution g of them under which the noisy ones are likeliest (Kiefer, Wolfowitz 1956), found by expectation and
maximisation. A line's shrunken count is the mean of g given its own noisy count: near 0 where most counts are 0 and the
noise explains it, near the noisy count where that stands out. Its mean squared error over all lines is near the least
that any rule of one line at a time can have (Jiang, Zhang 2009).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.noise.spread import Spread, WrittenOut, gathered, written_out

LEAST_LINES = 25
"""Fewer lines tell too little of what counts there are: `bench/shrunken.py` has the error with so many."""
STEPS = 300
"""Iterations of expectation–maximisation: further ones sharpen g and hardly move its means."""
FAR = 40
"""A count so many deviations above 0 stands by itself: it stays as it is."""
LEAST = 1e-15
"""Below this, a law that was written out is the arithmetic's rounding."""
AT_ONCE = 4096

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Lines:
    """Lines with the same law of noise."""

    law: WrittenOut
    deviation: float
    at: NDArray[np.int64]

    def likelihood(self, seen: Floats, candidates: Floats) -> Floats:
        """How likely each noisy count is under each candidate, up to a factor."""
        return np.asarray(np.maximum(self.law.density(seen[:, None] - candidates), LEAST * self.law.masses.max()))


def shrink(values: Sequence[float], spreads: Sequence[Spread]) -> list[float] | None:
    """The shrunken count of each line, which has these draws of noise; None where there are too few of them.

    A line without noise is exact and stays what it is.
    """
    places: dict[Spread, list[int]] = {}
    for at, spread in enumerate(spreads):
        if spread:
            places.setdefault(spread, []).append(at)
    found = shrink_by_law(np.array(values, np.float64), {law: np.array(at) for law, at in places.items()})
    return None if found is None else list(map(float, found))


def shrink_by_law(seen: Floats, places: Mapping[Spread, NDArray[np.int64]]) -> Floats | None:
    """The same for the places of lines by their draws of noise."""
    if sum(map(len, places.values())) < LEAST_LINES:
        return None
    shrunken = seen.copy()
    groups = [lines for lines in _alike(seen, places) if len(lines.at)]
    if not groups:
        return shrunken
    candidates = _candidates(max(float(seen[lines.at].max()) for lines in groups), [one.deviation for one in groups])
    weights = _likeliest(groups, seen, candidates)
    for lines in groups:
        for part in np.array_split(lines.at, -(-len(lines.at) // AT_ONCE)):
            joint = lines.likelihood(seen[part], candidates) * weights
            shrunken[part] = joint @ candidates / joint.sum(axis=1)
    return shrunken


def _alike(seen: Floats, places: Mapping[Spread, NDArray[np.int64]]) -> Iterator[_Lines]:
    """The noisy lines that do not stand by themselves, by their law."""
    for spread, lines in places.items():
        together = gathered(spread)
        deviation = math.sqrt(sum(draw.variance for draw in together))
        yield _Lines(written_out(together), deviation, lines[seen[lines] <= FAR * deviation])


def _candidates(most: float, deviations: Sequence[float]) -> Floats:
    """Counts that there may be: every one, or every quarter of a deviation where that is more."""
    step = max(min(deviations) / 4, (most + max(deviations)) / (8 * FAR), 1.0)
    return np.unique(np.rint(np.arange(0, max(most, 0) + 2 * max(deviations) + 2 * step, step)))


def _likeliest(groups: Sequence[_Lines], seen: Floats, candidates: Floats) -> Floats:
    """The weights of the candidates under which the noisy counts are likeliest, these to a tenth of a deviation."""
    rows, times = [], []
    for lines in groups:
        width = max(lines.deviation / 10, 1.0)
        places, counted = np.unique(np.rint(seen[lines.at] / width) * width, return_counts=True)
        rows.append(lines.likelihood(places, candidates))
        times.append(counted)
    likelihood, counts = np.concatenate(rows), np.concatenate(times).astype(np.float64)
    likelihood /= likelihood.max(axis=1, keepdims=True)
    weights = np.full(len(candidates), 1 / len(candidates))
    for _ in range(STEPS):
        weights *= (counts / (likelihood @ weights)) @ likelihood / counts.sum()
    return weights
