"""PMost: equal shares for a set of sources that makes as many cuboids as possible precise. [cubes, Algorithm 2]"""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from discreet.cube.planners.bmax import smallest_bound
from discreet.cube.planners.coverage import cover_of, greedy_cover
from discreet.cube.planners.task import Shares, Task
from discreet.cube.variances import exactness_of

ROUNDING = 1 + 1e-12
"""A bound that is reached exactly is kept: rounding must not say otherwise."""


def publish_most(task: Task) -> Shares:
    """Sources for which the weight of the precise cuboids is within 1 − 1/e of the most that equal shares can reach.

    Where the sources cannot compute everything, the smallest cuboid that can takes the place of the last.
    """
    bound = precision_bound(task)
    covers = (_completed(task, cover) for cover in _covers(task, bound))
    return most_precise(task, bound, ({mask: Fraction(1, len(cover)) for mask in cover} for cover in covers))


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
        return float(weights[reached <= bound * ROUNDING].sum()), -float(reached.max())

    return max(candidates, key=rank)


def computes_all(task: Task, sources: Iterable[int]) -> bool:
    """Whether every published cuboid has a source with all its dimensions."""
    variances = exactness_of(task.lattice, dict.fromkeys(sources, 1.0)).variances(task.published, consistent=False)
    return bool(np.isfinite(variances).all())


def _covers(task: Task, bound: float) -> Iterator[list[int]]:
    """GREEDYCOVER for every number of sources s that can matter.

    Sources with a share of 1/s are precise up to a magnification t = bound/unit(s). The greedy's picks depend on t
    alone, and more picks cover no less: so for each magnification only the largest s is tried at which it is within t.
    """
    coverage = cover_of(task, weighted=False)
    ratio, power = bound / float(task.noise.unit) * ROUNDING, task.noise.power
    numbers = {math.floor((ratio / m) ** (1 / power)) for m in np.unique(coverage.magnifications).tolist()}
    for most in sorted({min(number, len(task.published)) for number in numbers}):
        allowed = coverage.magnifications <= ratio / max(most, 1) ** power
        cover = greedy_cover(coverage, np.where(allowed, 1.0, math.inf), np.array(task.weights), most)
        yield [source for source, _ in cover]


def _completed(task: Task, cover: list[int]) -> list[int]:
    if computes_all(task, cover):
        return cover
    return [*(source for source in cover[:-1] if source != task.top), task.top]
