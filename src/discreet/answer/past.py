"""What was released: noisy counts of regions, and whole GROUP BYs. Public, so that whatever is made of it is free.

The same nouns hold sums of an attribute, in grains: one collection for each quantity that is measured.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.deadline import still_wanted
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.query.cells import Labelling
from discreet.query.marginals import Source
from discreet.query.query import Count, Group, Sum, group_name

PIECEMEAL_CELLS = 4096
"""A GROUP BY whose groups are no boxes is kept group by group, up to this many; beyond, it is not used."""


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """A released number: the count of `where` plus noise with this variance and no bias."""

    where: Region
    value: float
    variance: float
    source: Source

    @property
    def box(self) -> Box:
        """The region, where it is one box; only such answers take part in relaxation."""
        [box] = self.where.boxes
        return box


@dataclass(frozen=True, eq=False)
class CountBlock:
    """A released GROUP BY: a noisy count of every group within `where`, independent, each with this variance.

    `by` holds the axes that it is grouped by, ascending, and `values` has one axis for each, over where's own codes.
    """

    where: Box
    by: tuple[int, ...]
    values: NDArray[np.int64]
    variance: float
    source: Source

    def __post_init__(self) -> None:
        extents = tuple(self.where.high[axis] - self.where.low[axis] + 1 for axis in self.by)
        if list(self.by) != sorted(set(self.by)) or self.values.shape != extents:
            raise ValueError(f"groups of shape {self.values.shape} by axes {self.by} do not fit {self.where}")

    def aligned(self, box: Box) -> bool:
        """Whether a box is a union of groups: inside `where`, and as wide as it on every axis that has no groups."""
        grouped = set(self.by)
        return self.where.covers(box) and all(
            axis in grouped or (low, high) == (self.where.low[axis], self.where.high[axis])
            for axis, (low, high) in enumerate(zip(box.low, box.high, strict=True))
        )

    def total(self, box: Box) -> PastAnswer:
        """The sum of the groups that make up an aligned box."""
        start = self.where.low
        groups = self.values[tuple(slice(box.low[a] - start[a], box.high[a] - start[a] + 1) for a in self.by)]
        return PastAnswer(Region((box,)), int(groups.sum()), groups.size * self.variance, self.source)

    def variance_of(self, box: Box) -> float:
        """The variance of that sum."""
        return prod(box.high[axis] - box.low[axis] + 1 for axis in self.by) * self.variance


def past_answers(
    query: Count | Sum, units: NDArray[np.int64], variance: float, source: Source, domain: Domain
) -> Iterator[PastAnswer | CountBlock]:
    """A measurement's answer as what later answers can be made of. `units` and `variance` are in the query's grain."""
    if not query.by:
        yield PastAnswer(query.where, int(units), variance, source)
        return
    if any(isinstance(group, Labelling) for group in query.by):
        yield from _group_by_group(query, units, variance, source, domain)
        return
    axes = [domain.axis(group_name(group)) for group in query.by]
    by = tuple(sorted(axes))
    values = np.transpose(units, [axes.index(axis) for axis in by])
    views = [tuple(box.slices[axis] for axis in by) for box in query.where.boxes]
    if _disjoint(views, values.shape):
        for box, view in zip(query.where.boxes, views, strict=True):
            yield CountBlock(box, by, values[view], variance, source)
    elif values.size <= PIECEMEAL_CELLS:
        yield from _group_by_group(query, units, variance, source, domain)


def _disjoint(views: list[tuple[slice, ...]], shape: tuple[int, ...]) -> bool:
    """Whether no group belongs to two boxes, so that every group is one box."""
    if len(views) < 2:
        return True
    touched = np.zeros(shape, dtype=np.bool_)
    for view in views:
        if touched[view].any():
            return False
        touched[view] = True
    return True


def _group_by_group(
    query: Count | Sum, units: NDArray[np.int64], variance: float, source: Source, domain: Domain
) -> Iterator[PastAnswer]:
    for codes, region in groups_of(query.by, query.where, domain):
        yield PastAnswer(region, int(units[codes]), variance, source)


def groups_of(
    by: tuple[Group, ...], where: Region, domain: Domain, everyone: bool = False
) -> Iterator[tuple[tuple[int, ...], Region]]:
    """The codes of each group with its region, in order; groups without a point are left out unless asked for."""
    if not by:
        yield (), where
        return
    if len(where.boxes) == 1 and not everyone and all(isinstance(group, str) for group in by):
        yield from _groups_of_box([domain.axis(group_name(group)) for group in by], where.boxes[0])
        return
    first, *rest = by
    if isinstance(first, str):
        sections = where.sections(domain.axis(first), domain[first].size)
    else:
        sections = iter(first.sections(where, domain))
    for code, part in enumerate(sections):
        if part or everyone:
            for codes, region in groups_of(tuple(rest), part, domain, everyone):
                yield (code, *codes), region


def groups_to_plan(by: tuple[Group, ...], where: Region, domain: Domain) -> Iterator[tuple[tuple[int, ...], Region]]:
    """The same for whoever plans with them, and may be told between two groups that nobody wants it any more."""
    for group in groups_of(by, where, domain):
        still_wanted()
        yield group


def _groups_of_box(axes: list[int], box: Box) -> Iterator[tuple[tuple[int, ...], Region]]:
    """The same for the groups of one box by some axes."""
    low, high = list(box.low), list(box.high)
    for codes in product(*(range(box.low[axis], box.high[axis] + 1) for axis in axes)):
        for axis, code in zip(axes, codes, strict=True):
            low[axis] = high[axis] = code
        yield codes, Region((Box(tuple(low), tuple(high)),))
