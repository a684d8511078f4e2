"""Cuboids rolled up by the hierarchies of their dimensions: sums of neighbouring cells, with intervals of their own.

A group of a hierarchy is a run of neighbouring codes, so that the sum of its cells is a box, and least squares over all
sources says how exact it is: never worse than adding up the errors of its cells. Codes in no group stay by themselves;
all lines together are the cuboid without the dimension.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.cube.dimension import Dimension
from discreet.cube.interval import halfwidth, variance_of
from discreet.errors import UnsupportedQuery
from discreet.noise.spread import require_confidence

if TYPE_CHECKING:
    import xarray as xr

    from discreet.cube.cube import Cube

SUFFIX = "_group"


@dataclass(frozen=True)
class Run:
    """Neighbouring codes that are one line: what it is called, the first of them, and how many."""

    label: str
    first: int
    codes: int


@dataclass(frozen=True)
class GroupedCuboid:
    """Sums by groups, the variance of each, and bounds that each lies within with the probability asked for."""

    sums: "xr.DataArray"
    low: "xr.DataArray"
    high: "xr.DataArray"
    variance: "xr.DataArray"


def groups_named(dimensions: Mapping[str, Dimension], name: str) -> tuple[str, tuple[Run, ...]] | None:
    """A dimension and its runs by what they are called: NAME_group has its narrowest groups, NAME_group1 the widest,
    NAME_group2 those in them. None where nothing is called so."""
    if name in dimensions:
        whole = dimensions[name].labels
        return name, tuple(Run(label, code, 1) for code, label in enumerate(whole))
    stem, found, level = name.rpartition(SUFFIX)
    dimension = dimensions.get(stem) if found else None
    if dimension is None or not dimension.groups:
        return None
    if not level:
        return stem, _runs(dimension, len(dimension.groups))
    deep = int(level) if level.isdecimal() and len(level) < 4 else 0
    return (stem, _runs(dimension, deep)) if 1 <= deep <= len(dimension.groups) else None


def _runs(dimension: Dimension, level: int) -> tuple[Run, ...]:
    """The lines of a dimension by its groups down to a level. Groups of one name are told apart by their paths."""
    paths = [
        tuple(one for one in (groups[code] for groups in dimension.groups[:level]) if one is not None)
        for code in range(len(dimension.labels))
    ]
    starts = [code for code in range(len(paths)) if not code or not paths[code] or paths[code] != paths[code - 1]]
    names = [paths[code][-1] if paths[code] else dimension.labels[code] for code in starts]
    shown = [
        " / ".join(paths[code]) if paths[code] and names.count(name) > 1 else name
        for code, name in zip(starts, names, strict=True)
    ]
    ends = [*starts[1:], len(paths)]
    return tuple(Run(name, first, end - first) for name, first, end in zip(shown, starts, ends, strict=True))


def grouped(cube: "Cube", names: tuple[str, ...], confidence: float = 0.95) -> GroupedCuboid:
    """A cuboid by dimensions or their groups, its axes in the order of the names."""
    import xarray as xr

    require_confidence(confidence)
    found = runs_of(cube, names)
    plain = tuple(dimension for dimension, _ in found)
    runs = [lines for _, lines in found]
    coords = {name: [run.label for run in lines] for name, lines in zip(names, runs, strict=True)}

    def labelled(values: NDArray[np.float64]) -> "xr.DataArray":
        return xr.DataArray(values, dims=list(names), coords=coords, name=cube.plan.noise.measure.name)

    sums = labelled(_summed(cube[plain].values, runs))
    centre = labelled(_summed(cube.least_squares[plain].values, runs))
    width, variance = _errors(cube, plain, runs, confidence)
    low, high = centre - width, centre + width
    if cube.counts != "real":
        low, high = low.clip(min=0), high.clip(min=0)
    return GroupedCuboid(sums, low, high, labelled(variance))


def runs_of(cube: "Cube", names: tuple[str, ...]) -> list[tuple[str, tuple[Run, ...]]]:
    """What dimensions or groups are meant by some names: each a dimension, and its lines."""
    dimensions = {str(dimension.name): dimension for dimension in cube.dimensions if dimension.name in cube.names}
    found = [_required(dimensions, name) for name in names]
    if len({dimension for dimension, _ in found}) < len(found):
        raise UnsupportedQuery("a dimension and its groups cannot be told apart in one cuboid; name one of them")
    return found


def _required(dimensions: Mapping[str, Dimension], name: str) -> tuple[str, tuple[Run, ...]]:
    found = groups_named(dimensions, name)
    if found is None:
        has = [f"{own}{SUFFIX}" for own, dimension in dimensions.items() if dimension.groups]
        near = get_close_matches(name, [*dimensions, *has], 1)
        said = f"did you mean {near[0]}? " if near else ""
        raise UnsupportedQuery(f"the cube has no {name!r}; {said}there are {', '.join((*dimensions, *has)) or 'none'}")
    return found


def _summed(cells: NDArray[np.float64], runs: list[tuple[Run, ...]]) -> NDArray[np.float64]:
    for axis, lines in enumerate(runs):
        cells = np.add.reduceat(cells, [run.first for run in lines], axis=axis)
    return cells


def _errors(
    cube: "Cube", names: tuple[str, ...], runs: list[tuple[Run, ...]], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The half-width and the variance of every sum: alike where as many codes are added up."""
    plan, mask = cube.plan, cube.asked_mask(names)
    axes = [plan.lattice.mask(name).bit_length() - 1 for name in names]
    distinct = [np.unique([run.codes for run in lines], return_inverse=True) for lines in runs]
    shape = tuple(lengths.size for lengths, _ in distinct)
    width, variance = np.zeros(shape), np.zeros(shape)
    for place in np.ndindex(shape):
        lengths = [int(found[at]) for (found, _), at in zip(distinct, place, strict=True)]
        added_up = {axis: codes for axis, codes in zip(axes, lengths, strict=True) if codes > 1}
        width[place] = halfwidth(plan, mask, cube.consistent, confidence, added_up)
        variance[place] = variance_of(plan, mask, cube.consistent, added_up)
    lines_of = np.ix_(*(lines for _, lines in distinct))
    return width[lines_of], variance[lines_of]
