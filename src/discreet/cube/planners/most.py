"""Most: shares that make as many cuboids as possible precise *after* consistency, which PMost and PMostG do not see.

The largest ratio of variance to expectation is made small for all cuboids first. While it is beyond the bound, the
cuboids that hold it up are given up, a few at a time, and it is made small for the others. What a cuboid holds up is
its multiplier: the part that it has in the power mean which stands for the largest ratio. Then the cuboids that came
nearest to the bound are taken in again, as long as none that is precise is lost. [cubes, Problems 2 and 4]
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.cube.plan import ROUNDING
from discreet.cube.planners.all import share_among_all
from discreet.cube.planners.base import give_all_to_base
from discreet.cube.planners.bmax import bound_max
from discreet.cube.planners.bmaxg import bound_max_generally
from discreet.cube.planners.coverage import MAX_PAIRS, count_pairs
from discreet.cube.planners.few import descend_few, is_few, optimise_few
from discreet.cube.planners.optimal import BLUNT, descend_a_little, optimise
from discreet.cube.planners.pmost import precision_bound, publish_most
from discreet.cube.planners.pmostg import publish_most_generally
from discreet.cube.planners.task import Planner, Shares, Task
from discreet.cube.variances import exactness_of

Ratios = NDArray[np.float64]
Descend = Callable[[Task, Shares], Shares]
"""From shares to better ones, for a task that makes the largest weight × ratio small; a few steps."""

GREEDY = (publish_most, publish_most_generally, bound_max, bound_max_generally, give_all_to_base, share_among_all)
"""Greedy planners whose plans are further starting points, where the lattice is small enough."""

LET_GO = 1e-4
"""The weight of a cuboid that is given up: it stays computable."""
GIVEN_UP_AT_ONCE = 0.05


def publish_most_precise(task: Task) -> Shares:
    """Shares for which the weight of the cuboids within the task's bound is large, after consistency."""
    bound = precision_bound(task)
    largest = replace(task, objective="max")
    make = optimise_few if is_few(task) else optimise
    descend: Descend = descend_few if is_few(task) else descend_a_little
    starts = [make(largest)]
    if not is_few(task) and count_pairs(task) <= MAX_PAIRS:
        starts += [start(task) for start in GREEDY]
    if task.noise.power == 1:
        # Convex: what is best for some cuboids does not depend on where a descent begins, and one start will do.
        descend = _afresh(make)
        candidates = [*starts, *_give_up(task, bound, starts[0], descend)]
    else:
        candidates = [shares for start in starts for shares in _give_up(task, bound, start, descend)]
    best = max(candidates, key=lambda shares: precise_weight(task, bound, ratios_of(task, shares)))
    return _take_in(task, bound, best, descend)


def _afresh(make: Planner) -> Descend:
    return lambda task, _: make(task)


def ratios_of(task: Task, shares: Shares) -> Ratios:
    """Variance after consistency / expected, of every published cuboid."""
    unit, power = float(task.noise.unit), task.noise.power
    variances = {mask: unit / float(share) ** power for mask, share in shares.items()}
    reached = exactness_of(task.lattice, variances).variances(task.published, consistent=True)
    ratios: Ratios = reached / np.array(task.expected)
    return ratios


def precise_weight(task: Task, bound: float, ratios: Ratios) -> tuple[float, float]:
    """The weight of what is precise; of equal ones, the smaller largest ratio is better."""
    return float(np.array(task.weights)[ratios <= bound * ROUNDING].sum()), -float(ratios.max())


def _give_up(task: Task, bound: float, shares: Shares, descend: Descend) -> Sequence[Shares]:
    weights, kept = np.array(task.weights), np.ones(len(task.published), bool)
    found = [shares]
    while True:
        ratios = ratios_of(task, shares)
        if (ratios[kept] <= bound * ROUNDING).all():
            return found
        multipliers = np.where(kept, (ratios / ratios[kept].max()) ** BLUNT / weights, 0)
        count = max(1, int(GIVEN_UP_AT_ONCE * kept.sum()))
        kept[np.argsort(-multipliers, kind="stable")[:count]] = False
        if not kept.any():
            return found
        shares = descend(_aiming_at(task, kept), shares)
        found.append(shares)


def _take_in(task: Task, bound: float, best: Shares, descend: Descend) -> Shares:
    """Better shares while there are such: aiming at a few more cuboids than are precise, then at fewer more."""
    part = GIVEN_UP_AT_ONCE
    while part * len(task.published) >= 1:
        ratios = ratios_of(task, best)
        precise = ratios <= bound * ROUNDING
        nearest = np.argsort(np.where(precise, np.inf, ratios / np.array(task.weights)), kind="stable")
        aims = precise.copy()
        aims[nearest[: int(part * len(aims))]] = True
        if precise.all():
            break
        better = descend(_aiming_at(task, aims), best)
        if precise_weight(task, bound, ratios_of(task, better)) > precise_weight(task, bound, ratios):
            best = better
        else:
            part /= 2
    return best


def _aiming_at(task: Task, kept: NDArray[np.bool_]) -> Task:
    """The task of making the largest ratio of some cuboids small."""
    return replace(task, objective="max", weights=tuple(np.where(kept, 1.0, LET_GO).tolist()))
