"""Pictures of plans and cubes: what the picture room needs to know of them, in plain numbers."""

from pathlib import Path

from discreet.cube.cube import Cube
from discreet.cube.interval import halfwidth
from discreet.cube.plan import CubePlan
from discreet.errors import PictureError
from discreet.exact import equals_text
from discreet.picture.bars import cuboid_picture
from discreet.picture.lattice import Node, lattice_picture
from discreet.picture.save import save_picture
from discreet.query.lattice import Label

MOST_DRAWN = 4096


def plot_plan(plan: CubePlan, path: str | Path) -> None:
    """Draw the lattice: the published and the measured cuboids, shares, and how far off each may be."""
    lattice, shares = plan.lattice, dict(zip(plan.source_masks, map(float, plan.shares), strict=True))
    masks = sorted({*plan.published, *plan.source_masks})
    if len(masks) > MOST_DRAWN:
        raise PictureError(f"a lattice of {len(masks):,} cuboids is too large to draw; at most {MOST_DRAWN:,} are")
    nodes = [Node(frozenset(lattice.axes(mask)), halfwidth(plan, mask, True, 0.95), shares.get(mask)) for mask in masks]
    names = [str(name) for name in lattice.names]
    sizes = " × ".join(f"{name} {size}" for name, size in zip(names, lattice.sizes, strict=True))
    note = f"{plan.planner}, {plan.noise.budget.symbol} {equals_text(plan.noise.amount)}, {plan.noise.neighbours}: "
    note += f"{len(shares):,} of {len(masks):,} cuboids are measured"
    save_picture(lattice_picture(names, nodes, f"The cube {sizes}", note), path)


def plot_cuboid(cube: Cube, *names: Label, path: str | Path, confidence: float = 0.95) -> None:
    """Draw a cuboid of one or two dimensions, with how far off its cells may be."""
    cuboid, width = cube[names], cube.halfwidth(*names, confidence=confidence)
    dimensions = [(str(name), [str(label) for label in cuboid.coords[name].values]) for name in cuboid.dims]
    title = f"{cube.origin.table} by {' and '.join(name for name, _ in dimensions)}"
    promise = f"{cube.guarantee.symbol} {equals_text(cube.guarantee.amount)}, {cube.guarantee.neighbours}"
    least_squares = "" if cube is cube.least_squares else "after least squares, "
    note = f"{least_squares}each {cuboid.name} is ±{width:,.0f} at {100 * confidence:.6g}%; {promise}"
    save_picture(cuboid_picture(cuboid.values, dimensions, width, title, note), path)
