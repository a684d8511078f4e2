"""S(n, k): the size of the largest irreducible stationary set of ±0/1 vectors with k of n ones. [cubes, 5.2.1]"""

from itertools import combinations

import numpy as np

from discreet.lattice.kernel import exact_array, kernel_basis
from discreet.lattice.moves import primitive_moves


def largest_irreducible_set(dimensions: int, ones: int) -> int:
    """The most vectors, each with so many 1s or so many −1s and else 0s, that sum to 0 and no fewer of them do.

    A vector and its negative are such a set, of 2. Any other has at most one of the two: it is a member of the kernel
    of the matrix with these columns, in −1, 0 and 1, and no part of it is a member: a primitive one. The thesis's Lemma
    5.2.3 has n for k = 2; it is 2 for n = 3, where odd cycles leave 2·eᵢ over, and 6 for n = 5, by two triangles that
    share a corner. Raises TooManyMoves where there is too much to look at.
    """
    columns = [
        [int(place in chosen) for place in range(dimensions)] for chosen in combinations(range(dimensions), ones)
    ]
    moves = primitive_moves(kernel_basis(exact_array(np.transpose(columns))))
    return max([2, *(int(np.abs(move).sum()) for move in moves if np.abs(move).max() == 1)])
