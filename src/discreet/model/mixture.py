"""A mixture of products: a model of joint domains that are too large to go through.

p(x) = Σ_k w_k·Π_a q_ka(x_a): K groups of people, within each of which attributes are independent. Every marginal of it
is a sum over groups, so nothing of the size of the joint is ever written down.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ProductMixture:
    """Groups with their `shares`, and in `tables` a row for each: its distributions of all attributes, end to end.

    `steps` has what the fit took of each λ in `strengths`: with both, and the same numbers, it can be made again.
    """

    lattice: Lattice
    total: float
    shares: Cells
    tables: Cells
    strengths: tuple[float, ...]
    steps: tuple[int, ...]

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each attribute begins in a row of the tables."""
        return starts_of(self.lattice)

    @property
    def parameters(self) -> dict[str, int]:
        """How many groups it is made of."""
        return {"groups": self.shares.size}

    def cuboid(self, mask: int) -> Cells:
        """The expected counts of a cuboid, measured or not."""
        tables = [self.tables[:, start : start + size] for start, size in self._places(mask)]
        return self.total * marginal(self.shares, tables)

    def cuboids(self, masks: Iterable[int]) -> dict[int, Cells]:
        return {mask: self.cuboid(mask) for mask in masks}

    def _places(self, mask: int) -> list[tuple[int, int]]:
        return [(self.starts[axis], self.lattice.sizes[axis]) for axis in self.lattice.axes(mask)]


def starts_of(lattice: Lattice) -> tuple[int, ...]:
    return tuple(np.cumsum([0, *lattice.sizes[:-1]]).tolist())


def marginal(shares: Cells, tables: Sequence[Cells]) -> Cells:
    """Σ_k w_k·⊗_a q_ka of the attributes whose tables these are."""
    if not tables:
        return np.asarray(shares.sum())
    *others, last = tables
    return np.asarray((weighted(shares, others).T @ last).reshape([table.shape[1] for table in tables]))


def weighted(shares: Cells, tables: Sequence[Cells]) -> Cells:
    """A row for each group: the product of its distributions, times its share."""
    made = shares[:, np.newaxis]
    for table in tables:
        made = (made[:, :, np.newaxis] * table[:, np.newaxis, :]).reshape(len(shares), -1)
    return made
