"""Replicates of a model: what release and fit would have made of a table that is as the model says."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.model.fit import refit
from discreet.model.measured import Measured
from discreet.model.mixture import ProductMixture
from discreet.model.mixture_fit import refit_mixture
from discreet.model.model import Model

Cells = NDArray[np.float64]


def replicates(
    model: Model, measured: Sequence[Measured], noise: Callable[[Measured], Cells], times: int
) -> list[Model]:
    """Models of so many simulated releases. `noise` draws a measurement's; facts have none."""
    cuboids = model.cuboids({one.mask for one in measured})
    made: list[Model] = []
    for _ in range(times):
        simulated = [
            one if not one.variance else replace(one, values=one.of(cuboids[one.mask]) + noise(one)) for one in measured
        ]
        made.append(refit_mixture(model, simulated) if isinstance(model, ProductMixture) else refit(model, simulated))
    return made
