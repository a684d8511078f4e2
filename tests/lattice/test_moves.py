"""Primitive moves, against 4ti2 and against the definition."""

import itertools
import os
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.lattice import moves
from discreet.lattice.kernel import coordinates_of, exact_array, independent_parts, kernel_basis
from discreet.lattice.moves import TooManyMoves, primitive_moves
from tests.patience import PATIENCE


def marginals(sizes, *margins):
    """The matrix of some marginals of a table, a row for each of their cells."""
    cells = list(itertools.product(*map(range, sizes)))
    return [
        [int(all(cell[axis] == code for axis, code in zip(axes, codes, strict=True))) for cell in cells]
        for axes in margins
        for codes in itertools.product(*(range(sizes[axis]) for axis in axes))
    ]


def signless(vectors):
    """Vectors up to their sign."""
    return {max(tuple(vector), tuple(-number for number in vector)) for vector in np.asarray(vectors).tolist()}


def moves_of(matrix):
    return primitive_moves(kernel_basis(exact_array(matrix)))


@pytest.fixture(scope="module")
def graver(tmp_path_factory):
    """4ti2's answer to the same question."""
    program = shutil.which("4ti2-graver") or shutil.which("graver")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("4ti2 is not installed")
        pytest.skip("4ti2 is not installed: apt-get install 4ti2")
    folder = tmp_path_factory.mktemp("graver")

    def run(matrix):
        rows = "\n".join(" ".join(map(str, row)) for row in matrix)
        (folder / "case.mat").write_text(f"{len(matrix)} {len(matrix[0])}\n{rows}\n")
        subprocess.run([program, "-q", "case"], cwd=folder, check=True, timeout=PATIENCE)
        _, *lines = (folder / "case.gra").read_text().splitlines()
        return [list(map(int, line.split())) for line in lines if line.strip()]

    return run


@pytest.mark.parametrize(
    "matrix",
    [
        marginals((2, 2, 2), (0,), (1,), (2,)),
        marginals((2, 2, 3), (0,), (1,), (2,)),
        marginals((2, 2, 4), (0,), (1,), (2,)),
        marginals((2, 2, 2), (0, 1), (0, 2), (1, 2)),
        marginals((2, 3, 3), (0, 1), (0, 2), (1, 2)),
        marginals((3, 3, 3), (0, 1), (0, 2), (1, 2)),
        marginals((3, 4), (0,), (1,)),
        marginals((2, 2, 2, 2), (0,), (1,), (2,), (3,)),
        [[1, 2, 3, 4, 5]],
        [[2, 3]],
        [[6, 10, 15]],
        [[3, -5, 7, 11], [2, 4, -6, 9]],
        [[1, 1, 1, 1], [0, 2, 3, 7]],
    ],
)
def test_the_primitive_moves_are_those_of_4ti2(graver, matrix):
    assert signless(moves_of(matrix)) == signless(graver(matrix))


@settings(max_examples=60)
@given(
    st.integers(1, 2).flatmap(
        lambda rows: st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=rows, max_size=rows)
    )
)
def test_within_a_box_they_are_what_the_definition_says(matrix):
    box = np.array(list(itertools.product(range(-3, 4), repeat=4)))
    kernel = box[~(box @ np.array(matrix).T).any(axis=1) & box.any(axis=1)]
    # Parts of a vector are inside every box that holds it.
    parts = [((kernel * whole >= 0) & (abs(kernel) <= abs(whole))).all(axis=1).sum() for whole in kernel]
    expected = kernel[np.array(parts, int) == 1]
    assert {vector for vector in signless(moves_of(matrix)) if max(map(abs, vector)) <= 3} == signless(expected)


@given(st.lists(st.lists(st.integers(-9, 9), min_size=5, max_size=5), min_size=1, max_size=4))
def test_a_kernel_basis_generates_the_whole_integer_kernel(matrix):
    array = exact_array(matrix)
    basis = kernel_basis(array)
    assert not (array @ basis.T).any()
    assert len(basis) == 5 - np.linalg.matrix_rank(np.array(matrix))
    if len(basis):
        # Saturated: the greatest common divisor of its largest minors is 1.
        size = len(basis)
        minors = [
            round(np.linalg.det(basis[:, list(columns)].astype(float)))
            for columns in itertools.combinations(range(5), size)
        ]
        assert np.gcd.reduce(np.abs(minors)) == 1


def test_coordinates_are_free_and_added_only_where_there_are_none():
    plain = coordinates_of(kernel_basis(exact_array([[1, 1, 1]])))
    assert plain.extra == 0
    assert np.array_equal(plain.basis[:, list(plain.free)], np.eye(2, dtype=object))
    assert coordinates_of(kernel_basis(exact_array([[2, 3]]))).extra == 1


def test_parts_without_a_common_column_are_looked_at_apart():
    basis = coordinates_of(kernel_basis(exact_array([[1, 1, 0, 0], [0, 0, 1, 1]]))).basis
    assert sorted(columns for _, columns in independent_parts(basis)) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("bound", "value", "reason"),
    [
        ("MOST_COLUMNS", 7, "8 kinds of rows hang together"),
        ("MOST_MOVES", 10, "there are more than 10"),
        ("MOST_COMPARISONS", 10, "comparisons"),
    ],
)
def test_beyond_the_stated_bounds_it_is_refused_with_the_reason(monkeypatch, bound, value, reason):
    monkeypatch.setattr(moves, bound, value)
    with pytest.raises(TooManyMoves, match=reason):
        moves_of(marginals((2, 2, 2), (0,), (1,), (2,)))


def test_numbers_beyond_the_words_that_they_are_kept_in_are_refused():
    matrix = [[1, 2**31]]
    with pytest.raises(TooManyMoves, match=r"the numbers in them are beyond 2\^31"):
        moves_of(matrix)
    assert signless(moves_of([[1, 2**31 - 1]])) == {(2**31 - 1, -1)}
