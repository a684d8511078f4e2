"""Counts of any region in the same few steps, whatever is in it: the population as running sums over its domain.

With S[p] = how many rows have codes ≤ p on every axis, the rows of a box are the sum of S at its corners with
alternating signs: one code below its low corner on an axis is taken off. A grouping keeps all codes of its axes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.query.query import Count, answer_shape

MOST_POINTS = 1 << 23
"""The largest domain that is held so: 64 MiB of sums."""
MOST_AXES = 12
"""A box has up to 2^axes corners."""

Array = NDArray[np.int64]


@dataclass(frozen=True)
class RunningSums:
    """How many rows there are up to each point of a domain."""

    domain: Domain
    sums: Array

    @staticmethod
    def fit(domain: Domain) -> bool:
        """Whether a population of this domain is held so. Depends on nothing else."""
        return domain.points <= MOST_POINTS and len(domain.attributes) <= MOST_AXES

    @classmethod
    def of(cls, domain: Domain, counts: Array) -> "RunningSums":
        """Takes the array of the counts of all points for its own."""
        for axis in range(counts.ndim):
            np.cumsum(counts, axis=axis, out=counts)
        return cls(domain, counts)

    def count(self, query: Count) -> Array:
        """The exact answer, with zeros for the groups outside the query's region."""
        axes = [self.domain.axis(name) for name in query.by]
        answer = np.zeros(answer_shape(query, self.domain), np.int64)
        for box in query.where.boxes:
            inside = tuple(slice(box.low[axis], box.high[axis] + 1) for axis in axes)
            answer[inside] += self._groups(box, axes)
        return answer

    def _groups(self, box: Box, axes: list[int]) -> Array:
        """The counts of the groups inside a box, an axis for each of `axes` in their order."""
        corners = [
            np.arange(max(low - 1, 0), high + 1) if axis in axes else np.array([low - 1, high] if low else [high])
            for axis, (low, high) in enumerate(zip(box.low, box.high, strict=True))
        ]
        block: Array = self.sums[np.ix_(*corners)]
        for axis, low in enumerate(box.low):
            if low:
                block = np.diff(block, axis=axis)
            elif axis in axes:
                block = np.diff(block, axis=axis, prepend=0)
        others = tuple(axis for axis in range(block.ndim) if axis not in axes)
        kept = sorted(axes)
        return block.squeeze(others).transpose([kept.index(axis) for axis in axes])
