"""The consistent variance as a function of the shares, with its gradient. [CUBES: exact variances; Kronecker form]

Shares are softmax(logits), and the objective is a weighted power mean of the published cuboids' variances,

    log f = (1/r)·log Σ_C weight_C·Var(C)^r,

r = 1 for the mean, 1/2 for the mean standard deviation (squared), and growing r for the largest, where the weight is
inside the power. Variances scale with budget^-power, so the budget drops out: the best shares do not depend on it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.cube.kronecker import Masks, Matrices, residual_matrices, sweep, variance_matrices
from discreet.cube.planners.task import Task

ABSENT = -36.0
"""The logit of a cuboid that is no source: e^-36 of the budget is nothing, and its square is still a normal number."""


class Terrain(NamedTuple):
    """A landscape as the kernels take it. `log_weights` is -inf for cuboids that are not published."""

    to_residuals: Matrices
    to_variances: Matrices
    log_weights: Masks
    noise_power: int


@dataclass(frozen=True)
class Landscape:
    """`exponent` is the objective's r; None for the largest variance, the limit of growing r."""

    terrain: Terrain
    exponent: float | None

    @classmethod
    def of(cls, task: Task) -> "Landscape":
        sizes = task.lattice.sizes
        log_weights = np.full(1 << len(sizes), -np.inf)
        log_weights[list(task.published)] = np.log(task.weights)
        exponent = {"max": None, "mean": 1.0, "weighted": 1.0, "mean-std": 0.5}[task.objective]
        terrain = Terrain(residual_matrices(sizes), variance_matrices(sizes), log_weights, task.noise.power)
        return cls(terrain, exponent)

    def terrain_at(self, r: float) -> Terrain:
        """The terrain with weights to stand beside Var^r: the largest of weight × variance has them inside the power."""
        if self.exponent is not None:
            return self.terrain
        return self.terrain._replace(log_weights=self.terrain.log_weights * r)

    def value(self, logits: Masks) -> float:
        """The logarithm of the objective itself, up to a constant."""
        # At this exponent a power mean is the largest, to float precision.
        r = self.exponent or 1e12
        return float(evaluate(self.terrain_at(r), r, logits, np.empty_like(logits)))


@njit(cache=True, nogil=True)
def evaluate(terrain: Terrain, r: float, logits: Masks, gradient: Masks) -> float:
    """log f at a point; fills in its gradient."""
    parts = np.exp(np.maximum(logits - logits.max(), ABSENT))
    precisions = parts**terrain.noise_power
    residuals = precisions.copy()
    sweep(residuals, terrain.to_residuals)
    residuals = 1 / residuals
    variances = residuals.copy()
    sweep(variances, terrain.to_variances)
    largest = -np.inf
    for mask in range(logits.size):
        gradient[mask] = terrain.log_weights[mask]
        if gradient[mask] > -np.inf:
            gradient[mask] += r * np.log(variances[mask])
            largest = max(largest, gradient[mask])
    norm = 0.0
    for mask in range(logits.size):
        # Below e^-200 a term counts for nothing, and denormal numbers would be slow.
        term = np.exp(gradient[mask] - largest) if gradient[mask] > largest - 200 else 0.0
        norm += term
        gradient[mask] = term / variances[mask]
    sweep(gradient, terrain.to_variances.transpose(0, 2, 1))
    gradient *= residuals * residuals / norm
    sweep(gradient, terrain.to_residuals.transpose(0, 2, 1))
    total = parts.sum()
    for mask in range(logits.size):
        gradient[mask] = terrain.noise_power * (parts[mask] / total - gradient[mask] * precisions[mask])
    return (largest + np.log(norm)) / r + terrain.noise_power * np.log(total)


def shares_of(logits: Masks) -> Masks:
    """softmax along the last axis."""
    parts = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Masks = parts / parts.sum(axis=-1, keepdims=True)
    return shares


def logits_of(shares: Masks) -> Masks:
    """The logits of given shares: of cuboids without any, ABSENT."""
    return np.log(np.maximum(shares, np.exp(ABSENT)))
