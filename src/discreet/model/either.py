"""The model of a joint domain, whichever of the two its size asks for."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.model.fit import fit, needed_bytes, refit
from discreet.model.measured import Measured
from discreet.model.mixture import ProductMixture
from discreet.model.mixture_fit import fit_mixture, mixture_bytes, refit_mixture
from discreet.model.model import Model
from discreet.model.size import is_mixture
from discreet.progress import Progress, silent
from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]

REPLICATES, MIXTURES = 24, 8
"""Simulated releases behind a model range: fewer where each takes seconds."""


def fit_model(lattice: Lattice, measured: Sequence[Measured], progress: Progress = silent) -> Model:
    """Deterministic: the same measurements have the same model."""
    return (fit_mixture if is_mixture(lattice) else fit)(lattice, measured, progress)


def model_bytes(lattice: Lattice, measured: Iterable[int]) -> int:
    """The memory that fitting a model to cuboids with these masks takes."""
    return (mixture_bytes if is_mixture(lattice) else needed_bytes)(lattice, measured)


def replicates(model: Model, measured: Sequence[Measured], noise: Callable[[Measured], Cells]) -> tuple[Model, ...]:
    """What release and fit would have made of a table that is as the model says, some times. `noise` draws a
    measurement's; facts have none."""
    cuboids = model.cuboids({one.mask for one in measured})

    def simulated() -> list[Measured]:
        return [
            one if not one.variance else replace(one, values=one.of(cuboids[one.mask]) + noise(one)) for one in measured
        ]

    many = range(replicates_of(model))
    if isinstance(model, ProductMixture):
        return tuple(refit_mixture(model, simulated()) for _ in many)
    return tuple(refit(model, simulated()) for _ in many)


def replicates_of(model: Model) -> int:
    """How many there are."""
    return MIXTURES if isinstance(model, ProductMixture) else REPLICATES
