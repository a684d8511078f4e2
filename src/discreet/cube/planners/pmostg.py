"""PMostG: sources and their shares that make as many cuboids as possible precise. [cubes, Algorithm 4]"""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.cube.planners.bmaxg import bound_max_generally
from discreet.cube.planners.coverage import Coverage, cover_of, greedy_cover
from discreet.cube.planners.pmost import ROUNDING, most_precise, precision_bound, publish_most, uncomputed
from discreet.cube.planners.task import Shares, Task

TOLERATED = 2.5e-10
"""Of a share; of a variance it is twice that, under Laplace noise."""
KEPT_BACK = (0, 0.001, 0.01, 0.1, 0.5)
"""What is tried to be kept back for cuboids that will not be precise, as parts of the budget."""


def publish_most_generally(task: Task) -> Shares:
    """Shares that compute everything, and for which the weight of the precise cuboids is within ½(1 − 1/e) of the most
    that can be precise with a thousandth of the budget kept back. No less than PMost's. [cubes, Theorem 3.3.8]

    Of plans that make as much precise, the one with the smallest largest variance: so more is kept back where that
    costs nothing.
    """
    bound = precision_bound(task)
    coverage = cover_of(task, weighted=False)
    costs = (coverage.magnifications * float(task.noise.unit) / bound) ** (1 / task.noise.power)
    # Shares are whole units of the ledger: a part of one less, and nothing would be precise. Half of what a plan
    # tolerates is left for that, so that sets that fit exactly still do.
    units, worth = np.ceil(costs * task.noise.limit * (1 - TOLERATED)), np.array(task.weights)
    budgets = [(1 - kept) * task.noise.limit for kept in KEPT_BACK]
    covers = [taken for budget in budgets for taken in _within(budget, coverage, units, worth)]
    plans = [whole for taken in covers if (whole := _whole(task, taken))]
    return most_precise(task, bound, [*plans, publish_most(task)])


def _within(
    budget: float, coverage: Coverage, costs: NDArray[np.float64], worth: NDArray[np.float64]
) -> Iterator[dict[int, float]]:
    """Algorithm 4's lines 3 to 8: the greedy's sets as far as they fit, and the same with the first that does not fit
    before all others.

    As printed, the algorithm may return one set that costs more than the budget: such sets are dropped first. And it
    lets no source be given more later on, although what the proof compares with may need that: here a source is
    extended, for the difference. Then, while a set of the best plan is not covered, some set gains as much for its cost
    as that plan does on average; so the sets up to the first that does not fit cover 1 − 1/e of what the best plan
    does, and half of that is with the others, or with that one.
    """
    allowed = np.where(costs <= budget * ROUNDING, costs, math.inf)
    sets = greedy_cover(coverage, allowed, worth, finest_first=True, extend=True)
    taken, left_out = _fitting(budget, costs, sets)
    yield taken
    if left_out is not None:
        yield _fitting(budget, costs, [sets[left_out], *sets])[0]


def _fitting(
    budget: float, costs: NDArray[np.float64], sets: list[tuple[int, int]]
) -> tuple[dict[int, float], int | None]:
    """What each source is given for the sets, in their order, that fit into the budget; and the first that does not."""
    taken: dict[int, float] = {}
    left_out = None
    for place, (source, position) in enumerate(sets):
        given = max(float(costs[position]), taken.get(source, 0.0))
        if sum(taken.values()) - taken.get(source, 0.0) + given <= budget * ROUNDING:
            taken[source] = given
        elif left_out is None:
            left_out = place
    return taken, left_out


def _whole(task: Task, taken: dict[int, float]) -> dict[int, Fraction] | None:
    """Shares of the whole budget, from units, that compute everything: what is left goes to the cuboids that no source
    computes, or to all sources in proportion. None where cuboids are missing and nothing is left."""
    units = {mask: int(given) for mask, given in taken.items()}
    whole, spent = task.noise.limit, sum(units.values())
    missing = set(uncomputed(task, taken))
    if not missing:
        return {mask: Fraction(given, spent) for mask, given in units.items()}
    left = Fraction(whole - spent, whole)
    if left < min(filter(None, KEPT_BACK)) / ROUNDING:
        return None
    places = [place for place, mask in enumerate(task.published) if mask in missing]
    rest = replace(
        task,
        published=tuple(task.published[place] for place in places),
        weights=tuple(task.weights[place] for place in places),
        expected=tuple(task.expected[place] for place in places),
    )
    shares = {mask: Fraction(given, whole) for mask, given in units.items()}
    return shares | {mask: left * Fraction(share) for mask, share in bound_max_generally(rest).items()}
