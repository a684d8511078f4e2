"""The largest irreducible stationary sets, against all sets of vectors."""

from itertools import combinations

import numpy as np
import pytest

from discreet.lattice.extremal import largest_irreducible_set


def by_all_sets(dimensions, ones):
    """The largest set that sums to 0 and has no smaller one within, over all sets of vectors."""
    places = list(combinations(range(dimensions), ones))
    plus = np.array([[int(place in chosen) for place in range(dimensions)] for chosen in places])
    vectors = np.vstack([plus, -plus])
    members = np.arange(1, 1 << len(vectors))
    chosen = (members[:, None] >> np.arange(len(vectors))) & 1
    stationary = members[~(chosen @ vectors).any(axis=1)]
    stationary = stationary[np.argsort([int(one).bit_count() for one in stationary], kind="stable")]
    irreducible = []
    for one in stationary.tolist():
        if not any(part & one == part for part in irreducible):
            irreducible.append(one)
    return max(one.bit_count() for one in irreducible)


@pytest.mark.parametrize(("dimensions", "ones"), [(2, 1), (3, 1), (5, 1), (2, 2), (3, 2), (4, 2), (4, 3), (5, 4)])
def test_it_is_the_largest_of_all_sets(dimensions, ones):
    assert largest_irreducible_set(dimensions, ones) == by_all_sets(dimensions, ones)


@pytest.mark.parametrize("dimensions", range(2, 7))
def test_one_entry_makes_pairs(dimensions):
    assert largest_irreducible_set(dimensions, 1) == 2  # cubes, Lemma 5.2.3


# cubes, Lemma 5.2.3 says n; and 2 for n = 3 and 6 for n = 5 are seen by hand
@pytest.mark.parametrize(("dimensions", "size"), [(3, 2), (4, 4), (5, 6)])
def test_two_entries_make_even_cycles_and_odd_ones_that_share_a_corner(dimensions, size):
    assert largest_irreducible_set(dimensions, 2) == size


def test_two_triangles_with_a_common_corner_are_irreducible():
    edges = {(0, 1): 1, (1, 2): -1, (0, 2): 1, (0, 3): -1, (3, 4): 1, (0, 4): -1}
    vectors = np.array([[sign * (place in edge) for place in range(5)] for edge, sign in edges.items()])
    stationary = [
        size
        for size in range(1, 7)
        for some in combinations(range(6), size)
        if not vectors[list(some)].sum(axis=0).any()
    ]
    assert stationary == [6]
