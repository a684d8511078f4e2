"""The bound on S_Q of three cuboids and more: against all moves, and each step of its proof against brute force."""

import itertools
from math import gcd, isqrt

import numpy as np
import pytest

from discreet.errors import InvalidFact
from discreet.facts import bound
from discreet.facts.bound import NoBound, bound_of_cuboids, points_of_root_lattice
from discreet.facts.generic import sensitivity
from discreet.ledger.budget import Induced
from tests.facts.small import count, cuboid, small_domain

SMALL = [
    ((2, 2, 2), ("a", "b", "c")),
    ((2, 2, 3), ("a", "b", "c")),
    ((2, 2, 4), ("a", "b", "c")),
    ((2, 3, 3), ("a", "b", "c")),
    ((2, 2, 2), ("ab", "bc", "ac")),
    ((2, 3, 3), ("ab", "bc", "ac")),
    ((3, 2, 2, 2), ("ab", "ac", "ad")),
    ((2, 2, 2, 2), ("ab", "bc", "cd")),
    ((2, 2, 2, 2), ("ab", "c", "d")),
]


def axes_of(known):
    return [frozenset(map("abcdefgh".index, by)) for by in known]


def columns_of(sizes, known):
    """The facts' matrix, word by word: a row for each cell of each cuboid, a column for each point."""
    points = list(itertools.product(*map(range, sizes)))
    rows = [
        [int(all(point[axis] == code for axis, code in zip(mask, cell, strict=True))) for point in points]
        for mask in map(sorted, axes_of(known))
        for cell in itertools.product(*(range(sizes[axis]) for axis in mask))
    ]
    return np.array(rows)


@pytest.mark.parametrize(("sizes", "known"), SMALL)
def test_no_primitive_move_is_longer_than_the_bound(sizes, known):
    domain = small_domain(*sizes)
    exact = sensitivity([cuboid(domain, by) for by in known], domain)
    assert exact.exact
    assert exact.people <= bound_of_cuboids(axes_of(known), sizes)


@pytest.mark.parametrize(
    ("sizes", "known", "people"),
    [
        ((4, 4), ("a", "b"), 8),  # cubes, Lemma 5.2.1
        ((2, 7, 5), ("ab", "bc"), 4),  # cubes, Example 5.2.1
        ((2, 7, 5), ("ab",), 2),
        ((2, 7, 1), ("a", "b", "c"), 4),  # an attribute of one value tells nothing
        ((2, 7, 5), ("a", "b", "c"), 90),
        ((9, 16, 15), ("a", "b", "c"), 402_503_459_716),
        ((3, 9, 16, 15), ("ab", "ac", "ad"), 402_503_459_716),  # for each value of a the same, apart
    ],
)
def test_its_value(sizes, known, people):
    assert bound_of_cuboids(axes_of(known), sizes) == people


def test_where_moves_cannot_be_listed_the_bound_stands_in_and_says_so():
    domain = small_domain(9, 16, 15)
    facts = [cuboid(domain, by) for by in "abc"]
    people = 402_503_459_716
    assert sensitivity(facts, domain) == Induced(people, people**2 // 2, exact=False)
    follows = count(domain, (1, [(0, 4), (0, 15), (0, 14)]))
    assert sensitivity([*facts, follows], domain).people == people


def test_a_bound_of_hundreds_of_digits_is_refused():
    domain = small_domain(40, 40, 40)
    facts = [cuboid(domain, by) for by in ("ab", "bc", "ac")]
    with pytest.raises(NoBound, match="4,681 independent counts"):
        bound_of_cuboids(axes_of(("ab", "bc", "ac")), (40, 40, 40))
    with pytest.raises(InvalidFact, match="S_Q is bounded for up to 4,096"):
        sensitivity(facts, domain)


def longest_circuit(columns):
    """The most that a circuit sums to in sizes: of r + 1 columns of rank r the one kernel vector, by its minors."""
    _, kept = np.unique(columns, axis=0, return_index=True)
    rows: list[int] = []
    for row in kept:
        if np.linalg.matrix_rank(columns[[*rows, row]]) > len(rows):
            rows.append(row)
    independent, rank = columns[rows], len(rows)
    longest = 0
    for chosen in itertools.combinations(range(columns.shape[1]), rank + 1):
        square = independent[:, chosen]
        minors = [round(abs(np.linalg.det(np.delete(square, place, axis=1)))) for place in range(rank + 1)]
        if any(minors):
            longest = max(longest, sum(minors) // gcd(*minors))
    return longest


@pytest.mark.parametrize(("sizes", "known"), [case for case in SMALL if np.prod(case[0]) <= 12])
def test_no_circuit_is_longer_than_its_bound(sizes, known):
    facts = bound._Cuboids(bound._apart(axes_of(known), sizes), sizes)
    columns = columns_of(sizes, known)
    rank = np.linalg.matrix_rank(columns)
    atoms = columns.shape[1]
    longest = facts.circuits // (atoms - rank)
    assert longest_circuit(columns) <= longest
    # The largest Gram determinant that r + 1 columns can have, as the proof has it.
    assert longest == isqrt((rank + 1) ** (rank + 1) * facts._determinant() // atoms ** int(rank)) // 2 * 2


@pytest.mark.parametrize(("sizes", "known"), [*SMALL, ((2, 3, 2, 2), ("abc", "cd", "ad"))])
def test_the_determinant_is_that_of_the_indicators(sizes, known):
    masks = frozenset(axes_of(known))
    points = list(itertools.product(*map(range, sizes)))
    faces = {
        face for mask in masks for many in range(len(mask) + 1) for face in itertools.combinations(sorted(mask), many)
    }
    rows = np.array(
        [
            [all(point[axis] == code for axis, code in zip(face, cell, strict=True)) for point in points]
            for face in faces
            for cell in itertools.product(*(range(1, sizes[axis]) for axis in face))
        ],
        float,
    )
    assert len(rows) == np.linalg.matrix_rank(columns_of(sizes, known)) == np.linalg.matrix_rank(rows)
    assert bound._Cuboids(masks, sizes)._determinant() == round(np.linalg.det(rows @ rows.T))


@pytest.mark.parametrize(("dimensions", "people"), [(1, 1), (1, 5), (2, 4), (3, 3), (4, 2), (5, 1)])
def test_the_points_of_the_root_lattice_are_counted(dimensions, people):
    whole = range(-people, people + 1)
    inside = [
        point
        for point in itertools.product(whole, repeat=dimensions)
        if sum(abs(number) for number in (*point, -sum(point))) <= 2 * people
    ]
    assert points_of_root_lattice(dimensions, people) == len(inside)


def longest_cancelling(most):
    """The most whole numbers of sizes up to `most` that cancel, while no fewer of them do: by trying all."""
    numbers = [number for number in range(-most, most + 1) if number]
    longest, open_sets = 0, [((number,), frozenset({number})) for number in numbers]
    while open_sets:
        grown = []
        for chosen, sums in open_sets:
            for number in numbers:
                if number < chosen[-1]:
                    continue
                if -number in sums:
                    longest = max(longest, len(chosen) + 1 if sum(chosen) == -number else 0)
                else:
                    grown.append(((*chosen, number), sums | {number} | {number + part for part in sums}))
        open_sets = grown if len(open_sets[0][0]) < 2 * most + 1 else []
    return longest


@pytest.mark.parametrize(("most", "many"), [(1, 2), (2, 3), (3, 5), (4, 7)])
def test_numbers_that_cancel_only_together_are_fewer_than_twice_the_largest(most, many):
    assert longest_cancelling(most) == many == max(2, 2 * most - 1)
