"""Exact variances of a cube from the precisions of its sources, in O(d·2^d).

Arrays hold one number for each mask. Both sums of the residual basis are Kronecker products of 2×2 matrices, one a
dimension, so each is a sweep over the dimensions:

    Σ_{C ⊇ S} precision(C) / mag(S,C)               is ⊗ [[1, 1/n], [0, 1]]         applied to the sources' 1/σ²
    Σ_{S ⊆ C} v(S)·∏_{i∈S}(1 − 1/n_i) / mag(S,C)²   is ⊗ [[1, 0], [1/n², 1 − 1/n]]  applied to v(S) = 1/that.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.native import kernel

Masks = NDArray[np.float64]
"""One number for each of the 2^d masks."""

Matrices = NDArray[np.float64]
"""Shape (d, 2, 2): one matrix for each dimension, over (without it, with it)."""


def residual_matrices(sizes: Sequence[int]) -> Matrices:
    """From 1/σ² of the sources (0 elsewhere) to the precision 1/v(S) of the component of every subset S."""
    return np.array([[[1, 1 / size], [0, 1]] for size in sizes])


def variance_matrices(sizes: Sequence[int]) -> Matrices:
    """From v(S) of every subset S to the variance of a cell of every cuboid."""
    return np.array([[[1, 0], [1 / size**2, 1 - 1 / size]] for size in sizes])


@kernel
def sweep(values: Masks, matrices: Matrices) -> None:
    """Apply ⊗ of the matrices, in place."""
    for axis in range(matrices.shape[0]):
        to_coarse, lend = matrices[axis, 0, 0], matrices[axis, 0, 1]
        borrow, to_fine = matrices[axis, 1, 0], matrices[axis, 1, 1]
        bit = 1 << axis
        for block in range(0, values.size, 2 * bit):
            for without in range(block, block + bit):
                coarse, fine = values[without], values[without + bit]
                values[without] = to_coarse * coarse + lend * fine
                values[without + bit] = borrow * coarse + to_fine * fine


def consistent_variances(precisions: Masks, sizes: Sequence[int]) -> Masks:
    """The variance of every cuboid's cells after least squares; inf where no source holds all its dimensions."""
    residuals = precisions.copy()
    sweep(residuals, residual_matrices(sizes))
    uncovered = residuals == 0
    residuals[uncovered] = 1  # a finer cuboid's component is in no coarser cuboid: any number does
    variances = 1 / residuals
    sweep(variances, variance_matrices(sizes))
    variances[uncovered] = np.inf
    return variances


def best_source_variances(source_variances: Masks, sizes: Sequence[int]) -> Masks:
    """The least mag(C, C')·σ² over the sources C' of every cuboid C, from σ² (inf where it is no source)."""
    best = source_variances.copy()
    for axis, size in enumerate(sizes):
        halves = best.reshape(-1, 2, 1 << axis)
        np.minimum(halves[:, 0], halves[:, 1] * size, out=halves[:, 0])
    return best
