"""What a model is fitted to: released tables of counts, each with the variance of its noise."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sums:
    """Some sums over the cells of a cuboid, as a sparse matrix: number `numbers[i]` has cell `cells[i]` `times[i]`
    times. `is_whole` where they are counts of groups that make up everybody."""

    shape: tuple[int, ...]
    size: int
    numbers: Ints
    cells: Ints
    times: Cells
    is_whole: bool = False

    def of(self, counts: Cells) -> Cells:
        return _added_up(self.numbers, self.times * counts.reshape(-1)[self.cells], self.size)

    def back(self, numbers: Cells) -> Cells:
        """The transpose."""
        return _added_up(self.cells, self.times * numbers[self.numbers], prod(self.shape)).reshape(self.shape)

    @property
    def lengths(self) -> Cells:
        """About how much a row that is in a number adds to it, on average."""
        squares, all_of_it = (_added_up(self.numbers, of, self.size) for of in (self.times**2, np.abs(self.times)))
        found: Cells = np.divide(squares, all_of_it, out=np.ones(self.size), where=all_of_it > 0)
        return found


@dataclass(frozen=True, eq=False)
class Measured:
    """A cuboid's counts with independent noise of one variance on each; their residual (`query/residual.py`); or sums
    over its cells.

    The variance of a public fact is 0.
    """

    mask: int
    values: Cells
    variance: float
    residual: bool = False
    sums: Sums | None = None

    def of(self, counts: Cells) -> Cells:
        """What this measures of a cuboid's counts, without noise."""
        if self.sums is not None:
            return self.sums.of(counts)
        return residual_of(counts) if self.residual else counts

    def back(self, numbers: Cells) -> Cells:
        """The transpose of that: a table over the cuboid's cells."""
        if self.sums is not None:
            return self.sums.back(numbers)
        return residual_of(numbers) if self.residual else numbers

    @property
    def is_table(self) -> bool:
        """Whether it is the counts of a whole cuboid."""
        return self.sums is None and not self.residual

    @property
    def empty(self) -> NDArray[np.bool_]:
        """The cells that a fact says nobody is in."""
        if self.sums is None:
            return np.asarray(self.values <= 0)
        can_tell = _added_up(self.sums.numbers, (self.sums.times < 0).astype(np.float64), self.sums.size) == 0
        return np.asarray(self.sums.back(((self.values <= 0) & can_tell).astype(np.float64)) > 0)


def _added_up(places: Ints, numbers: Cells, size: int) -> Cells:
    return np.asarray(np.bincount(places, numbers, minlength=size), np.float64)


def residual_of(table: Cells) -> Cells:
    """⊗ᵢ(nᵢ·I − 1·1ᵀ) applied to a table, as `query/residual.py` does to whole numbers."""
    made = table
    for axis, size in enumerate(table.shape):
        made = size * made - made.sum(axis=axis, keepdims=True)
    return made


def total_of(measured: Iterable[Measured]) -> float:
    """The number of rows: as a fact says, else the mean of the measured totals by their precision; not below 0."""
    weights = totals = 0.0
    for one in measured:
        if (one.residual and one.mask) or (one.sums is not None and not one.sums.is_whole):
            continue
        if not one.variance:
            return float(one.values.sum())
        precision = 1 / (one.variance * one.values.size)
        weights += precision
        totals += precision * float(one.values.sum())
    return max(totals / weights, 0.0) if weights else 0.0


def of_order(lattice: Lattice, measured: Sequence[Measured], order: int) -> list[Measured]:
    """What the measurements tell of cuboids of so many dimensions: the mean of what each adds up to, by precision.

    Of residuals and of sums those of at most so many dimensions: they tell nothing of coarser or finer ones.
    """
    coarse = [one for one in measured if not one.is_table and one.mask.bit_count() <= order]
    found: dict[int, list[Measured]] = {}
    for one in measured:
        if one.is_table:
            for mask in lattice.ancestors(one.mask):
                if mask.bit_count() == min(order, one.mask.bit_count()):
                    found.setdefault(mask, []).append(_rolled_up(lattice, one, mask))
    return [*coarse, *(combined(found[mask]) for mask in sorted(found))]


def _rolled_up(lattice: Lattice, one: Measured, mask: int) -> Measured:
    gone = tuple(place for place, axis in enumerate(lattice.axes(one.mask)) if not mask >> axis & 1)
    return Measured(mask, one.values.sum(axis=gone), one.variance * lattice.magnification(mask, one.mask))


def combined(same: Sequence[Measured]) -> Measured:
    """Several measurements of the same as one: the exact one, or their mean by precision."""
    exact = next((one for one in same if not one.variance), None)
    if exact is not None:
        return exact
    precision = sum(1 / one.variance for one in same)
    weighted: Cells = np.sum([one.values / one.variance for one in same], axis=0)
    return replace(same[0], values=weighted / precision, variance=1 / precision)
