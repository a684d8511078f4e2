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
from discreet.vault.vault import Vault

if TYPE_CHECKING:
    from discreet.cube.cube import Cube
    from discreet.cube.dimension import Dimension

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
class Look:
    """A view of a cube: what each dimension's field says, and the cells that are to be seen."""

    name: str
    cube: "Cube"
    chosen: dict[str, str]
    view: str
    page: int
    estimate: str = "unbiased"

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

    def seen(self, vault: Vault) -> "Seen":
        """The cells of the view, by the estimate that was chosen."""
        names = [dimension.name for dimension in self.by]
        part = self.cube.slice(**self.sliced)
        if self.estimate == "modelled":
            from discreet.vault.models import modelled_cube  # models take long to import, and few cubes have one

            modelled = modelled_cube(part, vault)
            low, high = modelled.range(*names)
            return Seen(modelled.cells(*names), low.values, high.values, None, modelled.is_measured(*names))
        middles, half = part.least_squares.cells(*names), part.halfwidth(*names)
        floor = 0.0 if self.cube.counts != "real" else -np.inf
        return Seen(part.cells(*names), np.maximum(middles - half, floor), np.maximum(middles + half, floor), half)

    def address(self, **changes: str) -> str:
        """Where the view is that differs in these dimensions' fields; "view" and "page" are fields too."""
        fields = {f"d.{name}": value for name, value in {**self.chosen, **_dimensions(changes)}.items() if value}
        rest = {"view": changes.get("view", self.view), "page": changes.get("page", "0")}
        if (estimate := changes.get("estimate", self.estimate)) != "unbiased":
            rest["estimate"] = estimate
        return f"/cube/{quote(self.name)}?{urlencode({**fields, **rest})}"

    def download(self, form: str) -> str:
        """Where the API has all cells of this view, as csv or parquet."""
        by = [("by", dimension.name) for dimension in self.by]
        fields = [*by, *(("slice", f"{name}={label}") for name, label in self.sliced.items()), ("format", form)]
        fields += [("estimate", self.estimate)] if self.estimate == "modelled" else []
        return f"{API}/cubes/{quote(self.name)}/download?{urlencode(fields)}"

    def drilled(self, name: str, code: int) -> str:
        """One step down: this value alone, and by the next dimension where no other tells its cells apart."""
        changes = {f"d.{name}": str(code)}
        if [dimension.name for dimension in self.by] == [name]:
            further = [key for key, value in self.chosen.items() if not value]
            changes |= {f"d.{further[0]}": BY} if further else {}
        return self.address(**changes)


@dataclass(frozen=True)
class Seen:
    """Cells with the ends of their intervals, or of their model ranges."""

    counts: Cells
    low: Cells
    high: Cells
    half: float | None
    """Half of an interval's width, where all are as wide."""
    measured_together: bool = True


def _dimensions(changes: dict[str, str]) -> dict[str, str]:
    return {key[2:]: value for key, value in changes.items() if key.startswith("d.")}


def show(visit: Visit) -> Response:
    """The page, or the view alone."""
    look = _look(visit)
    seen = look.seen(visit.vault)
    counts = seen.counts
    pages = max(-(-counts.size // LINES), 1)
    shown: dict[str, Any] = {
        "look": look,
        "cubes": visit.shelf.cubes(),
        "about": look.cube.describe(),
        "of_release": look.cube.of_release,
        "views": VIEWS,
        "estimates": ESTIMATES if look.cube.model is not None else {},
        "measured_together": seen.measured_together,
        "half": seen.half,
        "cells": counts.size,
        "pages": pages,
        "by_value": BY,
        "heat": _heat(look, seen) if look.view == "heat" else None,
        "table": None,
    }
    if look.view != "heat":
        lines = list(_lines(look, seen, range(*_page(look.page, counts.size))))
        shown["table"] = table_of(
            [d.name for d in look.by], "modelled" if look.estimate == "modelled" else "count", lines, LINES
        )
    return visit.page("cube.html", **shown)


def _look(visit: Visit) -> Look:
    name, cube = visit.cube()
    given = {dimension.name: visit.first(f"d.{dimension.name}") for dimension in cube.dimensions}
    chosen = {d.name: _field(d, given[d.name]) for d in cube.dimensions}
    if not any(chosen.values()) and not visit.fields:
        fitting = [d for d in cube.dimensions if len(d.labels) <= FIRST_LINES] or cube.dimensions
        chosen[fitting[0].name] = BY
    view = visit.first("view", "bars")
    estimate = "modelled" if visit.first("estimate") == "modelled" and cube.model is not None else "unbiased"
    return Look(name, cube, chosen, view if view in VIEWS else "bars", visit.number("page", 0, 10**9), estimate)


def _field(dimension: "Dimension", text: str) -> str:
    """What a field says, or nothing where it makes no sense."""
    if text == BY:
        return BY
    return text if text.isdigit() and len(text) < 9 and int(text) < len(dimension.labels) else ""


def _page(page: int, cells: int) -> tuple[int, int]:
    first = min(page, (cells - 1) // LINES) * LINES
    return first, min(first + LINES, cells)


def _lines(look: Look, seen: Seen, places: range) -> Iterator[BarLine]:
    """Cells in order, each with its labels, and where its labels lead."""
    counts, low, high = (cells.reshape(-1) for cells in (seen.counts, seen.low, seen.high))
    for place in places:
        codes = np.unravel_index(place, seen.counts.shape) if seen.counts.ndim else ()
        labels = tuple(d.labels[int(code)] for d, code in zip(look.by, codes, strict=True))
        links = tuple(look.drilled(d.name, int(code)) for d, code in zip(look.by, codes, strict=True))
        yield BarLine(labels, round(float(counts[place])), float(low[place]), float(high[place]), "", links)


def _heat(look: Look, seen: Seen) -> Heat | None:
    """A map of two dimensions, the longer one to the right."""
    counts = seen.counts
    if counts.ndim != 2 or counts.size > MOST_HEAT:
        return None
    first, second = look.by
    if counts.shape[0] > counts.shape[1]:
        counts, first, second = counts.T, second, first
    error = "modelled" if seen.half is None else f"± {number(seen.half, 3)}"
    return heat_map(
        counts,
        (first.name, first.labels),
        (second.name, second.labels),
        lambda x: f"{number(round(x))} {error}",
        lambda x: number(round(x)),
    )
