"""BMaxG: sources and their shares that make the largest variance small. [cubes, Algorithm 3]"""

import numpy as np
from numpy.typing import NDArray

from discreet.cube.planners.coverage import Coverage, cover_of, greedy_cover
from discreet.cube.planners.task import Shares, Task


def bound_max_generally(task: Task) -> Shares:
    """Shares whose largest weight × variance is within (ln|L| + 1)² of the least."""
    return thrifty_cover(cover_of(task, weighted=True), len(task.published), task.noise.power, 1 / task.noise.power)


def thrifty_cover(
    coverage: Coverage, published: int, power: int, thrift: float, finest_first: bool = False
) -> dict[int, float]:
    """A greedy cover in which computing cuboids within a magnification m costs m^thrift, as shares.

    A source that serves magnifications up to m needs a share proportional to m^(1/power), so that all variances come
    under one bound. With that as the cost, thrift = 1/power, this is Algorithm 3; other values trade many small sources
    for few large ones.
    """
    costs: NDArray[np.float64] = coverage.magnifications**thrift
    cover = greedy_cover(coverage, costs, np.ones(published), finest_first=finest_first)
    needs = {source: float(coverage.magnifications[position] ** (1 / power)) for source, position in cover}
    total = sum(needs.values())
    return {source: need / total for source, need in needs.items()}
