"""Groups of expressions as arrays: which of them have a point is told by the tables of codes, and a group's region is
made when one is looked at. `grid.py` has the same for groups of attributes alone, which are all boxes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.answer.past import PastAnswer, groups_of
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.query.cells import MOST_CELLS, CellTable, Labelling
from discreet.query.marginals import Source
from discreet.query.query import Group, group_attribute

Codes = tuple[int, ...]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LabelledGrid(Mapping[Codes, Region]):
    """The groups of one box by expressions, and by attributes beside them, each with its region: those of `groups_of`,
    in their order. Requires that `labelled_grid` made it."""

    by: tuple[Group, ...]
    box: Box
    domain: Domain
    places: Ints
    """The groups that have a point, ascending: their places in an array over all codes of `by`."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(group_attribute(group, self.domain).size for group in self.by)

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The axes that the groups depend on, ascending."""
        return tuple(sorted({self.domain.axis(name) for group in self.by for name in _attributes(group)}))

    @cached_property
    def codes(self) -> Ints:
        """All codes: a line for each group, a column for each of `by`."""
        return np.stack(np.unravel_index(self.places, self.shape), axis=1).astype(np.int64)

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[Codes]:
        return map(tuple, self.codes.tolist())

    def __contains__(self, codes: object) -> bool:
        if not isinstance(codes, tuple) or len(codes) != len(self.by):
            return False
        if not all(0 <= code < size for code, size in zip(codes, self.shape, strict=True)):
            return False
        place = self.place(codes)
        return place < len(self) and int(self.places[place]) == self._flat(codes)

    def __getitem__(self, codes: Codes) -> Region:
        if codes not in self:
            raise KeyError(codes)
        region = Region((self.box,))
        for group, code in zip(self.by, codes, strict=True):
            if isinstance(group, Labelling):
                region = group.section(region, self.domain, code)
            else:
                axis = self.domain.axis(_attributes(group)[0])
                region = Region.of(
                    box.at(axis, code) for box in region.boxes if box.low[axis] <= code <= box.high[axis]
                )
        return region

    def regions(self) -> Iterator[Region]:
        """The regions of all groups, in order: sooner made together than one by one."""
        return (region for _, region in groups_of(self.by, Region((self.box,)), self.domain))

    def _flat(self, codes: Codes) -> int:
        found = 0
        for code, size in zip(codes, self.shape, strict=True):
            found = found * size + code
        return found

    def place(self, codes: Codes) -> int:
        """The place of a group among all."""
        return int(np.searchsorted(self.places, self._flat(codes)))

    def of_each(self, units: Ints) -> Ints:
        """From an array over all codes, the numbers of the groups, in order."""
        return units.reshape(-1)[self.places]

    def is_like(self, other: object) -> bool:
        """Whether another has the same groups, by the same."""
        return isinstance(other, LabelledGrid) and self.by == other.by and np.array_equal(self.places, other.places)


@dataclass(frozen=True, eq=False)
class LabelledBlock:
    """A released GROUP BY of expressions: a noisy number of every group, independent, each with this variance."""

    grid: LabelledGrid
    values: Ints
    """Over all codes of the groups."""
    variance: float
    source: Source

    def answers(self) -> Iterator[PastAnswer]:
        """The numbers one by one, as what later answers can be made of."""
        numbers = self.grid.of_each(self.values).tolist()
        for region, value in zip(self.grid.regions(), numbers, strict=True):
            yield PastAnswer(region, value, self.variance, self.source)

    @cached_property
    def place_of(self) -> dict[Region, int]:
        """The place of each group in the array over all codes, by its region."""
        return dict(zip(self.grid.regions(), self.grid.places.tolist(), strict=True))

    def has(self, grid: LabelledGrid) -> bool:
        """Whether it has the numbers of these groups."""
        return self.grid.box == grid.box and {*self.grid.by} == {*grid.by}

    def along(self, by: tuple[Group, ...]) -> Ints:
        """The numbers, with the groups in this order."""
        return self.values.transpose([self.grid.by.index(group) for group in by])

    def in_values(self, grid: LabelledGrid) -> Ints:
        """The places of another grid's groups in the array over all codes, where that `has` them."""
        order = [grid.by.index(group) for group in self.grid.by]
        places: Ints = np.ravel_multi_index(tuple(grid.codes[:, order].T), self.values.shape).astype(np.int64)
        return places


def are_alike(grids: Sequence[LabelledGrid]) -> bool:
    """Whether all have the same groups of the same codes: the other attributes' boxes are all that they differ in."""
    first, *more = grids
    return all({*first.by} == {*grid.by} and _ends(first) == _ends(grid) for grid in more)


def _ends(grid: LabelledGrid) -> list[tuple[int, int]]:
    return [(grid.box.low[axis], grid.box.high[axis]) for axis in grid.axes]


def labelled_grid(by: Sequence[Group], where: Region, domain: Domain) -> LabelledGrid | None:
    """The groups as a grid; None where they are not those of one box, where no expression is among them, or where
    there is too much to look at."""
    if len(where.boxes) != 1 or not any(isinstance(group, Labelling) for group in by):
        return None
    if not all(isinstance(group, str | Labelling) for group in by):
        return None
    box = where.boxes[0]
    parts = [_together([by[place] for place in places], box, domain) for places in _linked(by)]
    order = [place for places in _linked(by) for place in places]
    met = [part for part in parts if part is not None]
    if len(met) < len(parts):
        return None
    numbers = np.meshgrid(*(np.arange(len(part)) for part in met), indexing="ij")
    columns = np.concatenate([part[own.reshape(-1)] for part, own in zip(met, numbers, strict=True)], axis=1)
    shape = tuple(group_attribute(group, domain).size for group in by)
    places = np.sort(np.ravel_multi_index(tuple(columns[:, order.index(place)] for place in range(len(by))), shape))
    return LabelledGrid(tuple(by), box, domain, places.astype(np.int64))


def _attributes(group: Group) -> tuple[str, ...]:
    if isinstance(group, Labelling):
        return group.table.attributes
    assert isinstance(group, str)
    return (group,)


def _linked(by: Sequence[Group]) -> list[list[int]]:
    """The places of groups that have an attribute in common, directly or by others."""
    found: list[tuple[set[str], list[int]]] = []
    for place, group in enumerate(by):
        names, places = {*_attributes(group)}, [place]
        apart = []
        for other_names, other_places in found:
            if names & other_names:
                names, places = names | other_names, other_places + places
            else:
                apart.append((other_names, other_places))
        found = [*apart, (names, places)]
    return [places for _, places in found]


def _together(groups: Sequence[Group], box: Box, domain: Domain) -> Ints | None:
    """The codes of groups that occur together in a box: a line for each combination, a column for each group."""
    tables = [_table(group, domain) for group in groups]
    names = list(dict.fromkeys(name for table in tables for name in table.attributes))
    classes: list[list[Ints]] = []
    for name in names:
        axis = domain.axis(name)
        own = [table.classes[table.attributes.index(name)] for table in tables if name in table.attributes]
        joint = np.unique(np.stack([one[box.low[axis] : box.high[axis] + 1] for one in own]), axis=1)
        classes.append([*joint])
    shape = [len(own[0]) for own in classes]
    if np.prod(shape, dtype=float) > MOST_CELLS:
        return None
    used = [iter(own) for own in classes]
    columns = []
    for table in tables:
        index: list[Ints] = [np.zeros(1, np.int64)] * len(names)
        for name in table.attributes:
            index[names.index(name)] = next(used[names.index(name)])
        kept = [names.index(name) for name in table.attributes]
        order = sorted(range(len(kept)), key=kept.__getitem__)
        cells = table.table.transpose(order)[np.ix_(*(index[kept[at]] for at in order))]
        cells = cells.reshape([size if place in kept else 1 for place, size in enumerate(shape)])
        columns.append(np.broadcast_to(cells, shape).reshape(-1))
    sizes = tuple(group_attribute(group, domain).size for group in groups)
    found = np.unique(np.ravel_multi_index(tuple(columns), sizes))
    return np.stack(np.unravel_index(found, sizes), axis=1).astype(np.int64)


def _table(group: Group, domain: Domain) -> CellTable:
    if isinstance(group, Labelling):
        return group.table
    assert isinstance(group, str)
    codes = np.arange(domain[group].size)
    return CellTable((group,), (codes,), codes)
