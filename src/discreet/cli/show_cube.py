"""Cube plans and cubes as tables for terminals."""

from collections.abc import Callable, Container, Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.cli.present import out, pairs, table
from discreet.exact import equals_text

if TYPE_CHECKING:
    import xarray as xr

    from discreet.cube.cube import Cube
    from discreet.cube.plan import CubePlan

MOST_CUBOIDS = 64
"""Plans with more cuboids than this show those that are measured, and the others by level."""
MOST_SOURCES, FEW_SOURCES = 256, 16
"""Of more measured cuboids than the one, so many as the other are shown."""
MOST_CELLS = 200
WIDEST_LEVEL = 72
WORTH_SAYING = 10**8
"""Bytes of memory from which on a plan says what it needs."""


def show_plan(plan: "CubePlan") -> None:
    """The lattice, level by level, then the cuboids with their shares and errors."""
    from discreet.cube.interval import halfwidth
    from discreet.cube.memory import needed_bytes
    from discreet.cube.small_budget import can_choose

    lattice, noise, needed = plan.lattice, plan.noise, needed_bytes(plan)
    shares = dict(zip(plan.source_masks, plan.shares, strict=True))
    masks = sorted({*plan.published, *plan.source_masks}, key=lambda mask: (mask.bit_count(), lattice.axes(mask)))
    measured = f"{len(shares):,} of {len(masks):,} cuboids"
    if plan.basis == "residuals":
        measured = f"the residuals of {len(shares):,} cuboids"
    widths = {mask: halfwidth(plan, mask, True, 0.95) for mask in masks}
    out.print(
        f"[bold]{plan.planner}[/]: {measured} are measured, "
        f"{noise.budget.symbol} {equals_text(noise.amount)}, neighbours: {noise.neighbours}"
    )
    levels = [
        _level(level, {mask: widths[mask] for mask in masks if mask.bit_count() == level}, shares)
        for level in sorted({mask.bit_count() for mask in masks})
    ]
    table("", ("dimensions", "cuboids (● measured)", "± at 95%"), levels, right=("dimensions", "± at 95%"))
    out.print()
    most = MOST_SOURCES if len(shares) <= MOST_SOURCES else FEW_SOURCES
    largest = sorted(shares, key=lambda mask: -shares[mask])[:most]
    listed = masks if len(masks) <= MOST_CUBOIDS else largest
    lines = [
        (
            " × ".join(map(str, lattice.names_of(mask))) or "total",
            f"{lattice.cells(mask):,}",
            _share_text(float(shares[mask])) if mask in shares else "",
            f"{widths[mask]:,.0f}",
        )
        for mask in listed
    ]
    numbers = ("cells", f"share of {noise.budget.symbol}", "± at 95%")
    table("" if listed is masks else "measured", ("cuboid", *numbers), lines, right=numbers)
    if listed is largest and len(shares) > len(largest):
        out.print(f"[dim]and {len(shares) - len(largest):,} more with no larger shares: --json prints all[/]")
    known = [", ".join(map(str, plan.lattice.names_of(mask))) or "the total" for mask, _ in plan.known]
    pairs(
        "",
        [
            *([("known exactly", "; ".join(known))] if known else []),
            *([("then", _rounds_text(plan))] if plan.candidates else []),
            *([("best for", _rows_text(plan))] if can_choose(plan) else []),
            ("largest variance", _variance_text(plan, plan.max_variance_consistent, plan.max_variance)),
            ("mean variance", _variance_text(plan, plan.mean_variance_consistent, plan.mean_variance)),
            *_aims(plan),
            *([("memory to publish", f"{needed / 1e9:,.1f} GB")] if needed >= WORTH_SAYING else []),
        ],
    )


def _rounds_text(plan: "CubePlan") -> str:
    """What comes after the first step of a plan whose cuboids are chosen as one goes."""
    left = _share_text(1 - float(sum(plan.shares)))
    return (
        f"{left} of {plan.noise.budget.symbol} for rounds: each chooses one of {len(plan.candidates):,} cuboids, and "
        "measures it; every step is a charge"
    )


def _rows_text(plan: "CubePlan") -> str:
    """How many rows a fixed plan for models is for."""
    from discreet.cube.small_budget import enough_rows

    return f"{_rounded_up(enough_rows(plan)):,} rows and more; for fewer, --planner adaptive"


def _rounded_up(rows: int) -> int:
    """To two digits."""
    step = int("1" + "0" * max(len(str(rows)) - 2, 0))
    return -(-rows // step) * step


def _variance_text(plan: "CubePlan", consistent: float, otherwise: float) -> str:
    """A variance, and what it would be without consistency; a cube of residuals is never without."""
    return f"{consistent:,.1f}" + (f" ({otherwise:,.1f} without consistency)" if plan.basis == "cuboids" else "")


def _aims(plan: "CubePlan") -> list[tuple[str, str]]:
    """What was reached of what was expected, and within the bound, where there is such."""
    rows = []
    if plan.expected:
        rows.append(("largest ratio", f"{plan.ratios().max():,.4g} of the variance that was expected"))
    if plan.bound is not None:
        whole, what = sum(plan.weights), "ratio" if plan.expected else "variance"
        rows.append(("precise", f"{plan.precise_weight():,.6g} of {whole:,.6g}: {what} at most {plan.bound:,.6g}"))
    return rows


def _share_text(share: float) -> str:
    return f"{share:.1%}" if share >= 0.0005 else f"{share:.2g}"


def _level(level: int, widths: Mapping[int, float], measured: Container[int]) -> tuple[object, ...]:
    """The cuboids of so many dimensions: a dot each, and the least and the largest error."""
    dots = "".join("●" if mask in measured else "○" for mask in widths)
    shown = dots if len(dots) <= WIDEST_LEVEL else f"{len(dots):,} cuboids, {dots.count('●'):,} measured"
    errors = dict.fromkeys(f"{width:,.0f}" for width in (min(widths.values()), max(widths.values())))
    return level, shown, " to ".join(errors)


def show_cube(cube: "Cube") -> None:
    """What a cube holds, what it promises and where it comes from."""
    from discreet.cube.cube import dimensions_in_words

    about = cube.describe()
    sizes = dimensions_in_words(about.pop("dimensions"))
    rows = [(name, f"{value:,}" if type(value) is int else value) for name, value in about.items()]
    pairs(f"{about['table']}: {sizes}", rows)


def show_cuboid(cuboid: "xr.DataArray", low: "xr.DataArray", high: "xr.DataArray", confidence: float) -> None:
    """Each cell with its interval; the first ones of a large cuboid."""
    shown, ends = _in_words(cuboid.values), (_in_words(low.values), _in_words(high.values))
    width = np.unique(np.round([high - cuboid, cuboid - low], 6))
    plain = width.size == 1
    names = [str(name) for name in cuboid.dims]
    labels = [cuboid.coords[name].values for name in names]
    rows: list[tuple[str, ...]] = []
    for cell in product(*map(range, cuboid.shape)):
        if len(rows) == MOST_CELLS:
            break
        words = [str(label[code]) for label, code in zip(labels, cell, strict=True)]
        rows.append((*words, shown(cell), f"± {width[0]:,.0f}" if plain else f"{ends[0](cell)} to {ends[1](cell)}"))
    margin, what = f"at {100 * confidence:.6g}%", str(cuboid.name)
    table("", (*names, what, margin), rows, right=(what, margin))
    if cuboid.size > len(rows):
        out.print(f"[dim]and {cuboid.size - len(rows):,} more: --json prints all of them[/]")


def _in_words(values: NDArray[np.float64]) -> Callable[[tuple[int, ...]], str]:
    """Cells as whole numbers; with digits behind the point where all are small and some are not whole."""
    finite = values[np.isfinite(values)]
    small = finite.size and np.abs(finite).max() < 100 and (finite != np.rint(finite)).any()
    return lambda cell: "–" if np.isnan(values[cell]) else f"{values[cell]:,.{2 if small else 0}f}"
