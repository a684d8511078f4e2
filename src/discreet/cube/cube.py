"""The published cube: labelled cuboids with exact variances. Everything in it is public, and needs no vault."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.cube.interval import halfwidth, require_confidence
from discreet.cube.plan import CubePlan
from discreet.cube.progress import Progress, silent
from discreet.domain.attribute import Attribute
from discreet.errors import ArchiveError, UnsupportedQuery
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.receipt import Receipt
from discreet.query.lattice import Label

if TYPE_CHECKING:
    import xarray as xr

Cells = NDArray[np.float64]
Draws = NDArray[np.int64]


@dataclass(frozen=True)
class Dimension:
    """One dimension of a cube: the labels of its codes, in order, and the public document that they come from."""

    name: str
    labels: tuple[str, ...]
    source: str

    @classmethod
    def of(cls, attribute: Attribute) -> "Dimension":
        return cls(attribute.name, attribute.labels, attribute.source)

    def code(self, label: object) -> int:
        """The code of a label; an unknown one raises with what there is."""
        if str(label) in self.labels:
            return self.labels.index(str(label))
        some = ", ".join(self.labels[:8]) + (", …" if len(self.labels) > 8 else "")
        raise UnsupportedQuery(f"{self.name} has no value {str(label)!r}; there are {some}")


@dataclass(frozen=True)
class Origin:
    """Where a cube comes from: the table's name, what the release promises, and where the journal has it."""

    table: str
    guarantee: Guarantee
    charge: int
    receipt: Receipt


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
    sliced: Mapping[int, int] = field(default_factory=dict)
    """The codes that a slice is for, by axis."""
    rolled_up: int = 0
    """The dimensions that are summed out for good, as a mask."""

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
        mask = self._mask(asked)
        cells = self._cells(mask)[tuple(self.sliced.get(axis, slice(None)) for axis in self.plan.lattice.axes(mask))]
        axes = [axis for axis in self.plan.lattice.axes(mask) if axis not in self.sliced]
        dimensions = [self.dimensions[axis] for axis in axes]
        array = xr.DataArray(
            cells,
            dims=[dimension.name for dimension in dimensions],
            coords={dimension.name: list(dimension.labels) for dimension in dimensions},
            name="count",
            attrs={"variance": self.variance(*asked), "guarantee": str(self.guarantee)},
        )
        return array.transpose(*map(str, asked))

    def variance(self, *names: Label) -> float:
        """The exact variance of the noise in each cell of a cuboid."""
        mask = self._mask(names)
        return self.plan.variance(*self.plan.lattice.names_of(mask), consistent=self.consistent)

    def halfwidth(self, *names: Label, confidence: float = 0.95) -> float:
        """A width w such that each cell of a cuboid is within ±w of the truth with at least this probability."""
        return halfwidth(self.plan, self._mask(names), self.consistent, require_confidence(confidence))

    def interval(self, *names: Label, confidence: float = 0.95) -> "tuple[xr.DataArray, xr.DataArray]":
        """Bounds that hold the true cuboid with at least this probability, cell by cell."""
        cuboid, width = self[names], self.halfwidth(*names, confidence=confidence)
        return cuboid - width, cuboid + width

    def slice(self, **values: object) -> "Cube":
        """The cube of those people only: `cube.slice(sex="F")["age"]`. It has the dimensions that are left."""
        axes = {self._open_axis(name): value for name, value in values.items()}
        codes = {axis: self.dimensions[axis].code(value) for axis, value in axes.items()}
        return replace(self, sliced={**self.sliced, **codes})

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
        from discreet.cube.folder import read_cube

        return read_cube(Path(path))

    def _open_axis(self, name: Label) -> int:
        mask = self.plan.lattice.mask(name)
        axis = mask.bit_length() - 1
        if axis not in self._axes:
            raise UnsupportedQuery(
                f"{name} is already sliced or rolled up; there are {', '.join(self.names) or 'none'}"
            )
        return axis

    def _mask(self, names: tuple[Label, ...]) -> int:
        """The cuboid that an answer is read from. Raises where no published cuboid holds it."""
        mask = self.plan.lattice.mask(*names)
        for name in names:
            self._open_axis(name)
        mask |= sum(1 << axis for axis in self.sliced)
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

    def _cells(self, mask: int) -> Cells:
        if mask in self.cuboids:
            return self.cuboids[mask]
        if self.consistent:
            finer = self._holder(mask)
            return self._summed(self.cuboids[finer], finer, mask)
        source = self.plan.best_source(mask)
        return self._summed(self.sources[source].astype(np.float64), source, mask)

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
            "guarantee": str(self.guarantee),
            "receipt": str(self.origin.receipt),
        }

    def __repr__(self) -> str:
        about = self.describe()
        sizes = " × ".join(f"{name} {size}" for name, size in about["dimensions"].items())
        return f"<Cube of {about['table']}: {sizes}; {about['cuboids']:,} cuboids, {about['cells']:,} cells>"

    def _repr_html_(self) -> str:
        about = self.describe()
        sizes = " × ".join(f"{escape(name)} {size}" for name, size in about.pop("dimensions").items())
        title = f"<b>Cube of {escape(about.pop('table'))}</b>: {sizes}"
        lines = "".join(
            f"<tr><th style='text-align:left'>{key}</th>"
            f"<td style='text-align:left'>{escape(f'{value:,}' if type(value) is int else str(value))}</td></tr>"
            for key, value in about.items()
        )
        return f"{title}<table>{lines}</table>"
