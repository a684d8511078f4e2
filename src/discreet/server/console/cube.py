"""Cube: pick dimensions, roll up, drill down and slice a published cube, as bars, table or heat map; take it along."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import numpy as np
from fastapi.responses import Response
from numpy.typing import NDArray

from discreet.http_json import API
from discreet.server.console.heat import Heat, heat_map
from discreet.server.console.page import BY, number
from discreet.server.console.table import BarLine, table_of
from discreet.server.console.visit import Visit
from discreet.vault.vault import Vault

if TYPE_CHECKING:
    from discreet.cube.cube import Cube
    from discreet.cube.dimension import Dimension
    from discreet.cube.grouped import Run

LINES = 100
"""Lines on one page."""
FIRST_LINES = 40
"""The first view of a cube is by a dimension of at most so many values, where there is one."""
MOST_HEAT = 20_000
"""No heat map has more cells."""
ESTIMATES = {"unbiased": "Unbiased", "modelled": "Modelled"}
VIEWS = {"bars": "Bars", "table": "Table", "heat": "Heat map"}

Cells = NDArray[np.float64]


@dataclass(frozen=True)
class ViewAxis:
    """A dimension whose lines are told apart: by each value, or by groups of its hierarchy, one level of them."""

    name: str
    """As `Cube.grouped` names it."""
    dimension: "Dimension"
    level: int
    """From 1, the widest groups; 0 where each value has its line."""
    lines: "tuple[Run, ...]"

    @property
    def labels(self) -> list[str]:
        return [line.label for line in self.lines]


@dataclass(frozen=True)
class SeenCells:
    """The cells of a view, and the intervals, or model ranges, around them."""

    counts: Cells
    low: Cells
    high: Cells
    half: float | None
    """Half of an interval's width, where it is that of every cell."""
    measured_together: bool = True
    """Of modelled cells: whether these dimensions were."""


@dataclass(frozen=True)
class Look:
    """A view of a cube: what each dimension's field says, and the cells that are to be seen."""

    name: str
    cube: "Cube"
    chosen: dict[str, str]
    view: str
    page: int
    estimate: str = "unbiased"

    @cached_property
    def by(self) -> list[ViewAxis]:
        return [
            _axis(self.cube, dimension, level)
            for dimension in self.cube.dimensions
            if (level := _level(self.chosen[dimension.name])) is not None
        ]

    @property
    def sliced(self) -> dict[str, str]:
        """The labels of the slice, by dimension."""
        return {
            dimension.name: dimension.labels[int(self.chosen[dimension.name])]
            for dimension in self.cube.dimensions
            if self.chosen[dimension.name] and _level(self.chosen[dimension.name]) is None
        }

    def seen(self, vault: Vault) -> SeenCells:
        """The cells by the estimate that was chosen, and the intervals or model ranges around them."""
        names = [axis.name for axis in self.by]
        part = self.cube.slice(**self.sliced)
        if self.estimate == "modelled":
            from discreet.vault.models import modelled_cube  # models take long to import, and few cubes have one

            modelled = modelled_cube(part, vault)
            low, high = modelled.range(*names)
            return SeenCells(modelled.cells(*names), low.values, high.values, None, modelled.is_measured(*names))
        if self.is_grouped:
            grouped = part.grouped(*names)
            return SeenCells(grouped.sums.values, grouped.low.values, grouped.high.values, None)
        low, high = part.interval(*names)
        return SeenCells(part.cells(*names), low.values, high.values, part.halfwidth(*names))

    @property
    def is_grouped(self) -> bool:
        """Whether a dimension is shown by groups, which a model is not read by."""
        return any(axis.level for axis in self.by)

    def address(self, **changes: str) -> str:
        """Where the view is that differs in these dimensions' fields; "view" and "page" are fields too."""
        fields = {f"d.{name}": value for name, value in {**self.chosen, **_dimensions(changes)}.items() if value}
        rest = {"view": changes.get("view", self.view), "page": changes.get("page", "0")}
        if (estimate := changes.get("estimate", self.estimate)) != "unbiased":
            rest["estimate"] = estimate
        return f"/cube/{quote(self.name)}?{urlencode({**fields, **rest})}"

    def download(self, form: str) -> str:
        """Where the API has all cells of this view, as csv or parquet."""
        by = [("by", axis.name) for axis in self.by]
        fields = [*by, *(("slice", f"{name}={label}") for name, label in self.sliced.items()), ("format", form)]
        fields += [("estimate", self.estimate)] if self.estimate == "modelled" else []
        return f"{API}/cubes/{quote(self.name)}/download?{urlencode(fields)}"

    def drilled(self, axis: ViewAxis, line: "Run") -> str:
        """One step down: what is in groups by narrower ones, or by each value; a value alone, and by the next dimension
        where no other tells its cells apart."""
        field = f"d.{axis.dimension.name}"
        if axis.level and line.codes > 1:
            return self.address(**{field: f"{BY}{axis.level + 1}" if axis.level < len(axis.dimension.groups) else BY})
        changes = {field: str(line.first)}
        if self.by == [axis]:
            further = [key for key, value in self.chosen.items() if not value]
            changes |= {f"d.{further[0]}": BY} if further else {}
        return self.address(**changes)


def _dimensions(changes: dict[str, str]) -> dict[str, str]:
    return {key[2:]: value for key, value in changes.items() if key.startswith("d.")}


def show(visit: Visit) -> Response:
    """The page, or the view alone."""
    look = _look(visit)
    seen = look.seen(visit.vault)
    cells = seen.counts.size
    shown: dict[str, Any] = {
        "look": look,
        "cubes": visit.shelf.cubes(),
        "about": look.cube.describe(),
        "of_release": look.cube.of_release,
        "views": VIEWS,
        "estimates": ESTIMATES if look.cube.model is not None and not look.is_grouped else {},
        "measured_together": seen.measured_together,
        "half": seen.half,
        "cells": cells,
        "pages": max(-(-cells // LINES), 1),
        "by_value": BY,
        "heat": _heat(look, seen) if look.view == "heat" else None,
        "table": None,
    }
    if look.view != "heat":
        lines = list(_lines(look, seen, range(*_page(look.page, cells))))
        column = "modelled" if look.estimate == "modelled" else "count"
        shown["table"] = table_of([axis.dimension.name for axis in look.by], column, lines, LINES)
    return visit.page("cube.html", **shown)


def _look(visit: Visit) -> Look:
    name, cube = visit.cube()
    given = {dimension.name: visit.first(f"d.{dimension.name}") for dimension in cube.dimensions}
    chosen = {d.name: _field(d, given[d.name]) for d in cube.dimensions}
    if not any(chosen.values()) and not visit.fields:
        fitting = [d for d in cube.dimensions if len(d.labels) <= FIRST_LINES] or cube.dimensions
        chosen[fitting[0].name] = BY
    view = visit.first("view", "bars")
    look = Look(name, cube, chosen, view if view in VIEWS else "bars", visit.number("page", 0, 10**9))
    by_model = visit.first("estimate") == "modelled" and cube.model is not None and not look.is_grouped
    return replace(look, estimate="modelled") if by_model else look


def _field(dimension: "Dimension", text: str) -> str:
    """What a field says, or nothing where it makes no sense."""
    level = _level(text)
    if level is not None:
        return text if level <= len(dimension.groups) else ""
    return text if text.isdigit() and len(text) < 9 and int(text) < len(dimension.labels) else ""


def _level(field: str) -> int | None:
    """The level of groups that a field tells apart, 0 for each value; None where it says something else."""
    if not field.startswith(BY):
        return None
    digits = field.removeprefix(BY)
    if not digits:
        return 0
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 4 and int(digits) else None


def _axis(cube: "Cube", dimension: "Dimension", level: int) -> ViewAxis:
    from discreet.cube.grouped import SUFFIX

    name = f"{dimension.name}{SUFFIX}{level}" if level else dimension.name
    [(_, lines)] = cube.runs(name)
    return ViewAxis(name, dimension, level, lines)


def _page(page: int, cells: int) -> tuple[int, int]:
    first = min(page, (cells - 1) // LINES) * LINES
    return first, min(first + LINES, cells)


def _lines(look: Look, seen: SeenCells, places: range) -> Iterator[BarLine]:
    """Cells in order, each with its labels, and where its labels lead."""
    counts, lows, highs = seen.counts.reshape(-1), seen.low.reshape(-1), seen.high.reshape(-1)
    for place in places:
        at = np.unravel_index(place, seen.counts.shape) if seen.counts.ndim else ()
        lines = [(axis, axis.lines[int(line)]) for axis, line in zip(look.by, at, strict=True)]
        labels = tuple(line.label for _, line in lines)
        links = tuple(look.drilled(axis, line) for axis, line in lines)
        yield BarLine(labels, round(float(counts[place])), float(lows[place]), float(highs[place]), "", links)


def _heat(look: Look, seen: SeenCells) -> Heat | None:
    """A map of two dimensions, the longer one to the right."""
    if seen.counts.ndim != 2 or seen.counts.size > MOST_HEAT:
        return None
    first, second = look.by
    counts, low, high = seen.counts, seen.low, seen.high
    if counts.shape[0] > counts.shape[1]:
        counts, low, high, first, second = counts.T, low.T, high.T, second, first

    def words(row: int, column: int) -> str:
        cell = number(round(float(counts[row, column])))
        if seen.half is not None:
            return f"{cell} ± {number(seen.half, 3)}"
        return f"{cell}, {number(round(float(low[row, column])))} … {number(round(float(high[row, column])))}"

    return heat_map(
        counts,
        (first.dimension.name, first.labels),
        (second.dimension.name, second.labels),
        words,
        lambda x: number(round(x)),
    )
