"""The published cube: labelled cuboids with exact variances. Everything in it is public, and needs no vault."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.cube.dimension import Dimension, Origin
from discreet.cube.interval import CellError, cell_error, halfwidth
from discreet.cube.plan import CubePlan
from discreet.cube.shape import Counts, Norm
from discreet.errors import ArchiveError, UnsupportedQuery
from discreet.ledger.guarantee import Guarantee
from discreet.noise.spread import require_confidence
from discreet.progress import Progress, silent
from discreet.query.lattice import Label

if TYPE_CHECKING:
    import xarray as xr

    from discreet.cube.grouped import GroupedCuboid, Run
    from discreet.cube.modelled import ModelledCube
    from discreet.cube.norms import NormBound
    from discreet.model.model import Model

MOST_NAMED = 20
"""So many dimensions are named where a cube is told of."""

OTHER_SHAPE = "variances and half-widths are those of least squares from the same measurements, not of these numbers"
BIASED = "cells are biased: empty ones are above 0 on average, and the largest may be further off than by least squares"

Cells = NDArray[np.float64]
Draws = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cube:
    """Cuboids by their dimensions: `cube["sex", "age"]` is an xarray.DataArray with labels.

    `sources` holds what was measured, raw: whole numbers with noise. `cuboids` holds the published cuboids that were
    computed from them; coarser ones are rolled up from these when they are asked for. Both are by mask of the plan's
    lattice. Slicing and rolling up give a narrower view of the same cube.
    """

    plan: CubePlan
    dimensions: tuple[Dimension, ...]
    sources: Mapping[int, Draws]
    cuboids: Mapping[int, Cells]
    consistent: bool
    origin: Origin
    norm: Norm = "l2"
    counts: Counts = "real"
    sliced: Mapping[int, int] = field(default_factory=dict)
    """The codes that a slice is for, by axis."""
    rolled_up: int = 0
    """The dimensions that are summed out for good, as a mask."""
    model: "Model | None" = None
    """The model of the same measurements, where one was fitted and is kept beside them."""
    folder: Path | None = None
    """Where the cube was loaded from."""

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions that can be asked for."""
        return tuple(self.dimensions[axis].name for axis in self._axes)

    @cached_property
    def _axes(self) -> tuple[int, ...]:
        gone = self.rolled_up | sum(1 << axis for axis in self.sliced)
        return self.plan.lattice.axes(self.plan.lattice.base & ~gone)

    @property
    def guarantee(self) -> Guarantee:
        return self.origin.guarantee

    def __getitem__(self, names: Label | tuple[Label, ...]) -> "xr.DataArray":
        """A cuboid, its axes in the order of the names; `cube[()]` is the total."""
        import xarray as xr  # takes longer to import than a cube to publish

        asked = names if isinstance(names, tuple) else (names,)
        axes = [axis for axis in self.plan.lattice.axes(self._mask(asked)) if axis not in self.sliced]
        dimensions = [self.dimensions[axis] for axis in axes]
        array = xr.DataArray(
            self.cells(*asked),
            dims=[dimension.name for dimension in dimensions],
            coords={dimension.name: list(dimension.labels) for dimension in dimensions},
            name=self.plan.noise.measure.name,
            attrs={"variance": self.variance(*asked), "guarantee": str(self.guarantee)},
        )
        return array.transpose(*map(str, asked))

    def cells(self, *names: Label) -> Cells:
        """The counts of a cuboid without labels, its axes in the order of the cube's dimensions."""
        mask = self._mask(names)
        axes = self.plan.lattice.axes(mask)
        return self._cells(mask)[tuple(self.sliced.get(axis, slice(None)) for axis in axes)]

    def variance(self, *names: Label) -> float:
        """The exact variance of the noise in each cell of a cuboid: after least squares, whatever its shape is."""
        mask = self._mask(names)
        return self.plan.variance(*self.plan.lattice.names_of(mask), consistent=self.consistent)

    def halfwidth(self, *names: Label, confidence: float = 0.95) -> float:
        """A width w such that each cell of a cuboid is within ±w of the truth with at least this probability: after
        least squares. The cells of another shape have no such width; see `interval`."""
        return halfwidth(self.plan, self._mask(names), self.consistent, require_confidence(confidence))

    def error(self, *names: Label) -> CellError:
        """What is known of the noise in each cell of a cuboid, after least squares."""
        return cell_error(self.plan, self._mask(names), self.consistent)

    def interval(self, *names: Label, confidence: float = 0.95) -> "tuple[xr.DataArray, xr.DataArray]":
        """Bounds that hold the true cuboid with at least this probability, cell by cell: those of least squares, which
        the value of another shape may lie beyond; not below 0 where counts are not."""
        cuboid, width = self.least_squares[names], self.halfwidth(*names, confidence=confidence)
        low, high = cuboid - width, cuboid + width
        return (low, high) if self.counts == "real" else (low.clip(min=0), high.clip(min=0))

    def grouped(self, *names: str, confidence: float = 0.95) -> "GroupedCuboid":
        """A cuboid by groups of its dimensions' hierarchies: `cube.grouped("occupation_group", "sex")`. Sums, variances
        and intervals of their own."""
        from discreet.cube.grouped import grouped

        return grouped(self, names, confidence)

    def runs(self, *names: str) -> "list[tuple[str, tuple[Run, ...]]]":
        """What some names of dimensions or groups stand for: each a dimension, and its lines."""
        from discreet.cube.grouped import runs_of

        return runs_of(self, names)

    @cached_property
    def least_squares(self) -> "Cube":
        """The cube as least squares makes it, whatever shape this one has."""
        from discreet.cube.cuboids import cuboids_of

        if self._is_least_squares:
            return self
        cuboids = cuboids_of(self.plan, self.sources.items(), self.consistent)
        return replace(self, cuboids=cuboids, norm="l2", counts="real")

    def reshaped(self, *, norm: Norm = "l2", counts: Counts = "real") -> "Cube":
        """The cube nearest to its sources in another norm, or one whose counts are `nonnegative` or `whole`: computed
        from what was released, so for nothing. Roll-ups fit."""
        from discreet.cube.reshape import reshaped

        return reshaped(self, norm, counts)

    @cached_property
    def modelled(self) -> "ModelledCube":
        """The cube read through a model of the same measurements: sharper, biased, and free.

        It is fitted where it is not yet, and has every cuboid of these dimensions, published or not. What its ranges
        are made of is kept in the folder that it was loaded from with its model, if one may write there.
        """
        from discreet.cube.modelled import ModelledCube, model_of
        from discreet.cube.replicate_files import ranges_in

        if self.model is None:
            return ModelledCube(self, model_of(self))
        return ModelledCube(self, self.model, None if self.folder is None else partial(ranges_in, self.folder))

    def with_model(self, progress: Progress = silent) -> "Cube":
        """The same cube with its model, which is saved with it."""
        from discreet.cube.modelled import model_of

        return self if self.model is not None else replace(self, model=model_of(self, progress))

    def norm_bound(self, probability: float = 0.95) -> "NormBound":
        """How near the truth a cube of norm l1 or linf is, over all its sources. [cubes, Theorems 4.2.1 and 4.2.2]"""
        from discreet.cube.reshape import bound_of

        if self.norm == "l2":
            raise UnsupportedQuery("least squares has intervals for every cell; a norm's bound is for l1 and linf")
        if self.counts != "real":
            raise UnsupportedQuery(f"a norm's bound is for its own numbers, and {self.counts} counts are others")
        return bound_of(self.plan, self.norm, require_confidence(probability))

    def export(self, path: str | Path, cuboids: Iterable[tuple[Label, ...]] | None = None) -> None:
        """Write the published cuboids, or some, for other tools: `.nc` NetCDF, `.zarr` Zarr, `.csv` SDMX-CSV."""
        from discreet.cube.export import export_cube

        export_cube(self, Path(path), cuboids)

    def slice(self, **values: object) -> "Cube":
        """The cube of those people only: `cube.slice(sex="F")["age"]`. It has the dimensions that are left."""
        axes = {self._open_axis(name): value for name, value in values.items()}
        codes = {axis: self.dimensions[axis].code(value) for axis, value in axes.items()}
        return replace(self, sliced={**self.sliced, **codes})

    def sel(self, **values: object) -> "Cube":
        """The same as `slice`, by the name that xarray has for it."""
        return self.slice(**values)

    def roll_up(self, *names: Label) -> "Cube":
        """The cube without these dimensions: their values are summed up."""
        for name in names:
            self._open_axis(name)
        return replace(self, rolled_up=self.rolled_up | self.plan.lattice.mask(*names))

    def save(self, path: str | Path, progress: Progress = silent) -> None:
        """Write the cube to a new folder: Parquet and a datapackage.json. What is there is whole."""
        from discreet.cube.folder import write_cube

        if self.sliced or self.rolled_up:
            raise ArchiveError("a slice is saved with its cube: save that, and slice what you load")
        write_cube(self, Path(path), progress)

    @staticmethod
    def load(path: str | Path) -> "Cube":
        """The cube in a folder. Raises ArchiveError where it is damaged."""
        from discreet.cube.folder import cube_parts

        return Cube(**cube_parts(Path(path)), folder=Path(path))

    def _open_axis(self, name: Label) -> int:
        mask = self.plan.lattice.mask(name)
        axis = mask.bit_length() - 1
        if axis not in self._axes:
            raise UnsupportedQuery(
                f"{name} is already sliced or rolled up; there are {', '.join(self.names) or 'none'}"
            )
        return axis

    def asked_mask(self, names: tuple[Label, ...]) -> int:
        """The cuboid with these dimensions and those of the slice. Raises where one is not there to be asked for."""
        mask = self.plan.lattice.mask(*names)
        for name in names:
            self._open_axis(name)
        return mask | sum(1 << axis for axis in self.sliced)

    def _mask(self, names: tuple[Label, ...]) -> int:
        """The cuboid that an answer is read from. Raises where no published cuboid holds it."""
        mask = self.asked_mask(names)
        self._holder(mask)
        return mask

    def _holder(self, mask: int) -> int:
        """The smallest published cuboid that holds this one."""
        if mask in self.cuboids:
            return mask
        holding = [have for have in self.cuboids if not mask & ~have]
        if not holding:
            wanted = ", ".join(map(str, self.plan.lattice.names_of(mask)))
            raise UnsupportedQuery(f"no published cuboid holds {wanted}; publish one that does")
        return min(holding, key=self.plan.lattice.cells)

    def cells_of(self, mask: int) -> Cells:
        """The counts of a cuboid by its mask, whatever is sliced. Requires that a published cuboid holds it."""
        return self._cells(mask)

    def _cells(self, mask: int) -> Cells:
        if mask in self.cuboids:
            return self.cuboids[mask]
        if self.consistent:
            finer = self._holder(mask)
            return self._summed(self.cuboids[finer], finer, mask)
        source = self.plan.best_source(mask)
        grains = self.sources[source].astype(np.float64)
        return self._summed(float(self.plan.noise.measure.grain) * grains, source, mask)

    def _summed(self, cells: Cells, finer: int, mask: int) -> Cells:
        axes = self.plan.lattice.axes(finer)
        summed: Cells = cells.sum(axis=tuple(place for place, axis in enumerate(axes) if not mask >> axis & 1))
        return summed

    def describe(self) -> dict[str, Any]:
        """The cube in public terms."""
        plan = self.plan
        return {
            "table": self.origin.table,
            "dimensions": {self.dimensions[axis].name: plan.lattice.sizes[axis] for axis in self._axes},
            "cuboids": len(self.cuboids),
            "cells": sum(cells.size for cells in self.cuboids.values()),
            "planner": plan.planner,
            "sources": len(plan.source_masks),
            "consistent": self.consistent,
            **self.unusual(),
            **({"estimates": "least-squares, modelled"} if self.model is not None else {}),
            "guarantee": str(self.guarantee),
            "receipt": str(self.origin.receipt),
            **({"charges": [*self.origin.earlier, self.origin.charge]} if self.origin.earlier else {}),
        }

    @property
    def of_release(self) -> str:
        """Which release its numbers are of, in words."""
        charges = (*self.origin.earlier, self.origin.charge)
        named = f"release{'s' if len(charges) > 1 else ''} {', '.join(map(str, charges))}"
        return f"of {named} alone: `ask` joins it with all that is public, and is never wider"

    def unusual(self) -> dict[str, str]:
        """How it differs from counts by least squares: its measure, its norm, what its counts may be."""
        usual = {"measure": "count", "norm": "l2", "counts": "real"}
        own = {"measure": str(self.plan.noise.measure), "norm": self.norm, "counts": self.counts}
        differs: dict[str, str] = {key: value for key, value in own.items() if value != usual[key]}
        if self._is_least_squares:
            return differs
        return {**differs, "note": OTHER_SHAPE if self.counts == "real" else f"{BIASED}; {OTHER_SHAPE}"}

    @property
    def _is_least_squares(self) -> bool:
        return (self.norm, self.counts) == ("l2", "real")

    def __repr__(self) -> str:
        about = self.describe()
        return (
            f"<Cube of {about['table']}: {dimensions_in_words(about['dimensions'])}; "
            f"{about['cuboids']:,} cuboids, {about['cells']:,} cells>"
        )

    def _repr_html_(self) -> str:
        about = self.describe()
        sizes = escape(dimensions_in_words(about.pop("dimensions")))
        title = f"<b>Cube of {escape(about.pop('table'))}</b>: {sizes}"
        lines = "".join(
            f"<tr><th style='text-align:left'>{key}</th>"
            f"<td style='text-align:left'>{escape(f'{value:,}' if type(value) is int else str(value))}</td></tr>"
            for key, value in about.items()
        )
        return f"{title}<table>{lines}</table>"


def dimensions_in_words(dimensions: Mapping[str, int]) -> str:
    """Dimensions with their sizes; the first ones, where there are very many."""
    shown = [f"{name} {size}" for name, size in dimensions.items()][:MOST_NAMED]
    return " × ".join(shown) + (f" and {len(dimensions) - MOST_NAMED} more" if len(dimensions) > MOST_NAMED else "")
