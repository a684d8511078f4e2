"""PMostG: sources and their shares that make as many cuboids as possible precise. [cubes, Algorithm 4]"""

import math

import numpy as np
from numpy.typing import NDArray

from discreet.cube.planners.coverage import Coverage, cover_of, greedy_cover
from discreet.cube.planners.pmost import ROUNDING, computes_all, most_precise, precision_bound
from discreet.cube.planners.task import Shares, Task


def publish_most_generally(task: Task) -> Shares:
    """Shares for which the weight of the precise cuboids is within ¼(1 − 1/e) of the most.

    What the greedy leaves over goes to all its sources in proportion. Where they cannot compute everything, the
    smallest cuboid that can is given what makes it precise beforehand.
    """
    bound = precision_bound(task)
    coverage = cover_of(task, weighted=False)
    costs = (coverage.magnifications * float(task.noise.unit) / bound) ** (1 / task.noise.power)
    worth = np.array(task.weights)
    candidates = [taken for taken in _within(1, coverage, costs, worth) if computes_all(task, taken)]
    top = coverage.row(task.top)
    reserved = float(costs[top][0])
    if reserved < 1:
        costs[top], worth[coverage.cuboids[top][0]] = math.inf, 0
        candidates += [{task.top: reserved, **taken} for taken in _within(1 - reserved, coverage, costs, worth)]
    return most_precise(task, bound, [*map(_whole, candidates), {task.top: 1.0}])


def _within(
    budget: float, coverage: Coverage, costs: NDArray[np.float64], worth: NDArray[np.float64]
) -> list[dict[int, float]]:
    """Lines 3 to 8: the greedy's sources up to the one that overspends, and that one alone.

    Line 8 may return one set that costs more than the budget: such sets are dropped first.
    """
    taken: dict[int, float] = {}
    for source, position in greedy_cover(coverage, np.where(costs <= budget * ROUNDING, costs, math.inf), worth):
        cost = float(costs[position])
        if sum(taken.values()) + cost > budget * ROUNDING:
            return [taken, {source: cost}]
        taken[source] = cost
    return [taken]


def _whole(shares: Shares) -> dict[int, float]:
    total = float(sum(shares.values()))
    return {mask: float(share) / total for mask, share in shares.items()}
