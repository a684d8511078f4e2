"""Cube plans and cubes as tables for terminals."""

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

import numpy as np

from discreet.cli.present import out, pairs, table
from discreet.domain.attribute import equals_text

if TYPE_CHECKING:
    import xarray as xr

    from discreet.cube.cube import Cube
    from discreet.cube.plan import CubePlan

MOST_CUBOIDS = 64
"""Plans with more cuboids than this show those that are measured, and the others by level."""
MOST_CELLS = 200
WIDEST_LEVEL = 72


def show_plan(plan: "CubePlan") -> None:
    """The lattice, level by level, then the cuboids with their shares and errors."""
    from discreet.cube.interval import halfwidth

    lattice, noise = plan.lattice, plan.noise
    shares = dict(zip(plan.source_masks, plan.shares, strict=True))
    masks = sorted({*plan.published, *plan.source_masks}, key=lambda mask: (mask.bit_count(), lattice.axes(mask)))
    widths = {mask: halfwidth(plan, mask, True, 0.95) for mask in masks}
    out.print(
        f"[bold]{plan.planner}[/]: {len(shares):,} of {len(masks):,} cuboids are measured, "
        f"{noise.symbol} {equals_text(noise.budget)}, neighbours: {noise.neighbours}"
    )
    levels = [
        _level(level, {mask: widths[mask] for mask in masks if mask.bit_count() == level}, shares)
        for level in sorted({mask.bit_count() for mask in masks})
    ]
    table("", ("dimensions", "cuboids (● measured)", "± at 95%"), levels, right=("dimensions", "± at 95%"))
    out.print()
    listed = masks if len(masks) <= MOST_CUBOIDS else sorted(shares, key=lambda mask: -shares[mask])
    lines = [
        (
            " × ".join(map(str, lattice.names_of(mask))) or "total",
            f"{lattice.cells(mask):,}",
            f"{float(shares[mask]):.1%}" if mask in shares else "",
            f"{widths[mask]:,.0f}",
        )
        for mask in listed
    ]
    numbers = ("cells", f"share of {noise.symbol}", "± at 95%")
    table("" if listed is masks else "measured", ("cuboid", *numbers), lines, right=numbers)
    pairs(
        "",
        [
            ("largest variance", f"{plan.max_variance_consistent:,.1f} ({plan.max_variance:,.1f} without consistency)"),
            ("mean variance", f"{plan.mean_variance_consistent:,.1f} ({plan.mean_variance:,.1f} without consistency)"),
        ],
    )


def _level(level: int, widths: Mapping[int, float], measured: Container[int]) -> tuple[object, ...]:
    """The cuboids of so many dimensions: a dot each, and the least and the largest error."""
    dots = "".join("●" if mask in measured else "○" for mask in widths)
    shown = dots if len(dots) <= WIDEST_LEVEL else f"{len(dots):,} cuboids, {dots.count('●'):,} measured"
    errors = dict.fromkeys(f"{width:,.0f}" for width in (min(widths.values()), max(widths.values())))
    return level, shown, " to ".join(errors)


def show_cube(cube: "Cube") -> None:
    """What a cube holds, what it promises and where it comes from."""
    about = cube.describe()
    sizes = " × ".join(f"{name} {size}" for name, size in about.pop("dimensions").items())
    rows = [(name, f"{value:,}" if type(value) is int else value) for name, value in about.items()]
    pairs(f"{about['table']}: {sizes}", rows)


def show_cuboid(cuboid: "xr.DataArray", halfwidth: float, confidence: float) -> None:
    """Each cell with its interval; the first ones of a large cuboid."""
    names = [str(name) for name in cuboid.dims]
    labels = [cuboid.coords[name].values for name in names]
    rows: list[tuple[str, ...]] = []
    for cell in np.ndindex(cuboid.shape):
        if len(rows) == MOST_CELLS:
            break
        words = [str(label[code]) for label, code in zip(labels, cell, strict=True)]
        rows.append((*words, f"{round(float(cuboid.values[cell])):,}", f"± {halfwidth:,.0f}"))
    margin = f"at {100 * confidence:.6g}%"
    table("", (*names, "count", margin), rows, right=("count", margin))
    if cuboid.size > len(rows):
        out.print(f"[dim]and {cuboid.size - len(rows):,} more: --json prints all, cuboids.parquet holds them[/]")
