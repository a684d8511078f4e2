"""Cube: pick dimensions, roll up, drill down and slice a published cube, as bars, table or heat map; take it along."""

from collections.abc import Iterator
from dataclasses import dataclass
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

if TYPE_CHECKING:
    from discreet.cube.cube import Cube
    from discreet.cube.dimension import Dimension

LINES = 100
"""Lines on one page."""
FIRST_LINES = 40
"""The first view of a cube is by a dimension of at most so many values, where there is one."""
MOST_HEAT = 20_000
"""No heat map has more cells."""
VIEWS = {"bars": "Bars", "table": "Table", "heat": "Heat map"}

Cells = NDArray[np.float64]


@dataclass(frozen=True)
class Look:
    """A view of a cube: what each dimension's field says, and the cells that are to be seen."""

    name: str
    cube: "Cube"
    chosen: dict[str, str]
    view: str
    page: int

    @property
    def by(self) -> list["Dimension"]:
        return [dimension for dimension in self.cube.dimensions if self.chosen[dimension.name] == BY]

    @property
    def sliced(self) -> dict[str, str]:
        """The labels of the slice, by dimension."""
        return {
            dimension.name: dimension.labels[int(self.chosen[dimension.name])]
            for dimension in self.cube.dimensions
            if self.chosen[dimension.name] not in ("", BY)
        }

    def cells(self) -> tuple[Cells, Cells, float]:
        """The counts, the middles of their intervals, and half of an interval's width."""
        names = [dimension.name for dimension in self.by]
        part = self.cube.slice(**self.sliced)
        return part.cells(*names), part.least_squares.cells(*names), part.halfwidth(*names)

    def address(self, **changes: str) -> str:
        """Where the view is that differs in these dimensions' fields; "view" and "page" are fields too."""
        fields = {f"d.{name}": value for name, value in {**self.chosen, **_dimensions(changes)}.items() if value}
        rest = {"view": changes.get("view", self.view), "page": changes.get("page", "0")}
        return f"/cube/{quote(self.name)}?{urlencode({**fields, **rest})}"

    def download(self, form: str) -> str:
        """Where the API has all cells of this view, as csv or parquet."""
        by = [("by", dimension.name) for dimension in self.by]
        fields = [*by, *(("slice", f"{name}={label}") for name, label in self.sliced.items()), ("format", form)]
        return f"{API}/cubes/{quote(self.name)}/download?{urlencode(fields)}"

    def drilled(self, name: str, code: int) -> str:
        """One step down: this value alone, and by the next dimension where no other tells its cells apart."""
        changes = {f"d.{name}": str(code)}
        if [dimension.name for dimension in self.by] == [name]:
            further = [key for key, value in self.chosen.items() if not value]
            changes |= {f"d.{further[0]}": BY} if further else {}
        return self.address(**changes)


def _dimensions(changes: dict[str, str]) -> dict[str, str]:
    return {key[2:]: value for key, value in changes.items() if key.startswith("d.")}


def show(visit: Visit) -> Response:
    """The page, or the view alone."""
    look = _look(visit)
    counts, middles, half = look.cells()
    clipped = look.cube.counts != "real"
    pages = max(-(-counts.size // LINES), 1)
    shown: dict[str, Any] = {
        "look": look,
        "cubes": visit.shelf.cubes(),
        "about": look.cube.describe(),
        "of_release": look.cube.of_release,
        "views": VIEWS,
        "half": half,
        "cells": counts.size,
        "pages": pages,
        "by_value": BY,
        "heat": _heat(look, counts, half) if look.view == "heat" else None,
        "table": None,
    }
    if look.view != "heat":
        lines = list(_lines(look, counts, middles, half, clipped, range(*_page(look.page, counts.size))))
        shown["table"] = table_of([d.name for d in look.by], "count", lines, LINES)
    return visit.page("cube.html", **shown)


def _look(visit: Visit) -> Look:
    name, cube = visit.cube()
    given = {dimension.name: visit.first(f"d.{dimension.name}") for dimension in cube.dimensions}
    chosen = {d.name: _field(d, given[d.name]) for d in cube.dimensions}
    if not any(chosen.values()) and not visit.fields:
        fitting = [d for d in cube.dimensions if len(d.labels) <= FIRST_LINES] or cube.dimensions
        chosen[fitting[0].name] = BY
    view = visit.first("view", "bars")
    return Look(name, cube, chosen, view if view in VIEWS else "bars", visit.number("page", 0, 10**9))


def _field(dimension: "Dimension", text: str) -> str:
    """What a field says, or nothing where it makes no sense."""
    if text == BY:
        return BY
    return text if text.isdigit() and len(text) < 9 and int(text) < len(dimension.labels) else ""


def _page(page: int, cells: int) -> tuple[int, int]:
    first = min(page, (cells - 1) // LINES) * LINES
    return first, min(first + LINES, cells)


def _lines(look: Look, counts: Cells, middles: Cells, half: float, clipped: bool, places: range) -> Iterator[BarLine]:
    """Cells in order, each with its labels, and where its labels lead."""
    flat, middle = counts.reshape(-1), middles.reshape(-1)
    floor = 0.0 if clipped else -np.inf
    for place in places:
        codes = np.unravel_index(place, counts.shape) if counts.ndim else ()
        labels = tuple(d.labels[int(code)] for d, code in zip(look.by, codes, strict=True))
        links = tuple(look.drilled(d.name, int(code)) for d, code in zip(look.by, codes, strict=True))
        low, high = max(float(middle[place]) - half, floor), max(float(middle[place]) + half, floor)
        yield BarLine(labels, round(float(flat[place])), low, high, "", links)


def _heat(look: Look, counts: Cells, half: float) -> Heat | None:
    """A map of two dimensions, the longer one to the right."""
    if counts.ndim != 2 or counts.size > MOST_HEAT:
        return None
    first, second = look.by
    if counts.shape[0] > counts.shape[1]:
        counts, first, second = counts.T, second, first
    error = number(half, 3)
    return heat_map(
        counts,
        (first.name, first.labels),
        (second.name, second.labels),
        lambda x: f"{number(round(x))} ± {error}",
        lambda x: number(round(x)),
    )
