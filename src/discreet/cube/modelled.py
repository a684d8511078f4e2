"""A cube read through a model: the same released numbers, biased and sharper. Public, and free.

The model (`discreet.model`) is fitted to the cube's raw sources, with facts that the cube agrees with as exact
constraints. Every cuboid of the cube's dimensions can be read from it, published or not; where its dimensions were
never measured together, its interactions are what the measured ones imply and no more.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.cube.memory import available_bytes, gigabytes
from discreet.cube.model_files import BIASED, ESTIMATE
from discreet.cube.plan import CubePlan
from discreet.errors import UnsupportedQuery
from discreet.ledger.guarantee import Guarantee
from discreet.model.either import fit_model, model_bytes, replicates, replicates_of
from discreet.model.measured import Measured
from discreet.model.model import Model
from discreet.model.size import MOST_CELLS, is_mixture, most_dimensions
from discreet.noise.bits import SeededBits
from discreet.noise.spread import require_confidence
from discreet.progress import Progress, silent
from discreet.query.lattice import Label, Lattice

if TYPE_CHECKING:
    import xarray as xr

    from discreet.cube.cube import Cube

Cells = NDArray[np.float64]


def require_model(plan: CubePlan, available: int | None = None) -> None:
    """Refuse, before anything is spent, a plan whose cube no model can be fitted to."""
    lattice = plan.lattice
    if plan.noise.measure.of is not None:
        raise UnsupportedQuery("a model is of counts; sums have none: leave out the estimate modelled")
    if is_mixture(lattice) and plan.known:
        raise UnsupportedQuery(
            f"these {lattice.dimensions} dimensions have {prod(lattice.sizes):.2g} cells, and a model of so many "
            "cannot agree with facts exactly: plan without facts, or choose at most "
            f"{most_dimensions(lattice)} dimensions"
        )
    if is_mixture(lattice) and plan.basis == "residuals":
        raise UnsupportedQuery(
            "a model of so many cells is fitted to counts, not to residuals: plan it with --for model"
        )
    there = available_bytes() if available is None else available
    needed = model_bytes(lattice, plan.source_masks)
    if needed > there:
        raise UnsupportedQuery(
            f"this model needs about {gigabytes(needed)} of memory and {gigabytes(there)} are free; nothing was spent: "
            "choose fewer dimensions, or measure cuboids of fewer dimensions"
        )


def measurements(cube: "Cube") -> list[Measured]:
    """What the cube's model is fitted to: its raw sources, and the facts that it agrees with."""
    plan = cube.plan
    residual = plan.basis == "residuals"
    measured = [
        Measured(mask, table.astype(np.float64), plan.source_variances[mask], residual)
        for mask, table in cube.sources.items()
    ]
    return [*measured, *_facts(cube)]


def _facts(cube: "Cube") -> list[Measured]:
    """The facts, as far as published cuboids hold them: cells there are exact."""
    parts = {mask & known for known, _ in cube.plan.known for mask in cube.plan.published}
    finest = [part for part in sorted(parts) if not any(part & ~other == 0 and part != other for other in parts)]
    least_squares = cube.least_squares
    return [Measured(mask, np.rint(least_squares.cells_of(mask)), 0.0) for mask in finest]


def model_of(cube: "Cube", progress: Progress = silent) -> Model:
    """The model of a cube. Deterministic: the same cube has the same one."""
    require_model(cube.plan)
    return fit_model(cube.plan.lattice, measurements(cube), progress)


class Modelled(ABC):
    """Cuboids by their attributes, as a model has them: `modelled["sex", "age"]`. All say that they are."""

    model: Model
    kept: "Callable[[Any], tuple[Model, ...]] | None"
    """Where its replicates are kept, which take long to make."""

    def __getitem__(self, names: Label | tuple[Label, ...]) -> "xr.DataArray":
        """A cuboid with labels, its axes in the order of the names; it may be one that was not released."""
        asked = names if isinstance(names, tuple) else (names,)
        return self._labelled(asked, self.cells(*asked))

    def cells(self, *names: Label) -> Cells:
        """The counts of a cuboid without labels, its axes in the order of the model's own."""
        return self._read(names, self.model)

    def range(self, *names: Label, confidence: float = 0.95) -> "tuple[xr.DataArray, xr.DataArray]":
        """A model range for each cell: from release and fit simulated from the model itself (parametric bootstrap).

        It has what noise and the fit's own shrinking do to a cell. It cannot have what the model does not know of:
        where attributes were never measured together, the truth may be anywhere.
        """
        level = require_confidence(confidence)
        cells = self.cells(*names)
        require_room_for_ranges(cells.size, replicates_of(self.model))
        made = np.array([self._read(names, one) for one in self.replicates])
        low, high = bounds(cells, made, level)
        return self._labelled(names, low), self._labelled(names, high)

    def describe(self) -> dict[str, Any]:
        """The model in public terms."""
        of = self.model
        return {"estimate": ESTIMATE, "total": of.total, "strengths": list(of.strengths), **of.parameters}

    @cached_property
    def replicates(self) -> tuple[Model, ...]:
        """Its simulated releases, from where they are kept."""
        return self.simulated() if self.kept is None else self.kept(self)

    @abstractmethod
    def simulated(self) -> tuple[Model, ...]:
        """What release and fit would have made of a table that is as the model says. Deterministic."""

    @abstractmethod
    def is_measured(self, *names: Label) -> bool:
        """Whether these attributes were measured together."""

    @abstractmethod
    def _read(self, names: tuple[Label, ...], model: Model) -> Cells:
        """A cuboid of it, or of one of its replicates."""

    @abstractmethod
    def _labelled(self, names: tuple[Label, ...], cells: Cells) -> "xr.DataArray": ...


@dataclass(frozen=True, eq=False)
class ModelledCube(Modelled):
    """A cube's cuboids by their dimensions, as its model has them: `cube.modelled["sex", "age"]`."""

    cube: "Cube"
    model: Model
    kept: "Callable[[ModelledCube], tuple[Model, ...]] | None" = None

    def simulated(self) -> tuple[Model, ...]:
        plan = self.cube.plan
        laws = {mask: plan.noise.law_in_grains(share) for mask, share in plan.cell_shares.items()}
        bits = SeededBits(self.cube.origin.charge)

        def noise(one: Measured) -> Cells:
            drawn = laws[one.mask].sample(one.values.size, bits)
            return drawn.astype(np.float64).reshape(one.values.shape)

        return replicates(self.model, measurements(self.cube), noise)

    def is_measured(self, *names: Label) -> bool:
        mask = self.cube.asked_mask(names)
        return any(not mask & ~source for source in self.cube.plan.source_masks)

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "note": BIASED}

    def _read(self, names: tuple[Label, ...], model: Model) -> Cells:
        lattice, mask = self.cube.plan.lattice, self.cube.asked_mask(names)
        require_readable(lattice, mask)
        cuboid = model.cuboid(mask)
        cells: Cells = np.asarray(cuboid[tuple(self.cube.sliced.get(axis, slice(None)) for axis in lattice.axes(mask))])
        return cells

    def _labelled(self, names: tuple[Label, ...], cells: Cells) -> "xr.DataArray":
        mask = self.cube.asked_mask(names)
        axes = [axis for axis in self.cube.plan.lattice.axes(mask) if axis not in self.cube.sliced]
        labels = {own.name: own.labels for own in (self.cube.dimensions[axis] for axis in axes)}
        together = self.is_measured(*names)
        return labelled(cells, labels, together, self.cube.guarantee).transpose(*map(str, names))


def require_readable(lattice: Lattice, mask: int) -> None:
    """Refuse a cuboid of too many cells, those included that it is sliced by."""
    if lattice.cells(mask) > MOST_CELLS:
        raise UnsupportedQuery(
            f"a cuboid of {', '.join(map(str, lattice.names_of(mask)))} has {lattice.cells(mask):,} cells, and at most "
            f"{MOST_CELLS:,} are read from a model; name fewer attributes"
        )


def require_room_for_ranges(cells: int, replicates: int, available: int | None = None) -> None:
    """Refuse ranges of a cuboid whose replicates do not fit in memory side by side."""
    there = available_bytes() if available is None else available
    # All replicates and how far each is from their mean; the ends, and what they are made of.
    needed = 8 * cells * (2 * replicates + 6)
    if needed > there:
        raise UnsupportedQuery(
            f"the ranges of {cells:,} cells need about {gigabytes(needed)} of memory and {gigabytes(there)} are free; "
            "name fewer attributes"
        )


def not_together(names: Sequence[Label]) -> str:
    """What to know of attributes, one or more, of which no table was measured."""
    if len(names) == 1:
        return f"{names[0]} was never measured by itself: how it is spread is what other numbers imply"
    return (
        f"{', '.join(map(str, names))} were never measured together: how they interact is what the measured ones imply"
    )


def labelled(cells: Cells, labels: Mapping[str, Sequence[str]], together: bool, guarantee: Guarantee) -> "xr.DataArray":
    """A modelled cuboid with the labels of its axes, in their order; and whether these were measured together."""
    import xarray as xr

    said = {"estimate": ESTIMATE, "measured_together": together, "guarantee": str(guarantee)}
    coordinates = {name: list(own) for name, own in labels.items()}
    return xr.DataArray(cells, dims=list(labels), coords=coordinates, name="count", attrs=said)


def bounds(value: Cells, made: Cells, confidence: float, least: float = 0.0) -> tuple[Cells, Cells]:
    """A range around a value from replicates of it: moved by their mean's distance, as wide as Student's t says. It
    does not reach below `least`."""
    from scipy.stats import t

    bias, spread = made.mean(axis=0) - value, made.std(axis=0, ddof=1)
    # A replicate is drawn around the model as the model is around the truth: the range is as wide as both ways of that.
    width = float(t.ppf(0.5 + confidence / 2, len(made) - 1)) * spread * np.sqrt(1 + 1 / len(made)) + np.abs(bias)
    return np.maximum(value - width, least), value + width
