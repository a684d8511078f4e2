"""The integer kernel of a matrix: all whole-numbered moves that no row of it notices. In exact arithmetic."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Exact = NDArray[np.object_]
"""An array of Python's integers, which do not overflow."""


def exact_array(numbers: ArrayLike) -> Exact:
    array = np.array(numbers, dtype=object)
    return array.reshape(array.shape if array.ndim == 2 else (0, 0))


def kernel_basis(matrix: Exact) -> Exact:
    """Rows that generate every integer z with matrix·z = 0, by steps that whole numbers can undo: none is missed."""
    images = matrix.T.copy()
    moves = exact_array(np.eye(matrix.shape[1], dtype=np.int64))
    for row in range(matrix.shape[0]):
        pivot = _euclid(images[:, row], images, moves)
        if pivot is not None:
            images, moves = np.delete(images, pivot, axis=0), np.delete(moves, pivot, axis=0)
    return moves


def _euclid(column: Exact, *arrays: Exact) -> int | None:
    """Subtract multiples of rows from one another until one row alone has a number in this column: which one."""
    while True:
        present = np.flatnonzero(column != 0)
        if present.size == 0:
            return None
        pivot = min(present, key=lambda place: abs(column[place]))
        if present.size == 1:
            return int(pivot)
        others = present[present != pivot]
        # `column` is a view of one of the arrays: the quotients are taken before any of them changes.
        times = column[others] // column[pivot]
        for array in arrays:
            array[others] -= times[:, None] * array[pivot]


@dataclass(frozen=True)
class Coordinates:
    """A basis of a lattice that is the unit vectors on the columns `free`: any whole numbers there make a member.

    Where the lattice has no such columns of its own, the last `extra` columns were added to it.
    """

    basis: Exact
    free: tuple[int, ...]
    extra: int


def coordinates_of(basis: Exact) -> Coordinates:
    """Eliminate by columns in which the rows that are left have numbers without a common factor."""
    rows, free = basis.copy(), list[int]()
    done = 0
    while done < len(rows):
        columns = _coprime_columns(rows[done:])
        if not columns:
            break
        column = min(columns, key=lambda c: (np.count_nonzero(rows[done:, c]), np.count_nonzero(rows[:, c]), c))
        pivot = done + _only(_euclid(rows[done:, column], rows[done:]))
        rows[[done, pivot]] = rows[[pivot, done]]
        if rows[done, column] < 0:
            rows[done] = -rows[done]
        others = np.flatnonzero(np.arange(len(rows)) != done)
        rows[others] -= rows[others, column][:, None] * rows[done]
        free.append(column)
        done += 1
    extra = len(rows) - done
    added = exact_array(np.zeros((len(rows), extra), dtype=np.int64)) if extra else np.empty((len(rows), 0), object)
    for place in range(extra):
        added[done + place, place] = 1
    width = rows.shape[1]
    return Coordinates(np.concatenate([rows, added], axis=1), (*free, *range(width, width + extra)), extra)


def _coprime_columns(rows: Exact) -> list[int]:
    return [column for column in range(rows.shape[1]) if np.gcd.reduce(np.abs(rows[:, column])) == 1]


def _only(place: int | None) -> int:
    assert place is not None, "a column with a greatest common divisor of 1 is not 0"
    return place


def independent_parts(basis: Exact) -> list[tuple[Exact, list[int]]]:
    """The lattice as a direct sum: bases whose rows have no column in common, each with its columns."""
    parts: list[tuple[list[int], set[int]]] = []
    for row in range(len(basis)):
        rows, columns = [row], set(np.flatnonzero(basis[row] != 0).tolist())
        apart = []
        for other in parts:
            if other[1] & columns:
                rows, columns = [*other[0], *rows], other[1] | columns
            else:
                apart.append(other)
        parts = [*apart, (rows, columns)]
    return [(basis[np.ix_(rows, sorted(columns))], sorted(columns)) for rows, columns in parts]
