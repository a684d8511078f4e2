"""Figure 6.6: the number of dimensions, on synthetic tables of 10⁸ rows, seven values a dimension."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from experiments.cubes.plot import draw_errors
from experiments.cubes.techniques import TECHNIQUES, Errors, errors_of, exact_cube

ROWS = 10**8


def draw() -> None:
    measured = {count: synthetic_errors((7,) * count) for count in range(4, 9)}
    draw_errors("fig6_6", "Synthetic, 7 values a dimension, ε = 1, all cuboids", "dimensions", measured)


def synthetic_errors(sizes: Sequence[int]) -> dict[str, Errors]:
    exact = exact_cube(random_base(sizes))
    return {t.name: errors_of(t.plan(sizes, Fraction(1)), exact) for t in TECHNIQUES}


def random_base(sizes: Sequence[int]) -> NDArray[np.int64]:
    """The base cuboid of rows drawn uniformly and independently: a multinomial draw, without the rows themselves."""
    cells = int(np.prod(sizes))
    return np.random.default_rng(1).multinomial(ROWS, np.full(cells, 1 / cells)).reshape(sizes)
