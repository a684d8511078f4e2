"""Linear estimates: the combination of noisy measurements that has no bias and the least variance.

A measurement is a row: how much each atom of the table counts in it. What is to be estimated is a row as well. If the
noises are independent, the best coefficients a minimise Σ aⱼ²·varianceⱼ under Σ aⱼ·rowⱼ = target: the Gauss–Markov
estimate, which weighted least squares on the atoms gives. A fact is a measurement without noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

BIAS = 1e-9
"""No atom's coefficient in an estimate is further than this from what it has to be."""

DENSE_ENTRIES = 4_000_000
"""The largest connected system, measurements × atoms, that one should ask to be solved: 32 MB."""

RANK = 1e-10
"""Pivots below this share of the largest are linear dependence."""

EXACT = 1e-10
"""An exact measurement is taken for one with this share of the least variance: as good, to ten digits."""


@dataclass(frozen=True)
class LinearEstimate:
    """What to multiply each measurement with, and the variance of the sum."""

    coefficients: Floats
    variance: float


def best_estimate(measurements: sparse.csr_array, variances: Floats, target: Floats) -> LinearEstimate | None:
    """The unbiased combination of measurements (rows, over atoms) with the least variance; None where there is none.

    A variance of 0 says that a measurement is exact: a fact. Whatever the solver did, the result's bias is checked
    against BIAS, so that an answer that could not be computed well is None, never wrong.
    """
    return best_estimates(measurements, variances, target[None, :])[0]


def best_estimates(measurements: sparse.csr_array, variances: Floats, targets: Floats) -> list[LinearEstimate | None]:
    """The same for many targets, a row each. What has no atom in common is solved apart: it has no say in the other."""
    noisy = variances > 0
    least = float(variances[noisy].min()) if noisy.any() else 1.0
    # With a = sharpness·y, the least Σ a²·variance is the least norm of y; only ratios of variances matter.
    sharpness = np.sqrt(least / np.where(noisy, variances, EXACT * least))
    found = np.zeros((len(targets), measurements.shape[0]))
    biased = np.zeros(len(targets), np.bool_)
    for rows, atoms in separate(measurements, targets):
        asked = np.flatnonzero(targets[:, atoms].any(axis=1))
        wanted = targets[np.ix_(asked, atoms)].T
        coefficients, bias = _solved(measurements[rows][:, atoms], sharpness[rows], wanted)
        found[np.ix_(asked, rows)] = coefficients.T
        biased[asked] |= ~(np.abs(bias) <= BIAS).all(axis=0)  # what is not a number is biased
    spread = found**2 @ variances
    # What exact measurements make up by themselves leaves a share of EXACT to the noisy ones.
    spread[spread < EXACT * least] = 0.0
    return [None if biased[i] else LinearEstimate(found[i], float(spread[i])) for i in range(len(targets))]


def separate(measurements: sparse.csr_array, targets: Floats) -> Iterator[tuple[Places, Places]]:
    """The measurements and the atoms of each part of a system that shares no atom with the rest, and that a target
    needs."""
    graph = sparse.block_array([[None, measurements], [measurements.T, None]])
    parts, part = connected_components(graph, directed=False)
    needed = np.zeros(parts, np.bool_)
    needed[part[measurements.shape[0] :][targets.any(axis=0)]] = True
    order = np.argsort(part, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        if needed[part[members[0]]]:
            first = np.searchsorted(members, measurements.shape[0])
            yield members[:first], members[first:] - measurements.shape[0]


def _solved(measurements: sparse.csr_array, sharpness: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Coefficients for each target, a column each, and what is left of it for each atom."""
    if not measurements.shape[0]:
        return np.zeros((0, targets.shape[1])), targets
    atoms = measurements.toarray().T
    solve = _independent_equations(atoms, sharpness)
    coefficients = solve(targets)
    # One step of refinement takes the rounding of the first one out.
    coefficients = coefficients + solve(targets - atoms @ coefficients)
    return coefficients, targets - atoms @ coefficients


class _Solved:
    """The least Σ (aⱼ/sharpnessⱼ)² among the a that meet a full-rank choice of equations."""

    def __init__(self, equations: Places, orthogonal: Floats, upper: Floats, sharpness: Floats) -> None:
        self._equations, self._orthogonal, self._upper, self._sharpness = equations, orthogonal, upper, sharpness

    def __call__(self, targets: Floats) -> Floats:
        within = linalg.solve_triangular(self._upper, targets[self._equations], trans="T", check_finite=False)
        found: Floats = self._sharpness[:, None] * (self._orthogonal @ within)
        return found


def _independent_equations(atoms: Floats, sharpness: Floats) -> _Solved:
    """Choose equations by their coefficients alone, so that no ratio of variances is taken for a dependence."""
    upper, chosen = linalg.qr(atoms.T, mode="r", pivoting=True, check_finite=False)
    pivots = np.abs(np.diagonal(upper))
    equations = chosen[: np.count_nonzero(pivots > RANK * pivots.max(initial=0.0))]
    orthogonal, triangle = linalg.qr((atoms[equations] * sharpness).T, mode="economic", check_finite=False)
    return _Solved(equations, orthogonal, triangle, sharpness)
