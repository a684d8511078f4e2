"""The consistent variance as a function of the shares, with its gradient.

Shares are softmax(logits), and the objective is a weighted power mean of the published cuboids' variances,

    log f = (1/r)·log Σ_C weight_C·Var(C)^r,

r = 1 for the mean, 1/2 for the mean standard deviation (squared), and growing r for the largest, where the weight is
inside the power. Variances scale with budget^-power, so the budget drops out: the best shares do not depend on it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.cube.kronecker import Masks, Matrices, residual_matrices, sweep, variance_matrices
from discreet.cube.plan import Objective
from discreet.cube.planners.task import Task
from discreet.native import kernel

EXPONENTS: dict[Objective, float | None] = {"max": None, "most": None, "mean": 1.0, "weighted": 1.0, "mean-std": 0.5}
"""The exponent r of each objective; None for the largest variance, the limit of growing r."""

ABSENT = -36.0
"""The logit of a cuboid that is no source: e^-36 of the budget is nothing, and its square is still a normal number."""


def log_weights_of(task: Task) -> Masks:
    """The logarithm of what stands beside Var^r, for each published cuboid; beside Var, where the largest counts."""
    exponent = EXPONENTS[task.objective]
    log_weights: Masks = np.log(task.weights) - (1 if exponent is None else exponent) * np.log(task.expected)
    return log_weights


class Terrain(NamedTuple):
    """A landscape as the kernels take it: the two sweeps, their transposes for the gradient, and what is published.

    `log_weights` is -inf for cuboids that are not.
    """

    to_residuals: Matrices
    to_variances: Matrices
    from_residuals: Matrices
    from_variances: Matrices
    log_weights: Masks
    noise_power: int


@dataclass(frozen=True)
class Landscape:
    """`exponent` is the objective's own."""

    terrain: Terrain
    exponent: float | None

    @classmethod
    def of(cls, task: Task) -> "Landscape":
        sizes = task.lattice.sizes
        log_weights = np.full(1 << len(sizes), -np.inf)
        log_weights[list(task.published)] = log_weights_of(task)
        sweeps = residual_matrices(sizes), variance_matrices(sizes)
        transposes = [np.ascontiguousarray(matrices.transpose(0, 2, 1)) for matrices in sweeps]
        return cls(
            Terrain(*sweeps, transposes[0], transposes[1], log_weights, task.noise.power), EXPONENTS[task.objective]
        )

    def terrain_at(self, r: float) -> Terrain:
        """The terrain with weights to stand beside Var^r: where the largest counts, they are inside the power."""
        if self.exponent is not None:
            return self.terrain
        return self.terrain._replace(log_weights=self.terrain.log_weights * r)

    def value(self, logits: Masks) -> float:
        """The logarithm of the objective itself, up to a constant."""
        # At this exponent a power mean is the largest, to float precision.
        r = self.exponent or 1e12
        return float(evaluate(self.terrain_at(r), r, logits, np.empty_like(logits)))


@kernel(error_model="numpy")
def evaluate(terrain: Terrain, r: float, logits: Masks, gradient: Masks) -> float:
    """log f at a point; fills in its gradient."""
    masks, power = logits.size, terrain.noise_power
    highest = logits.max()
    parts, residuals, variances = np.empty(masks), np.empty(masks), np.empty(masks)
    for mask in range(masks):
        parts[mask] = np.exp(max(logits[mask] - highest, ABSENT))
        residuals[mask] = parts[mask] if power == 1 else parts[mask] ** 2
    sweep(residuals, terrain.to_residuals)
    for mask in range(masks):
        residuals[mask] = variances[mask] = 1 / residuals[mask]
    sweep(variances, terrain.to_variances)
    value, norm = _terms(terrain.log_weights, r, variances, gradient)
    sweep(gradient, terrain.from_variances)
    for mask in range(masks):
        gradient[mask] *= residuals[mask] ** 2 / norm
    sweep(gradient, terrain.from_residuals)
    total = parts.sum()
    for mask in range(masks):
        precision = parts[mask] if power == 1 else parts[mask] ** 2
        gradient[mask] = power * (parts[mask] / total - gradient[mask] * precision)
    return float(value + power * np.log(total))


@kernel(error_model="numpy")
def _terms(log_weights: Masks, r: float, variances: Masks, terms: Masks) -> tuple[float, float]:
    """The power mean's logarithm; its terms over the variances, all times one number, and that number."""
    largest = -np.inf
    for mask in range(variances.size):
        terms[mask] = log_weights[mask]
        if terms[mask] > -np.inf:
            terms[mask] += r * np.log(variances[mask])
            largest = max(largest, terms[mask])
    norm = 0.0
    for mask in range(variances.size):
        # Below e^-200 a term counts for nothing, and denormal numbers would be slow.
        term = np.exp(terms[mask] - largest) if terms[mask] > largest - 200 else 0.0
        norm += term
        terms[mask] = term / variances[mask]
    return (largest + np.log(norm)) / r, norm


def shares_of(logits: Masks) -> Masks:
    """softmax along the last axis."""
    parts = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Masks = parts / parts.sum(axis=-1, keepdims=True)
    return shares


def logits_of(shares: Masks) -> Masks:
    """The logits of given shares: of cuboids without any, ABSENT."""
    return np.log(np.maximum(shares, np.exp(ABSENT)))
