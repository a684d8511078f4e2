"""Sparse positive semidefinite systems: a factor that finds dependent rows, solves, and inverts where it is asked to.

Rows with few neighbours are eliminated one by one, always the one with the fewest; what is left when every row has
many is a dense core, which LAPACK factors at a hundred times the speed of a loop. A row whose pivot vanishes depends on
the rows before it: it is left out, as if it had not been there. So the factor is that of a largest independent choice
of rows.

Of the inverse only the entries where the factor itself has any are computed (Takahashi, Fagan, Chen 1973), at about the
cost of the factor.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_solve, lapack

from discreet.native import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DEPENDENT = 1e-11
"""A pivot below this share of the row's own diagonal is a linear dependence."""

MOST_NEIGHBOURS = 128
"""Rows with more neighbours than this go to the dense core."""


@dataclass(frozen=True, eq=False)
class Elimination:
    """Rows in the order of their elimination, with the neighbours that each has then; and the rows left for the core.

    Eliminating a row makes its neighbours each other's.
    """

    order: list[int]
    patterns: list[set[int]]
    core: list[int]

    @classmethod
    def of(cls, graph: sparse.csr_array) -> "Elimination":
        """The row with the fewest neighbours first. `graph` has an entry for every two rows that are neighbours."""
        if np.all(np.diff(graph.indptr) > MOST_NEIGHBOURS + 1):
            return cls([], [], list(range(graph.shape[0])))
        ends, columns = graph.indptr.tolist(), graph.indices.tolist()
        neighbours = [set(columns[ends[row] : ends[row + 1]]) - {row} for row in range(graph.shape[0])]
        waiting = [(len(near), row) for row, near in enumerate(neighbours)]
        heapq.heapify(waiting)
        order: list[int] = []
        gone = bytearray(len(neighbours))
        while waiting:
            degree, row = heapq.heappop(waiting)
            near = neighbours[row]
            if gone[row] or degree != len(near):
                continue
            if degree > MOST_NEIGHBOURS:
                break
            gone[row] = True
            order.append(row)
            for other in near:
                crowd = neighbours[other]
                crowd |= near
                crowd -= {row, other}
                heapq.heappush(waiting, (len(crowd), other))
        rest = [row for row in range(len(neighbours)) if not gone[row]]
        return cls(order, [neighbours[row] for row in order], rest)


@dataclass(frozen=True, eq=False)
class Factor:
    """L·D·Lᵀ of the independent rows of a scaled matrix, in elimination order; positions from `sparse_rows` on are the
    core. Column j of L is values[starts[j]:starts[j+1]] at the positions `rows[…]`, ascending, without its diagonal 1.
    """

    order: Ints
    scaling: Floats
    starts: Ints
    rows: Ints
    values: Floats
    pivots: Floats
    """Infinite where the row is left out."""
    core: Floats
    """The lower Cholesky factor of the core's independent rows."""
    core_kept: Ints

    @property
    def sparse_rows(self) -> int:
        return len(self.pivots)

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Whether each row of the matrix is in the independent choice."""
        kept = np.zeros(len(self.order), np.bool_)
        kept[self.order[: self.sparse_rows][np.isfinite(self.pivots)]] = True
        kept[self.order[self.sparse_rows + self.core_kept]] = True
        return kept

    def solve(self, sides: Floats) -> Floats:
        """The solution over the kept rows, for one right side or a column for each; 0 at rows left out."""
        flat = sides.reshape(len(sides), -1)
        work = np.ascontiguousarray(flat[self.order] * self.scaling[self.order, None])
        _forward(work, self.starts, self.rows, self.values)
        work[: self.sparse_rows] /= self.pivots[:, None]
        core = np.zeros_like(work[self.sparse_rows :])
        core[self.core_kept] = cho_solve((self.core, True), work[self.sparse_rows + self.core_kept], check_finite=False)
        work[self.sparse_rows :] = core
        _backward(work, self.starts, self.rows, self.values)
        solved = np.empty_like(work)
        solved[self.order] = work * self.scaling[self.order, None]
        return solved.reshape(sides.shape)

    def quadratic_forms(self, columns: sparse.csc_array) -> Floats:
        """vᵀ·inverse·v for each column v. Requires that any two rows of a column are neighbours."""
        position = np.empty_like(self.order)
        position[self.order] = np.arange(len(self.order))
        diagonal, values, core, places = self._inverse()
        scaled = (sparse.diags_array(self.scaling) @ columns).tocsc()
        forms: Floats = _forms(
            scaled.indptr.astype(np.int64),
            position[scaled.indices],
            scaled.data,
            self.starts,
            self.rows,
            values,
            diagonal,
            core,
            places,
        )
        return forms

    def _inverse(self) -> tuple[Floats, Floats, Floats, Ints]:
        """The inverse's diagonal over the sparse rows, its entries where L has any, the lower triangle of its core, and
        the core's place of each row of it, −1 where it is left out."""
        core = self.core
        if len(core):
            core, _ = lapack.dpotri(core, lower=1)
        places = np.full(len(self.order) - self.sparse_rows, -1)
        places[self.core_kept] = np.arange(len(self.core_kept))
        values, diagonal = np.zeros_like(self.values), np.zeros_like(self.pivots)
        _invert(self.starts, self.rows, self.values, self.pivots, core, places, values, diagonal)
        return diagonal, values, core, places


def factor(matrix: sparse.csr_array, elimination: Elimination, dependent: float = DEPENDENT) -> Factor:
    """Factor a symmetric positive semidefinite matrix, whose entries are between neighbours only.

    It takes 8·(rows in the core)² bytes, and as much again for `quadratic_forms`.
    """
    diagonal = matrix.diagonal()
    scaling = np.where(diagonal > 0, 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1)), 1.0)
    order = np.array(elimination.order + elimination.core, np.int64)
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    starts = np.zeros(len(elimination.order) + 1, np.int64)
    np.cumsum([len(pattern) for pattern in elimination.patterns], out=starts[1:])
    rows = position[np.fromiter((row for pattern in elimination.patterns for row in pattern), np.int64, starts[-1])]
    _sort_columns(starts, rows)
    scaled = (sparse.diags_array(scaling) @ matrix @ sparse.diags_array(scaling)).tocsr()
    values, pivots = np.zeros(len(rows)), np.zeros(len(elimination.order))
    core = np.zeros((len(elimination.core),) * 2, order="F")
    ends, columns = scaled.indptr.astype(np.int64), scaled.indices.astype(np.int64)
    _scatter(ends, columns, scaled.data, order, position, starts, rows, values, pivots, core)
    _factor_sparse(starts, rows, values, pivots, core, dependent)
    lower, kept = _factor_core(core, dependent)
    return Factor(order, scaling, starts, rows, values, pivots, lower, kept)


def _factor_core(core: Floats, dependent: float) -> tuple[Floats, Ints]:
    """The Cholesky factor of the core, and the rows that it has: all of them, or a largest independent choice.

    It takes the core's own memory where it can. Of the core's two triangles only the lower one is overwritten.
    """
    if not len(core):
        return core, np.zeros(0, np.int64)
    diagonal = np.diagonal(core).copy()
    lower, failed = lapack.dpotrf(core, lower=1, clean=0, overwrite_a=1)
    if not failed and np.diagonal(lower).min() ** 2 > dependent:
        return lower, np.arange(len(core))
    np.fill_diagonal(lower, diagonal)
    # The upper triangle is still the core's own: of it the lower one of a pivoted factor is made.
    _, pivots, rank, _ = lapack.dpstrf(lower.T, tol=dependent, lower=1)
    kept = np.sort(pivots[:rank] - 1).astype(np.int64)
    lower, _ = lapack.dpotrf(np.asfortranarray(lower.T[np.ix_(kept, kept)]), lower=1, clean=0, overwrite_a=1)
    return lower, kept


@kernel
def _sort_columns(starts: Ints, rows: Ints) -> None:
    for column in range(len(starts) - 1):
        rows[starts[column] : starts[column + 1]].sort()


@kernel
def _scatter(
    ends: Ints,
    columns: Ints,
    entries: Floats,
    order: Ints,
    position: Ints,
    starts: Ints,
    rows: Ints,
    values: Floats,
    pivots: Floats,
    core: Floats,
) -> None:
    """Put the matrix's lower triangle, in elimination order, where the factor will be."""
    sparse_rows = len(pivots)
    for at in range(len(order)):
        for entry in range(ends[order[at]], ends[order[at] + 1]):
            column = position[columns[entry]]
            if column < sparse_rows:
                if column == at:
                    pivots[at] = entries[entry]
                elif column < at:
                    pattern = rows[starts[column] : starts[column + 1]]
                    values[starts[column] + np.searchsorted(pattern, at)] = entries[entry]
            elif at >= sparse_rows:
                core[at - sparse_rows, column - sparse_rows] = entries[entry]


@kernel
def _factor_sparse(starts: Ints, rows: Ints, values: Floats, pivots: Floats, core: Floats, dependent: float) -> None:
    """Eliminate the sparse rows, in order, from one another and from the core."""
    sparse_rows = len(pivots)
    for column in range(sparse_rows):
        first, end = starts[column], starts[column + 1]
        pivot = pivots[column]
        if pivot <= dependent:
            pivots[column] = np.inf
            values[first:end] = 0.0
            continue
        for one in range(first, end):
            factor, row = values[one] / pivot, rows[one]
            if row >= sparse_rows:
                for other in range(first, end):
                    if rows[other] >= sparse_rows:
                        core[rows[other] - sparse_rows, row - sparse_rows] -= factor * values[other]
                continue
            pivots[row] -= factor * values[one]
            place = starts[row]
            for other in range(one + 1, end):
                while rows[place] != rows[other]:
                    place += 1
                values[place] -= factor * values[other]
        values[first:end] /= pivot
    for entry in range(starts[sparse_rows]):
        if rows[entry] < sparse_rows and np.isinf(pivots[rows[entry]]):
            values[entry] = 0.0


@kernel
def _forward(work: Floats, starts: Ints, rows: Ints, values: Floats) -> None:
    for column in range(len(starts) - 1):
        for entry in range(starts[column], starts[column + 1]):
            for side in range(work.shape[1]):
                work[rows[entry], side] -= values[entry] * work[column, side]


@kernel
def _backward(work: Floats, starts: Ints, rows: Ints, values: Floats) -> None:
    for column in range(len(starts) - 2, -1, -1):
        for entry in range(starts[column], starts[column + 1]):
            for side in range(work.shape[1]):
                work[column, side] -= values[entry] * work[rows[entry], side]


@kernel
def _of_core(core: Floats, places: Ints, one: int, other: int) -> float:
    """An entry of the core's inverse, which has its lower triangle; 0 at rows left out."""
    low, high = min(places[one], places[other]), max(places[one], places[other])
    return core[high, low] if low >= 0 else 0.0


@kernel
def _invert(
    starts: Ints,
    rows: Ints,
    values: Floats,
    pivots: Floats,
    core: Floats,
    places: Ints,
    inverse: Floats,
    diagonal: Floats,
) -> None:
    """Takahashi's recurrence, from the last sparse row to the first: Z[P, j] = −Z[P, P]·L[P, j] over j's rows P, and
    Z[j, j] = 1/pivot − L[P, j]·Z[P, j]."""
    sparse_rows = len(pivots)
    own = np.full(sparse_rows + len(places), -1)
    sums = np.zeros(sparse_rows + len(places))
    for column in range(sparse_rows - 1, -1, -1):
        first, end = starts[column], starts[column + 1]
        for entry in range(first, end):
            own[rows[entry]] = entry
            sums[rows[entry]] = 0.0
        for entry in range(first, end):
            row = rows[entry]
            if row >= sparse_rows:
                for other in range(first, end):
                    if rows[other] >= sparse_rows:
                        found = _of_core(core, places, rows[other] - sparse_rows, row - sparse_rows)
                        sums[rows[other]] += found * values[entry]
                continue
            total = diagonal[row] * values[entry]
            for place in range(starts[row], starts[row + 1]):
                met = own[rows[place]]
                if met >= 0:
                    sums[rows[place]] += inverse[place] * values[entry]
                    total += inverse[place] * values[met]
            sums[row] += total
        diagonal[column] = 1 / pivots[column]
        for entry in range(first, end):
            inverse[entry] = -sums[rows[entry]]
            diagonal[column] += values[entry] * sums[rows[entry]]
            own[rows[entry]] = -1


@kernel
def _forms(
    ends: Ints,
    at: Ints,
    entries: Floats,
    starts: Ints,
    rows: Ints,
    inverse: Floats,
    diagonal: Floats,
    core: Floats,
    places: Ints,
) -> Floats:
    sparse_rows = len(diagonal)
    forms = np.zeros(len(ends) - 1)
    for column in range(len(forms)):
        for one in range(ends[column], ends[column + 1]):
            for other in range(ends[column], one + 1):
                low, high = min(at[one], at[other]), max(at[one], at[other])
                if low >= sparse_rows:
                    found = _of_core(core, places, high - sparse_rows, low - sparse_rows)
                elif low == high:
                    found = diagonal[low]
                else:
                    pattern = rows[starts[low] : starts[low + 1]]
                    found = inverse[starts[low] + np.searchsorted(pattern, high)]
                forms[column] += entries[one] * entries[other] * found * (1.0 if one == other else 2.0)
    return forms
