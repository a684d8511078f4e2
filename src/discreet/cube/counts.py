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

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.cores import on_all_cores
from discreet.native import kernel

Cells = NDArray[np.float64]
Whole = NDArray[np.int64]

PRECISE = 16
"""A cuboid is raked to where its mean cell has this many standard deviations of noise."""

ROUNDS = 2

MOST_RAKED = 64
"""The best known are enough: the others follow from them."""

LARGE, MOST_LARGE = 8, 48
"""A cell by itself is raked to where it has so many standard deviations, in so many cuboids of up to 3 dimensions."""

INDEPENDENT = 0.1
"""The share of the product of the one-dimensional cuboids in the start."""


def countable(
    base: Cells, deviations: Mapping[int, float], *, whole: bool, cuboids: Mapping[int, Cells] | None = None
) -> Cells:
    """Base cells that are nowhere below 0, and near least squares in every cuboid that is known well.

    `base` has the base cells of the least-squares cube, `deviations` the standard deviation of a cell of each cuboid,
    by mask; `cuboids` are those that are there already, and need not be added up. The cells add up to the total of
    `base`, or to 0 where that is below; with `whole`, in whole numbers.
    """
    base = np.ascontiguousarray(base)
    total = max(float(base.sum()), 0.0)
    if not total:
        return np.zeros(base.shape)

    def estimate(mask: int) -> Cells:
        known = (cuboids or {}).get(mask)
        if known is None:
            return CellPlaces.of(base.shape, mask).add_up(base)
        return np.ascontiguousarray(known).reshape(-1)

    cells = (1 - INDEPENDENT) * _shared_out(base, total) + INDEPENDENT * _independent(base.shape, estimate, total)
    precise = _precise(base.shape, deviations, total)
    aims = [_Aim(CellPlaces.of(base.shape, mask), _onto_simplex(estimate(mask), total)) for mask in precise]
    _rake(cells, [*_large(base.shape, estimate, deviations, precise), *aims], total)
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


@kernel
def _share_out(near: Cells, totals: Cells, shared: Cells) -> None:
    """In each row the numbers ≥ 0 with this total that are nearest to `near`; all 0 where the total is 0."""
    for row in range(near.shape[0]):
        shared[row] = 0.0
        if totals[row] > 0:
            _project(near[row], totals[row], shared[row])


@kernel
def _project(near: Cells, total: float, projected: Cells) -> None:
    """The numbers ≥ 0 with this total that are nearest to `near`: max(near − level, 0). Requires total > 0.

    The largest is taken off first, which moves the level as much: so it does not cancel what is left of the largest,
    however small the total is beside it.
    """
    largest = near.max()
    level = _water_level(np.sort(near - largest), total)
    for place in range(near.size):
        projected[place] = max(near[place] - largest - level, 0.0)


@kernel
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


def _independent(shape: tuple[int, ...], estimate: Callable[[int], Cells], total: float) -> Cells:
    """The product of the one-dimensional cuboids."""
    cells = np.full(shape, total)
    for axis in range(len(shape)):
        shares = _onto_simplex(estimate(1 << axis), total) / total
        cells *= shares.reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return cells


def _onto_simplex(cells: Cells, total: float) -> Cells:
    projected = np.empty(cells.size)
    _project(cells.reshape(-1), total, projected)
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


def _large(
    shape: tuple[int, ...],
    estimate: Callable[[int], Cells],
    deviations: Mapping[int, float],
    precise: Collection[int],
) -> list["_Aim"]:
    """The large cells of other cuboids; those that hold most people last."""
    found = []
    for mask, deviation in deviations.items():
        if 1 <= mask.bit_count() <= 3 and mask not in precise:
            cells = estimate(mask)
            large = np.where(cells >= LARGE * deviation, cells, np.nan)
            found.append((float(np.nansum(large)), mask, large))
    most = sorted(found, key=lambda one: one[0])[-MOST_LARGE:]
    return [_Aim(CellPlaces.of(shape, mask), large) for people, mask, large in most if people]


def _rake(cells: Cells, aims: Sequence["_Aim"], total: float) -> None:
    """Scale the cells, in place, so that they add up to each of these, one after the other."""
    for _ in range(ROUNDS):
        for aim in aims:
            aim.reach(cells)
    cells *= total / cells.sum()


@dataclass(frozen=True)
class CellPlaces:
    """Where base cells fall in a cuboid of so many cells: the place of a cell is that of its row and of its column."""

    rows: Whole
    columns: Whole
    size: int

    @classmethod
    def of(cls, shape: tuple[int, ...], mask: int) -> "CellPlaces":
        # About as many columns as rows.
        logs = np.cumsum(np.log(shape))
        middle = min(int(np.searchsorted(logs, logs[-1] / 2)) + 1, len(shape) - 1)
        halves, stride = [np.zeros(1, np.int64), np.zeros(1, np.int64)], 1
        for axis in range(len(shape) - 1, -1, -1):
            kept, half = mask >> axis & 1, int(axis >= middle)
            steps = np.arange(shape[axis]) * (stride if kept else 0)
            halves[half] = (steps[:, None] + halves[half]).ravel()
            stride *= shape[axis] if kept else 1
        return cls(halves[0], halves[1], stride)

    def add_up(self, base: Cells) -> Cells:
        """The cuboid."""
        by_row, parts = base.reshape(self.rows.size, -1), []

        def work(first: int, last: int) -> None:
            part = np.zeros(self.size)
            _add_up(by_row[first:last], self.rows[first:last], self.columns, part)
            parts.append(part)

        on_all_cores(work, *by_row.shape)
        sums: Cells = np.sum(parts, axis=0)
        return sums

    def scale(self, base: Cells, factors: Cells) -> None:
        """Multiply every base cell, in place, by the factor of its place."""
        by_row = base.reshape(self.rows.size, -1)
        on_all_cores(
            lambda first, last: _scale(by_row[first:last], self.rows[first:last], self.columns, factors),
            *by_row.shape,
        )


@dataclass(frozen=True)
class _Aim:
    """What cells are to add up to in a cuboid; NaN where it may be anything."""

    places: CellPlaces
    cells: Cells

    def reach(self, cells: Cells) -> None:
        """Scale the cells, in place, to these sums where there is something to scale.

        Two aims may put everybody at different places. What would leave nobody anywhere is not aimed at.
        """
        sums = self.places.add_up(cells)
        aimed = np.isfinite(self.cells) & (sums > 0)
        with np.errstate(over="ignore"):  # next to nothing, which nothing finite brings there
            factors = np.divide(self.cells, sums, out=np.ones(self.places.size), where=aimed)
        factors[np.isinf(factors)] = 1.0
        if sums @ factors > 0:
            self.places.scale(cells, factors)


@kernel
def _add_up(cells: Cells, rows: Whole, columns: Whole, sums: Cells) -> None:
    for row in range(cells.shape[0]):
        for column in range(cells.shape[1]):
            sums[rows[row] + columns[column]] += cells[row, column]


@kernel
def _scale(cells: Cells, rows: Whole, columns: Whole, factors: Cells) -> None:
    for row in range(cells.shape[0]):
        for column in range(cells.shape[1]):
            cells[row, column] *= factors[rows[row] + columns[column]]
