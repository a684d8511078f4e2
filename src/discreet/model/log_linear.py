"""A log-linear model: an estimate of the whole joint distribution, from which every cuboid can be read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.model.joint import Joint
from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LogLinear:
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
        return self._written_down()

    def _written_down(self) -> Cells:
        joint = Joint(self.lattice, tuple(sorted(self.potentials)))
        log_z, _ = joint.marginals(self.potentials)
        cells = joint.probabilities(self.potentials, log_z)
        cells *= self.total
        cells.flags.writeable = False
        return cells

    @property
    def parameters(self) -> dict[str, int]:
        """How many numbers it is made of, by what they are."""
        return {"potentials": sum(table.size for table in self.potentials.values())}

    def cuboid(self, mask: int) -> Cells:
        """The expected counts of a cuboid, measured or not."""
        return self.cuboids([mask])[mask]

    def cuboids(self, masks: Iterable[int]) -> dict[int, Cells]:
        """Several cuboids: in one pass, without the joint in memory, as long as they are smaller than it.

        The joint is not kept for them: of the many replicates behind a range none may keep so much.
        """
        asked, kept = list(masks), vars(self).get("joint")
        if kept is None and 2 * sum(map(self.lattice.cells, asked)) <= self.lattice.cells(self.lattice.base):
            return self._passed(asked)
        made: dict[int, Cells] = {self.lattice.base: self._written_down() if kept is None else kept}
        for mask in sorted(set(asked), key=lambda mask: -mask.bit_count()):
            finer = min((have for have in made if not mask & ~have), key=self.lattice.cells)
            axes = self.lattice.axes(finer)
            made[mask] = made[finer].sum(axis=tuple(p for p, axis in enumerate(axes) if not mask >> axis & 1))
        return {mask: made[mask] for mask in asked}

    def _passed(self, masks: Iterable[int]) -> dict[int, Cells]:
        """Cuboids from a pass in which those without potentials have potentials of 0."""
        potentials = {mask: np.zeros(self.lattice.shape(mask)) for mask in masks} | dict(self.potentials)
        _, marginals = Joint(self.lattice, tuple(sorted(potentials))).marginals(potentials)
        return {mask: self.total * marginals[mask] for mask in masks}
