"""The variances of a cube of which some cuboids are known exactly."""

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import combinations
from operator import and_

import numpy as np
from numpy.typing import NDArray

from discreet.query.lattice import Lattice


def variances_given(
    lattice: Lattice,
    known: Sequence[int],
    masks: Sequence[int],
    variances: Callable[[Sequence[int]], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """What is left of the variances of some cuboids where others are known exactly.

    Known components take from a cell of C the variance of C's roll-up to C ∩ E, divided by mag(C ∩ E, C)²; those that
    several E hold are counted once, by inclusion and exclusion.
    """
    left = variances(masks).copy()
    for size in range(1, len(known) + 1):
        for some in combinations(known, size):
            common = [reduce(and_, some, mask) for mask in masks]
            spread = np.array([float(lattice.cells(mask & ~part)) for mask, part in zip(masks, common, strict=True)])
            left -= (-1) ** (size + 1) * variances(common) / spread**2
    exact = [any(mask & ~one == 0 for one in known) for mask in masks]
    return np.where(exact, 0.0, np.maximum(left, 0.0))
