"""Numbers that need not be measured: what is public makes them, as sharply as they are asked for."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.answer.alike import BestOfGroups, best_of_groups, is_untold
from discreet.answer.best import Best
from discreet.answer.desk import Desk
from discreet.answer.estimate import Estimate, Kind, Picked, in_grains
from discreet.answer.grid import AnyGrid, Cell, Codes, Grid, GridNumbers, Numbers, NumbersByLaw
from discreet.answer.independent import are_independent
from discreet.answer.index import Answers
from discreet.answer.labelled import LabelledBlock, LabelledGrid, are_alike
from discreet.answer.past import CountBlock, PastAnswer
from discreet.answer.quantiles import Histogram, histogram_of, labelled_histogram
from discreet.domain.region import Region
from discreet.noise.law import Exponential, Gaussian, Laplace, Law, Noise
from discreet.noise.spread import Draws
from discreet.query.query import Count, Distinct, People, ProfileSum, Quantile, Query, Sum

ROUNDING = 1e-9
"""Variances this close to each other, relatively, may be equal."""


def public(query: Count | Sum, region: Region, found: Best, desk: Desk, kind: Kind | None = None) -> Estimate:
    """The best that is public, as an answer."""
    own: Kind = kind or ("repeated" if found.is_one_draw else "derived")
    estimate = Estimate(found.value, found.variance, own, region, found.draws, sources=found.sources, facts=found.facts)
    return in_grains(estimate, desk.grain(query))


def free_numbers(query: Query, groups: Mapping[Codes, Region], law: Law, desk: Desk) -> list[Estimate | Picked | None]:
    """Numbers that need not be measured, for what is public is as sharp as this law, which is in grains."""
    regions = [*groups.values()]
    if isinstance(query, Count | Sum) and isinstance(law, Laplace | Gaussian):
        enough = law.variance * (1 + ROUNDING)
        found = desk.known.best(query, regions, enough)
        return [
            public(query, region, one, desk) if one is not None and one.variance <= enough else None
            for region, one in zip(regions, found, strict=True)
        ]
    return [repeated_number((query, codes), region, law, desk) for codes, region in groups.items()]


def free_at_once(query: Query, grid: AnyGrid, law: Law, desk: Desk) -> Numbers | Grid | None:
    """The numbers of all groups, where tables tell of all of them alike; the grid itself where every group is to be
    measured, and None where that is found out group by group."""
    known = _all_again(query, grid, law, desk)
    if known is not None or not isinstance(grid, Grid) or not isinstance(query, Count | Sum):
        return known
    past = desk.known.of(query)
    if is_untold(grid, past):
        return grid
    found = best_of_groups(grid, past, desk.known.noise)
    if found is None or isinstance(law, Exponential):
        return None
    is_sharp = {one.variance <= law.variance * (1 + ROUNDING) for one in found.laws}
    if len(is_sharp) > 1:
        return None
    return public_groups(query, grid, found, desk) if is_sharp == {True} else grid


def _all_again(query: Query, grid: AnyGrid, law: Law, desk: Desk) -> GridNumbers | None:
    """What `free_numbers` finds for every group, where all that is public is such groups of the same."""
    if not isinstance(query, Count | Sum) or isinstance(law, Exponential) or not is_as_measured(query, desk):
        return None
    found = _same_groups(grid, desk.known.of(query))
    if found is None or found[0].variance > law.variance:
        return None
    block, units = found
    draws, sources = (Draws(1.0, desk.known.noise(block.source)),), frozenset({block.source})
    one = Estimate(1, block.variance, "repeated", query.where, draws, sources=sources)
    return GridNumbers(grid, units, in_grains(one, desk.grain(query)))


def repeated_number(cell: Cell, region: Region, law: Law, desk: Desk) -> Estimate | Picked | None:
    """A number that was measured as itself, as sharply as this law, which is in grains."""
    query, codes = cell
    match query, law:
        case Quantile(), Exponential():
            found = desk.known.quantile(replace(query, where=region, by=()))
            return Picked(found[1], found[0], "repeated") if found is not None and found[0] <= law.scale else None
        case ((Count() | Sum()), (Laplace() | Gaussian())):
            return _again(query, desk.known.of(query).measured(region), region, law, desk)
        case ((Distinct() | People() | ProfileSum()), (Laplace() | Gaussian())):
            return _again(query, desk.known.distinct(query, codes, region), region, law, desk)
    return None


def _again(query: Query, same: PastAnswer | None, region: Region, law: Noise, desk: Desk) -> Estimate | None:
    """A released number as it is, where it is as sharp as this law."""
    if same is None or same.variance > law.variance:
        return None
    draws, sources = (Draws(1.0, desk.known.noise(same.source)),), frozenset({same.source})
    repeated = Estimate(same.value, same.variance, "repeated", region, draws, sources=sources)
    return in_grains(repeated, desk.grain(query))


def public_groups(query: Count | Sum, grid: Grid, found: BestOfGroups, desk: Desk, kind: Kind | None = None) -> Numbers:
    """`public`, of all groups."""
    laws = tuple(public(query, query.where, one, desk, kind) for one in found.laws)
    return (
        GridNumbers(grid, found.values, *laws) if len(laws) == 1 else NumbersByLaw(grid, found.values, laws, found.law)
    )


def _same_groups(grid: AnyGrid, past: Answers) -> tuple[CountBlock | LabelledBlock, NDArray[np.int64]] | None:
    """The table in which these very groups were released, and their numbers."""
    if isinstance(grid, LabelledGrid):
        labelled = next((one for one in past.labelled if one.has(grid)), None)
        return None if labelled is None else (labelled, grid.of_each(labelled.along(grid.by)))
    by = tuple(sorted(grid.axes))
    block = next((one for one in past.groups.blocks if one.by == by and one.aligned(grid.box)), None)
    if block is None:
        return None
    start = block.where.low
    found = block.values[tuple(slice(grid.box.low[a] - start[a], grid.box.high[a] - start[a] + 1) for a in by)]
    return block, np.transpose(found, [by.index(axis) for axis in grid.axes]).reshape(-1)


def _has_groups_alone(query: Count | Sum, desk: Desk) -> bool:
    """Whether nothing else is public of a quantity than tables of groups."""
    past = desk.known.of(query)
    return not (past.has_single_regions or past.residuals or desk.known.has_facts)


def says_nothing(query: Count | Sum, desk: Desk) -> bool:
    """Whether nothing is public of a quantity."""
    past = desk.known.of(query)
    return _has_groups_alone(query, desk) and not past.groups.blocks and not past.labelled


def is_as_measured(query: Count | Sum, desk: Desk) -> bool:
    """Whether the best that is public of each of its groups is the number as it was measured."""
    return not says_nothing(query, desk) and are_measured_alone(query, desk)


def are_measured_alone(query: Count | Sum, desk: Desk, *more: AnyGrid) -> bool:
    """Whether tables by the same groups are all that is public of a quantity, and none of their numbers, nor of `more`
    beside them, follows from others."""
    if not _has_groups_alone(query, desk):
        return False
    past = desk.known.of(query)
    tables = [(one.by, one.where) for one in past.groups.blocks]
    tables += [(tuple(sorted(grid.axes)), grid.box) for grid in more if isinstance(grid, Grid)]
    labelled = [*(one.grid for one in past.labelled), *(grid for grid in more if isinstance(grid, LabelledGrid))]
    if not labelled:
        return are_independent(tables)
    return not tables and are_alike(labelled) and are_independent([(grid.axes, grid.box) for grid in labelled])


def released_histogram(query: Quantile, region: Region, desk: Desk) -> Histogram | None:
    """The released counts of a region by what a quantile is of."""
    counts, noise = desk.known.of(Count(region)), desk.known.noise
    if not isinstance(query.of, str):
        return labelled_histogram(region, query.of, counts, noise, desk.domain)
    return histogram_of(region, desk.domain.axis(query.of), desk.domain[query.of].cells, counts, noise)
