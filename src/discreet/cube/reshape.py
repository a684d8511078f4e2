"""A published cube in another shape: nearest in another norm, nowhere below 0, in whole numbers. Public, and free.

All of it is computed from the sources that the cube holds. Intervals stay those of least squares, whose error is known:
they hold the truth as often as they say, but may not hold the value that another shape gives a cell.
"""

from dataclasses import replace
from math import prod, sqrt
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.cube.consistency import reconcile
from discreet.cube.counts import countable
from discreet.cube.norms import NormBound, nearest, norm_bound, require_small
from discreet.cube.plan import CubePlan
from discreet.cube.shape import Counts, Norm
from discreet.cube.variances import exactness_of
from discreet.cube.wide import is_wide
from discreet.errors import UnsupportedQuery
from discreet.noise.bits import SeededBits
from discreet.noise.law import Noise
from discreet.query.lattice import Lattice

if TYPE_CHECKING:
    from discreet.cube.cube import Cube

Cells = NDArray[np.float64]
Linear = Literal["l1", "linf"]


def require_shape(plan: CubePlan, norm: Norm, counts: Counts, consistent: bool = True) -> None:
    """Refuse, before anything is spent, a shape that a plan's cube cannot have."""
    if norm not in get_args(Norm):
        raise UnsupportedQuery(f"a norm is one of {', '.join(get_args(Norm))}, not {norm!r}")
    if counts not in get_args(Counts):
        raise UnsupportedQuery(f"counts are one of {', '.join(get_args(Counts))}, not {counts!r}")
    if (norm, counts) == ("l2", "real"):
        return
    asked = f"norm {norm}" if counts == "real" else f"{counts} counts"
    if not consistent:
        raise UnsupportedQuery(f"{asked} are for a consistent cube; leave it so")
    if norm != "l2" and plan.basis == "residuals":
        raise UnsupportedQuery(f"{asked} are not made of residuals; plan fewer dimensions, or with planner all")
    if norm != "l2" and is_wide(plan):
        raise UnsupportedQuery(f"{asked} need all cuboids in one array; publish fewer dimensions")
    if plan.known:
        raise UnsupportedQuery(f"{asked} would not agree with the facts any more; plan without facts, or leave it so")
    if plan.noise.measure.of is not None and counts != "real":
        raise UnsupportedQuery("sums may be below 0 and have parts: whole and nonnegative are for counts")
    if _needs_model(plan):
        _require_model(plan, asked)
    if norm != "l2":
        require_small(plan.lattice, _laws(plan), norm)


def _needs_model(plan: CubePlan) -> bool:
    """Whether a plan's cube has no base cells of its own, of which counts could be made."""
    return plan.basis == "residuals" or is_wide(plan)


def _require_model(plan: CubePlan, asked: str) -> None:
    from discreet.cube.modelled import require_model

    try:
        require_model(plan)
    except UnsupportedQuery as error:
        raise UnsupportedQuery(f"{asked} of this cube are read off a model: {error}") from None


def _read_off_model(cube: "Cube", counts: Counts) -> dict[int, Cells]:
    """The published cuboids of the cube's model; or of as many whole rows, near it in every cuboid of up to three
    dimensions: so roll-ups fit, and nothing is below 0."""
    from discreet.cube.modelled import model_of
    from discreet.model.rows import draw_rows

    model, published = cube.model or model_of(cube), cube.plan.published
    if counts == "nonnegative":
        return model.cuboids(published)
    # The same cube has the same whole counts.
    codes = draw_rows(model, round(model.total), SeededBits(cube.origin.charge))
    lattice, cuboids = cube.plan.lattice, {}
    for mask in published:
        own = [codes[:, axis].astype(np.int64) for axis in lattice.axes(mask)]
        places = np.ravel_multi_index(own, lattice.shape(mask)) if own else np.zeros(len(codes), np.int64)
        counted = np.bincount(places, minlength=lattice.cells(mask)).astype(np.float64)
        cuboids[mask] = counted.reshape(lattice.shape(mask))
    return cuboids


def reshaped(cube: "Cube", norm: Norm, counts: Counts) -> "Cube":
    """The same cube, nearest to its sources in this norm, with counts like these. Roll-ups fit exactly."""
    plan, lattice = cube.plan, cube.plan.lattice
    if (norm, counts) == ("l2", "real"):
        return cube.least_squares
    require_shape(plan, norm, counts, cube.consistent)
    if _needs_model(plan):
        return replace(cube, cuboids=_read_off_model(cube, counts), norm=norm, counts=counts)
    if norm == "l2":
        base = _least_squares_base(cube)
    else:
        base = float(plan.noise.measure.grain) * nearest(lattice, list(cube.sources.items()), _laws(plan), norm)
    if counts != "real":
        least_squares = cube.least_squares.cuboids if norm == "l2" else None
        base = countable(base, _deviations(plan), whole=counts == "whole", cuboids=least_squares)
    array = _rolled_up(lattice, base)
    array.flags.writeable = False
    cuboids = {mask: lattice.cuboid_of(array, mask) for mask in plan.published}
    return replace(cube, cuboids=cuboids, norm=norm, counts=counts)


def bound_of(plan: CubePlan, norm: Linear, probability: float = 0.95) -> NormBound:
    """How near the truth the nearest cube of a plan is. [cubes, Theorems 4.2.1 and 4.2.2]"""
    return norm_bound(plan.lattice, _laws(plan), norm, probability)


def _laws(plan: CubePlan) -> dict[int, Noise]:
    return {mask: plan.noise.law_in_grains(share) for mask, share in zip(plan.source_masks, plan.shares, strict=True)}


def _least_squares_base(cube: "Cube") -> Cells:
    """The base cells of least squares; what no source tells of them is taken to be 0."""
    lattice, plan = cube.plan.lattice, cube.plan
    if lattice.base in cube.least_squares.cuboids:
        return cube.least_squares.cuboids[lattice.base]
    array = reconcile(lattice, cube.sources.items(), plan.source_variances, unknown=0.0)
    return lattice.cuboid_of(array, lattice.base)


def _deviations(plan: CubePlan) -> dict[int, float]:
    masks = range(1 << plan.lattice.dimensions)
    variances = exactness_of(plan.lattice, plan.source_variances).variances(masks, consistent=True).tolist()
    return {mask: sqrt(variance) for mask, variance in zip(masks, variances, strict=True) if np.isfinite(variance)}


def _rolled_up(lattice: Lattice, base: Cells) -> Cells:
    """The one array: slot 0 of every axis is the sum of the others."""
    array = np.zeros(lattice.cube_shape)
    array[(slice(1, None),) * lattice.dimensions] = base
    for axis, slots in enumerate(array.shape):
        lines = array.reshape(prod(array.shape[:axis]), slots, -1)
        lines[:, 0] = lines[:, 1:].sum(axis=1)
    return array
