"""L-BFGS for a smooth, convex function. [Liu, Nocedal: On the limited memory BFGS method, 1989; Algorithm 2.1]"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Evaluate = Callable[[Vector], tuple[float, Vector]]
"""The value at a point, and the gradient; (inf, anything) where there is none."""

MEMORY = 20
SUFFICIENT = 1e-4
SHORTENING = 0.5
MOST_SHORTENINGS = 40


@dataclass(frozen=True)
class Descent:
    """Where a descent ended, with the value and the gradient there."""

    point: Vector
    value: float
    gradient: Vector
    evaluations: int


def descend(evaluate: Evaluate, start: Vector, is_enough: Callable[[Vector, Vector], bool], most: int) -> Descent:
    """Go down from `start` until `is_enough(point, gradient)`, until no step helps, or for `most` evaluations."""
    point = start
    value, gradient = evaluate(point)
    evaluations = 1
    moves: list[tuple[Vector, Vector, float]] = []
    while evaluations < most and not is_enough(point, gradient):
        direction = -_times_inverse(gradient, moves)
        slope = dot(direction, gradient)
        if not slope < 0:
            if not moves:
                break
            moves = []
            continue
        step = 1.0 if moves else min(1.0, 1.0 / max(float(np.abs(gradient).max()), 1e-300))
        for _ in range(MOST_SHORTENINGS):
            next_point = point + step * direction
            next_value, next_gradient = evaluate(next_point)
            evaluations += 1
            if next_value <= value + SUFFICIENT * step * slope:
                break
            step *= SHORTENING
        else:
            break
        moved, changed = next_point - point, next_gradient - gradient
        curvature = dot(moved, changed)
        if curvature > 0:
            moves = [*moves[-(MEMORY - 1) :], (moved, changed, 1 / curvature)]
        point, value, gradient = next_point, next_value, next_gradient
    return Descent(point, value, gradient, evaluations)


def _times_inverse(gradient: Vector, moves: list[tuple[Vector, Vector, float]]) -> Vector:
    """The inverse of the Hessian, as far as the last moves tell, times the gradient."""
    left, shares = gradient.copy(), []
    for moved, changed, inverse in reversed(moves):
        share = inverse * dot(moved, left)
        left -= share * changed
        shares.append(share)
    if moves:
        moved, changed, inverse = moves[-1]
        left *= 1 / (inverse * dot(changed, changed))
    for (moved, changed, inverse), share in zip(moves, reversed(shares), strict=True):
        left += (share - inverse * dot(changed, left)) * moved
    return left


def dot(a: Vector, b: Vector) -> float:
    """A sum of products, without the threads that BLAS starts for long vectors."""
    return float(np.einsum("i,i", a, b))
