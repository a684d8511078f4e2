"""Which of the two models a joint domain gets."""

from itertools import accumulate
from math import prod
from operator import mul

from discreet.query.lattice import Lattice

MOST_CELLS = 30_000_000
"""The largest joint domain that a fit goes through, some hundred times; beyond, the model is a mixture of products."""


def is_mixture(lattice: Lattice) -> bool:
    """Whether the joint is too large to be gone through."""
    return prod(lattice.sizes) > MOST_CELLS


def most_dimensions(lattice: Lattice) -> int:
    """How many of a lattice's dimensions, the smallest ones, can be gone through."""
    return sum(cells <= MOST_CELLS for cells in accumulate(sorted(lattice.sizes), mul))
