"""Cube plans and cubes as tables for terminals."""

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

    lattice, shares = plan.lattice, dict(zip(plan.source_masks, plan.shares, strict=True))
    masks = sorted({*plan.published, *plan.source_masks}, key=lambda mask: (mask.bit_count(), lattice.axes(mask)))
    widths = {mask: halfwidth(plan, mask, True, 0.95) for mask in masks}
    out.print(
        f"[bold]{plan.planner}[/]: {len(shares):,} of {len(masks):,} cuboids are measured, "
        f"{plan.noise.symbol} {equals_text(plan.noise.budget)}, neighbours: {plan.noise.neighbours}"
    )
    levels = sorted({mask.bit_count() for mask in masks})
    rows = []
    for level in levels:
        here = [mask for mask in masks if mask.bit_count() == level]
        dots = "".join("●" if mask in shares else "○" for mask in here)
        shown = dots if len(dots) <= WIDEST_LEVEL else f"{len(here):,} cuboids, {dots.count('●'):,} measured"
        least, most = min(widths[mask] for mask in here), max(widths[mask] for mask in here)
        rows.append(
            (level, shown, f"{least:,.0f}" if f"{least:,.0f}" == f"{most:,.0f}" else f"{least:,.0f} to {most:,.0f}")
        )
    table("", ("dimensions", "cuboids (● measured)", "± at 95%"), rows, right=("dimensions", "± at 95%"))
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
    numbers = ("cells", f"share of {plan.noise.symbol}", "± at 95%")
    table("" if listed is masks else "measured", ("cuboid", *numbers), lines, right=numbers)
    pairs(
        "",
        [
            ("largest variance", f"{plan.max_variance_consistent:,.1f} ({plan.max_variance:,.1f} without consistency)"),
            ("mean variance", f"{plan.mean_variance_consistent:,.1f} ({plan.mean_variance:,.1f} without consistency)"),
        ],
    )


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
        rows.append((*words, f"{cuboid.values[cell]:,.0f}", f"± {halfwidth:,.0f}"))
    margin = f"at {100 * confidence:.6g}%"
    table("", (*names, "count", margin), rows, right=("count", margin))
    if cuboid.size > len(rows):
        out.print(f"[dim]and {cuboid.size - len(rows):,} more: --json prints all, cuboids.parquet holds them[/]")
