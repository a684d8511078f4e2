"""BMax: equal shares for a set of sources that makes the largest variance small. [cubes, Algorithm 1]"""

import math
from fractions import Fraction

import numpy as np

from discreet.cube.planners.coverage import Coverage, cover_of, greedy_cover
from discreet.cube.planners.task import Shares, Task


def bound_max(task: Task) -> Shares:
    """Sources whose largest weight × variance is within (ln|L| + 1)² of the least that equal shares can reach."""
    sources, _ = smallest_bound(task)
    return dict.fromkeys(sources, Fraction(1, len(sources)))


def smallest_bound(task: Task) -> tuple[tuple[int, ...], float]:
    """The sources, and the bound θ that they keep on weight × continuous variance.

    Algorithm 1 searches for the least θ such that, for some s, s greedy sources compute everything at magnifications
    of at most t = θ/unit(s). The greedy's picks depend on t alone, and t may as well be one of the magnifications: so
    every t is covered once, and the number of its picks is its best s.
    """
    coverage = cover_of(task, weighted=True)
    power = task.noise.power
    sources, least = task.published, max(task.burdens) * float(len(task.published)) ** power
    for magnification in np.unique(coverage.magnifications).tolist():
        fewer = math.ceil((least / magnification) ** (1 / power)) - 1
        cover = feasible(coverage, len(task.published), magnification, fewer)
        if cover is not None:
            sources, least = cover, magnification * float(len(cover)) ** power
    return sources, least * float(task.noise.unit)


def feasible(coverage: Coverage, published: int, magnification: float, most: int) -> tuple[int, ...] | None:
    """At most so many greedy sources that compute all published cuboids within a magnification, if there are such."""
    allowed = coverage.magnifications <= magnification
    largest = np.add.reduceat(allowed, coverage.starts[:-1], dtype=np.int64).max()
    if most * largest < published:
        return None
    cover = greedy_cover(coverage, np.where(allowed, 1.0, math.inf), np.ones(published), most)
    covered = np.zeros(published, bool)
    for source, position in cover:
        covered[coverage.cuboids[coverage.row(source).start : position + 1]] = True
    return tuple(source for source, _ in cover) if covered.all() else None
