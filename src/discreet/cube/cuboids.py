"""From a plan's sources to its published cuboids, in the one array or one by one."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from discreet.cube.consistency import Source, reconcile, roll_up
from discreet.cube.plan import CubePlan
from discreet.cube.wide import is_wide, join_residuals, reconcile_few, roll_up_few


def cuboids_of(plan: CubePlan, sources: Iterable[Source], consistent: bool) -> dict[int, NDArray[np.float64]]:
    """The published cuboids: views of the one array, or each by itself where that would be too large."""
    lattice, variances, grain = plan.lattice, plan.source_variances, plan.noise.measure.grain
    if plan.basis == "residuals":
        return join_residuals(plan, sources)
    if is_wide(plan):
        made = reconcile_few(lattice, sources, variances, plan.published) if consistent else roll_up_few(plan, sources)
        return made if grain == 1 else {mask: cells * float(grain) for mask, cells in made.items()}
    array = (reconcile if consistent else roll_up)(lattice, sources, variances)
    if grain != 1:
        array *= float(grain)
    return {mask: lattice.cuboid_of(array, mask) for mask in plan.published}
