"""Whether a model's budget is small for its table: then what to measure is better chosen as one goes.

A fixed plan measures all pairs, or all triples. Its noise is public; what it does to the model depends on how many rows
there are to drown in it. `noise_share` compares the two, and NOISY says from where on rounds win (`cube/adaptive.py`).
"""

import numpy as np

from discreet.cube.adaptive import mean_distance
from discreet.cube.plan import CubePlan
from discreet.model.size import is_mixture
from discreet.noise.law import Exponential

NOISY = 1.0
"""The noise of a measured cuboid, its cells added up, as a share of the rows, from which on choosing wins: figures are
in docs/explain/models.md."""


def is_small(plan: CubePlan, rows: float) -> bool:
    """Whether a fixed plan's budget is small for a table of so many rows."""
    return noise_share(plan, rows) > NOISY


def enough_rows(plan: CubePlan) -> int:
    """The number of rows from which on a fixed plan's budget is not small."""
    return int(noise_share(plan, 1.0) / NOISY) + 1


def can_choose(plan: CubePlan) -> bool:
    """Whether rounds could be had instead of a fixed plan for models."""
    return plan.planner == "model" and plan.noise.measure.of is None and not is_mixture(plan.lattice)


def noise_share(plan: CubePlan, rows: float) -> float:
    """The mean over what is measured: how far noise puts all cells off together, as a share of the rows."""
    off = []
    for mask, share in zip(plan.source_masks, plan.shares, strict=True):
        law = plan.noise.law(share)
        assert not isinstance(law, Exponential), "counts have noise"
        off.append(mean_distance(law) * plan.lattice.cells(mask))
    return float(np.mean(off)) / max(rows, 1.0)
