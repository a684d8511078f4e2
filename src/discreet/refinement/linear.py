"""Linear estimates: the combination of noisy measurements that has no bias and the least variance.

A measurement is a row: how much each atom of the table counts in it. What is to be estimated is a row as well. If the
noises are independent, the best coefficients a minimise Σ aⱼ²·varianceⱼ under Σ aⱼ·rowⱼ = target: the Gauss–Markov
estimate, which weighted least squares on the atoms gives. A fact is a measurement without noise.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

BIAS = 1e-9
"""No atom's coefficient in an estimate is further than this from what it has to be."""

RANK = 1e-10
"""Pivots below this share of the largest are linear dependence."""

EXACT = 1e-10
"""An exact measurement is taken for one with this share of the least variance: as good, to ten digits."""


@dataclass(frozen=True)
class LinearEstimate:
    """What to multiply each measurement with, and the variance of the sum."""

    coefficients: Floats
    variance: float


def best_estimate(measurements: Floats, variances: Floats, target: Floats) -> LinearEstimate | None:
    """The unbiased combination of measurements (rows, over atoms) with the least variance; None where there is none.

    A variance of 0 says that a measurement is exact: a fact. Whatever the solver did, the result's bias is checked
    against BIAS, so that an answer that could not be computed well is None, never wrong.
    """
    noisy = variances > 0
    least = float(variances[noisy].min()) if noisy.any() else 1.0
    # With a = sharpness·y, the least Σ a²·variance is the least norm of y; only ratios of variances matter.
    found, bias = _solved(measurements.T, np.sqrt(least / np.where(noisy, variances, EXACT * least)), target)
    if not (np.abs(bias) <= BIAS).all():  # what is not a number is biased
        return None
    spread = float(found**2 @ variances)
    # What exact measurements make up by themselves leaves a share of EXACT to the noisy ones.
    return LinearEstimate(found, spread if spread >= EXACT * least else 0.0)


def _solved(atoms: Floats, sharpness: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Coefficients for a target, and what is left of it for each atom."""
    if not len(sharpness):
        return np.zeros(0), target
    solve = _independent_equations(atoms, sharpness)
    coefficients = solve(target)
    # One step of refinement takes the rounding of the first one out.
    coefficients = coefficients + solve(target - atoms @ coefficients)
    return coefficients, target - atoms @ coefficients


class _Solved:
    """The least Σ (aⱼ/sharpnessⱼ)² among the a that meet a full-rank choice of equations."""

    def __init__(self, equations: Places, orthogonal: Floats, upper: Floats, sharpness: Floats) -> None:
        self._equations, self._orthogonal, self._upper, self._sharpness = equations, orthogonal, upper, sharpness

    def __call__(self, target: Floats) -> Floats:
        within = linalg.solve_triangular(self._upper, target[self._equations], trans="T", check_finite=False)
        found: Floats = self._sharpness * (self._orthogonal @ within)
        return found


def _independent_equations(atoms: Floats, sharpness: Floats) -> _Solved:
    """Choose equations by their coefficients alone, so that no ratio of variances is taken for a dependence."""
    upper, chosen = linalg.qr(atoms.T, mode="r", pivoting=True, check_finite=False)
    pivots = np.abs(np.diagonal(upper))
    equations = chosen[: np.count_nonzero(pivots > RANK * pivots.max(initial=0.0))]
    orthogonal, triangle = linalg.qr((atoms[equations] * sharpness).T, mode="economic", check_finite=False)
    return _Solved(equations, orthogonal, triangle, sharpness)
