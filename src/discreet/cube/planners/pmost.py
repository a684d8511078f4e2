"""PMost: equal shares for a set of sources that makes as many cuboids as possible precise. [cubes, Algorithm 2]"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from discreet.cube.planners.bmax import smallest_bound
from discreet.cube.planners.coverage import Coverage, cover_of, greedy_cover
from discreet.cube.planners.task import Shares, Task
from discreet.cube.variances import exactness_of

ROUNDING = 1 + 1e-12
"""A bound that is reached exactly is kept: rounding must not say otherwise."""
PLANNED = 1 + 1e-9
"""What a plan takes for precise: `CubePlan.precise_weight`."""


def publish_most(task: Task) -> Shares:
    """Sources that compute everything, and for which the weight of the precise cuboids is within 1 − 1/e of the most
    that equal shares can reach where one is for the smallest cuboid that computes everything.

    Algorithm 2 lets sources leave cuboids out, and then adds the base cuboid, with which all shares are smaller. Here
    that cuboid has its share from the start. Sources without it that compute everything together are tried too: the
    largest published cuboids with others, and the greedy's own, of which the last makes room for what is missing. That
    those are within 1 − 1/e as well has no proof; tests compare with brute force.
    """
    bound = precision_bound(task)
    covers = {tuple(sorted(cover)) for cover in _covers(task, bound)}
    return most_precise(task, bound, ({mask: Fraction(1, len(cover)) for mask in cover} for cover in sorted(covers)))


def precision_bound(task: Task) -> float:
    """The ratio up to which a cuboid is precise: the task's, or half of what BMax keeps. [cubes, Section 6.2.1]"""
    return task.bound if task.bound is not None else smallest_bound(task)[1] / 2


def most_precise(task: Task, bound: float, candidates: Iterable[Shares]) -> Shares:
    """The shares under which the most weight is precise; of those, with the smallest largest variance."""
    weights, expected = np.array(task.weights), np.array(task.expected)

    def rank(shares: Shares) -> tuple[float, float]:
        unit, power = float(task.noise.unit), task.noise.power
        variances = {mask: unit / float(share) ** power for mask, share in shares.items()}
        reached = exactness_of(task.lattice, variances).variances(task.published, consistent=False) / expected
        return float(weights[reached <= bound * PLANNED].sum()), -float(reached.max())

    return max(candidates, key=rank)


def uncomputed(task: Task, sources: Iterable[int]) -> list[int]:
    """The published cuboids that no source has all dimensions of."""
    held = np.array(list(sources), np.int64)
    return [mask for mask in task.published if not (mask & ~held == 0).any()]


def _covers(task: Task, bound: float) -> Iterator[list[int]]:
    """GREEDYCOVER for every number of sources s that can matter, each made to compute everything.

    Sources with a share of 1/s are precise up to a magnification t = bound/unit(s). The greedy's picks depend on t
    alone, and more picks cover no less: so for each magnification only the largest s is tried at which it is within t.
    """
    coverage = cover_of(task, weighted=False)
    ratio, power = bound / float(task.noise.unit) * ROUNDING, task.noise.power
    numbers = {math.floor((ratio / m) ** (1 / power)) for m in np.unique(coverage.magnifications).tolist()}
    worth = np.array(task.weights)
    for most in sorted({max(1, min(number, len(task.published))) for number in numbers}):
        costs = np.where(coverage.magnifications <= ratio / most**power, 1.0, math.inf)
        # The finer of two sources that gain alike is more likely to compute what others leave out.
        for finest_first in (True, False):
            cover = greedy_cover(coverage, costs, worth, most, finest_first)
            yield _completed(task, [source for source, _ in cover], most)
        for first in ([task.top], _largest(task)):
            if len(first) <= most:
                cover = greedy_cover(coverage, costs, _left(coverage, costs, worth, first), most - len(first))
                yield [*first, *(source for source, _ in cover)]


def _largest(task: Task) -> list[int]:
    """The published cuboids that no other published one computes: as sources they compute everything."""
    published = np.array(task.published, np.int64)
    return [mask for mask in task.published if (mask & ~published == 0).sum() == 1]


def _left(
    coverage: Coverage, costs: NDArray[np.float64], worth: NDArray[np.float64], sources: Iterable[int]
) -> NDArray[np.float64]:
    """What each cuboid is worth where some sources make what they can precise."""
    left = worth.copy()
    for source in sources:
        row = coverage.row(source)
        left[coverage.cuboids[row][np.isfinite(costs[row])]] = 0
    return left


def _completed(task: Task, cover: list[int], most: int) -> list[int]:
    """The picks where they compute everything; else one more source that computes the rest, for the last where there is
    no room."""
    if not uncomputed(task, cover):
        return cover
    kept = cover[: most - 1]
    missing = uncomputed(task, kept)
    return [*kept, reduce(or_, missing)] if missing else kept
