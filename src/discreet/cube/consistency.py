"""From noisy sources to the whole cube: by least squares, so that roll-ups fit, or each cuboid from its best source.

Everything happens in the one array of shape (n_1+1, …, n_d+1), slot 0 of an axis being `*`.

Noise is alike within a cuboid, so least squares is diagonal in the residual spaces, one for each subset of dimensions.
Along an axis that a source C has, its table splits into sum/n (slot 0) and the deviations from that (slots 1 … n); when
all of C's axes are split, the component of each subset S of them has its weight 1/(σ_C²·mag(S,C)) in it. The split is
linear, and leaves slot 0 alone where C has no such axis: so the sources, each divided by its σ², lie in the array side
by side, and one sweep over the axes splits them all. Then every component is divided by its total weight, and a sweep
back (slot j += slot 0/n) makes values of the components. The cost is O(d·cells), whatever the number of sources. It
solves programs 4.5 and 4.15 of the cubes seed, exactly.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.cube.axes import place, solve_diagonally, sum_over
from discreet.cube.kronecker import Masks, best_source_variances, residual_matrices, sweep
from discreet.errors import UnsupportedQuery
from discreet.query.lattice import Lattice

Cube = NDArray[np.float64]

Source = tuple[int, NDArray[np.int64] | NDArray[np.float64]]
"""A mask and its noisy table, with one axis for each dimension of the mask, in order."""


def reconcile(
    lattice: Lattice, sources: Iterable[Source], variances: Mapping[int, float], unknown: float = np.nan
) -> Cube:
    """The consistent cube: of all whose roll-ups fit, the nearest to the sources by weighted least squares.

    `variances` has the σ² > 0 of the noise on each cell of each source. Sources are taken one at a time, so memory is
    the cube's and one source's. Cuboids that no source can compute are NaN, never invented; unless `unknown` is 0: then
    nothing is added for what no source tells.
    """
    cube = np.zeros(lattice.cube_shape)
    precisions = np.zeros(1 << lattice.dimensions)
    for mask, table in sources:
        if precisions[mask]:
            raise UnsupportedQuery(f"{lattice.words(mask)} is given twice as a source")
        precisions[mask] = 1 / variances[mask]
        place(cube, lattice.axes(mask), table, precisions[mask])
    sweep(precisions, residual_matrices(lattice.sizes))
    # Nothing is known of a subset that no source holds: NaN spreads from it to the cuboids that need it, no further.
    solve_diagonally(cube, np.where(precisions > 0, 1 / np.maximum(precisions, 1e-300), unknown))
    return cube


def roll_up(lattice: Lattice, sources: Iterable[Source], variances: Mapping[int, float]) -> Cube:
    """Every cuboid from its best source, level by level; roll-ups do not fit. [cubes, Section 3.2.1]

    A cuboid whose best source is not itself is summed from one with a dimension more that has the same best source:
    whatever beat that source there would be better here too. Cuboids that no source can compute are NaN.
    """
    cube = np.full(lattice.cube_shape, np.nan)
    measured = np.full(1 << lattice.dimensions, np.inf)
    for mask, table in sources:
        measured[mask] = variances[mask]
        place(cube, lattice.axes(mask), table, 1.0)
    best = best_source_variances(measured, lattice.sizes)
    for mask in sorted(range(1 << lattice.dimensions), key=int.bit_count, reverse=True):
        if np.isfinite(best[mask]) and best[mask] < measured[mask]:
            sum_over(cube, _cheapest_axis(lattice, best, mask), lattice.axes(mask))
    return cube


def _cheapest_axis(lattice: Lattice, best: Masks, mask: int) -> int:
    """The smallest dimension over which the best source's values can be summed to this cuboid."""
    added = [axis for axis in range(lattice.dimensions) if not mask >> axis & 1]
    reached = [best[mask | 1 << axis] * lattice.sizes[axis] for axis in added]
    same = [axis for axis, variance in zip(added, reached, strict=True) if variance <= min(reached) * (1 + 1e-12)]
    return min(same, key=lambda axis: lattice.sizes[axis])
