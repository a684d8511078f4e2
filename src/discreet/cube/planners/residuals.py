"""Optimal where residuals are measured: a share for every subset of the published cuboids, each for its own component.

Under `add-remove` no other Gaussian noise on linear queries makes the objective smaller. The problem is convex in the
shares; its weighted mean has a closed form: by Cauchy and Schwarz, Σ a/(y·share) is least at shares in proportion to
√(a/y). [Xiao, He, Zhang, Kifer: An Optimal and Scalable Matrix Mechanism for Noisy Marginals, NeurIPS 2023]
"""

import numpy as np

from discreet.cube.closure import Closure, Numbers
from discreet.cube.plan import Basis
from discreet.cube.planners.few import Slopes, alike, by_mask, is_few, optimise_few
from discreet.cube.planners.landscape import logits_of, shares_of
from discreet.cube.planners.optimal import BLUNT, SHARPENING
from discreet.cube.planners.task import Shares, Task
from discreet.ledger.guarantee import Neighbours
from discreet.query.residual import MOST_SPREAD, squared_move


def can_measure_residuals(task: Task) -> bool:
    """Whether a task is one for residuals: counts with Gaussian noise, of a few of many dimensions."""
    if task.noise.power != 1 or task.noise.measure.of is not None:
        return False
    return is_few(task) and max(map(task.lattice.cells, task.published)) <= MOST_SPREAD


def optimise_either(task: Task) -> tuple[Basis, Shares]:
    """What is the better to measure, residuals or cuboids as a whole, and its shares.

    Cuboids may be under `replace` alone: there residuals cost more than two rows move them all together.
    """
    residuals = optimise_residuals(task)
    if task.noise.neighbours == "add-remove":
        return "residuals", residuals
    cuboids = optimise_few(task)
    of_residuals, of_cuboids = residual_slopes(task), Slopes.of(task)
    reached = of_residuals.value(of_residuals.shares_by_number(residuals))
    if of_cuboids.value(of_cuboids.shares_by_number(cuboids)) < reached:
        return "cuboids", cuboids
    return "residuals", residuals


def optimise_residuals(task: Task) -> Shares:
    """The residuals' shares with the least objective."""
    slopes = residual_slopes(task)
    point = logits_of(_least_mean(slopes))
    if slopes.exponent != 1:
        for r in (BLUNT, *SHARPENING) if slopes.exponent is None else (slopes.exponent,):
            point = slopes.descend(point, r)
    return by_mask(slopes, alike(shares_of(point)))


def residual_slopes(task: Task) -> Slopes:
    """The objective over the shares of residuals."""
    slopes = Slopes.of(task)
    return slopes.over_residuals(_yields(slopes.closure, task.noise.neighbours))


def _yields(closure: Closure, neighbours: Neighbours) -> Numbers:
    """1/v(S) of every subset's component, where it has the whole budget: ∏nᵢ² over the squared move of a row."""
    shapes = [closure.lattice.shape(mask) for mask in closure.masks]
    moves = {shape: float(squared_move(shape, neighbours)) for shape in set(shapes)}
    yields: Numbers = closure.cells**2 / [moves[shape] for shape in shapes]
    return yields


def _least_mean(slopes: Slopes) -> Numbers:
    """Shares with the least weighted mean of the published variances."""
    weights = np.zeros(len(slopes.closure.masks))
    weights[slopes.published] = np.exp(slopes.log_weights)
    loads = slopes.closure.from_variances @ weights
    shares: Numbers = np.sqrt(loads / slopes.yields)
    shares /= shares.sum()
    return shares
