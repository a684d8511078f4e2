"""A fitted model: an estimate of the whole joint distribution, from which every cuboid can be read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.model.joint import Joint
from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Model:
    """n·p(x) with p(x) ∝ exp(Σ_c θ_c(x_c)): potentials θ by the cuboids' masks, and the total n.

    `strengths` has the λ of each stage of its fit; none where nobody is.
    """

    lattice: Lattice
    total: float
    potentials: Mapping[int, Cells]
    strengths: tuple[float, ...]

    @cached_property
    def joint(self) -> Cells:
        """The expected count of every cell of the joint: nowhere below 0, and adds up to the total."""
        joint = Joint(self.lattice, tuple(sorted(self.potentials)))
        log_z, _ = joint.marginals(self.potentials)
        cells = joint.probabilities(self.potentials, log_z)
        cells *= self.total
        cells.flags.writeable = False
        return cells

    def cuboid(self, mask: int) -> Cells:
        """The expected counts of a cuboid, measured or not."""
        summed: Cells = self.joint.sum(axis=tuple(a for a in range(self.lattice.dimensions) if not mask >> a & 1))
        return summed

    def cuboids(self, masks: Iterable[int]) -> dict[int, Cells]:
        """Several cuboids, each from the smallest one that is there already."""
        made: dict[int, Cells] = {self.lattice.base: self.joint}
        for mask in sorted(set(masks), key=lambda mask: -mask.bit_count()):
            finer = min((have for have in made if not mask & ~have), key=self.lattice.cells)
            axes = self.lattice.axes(finer)
            made[mask] = made[finer].sum(axis=tuple(p for p, axis in enumerate(axes) if not mask >> axis & 1))
        return {mask: made[mask] for mask in masks}
