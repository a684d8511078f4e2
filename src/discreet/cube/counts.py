"""From a cube of least squares to one that could have been counted: nothing below 0, whole numbers, roll-ups exact.

Every cuboid is a sum of base cells, so it is enough to choose the base cells. Two guesses at them are mixed: the
nearest to least squares from the total downwards, one dimension after the other, each total shared out among its parts
by a projection onto the simplex; and the product of the one-dimensional cuboids. The first keeps what the data tells
of fine cells, the second leaves no cell at 0 that coarse cuboids need. Then the cells are raked, as survey weights
are: scaled so that they add up to each cuboid in turn that is known well, the best-known last; and before that to the
large cells of others, for a sparse cuboid may have a few cells that are known well. Whole numbers are the
steps of their running sum, rounded: every cell goes to a neighbouring whole number, and no run of cells is off by 1.

This has a bias: cells that are really empty come out above 0 on average, middling ones below. Most cells are few
people's, and their error becomes far smaller all the same; that of the largest grows. Figures: docs/explain/cubes.md.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.cores import on_all_cores

Cells = NDArray[np.float64]
Places = NDArray[np.int64]

PRECISE = 16
"""A cuboid is raked to where its mean cell has this many standard deviations of noise."""

ROUNDS = 2

MOST_RAKED = 64
"""The best known are enough: the others follow from them."""

LARGE, MOST_LARGE = 8, 64
"""A cell by itself is raked to where it has so many standard deviations, in so many cuboids of up to 3 dimensions."""

INDEPENDENT = 0.1
"""The share of the product of the one-dimensional cuboids in the start."""


def countable(base: Cells, deviations: Mapping[int, float], *, whole: bool) -> Cells:
    """Base cells that are nowhere below 0, and near least squares in every cuboid that is known well.

    `base` has the base cells of the least-squares cube, `deviations` the standard deviation of a cell of each cuboid,
    by mask. They add up to the total of `base`, or to 0 where that is below; with `whole`, in whole numbers.
    """
    base = np.ascontiguousarray(base)
    total = max(float(base.sum()), 0.0)
    if not total:
        return np.zeros(base.shape)
    cells = (1 - INDEPENDENT) * _shared_out(base, total) + INDEPENDENT * _independent(base, total)
    precise = _precise(base.shape, deviations, total)
    _rake(cells, [*_large(base, deviations, precise), *(_Aim(base, mask, total) for mask in precise)], total)
    return np.diff(np.rint(np.cumsum(cells)), prepend=0.0).reshape(base.shape) if whole else cells


def _shared_out(near: Cells, total: float) -> Cells:
    """From the total downwards, small dimensions first: every total is shared out among its parts, near to `near`."""
    order = sorted(range(near.ndim), key=lambda axis: near.shape[axis])
    levels = [np.ascontiguousarray(near.transpose(order)).reshape(-1)]
    for axis in reversed(order):
        levels.append(levels[-1].reshape(-1, near.shape[axis]).sum(axis=1))
    totals = np.array([total])
    for axis, level in zip(order, reversed(levels[:-1]), strict=True):
        parts = level.reshape(-1, near.shape[axis])
        shared = np.empty_like(parts)
        _share_out(parts, totals, shared)
        totals = shared.reshape(-1)
    shape = [near.shape[axis] for axis in order]
    return np.ascontiguousarray(totals.reshape(shape).transpose(np.argsort(order)))


@njit(cache=True, nogil=True)
def _share_out(near: Cells, totals: Cells, shared: Cells) -> None:
    """In each row the numbers ≥ 0 with this total that are nearest to `near`: max(near − level, 0)."""
    for row in range(near.shape[0]):
        shared[row] = 0.0
        if totals[row] > 0:
            level = _water_level(np.sort(near[row]), totals[row])
            for part in range(near.shape[1]):
                shared[row, part] = max(near[row, part] - level, 0.0)


@njit(cache=True, nogil=True)
def _water_level(ascending: Cells, total: float) -> float:
    """The level for which Σ max(number − level, 0) = total. Requires total > 0."""
    above = 0.0
    level = 0.0
    for place in range(ascending.size - 1, -1, -1):
        above += ascending[place]
        level = (above - total) / (ascending.size - place)
        if place and ascending[place - 1] <= level:
            break
    return level


def _independent(base: Cells, total: float) -> Cells:
    """The product of the one-dimensional cuboids."""
    cells = np.full(base.shape, total)
    for axis in range(base.ndim):
        shares = _Aim(base, 1 << axis, total).cells / total
        cells *= shares.reshape([-1 if other == axis else 1 for other in range(base.ndim)])
    return cells


def _onto_simplex(cells: Cells, total: float) -> Cells:
    projected: Cells = np.maximum(cells - _water_level(np.sort(cells, axis=None), total), 0.0)
    return projected


def _precise(shape: tuple[int, ...], deviations: Mapping[int, float], total: float) -> list[int]:
    """What to rake to, the best known last: of the cuboids that are known well, those of one or two dimensions, and
    those that no other of them holds."""
    sizes = {mask: np.prod([n for axis, n in enumerate(shape) if mask >> axis & 1], initial=1.0) for mask in deviations}
    signal = {mask: total / sizes[mask] / max(deviation, 1e-300) for mask, deviation in deviations.items()}
    precise = [mask for mask in signal if mask and signal[mask] >= PRECISE]
    chosen = [
        mask
        for mask in precise
        if mask.bit_count() <= 2 or not any(mask != other and not mask & ~other for other in precise)
    ]
    return sorted(chosen, key=signal.__getitem__)[-MOST_RAKED:]


def _large(base: Cells, deviations: Mapping[int, float], precise: Collection[int]) -> list["_Aim"]:
    """The large cells of other cuboids; those that hold most people last."""
    aims = [
        _Aim(base, mask, above=LARGE * deviation)
        for mask, deviation in deviations.items()
        if 1 <= mask.bit_count() <= 3 and mask not in precise
    ]
    return sorted((aim for aim in aims if aim.people), key=lambda aim: aim.people)[-MOST_LARGE:]


def _rake(cells: Cells, aims: Sequence["_Aim"], total: float) -> None:
    """Scale the cells, in place, so that they add up to each of these, one after the other."""
    for _ in range(ROUNDS):
        for aim in aims:
            aim.reach(cells)
    cells *= total / cells.sum()


class _Aim:
    """A cuboid that cells are to add up to: all of it, with this total, or only where it is above a number.

    The place of a cell in it is the place of its row and of its column.
    """

    def __init__(self, base: Cells, mask: int, total: float | None = None, above: float = -np.inf) -> None:
        middle = _middle(base.shape)
        places = np.zeros(1, np.int64)
        stride = 1
        halves = []
        for axis in range(base.ndim - 1, -1, -1):
            kept = mask >> axis & 1
            steps = np.arange(base.shape[axis]) * (stride if kept else 0)
            places = (steps[:, None] + places).ravel()
            stride *= base.shape[axis] if kept else 1
            if axis in (middle, 0):
                halves.append(places)
                places = np.zeros(1, np.int64)
        self._columns, self._rows = (halves[0], halves[1]) if len(halves) == 2 else (halves[0], places)
        self._size = stride
        sums = self._sums(base)
        self.cells = sums if total is None else _onto_simplex(sums, total)
        self._aimed = self.cells >= above
        self.people = float(self.cells[self._aimed].sum())

    def _sums(self, cells: Cells) -> Cells:
        by_row, parts = cells.reshape(self._rows.size, -1), []

        def work(first: int, last: int) -> None:
            part = np.zeros(self._size)
            _add_up(by_row[first:last], self._rows[first:last], self._columns, part)
            parts.append(part)

        on_all_cores(work, *by_row.shape)
        sums: Cells = np.sum(parts, axis=0)
        return sums

    def reach(self, cells: Cells) -> None:
        sums = self._sums(cells)
        factors = np.divide(self.cells, sums, out=np.ones(self._size), where=self._aimed & (sums > 0))
        by_row = cells.reshape(self._rows.size, -1)
        on_all_cores(
            lambda first, last: _scale(by_row[first:last], self._rows[first:last], self._columns, factors),
            *by_row.shape,
        )


def _middle(shape: tuple[int, ...]) -> int:
    """The first axis of the columns: about as many columns as rows."""
    sizes = np.cumsum(np.log(shape))
    return min(int(np.searchsorted(sizes, sizes[-1] / 2)) + 1, len(shape) - 1)


@njit(cache=True, nogil=True)
def _add_up(cells: Cells, rows: Places, columns: Places, sums: Cells) -> None:
    for row in range(cells.shape[0]):
        for column in range(cells.shape[1]):
            sums[rows[row] + columns[column]] += cells[row, column]


@njit(cache=True, nogil=True)
def _scale(cells: Cells, rows: Places, columns: Places, factors: Cells) -> None:
    for row in range(cells.shape[0]):
        for column in range(cells.shape[1]):
            cells[row, column] *= factors[rows[row] + columns[column]]
