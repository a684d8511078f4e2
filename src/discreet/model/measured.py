"""What a model is fitted to: released tables of counts, each with the variance of its noise."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measured:
    """A cuboid's counts with independent noise of one variance on each, or their residual (`query/residual.py`).

    The variance of a public fact is 0.
    """

    mask: int
    values: Cells
    variance: float
    residual: bool = False

    def of(self, counts: Cells) -> Cells:
        """What this measures of a cuboid's counts, without noise. The operator is symmetric: its own transpose."""
        return residual_of(counts) if self.residual else counts


def residual_of(table: Cells) -> Cells:
    """⊗ᵢ(nᵢ·I − 1·1ᵀ) applied to a table, as `query/residual.py` does to whole numbers."""
    made = table
    for axis, size in enumerate(table.shape):
        made = size * made - made.sum(axis=axis, keepdims=True)
    return made


def total_of(lattice: Lattice, measured: Iterable[Measured]) -> float:
    """The number of rows: as a fact says, else the mean of the measured totals by their precision; not below 0."""
    weights = totals = 0.0
    for one in measured:
        if one.residual and one.mask:
            continue
        if not one.variance:
            return float(one.values.sum())
        precision = 1 / (one.variance * lattice.cells(one.mask))
        weights += precision
        totals += precision * float(one.values.sum())
    return max(totals / weights, 0.0) if weights else 0.0


def of_order(lattice: Lattice, measured: Sequence[Measured], order: int) -> list[Measured]:
    """What the measurements tell of cuboids of so many dimensions: the mean of what each adds up to, by precision.

    Of residuals those of at most so many dimensions: they tell nothing of coarser or finer ones.
    """
    coarse = [one for one in measured if one.residual and one.mask.bit_count() <= order]
    found: dict[int, list[Measured]] = {}
    for one in measured:
        if not one.residual:
            for mask in lattice.ancestors(one.mask):
                if mask.bit_count() == min(order, one.mask.bit_count()):
                    found.setdefault(mask, []).append(_rolled_up(lattice, one, mask))
    return [*coarse, *(_combined(found[mask]) for mask in sorted(found))]


def _rolled_up(lattice: Lattice, one: Measured, mask: int) -> Measured:
    gone = tuple(place for place, axis in enumerate(lattice.axes(one.mask)) if not mask >> axis & 1)
    return Measured(mask, one.values.sum(axis=gone), one.variance * lattice.magnification(mask, one.mask))


def _combined(same: Sequence[Measured]) -> Measured:
    exact = next((one for one in same if not one.variance), None)
    if exact is not None:
        return exact
    precision = sum(1 / one.variance for one in same)
    weighted: Cells = np.sum([one.values / one.variance for one in same], axis=0)
    return Measured(same[0].mask, weighted / precision, 1 / precision)
