"""The cells of a cuboid, and what a count or a sum makes of each: its group, and what a row there adds."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.domain.attribute import Attribute, Bins, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.query.cells import Amount, Labelling
from discreet.query.query import Count, Group, Query, Sum, grain_of, group_attribute

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

COUNTED = "a model has counts, sums and averages; ask for these, or without the estimate modelled"


@dataclass(frozen=True)
class Mesh:
    """The cells of a cuboid: the codes of each of its attributes, along an axis of its own."""

    domain: Domain
    names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.domain[name].size for name in self.names)

    def codes(self, name: str) -> Ints:
        """Of each cell; that of an attribute with one value is 0."""
        axes = [-1 if own == name else 1 for own in self.names]
        return np.arange(self.domain[name].size).reshape(axes)

    def groups(self, by: tuple[Group, ...]) -> Ints:
        """The number of each cell's group: its codes as digits."""
        codes = [self.codes(group) if isinstance(group, str) else self._labelled(group) for group in by]
        return flat(codes, by, self.domain, self.shape)

    def _labelled(self, group: Group) -> Ints:
        assert isinstance(group, Labelling), "others were refused"
        return group.table.at(self.codes)

    def weights(self, query: Count | Sum) -> Floats:
        """What a row of each cell adds."""
        inside = self.inside(query.where).astype(np.float64)
        match query:
            case Count():
                return inside
            case Sum(of=str(of)):
                return inside * _values(self.domain[of])[self.codes(of)]
            case Sum(of=Amount() as amount):
                grains = amount.of_rows(self.codes, lambda name: _grains(self.domain[name])[self.codes(name)])
                return inside * (grains * float(amount.grain))
        raise AssertionError(query)

    def inside(self, where: Region) -> NDArray[np.bool_]:
        """Which cells lie in a region."""
        inside = np.zeros(self.shape, np.bool_)
        axes = [self.domain.axis(name) for name in self.names]
        for box in where.boxes:
            inside[tuple(slice(box.low[axis], box.high[axis] + 1) for axis in axes)] = True
        return inside


def attributes_of(query: Query, domain: Domain) -> set[str]:
    """The attributes that a count or a sum tells rows apart by; those with one value tell nobody apart."""
    if not isinstance(query, Count | Sum):
        raise UnsupportedQuery(COUNTED)
    found = bounded_by(query.where, domain)
    for group in query.by:
        match group:
            case str():
                found.add(group)
            case Labelling():
                found.update(group.table.attributes)
            case _:
                raise UnsupportedQuery(COUNTED)
    match query:
        case Sum(of=str(of)):
            found.add(of)
        case Sum(of=Amount() as amount):
            found.update(amount.attributes, amount.in_grains)
    return {name for name in found if domain[name].size > 1}


def bounded_by(where: Region, domain: Domain) -> set[str]:
    """The attributes by which a region is less than everything."""
    whole = domain.everything.boxes[0]
    return {
        name
        for axis, name in enumerate(domain.names)
        if any((box.low[axis], box.high[axis]) != (whole.low[axis], whole.high[axis]) for box in where.boxes)
    }


def has_bins(of: str | Amount, domain: Domain) -> bool:
    """Whether what a row adds to a sum is not told by its codes."""
    return isinstance(domain[of], Bins) if isinstance(of, str) else bool(of.in_grains)


def most_added(query: Count | Sum, domain: Domain) -> float:
    """The most that a row adds to a count or a sum, whatever its sign."""
    match query:
        case Sum(of=str(of)):
            return float(np.abs(_values(domain[of])).max())
        case Sum(of=Amount() as amount):
            return float(amount.largest * amount.grain)
    return 1.0


def flat(codes: Iterable[Ints], by: tuple[Group, ...], domain: Domain, shape: tuple[int, ...]) -> Ints:
    """Codes of groups as one number: digits of a number whose places have the groups' sizes."""
    found = np.zeros(shape, np.int64)
    for own, group in zip(codes, by, strict=True):
        found = found * group_attribute(group, domain).size + own
    return found


def _values(attribute: Attribute) -> Floats:
    """What a row with each code adds to a sum: its number, the middle of its bin; nothing for missing and others."""
    grain_of(attribute)  # raises where an attribute has no sum
    values = np.zeros(attribute.size)
    match attribute:
        case Integer():
            values[: attribute.cells] = attribute.low + np.arange(attribute.cells)
        case Bins():
            edges = np.array([float(edge) for edge in attribute.edges if edge is not None])
            values[: attribute.cells] = (edges[:-1] + edges[1:]) / 2
    return values


def _grains(attribute: Attribute) -> Ints:
    """The same in whole grains."""
    return np.rint(_values(attribute) / float(grain_of(attribute))).astype(np.int64)
