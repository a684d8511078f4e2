"""Descent in a landscape of shares: L-BFGS with backtracking. [Nocedal, Wright, Numerical Optimization, Algorithm 7.5]

A search takes thousands of short descents on a few hundred variables, where a general library spends its time on calls
between them; this is the same method beside the function that it descends.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.cores import on_all_cores
from discreet.cube.kronecker import Masks
from discreet.cube.planners.landscape import Landscape, Terrain, evaluate
from discreet.deadline import still_wanted
from discreet.native import kernel

Points = NDArray[np.float64]
"""Shape (points, 2^d): rows of logits."""

MEMORY = 8
SUFFICIENT = 1e-4
SHRINK = 0.35
LONGEST_STEP = 4.0
MOST_TRIALS = 12

EFFORT = 16
"""A step of a descent costs about so many passes over its numbers."""


def descend(
    landscape: Landscape, points: Points, r: float, steps: int, tolerance: float = 1e-7
) -> tuple[Points, NDArray[np.float64]]:
    """Lower points, and the logarithm of the power mean with exponent r there, after at most so many steps each.

    No point ever rises; one stops early when a step gains less than the tolerance.
    """
    lower, values = points.copy(), np.empty(len(points))
    terrain = landscape.terrain_at(r)

    def descend_some(first: int, last: int) -> None:
        for row in range(first, last):
            still_wanted()
            values[row] = _descend(terrain, r, lower[row], steps, tolerance)

    on_all_cores(descend_some, len(points), points.shape[1] * max(steps, 1) * EFFORT)
    return lower, values


def descend_along(
    evaluate: Callable[[Masks], tuple[float, Masks]], point: Masks, steps: int, tolerance: float = 1e-7
) -> Masks:
    """The same from one point, where only a function in Python tells the value and the gradient."""
    moves, turns, inverses = np.empty((MEMORY, point.size)), np.empty((MEMORY, point.size)), np.zeros(MEMORY)
    direction, kept = np.empty_like(point), 0
    value, gradient = evaluate(point)
    for _ in range(steps):
        still_wanted()
        _point_downhill(gradient, moves, turns, inverses, kept, direction)
        slope, length, trials = _dot(gradient, direction), 1.0, 1
        lower = point + direction
        lower_value, lower_gradient = evaluate(lower)
        while not lower_value <= value + SUFFICIENT * length * slope and trials < MOST_TRIALS:
            length, trials = length * SHRINK, trials + 1
            lower = point + length * direction
            lower_value, lower_gradient = evaluate(lower)
        gain = value - lower_value
        if not gain > 0:
            break
        place = kept % MEMORY
        moves[place], turns[place] = lower - point, lower_gradient - gradient
        curvature = _dot(moves[place], turns[place])
        # Slopes are about as small as shares, of which there may be very many.
        bends = curvature > 1e-12 / point.size
        inverses[place] = 1 / curvature if bends else 0.0
        kept += bends
        point, gradient, value = lower, lower_gradient, lower_value
        if gain < tolerance:
            break
    return point


@kernel
def _descend(terrain: Terrain, r: float, point: Masks, steps: int, tolerance: float) -> float:
    """Move a point downhill, in place, and return its value."""
    moves, turns, inverses = np.empty((MEMORY, point.size)), np.empty((MEMORY, point.size)), np.zeros(MEMORY)
    gradient, lower, lower_gradient = np.empty_like(point), np.empty_like(point), np.empty_like(point)
    direction = np.empty_like(point)
    value: float = evaluate(terrain, r, point, gradient)
    kept = 0
    for _ in range(steps):
        _point_downhill(gradient, moves, turns, inverses, kept, direction)
        slope = _dot(gradient, direction)
        length, trials, lower_value = 1.0, 0, np.inf
        while not lower_value <= value + SUFFICIENT * length * slope and trials < MOST_TRIALS:
            length, trials = 1.0 if trials == 0 else length * SHRINK, trials + 1
            lower[:] = point
            _add(lower, length, direction)
            lower_value = evaluate(terrain, r, lower, lower_gradient)
        gain = value - lower_value
        if not gain > 0:
            break
        place = kept % MEMORY
        moves[place], turns[place] = lower, lower_gradient
        _add(moves[place], -1.0, point)
        _add(turns[place], -1.0, gradient)
        curvature = _dot(moves[place], turns[place])
        inverses[place] = 1 / curvature if curvature > 1e-12 else 0.0  # with 0 it is as if forgotten
        kept += curvature > 1e-12
        point[:], gradient[:], value = lower, lower_gradient, lower_value
        if gain < tolerance:
            break
    return value


@kernel
def _point_downhill(
    gradient: Masks, moves: Points, turns: Points, inverses: Masks, kept: int, direction: Masks
) -> None:
    """The two-loop recursion: an approximate Newton step, downhill and not too long."""
    direction[:] = gradient
    factors = np.empty(MEMORY)
    oldest = max(0, kept - MEMORY)
    for k in range(kept - 1, oldest - 1, -1):
        place = k % MEMORY
        factors[place] = inverses[place] * _dot(moves[place], direction)
        _add(direction, -factors[place], turns[place])
    if kept:
        place = (kept - 1) % MEMORY
        _scale(direction, 1 / (inverses[place] * _dot(turns[place], turns[place])))
    for k in range(oldest, kept):
        place = k % MEMORY
        _add(direction, factors[place] - inverses[place] * _dot(turns[place], direction), moves[place])
    if _dot(direction, gradient) <= 0:
        direction[:] = gradient
    longest = max(direction.max(), -direction.min())
    _scale(direction, -min(1.0, LONGEST_STEP / max(longest, 1e-300)))


@kernel(fastmath=True)
def _dot(left: Masks, right: Masks) -> float:
    total = 0.0
    for k in range(left.size):
        total += left[k] * right[k]
    return total


@kernel
def _add(target: Masks, factor: float, values: Masks) -> None:
    for k in range(target.size):
        target[k] += factor * values[k]


@kernel
def _scale(values: Masks, factor: float) -> None:
    for k in range(values.size):
        values[k] *= factor
