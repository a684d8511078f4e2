"""Which published cuboids each possible source computes, at what magnification, and greedy covers of them.

All the greedy planners are set covers: a set is a source C' with a first part of what it can compute, cheapest first
[cubes, 3.10]; they differ in what a set costs.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.cube.planners.task import Task
from discreet.errors import UnsupportedQuery
from discreet.native import kernel

MAX_PAIRS = 2**24
"""Pairs of a source and a cuboid that it computes: 3^d for a whole lattice, 200 MB at this limit."""

BLOCK = 64
"""Rows whose best bound is remembered together."""


@dataclass(frozen=True)
class Coverage:
    """Row r lists, for source `sources[r]`, the positions of published cuboids by rising magnification.

    Rows lie end to end: row r is cuboids[starts[r]:starts[r+1]], and magnifications beside it.
    """

    sources: NDArray[np.int64]
    starts: NDArray[np.int64]
    cuboids: NDArray[np.int32]
    magnifications: NDArray[np.float64]

    def row(self, source: int) -> slice:
        """Where a source's row lies."""
        row = int(np.searchsorted(self.sources, source))
        return slice(int(self.starts[row]), int(self.starts[row + 1]))


def count_pairs(task: Task) -> int:
    """The size of a task's coverage."""
    dimensions = task.top.bit_count()
    return sum(1 << (dimensions - mask.bit_count()) for mask in task.published)


def cover_of(task: Task, weighted: bool) -> Coverage:
    """Everything that each source can compute. A cuboid's magnification is divided by what is expected of it, and where
    `weighted` multiplied by its weight, so that a bound on it bounds the ratio, or weight × ratio. Raises
    UnsupportedQuery where that is too much to list."""
    if count_pairs(task) > MAX_PAIRS:
        raise UnsupportedQuery(
            f"{len(task.published):,} cuboids of {task.top.bit_count()} dimensions are too many for a greedy planner; "
            "plan with optimal or all"
        )
    published = np.array(task.published, np.int64)
    burdens = np.array(task.burdens) if weighted else 1 / np.array(task.expected)
    cells = task.lattice.cell_counts
    sources, cuboids, magnifications = [], [], []
    for source in sorted(task.lattice.ancestors(task.top)):
        within = np.flatnonzero(published & ~source == 0)
        if len(within):
            magnification = cells[source] / cells[published[within]] * burdens[within]
            order = np.argsort(magnification, kind="stable")
            sources.append(source)
            cuboids.append(within[order].astype(np.int32))
            magnifications.append(magnification[order])
    starts = np.cumsum([0, *map(len, cuboids)])
    return Coverage(np.array(sources), starts, np.concatenate(cuboids), np.concatenate(magnifications))


def greedy_cover(
    coverage: Coverage,
    costs: NDArray[np.float64],
    worth: NDArray[np.float64],
    most: int | None = None,
    finest_first: bool = False,
    extend: bool = False,
) -> list[tuple[int, int]]:
    """The sets that cover the most uncovered worth for their cost, best first, as (source, position).

    A set is everything in a source's row up to a position; `costs` stands beside `coverage.cuboids`, rises along each
    row, and is inf for sets that may not be used. Each row is used once; with `extend` it may be used again up to a
    later position, for the difference in cost. Ends after `most` sets, or when no set covers anything more. Ties go to
    the source with the smaller mask, or with `finest_first` to the larger.
    """
    longest = len(coverage.cuboids) if extend else len(coverage.sources)
    most = longest if most is None else min(most, longest)
    rows, positions = _greedy_cover(coverage.starts, coverage.cuboids, costs, worth.copy(), most, finest_first, extend)
    return list(zip(coverage.sources[rows].tolist(), positions.tolist(), strict=True))


@kernel
def _greedy_cover(
    starts: NDArray[np.int64],
    cuboids: NDArray[np.int32],
    costs: NDArray[np.float64],
    uncovered: NDArray[np.float64],
    most: int,
    finest_first: bool,
    extend: bool,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows, positions = np.empty(most, np.int64), np.empty(most, np.int64)
    # A set's gain only shrinks as others are taken, so an old gain is a bound: only the best is looked at again. It is
    # the best of the best blocks of rows, so that a look at every row is rare.
    bounds, paid = np.empty(starts.size - 1), np.zeros(starts.size - 1)
    for row in range(bounds.size):
        bounds[row], _ = _best_set(starts, cuboids, costs, uncovered, row, 0.0)
    tops = np.array([bounds[first : first + BLOCK].max() for first in range(0, bounds.size, BLOCK)])
    count, left = 0, uncovered.size
    while count < most and left > 0:
        block = _place_of_largest(tops, finest_first)
        within = bounds[block * BLOCK : (block + 1) * BLOCK]
        best = block * BLOCK + _place_of_largest(within, finest_first)
        if bounds[best] <= 0:
            break
        gain, position = _best_set(starts, cuboids, costs, uncovered, best, paid[best])
        taken = gain == bounds[best]
        bounds[best] = 0.0 if taken else gain
        if taken:
            rows[count], positions[count] = best, position
            count += 1
            for at in range(starts[best], position + 1):
                left -= uncovered[cuboids[at]] > 0
                uncovered[cuboids[at]] = 0.0
            if extend:
                paid[best] = costs[position]
                bounds[best], _ = _best_set(starts, cuboids, costs, uncovered, best, paid[best])
        tops[block] = within.max()
    return rows[:count], positions[:count]


@kernel
def _place_of_largest(values: NDArray[np.float64], last: bool) -> int:
    """The first or the last place of the largest value."""
    place = 0
    for k in range(values.size):
        if values[k] > values[place] or (last and values[k] == values[place]):
            place = k
    return place


@kernel
def _best_set(
    starts: NDArray[np.int64],
    cuboids: NDArray[np.int32],
    costs: NDArray[np.float64],
    uncovered: NDArray[np.float64],
    row: int,
    paid: float,
) -> tuple[float, int]:
    """The most uncovered worth for what it costs beyond what is paid in a row, and the position up to which it is."""
    gain, position, gathered = 0.0, 0, 0.0
    for at in range(starts[row], starts[row + 1]):
        gathered += uncovered[cuboids[at]]
        if gathered > 0 and gathered > gain * (costs[at] - paid):
            gain, position = gathered / (costs[at] - paid), at
    return gain, position
