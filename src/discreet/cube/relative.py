"""What variance to expect of a cuboid so that relative errors count: from a first, coarse cube. [cubes, Section 3.4.1]

The relative error of a cuboid C is Var(a cell) / (Σ c(a)² / |C|). Its denominator is estimated from a cube that was
published with a part of the budget, and charged: planning the second cube with it is free. A noisy count's square is
too large by the variance of its noise, on average, so that is subtracted.
"""

from collections.abc import Sequence

import numpy as np

from discreet.cube.cube import Cube
from discreet.query.lattice import Label, Lattice


def mean_squares(cube: Cube, lattice: Lattice, published: Sequence[int]) -> dict[tuple[Label, ...] | str, float]:
    """An estimate of Σ c(a)² / |C| for each cuboid: unbiased, but kept above what the number of rows alone implies.

    A mean of squares is at least the square of the mean, (n/|C|)², and there is at least one row. Raises
    UnsupportedQuery where the first cube does not hold one of the cuboids.
    """
    squared_rows = max(1.0, float(cube.cells()) ** 2 - cube.variance())
    estimates: dict[tuple[Label, ...] | str, float] = {}
    for mask in published:
        names = lattice.names_of(mask)
        cells = cube.cells(*names)
        unbiased = float(np.mean(np.square(cells))) - cube.variance(*names)
        estimates[names] = max(unbiased, squared_rows / cells.size**2)
    return estimates
