"""Public functions of a row's codes: what GROUP BY and SUM of an expression are made of.

An expression over attributes has one value for each combination of their codes, so that it is a table, and the table is
public. Codes that it does not tell apart are one class, and the table is over classes: `age >= 65 OR diag_1 = '250'`
has two classes of ages and two of diagnoses, however many codes there are.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.attribute import Attribute, Bins, Category
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.exact import parse_exact

Ints = NDArray[np.int64]
Json = dict[str, Any]
Codes = Callable[[str], NDArray[Any]]
"""The codes of some rows, by the name of an attribute."""
Interval = tuple[int, int]

MOST_CELLS = 1 << 19
"""A table has at most so many combinations of classes."""
LARGEST = 1 << 53
"""A row adds less than so many grains: exact in a double, and within what sums of all rows can hold."""
MOST_TERMS = 64
PIECES = 512
"""A sum charges a box in about so many pieces, each for the largest amount in it: rounded up, never down."""


@dataclass(frozen=True, eq=False)
class CellTable:
    """A whole number for every combination of codes of some attributes: table[classes[0][code], …].

    `CellTable.of` makes the one form that a function has, so that equal functions are equal.
    """

    attributes: tuple[str, ...]
    classes: tuple[Ints, ...]
    table: Ints

    @classmethod
    def of(cls, attributes: Sequence[str], classes: Sequence[Ints], table: Ints) -> "CellTable":
        """The function with no more classes than it tells apart, numbered in the order of their first codes, and
        without the attributes that it does not depend on, as long as one is left."""
        names, kept = [], []
        for axis, (name, of_code) in enumerate(zip(attributes, classes, strict=True)):
            sections = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
            _, same = np.unique(sections, axis=0, return_inverse=True)
            merged = same.reshape(-1)[of_code]
            _, first, back = np.unique(merged, return_index=True, return_inverse=True)
            order = np.argsort(first)
            table = np.take(table, of_code[first[order]], axis=axis)
            names.append(name)
            kept.append(np.argsort(order)[back.reshape(-1)].astype(np.int64))
        used = [axis for axis, size in enumerate(table.shape) if size > 1] or [0]
        unused = tuple(axis for axis in range(table.ndim) if axis not in used)
        squeezed = np.ascontiguousarray(table.squeeze(axis=unused), np.int64)
        return cls(tuple(names[axis] for axis in used), tuple(kept[axis] for axis in used), squeezed)

    @cached_property
    def _key(self) -> tuple[object, ...]:
        digest = hashlib.blake2b(digest_size=32)
        for array in (*self.classes, self.table):
            digest.update(len(array.reshape(-1)).to_bytes(8, "big"))
            digest.update(np.ascontiguousarray(array, np.int64).tobytes())
        return self.attributes, self.table.shape, digest.digest()

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, CellTable) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def at(self, codes: Codes) -> Ints:
        """The number of each row. What runs depends on the table and the number of rows alone."""
        key: Any = 0
        for name, of_code, size in zip(self.attributes, self.classes, self.table.shape, strict=True):
            key = key * size + of_code[codes(name)]
        found: Ints = self.table.reshape(-1)[key]
        return found

    def require_in_domain(self, domain: Domain) -> None:
        """Raise unless there is a number for every code of the domain's own attributes."""
        axes = [domain.axis(name) for name in self.attributes]
        fits = len(self.classes) == len(self.attributes) == self.table.ndim
        if not fits or len(set(axes)) < len(axes) or not axes:
            raise UnsupportedQuery("a table of codes is over different attributes")
        for name, of_code, size in zip(self.attributes, self.classes, self.table.shape, strict=True):
            if of_code.shape != (domain[name].size,) or of_code.min() < 0 or of_code.max() >= size:
                raise UnsupportedQuery(f"a table of codes does not fit the codes of {name}")
        if self.table.size > MOST_CELLS:
            raise UnsupportedQuery(f"a table of codes has {self.table.size:,} cells; at most {MOST_CELLS:,} are taken")

    def to_json(self) -> Json:
        return {
            "of": list(self.attributes),
            "classes": [_runs(of_code) for of_code in self.classes],
            "shape": list(self.table.shape),
            "table": _runs(self.table.reshape(-1)),
        }

    @classmethod
    def from_json(cls, body: Json) -> "CellTable":
        table = _unrolled(body["table"]).reshape(body["shape"])
        return cls(tuple(body["of"]), tuple(map(_unrolled, body["classes"])), table)


def _runs(numbers: Ints) -> list[list[int]]:
    """Numbers as [number, times] in a row."""
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    times = np.diff(np.concatenate([starts, [len(numbers)]]))
    return [[number, count] for number, count in zip(numbers[starts].tolist(), times.tolist(), strict=True)]


def _unrolled(runs: Sequence[Sequence[int]]) -> Ints:
    numbers, times = (np.array([run[place] for run in runs], np.int64) for place in (0, 1))
    if times.sum() > 1 << 27 or (times < 1).any():
        raise ValueError("a row of numbers that is too long")
    return np.repeat(numbers, times)


@dataclass(frozen=True)
class Runs:
    """An axis cut where the class changes: run i has the codes stops[i] … stops[i + 1] − 1, all of one class."""

    stops: tuple[int, ...]
    classes: Ints

    @classmethod
    def of(cls, of_code: Ints, low: int, high: int) -> "Runs":
        """The runs between two codes."""
        part = of_code[low : high + 1]
        starts = np.flatnonzero(np.concatenate([[True], part[1:] != part[:-1]]))
        return cls((*(starts + low).tolist(), high + 1), part[starts])


def boxes_of(grid: NDArray[np.bool_], stops: Sequence[Sequence[int]]) -> Iterator[tuple[Interval, ...]]:
    """The true cells of a grid as boxes in canonical form: runs of equal sections along the first axis, and the boxes
    of each section. Cell i of an axis has the codes stops[i] … stops[i + 1] − 1."""
    if not stops:
        yield from [()] if grid else []
        return
    changes = (grid[1:] != grid[:-1]).any(axis=tuple(range(1, grid.ndim)))
    edges = [0, *(np.flatnonzero(changes) + 1).tolist(), len(grid)]
    for first, stop in pairwise(edges):
        if grid[first].any():
            for rest in boxes_of(grid[first], stops[1:]):
                yield ((stops[0][first], stops[0][stop] - 1), *rest)


@dataclass(frozen=True)
class Labelling:
    """GROUP BY of an expression: `table` says the group of every cell; group g is called labels[g].

    Groups are in the order of their values; one for NULL, where there is one, is the last and has the value None.
    `text` is the expression as SQL; two texts of one labelling ask for the same.
    """

    text: str
    table: CellTable
    values: tuple[object, ...]

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Labelling) and (self.table, self.labels) == (other.table, other.labels)
        )

    def __hash__(self) -> int:
        return hash(self.table)

    @property
    def size(self) -> int:
        return len(self.values)

    @cached_property
    def attribute(self) -> Attribute:
        """The groups as the values of a category."""
        null = self.values[-1] is None
        named = self.values[:-1] if null else self.values
        return Category(name=self.text, source="", null=null, values=tuple(map(label_of, named)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return self.attribute.labels

    def require_in_domain(self, domain: Domain) -> None:
        """Raise unless it gives every cell of the domain one of its groups."""
        self.table.require_in_domain(domain)
        if not self.values or self.table.table.min() < 0 or self.table.table.max() >= self.size:
            raise UnsupportedQuery("a labelling puts cells into groups that it does not name")
        if len(set(self.labels)) < self.size:
            raise UnsupportedQuery("a labelling has two groups of one name")

    def sections(self, where: Region, domain: Domain) -> list[Region]:
        """The part of a region that belongs to each group, in order."""
        if len(where.boxes) == 1:
            return self._regions(where.boxes[0], domain)
        whole = self._regions(domain.everything.boxes[0], domain)
        return [region.intersect(where) for region in whole]

    def section(self, where: Region, domain: Domain, group: int) -> Region:
        """The part of a region that belongs to one group."""
        if len(where.boxes) != 1:
            return self.section(domain.everything, domain, group).intersect(where)
        cut = self._cut(where.boxes[0], domain)
        return cut.region(group, np.nonzero(cut.grid == group))

    def _regions(self, box: Box, domain: Domain) -> list[Region]:
        cut = self._cut(box, domain)
        cells = cut.grid.reshape(-1)
        order = np.argsort(cells, kind="stable")
        ends = np.searchsorted(cells[order], np.arange(self.size + 1))
        places = np.unravel_index(order, cut.grid.shape)
        return [
            cut.region(group, [place[first:last] for place in places])
            for group, (first, last) in enumerate(pairwise(ends.tolist()))
        ]

    def _cut(self, box: Box, domain: Domain) -> "_Cut":
        axes = [domain.axis(name) for name in self.table.attributes]
        runs = [
            Runs.of(of_code, box.low[axis], box.high[axis])
            for axis, of_code in zip(axes, self.table.classes, strict=True)
        ]
        return _Cut(box, axes, runs, self.table.table[np.ix_(*(run.classes for run in runs))])

    def to_json(self) -> Json:
        return {**self.table.to_json(), "labels": list(self.labels), "text": self.text, "null": self.values[-1] is None}

    @classmethod
    def from_json(cls, body: Json) -> "Labelling":
        values: list[object] = list(body["labels"])
        if body["null"]:
            values[-1] = None
        return cls(body["text"], CellTable.from_json(body), tuple(values))


@dataclass(frozen=True, eq=False)
class _Cut:
    """A box cut where the classes of a labelling change, and the group of every part."""

    box: Box
    axes: Sequence[int]
    runs: Sequence[Runs]
    grid: Ints

    def region(self, group: int, places: Sequence[Ints]) -> Region:
        """The region of a group, whose parts are at these places."""
        if not len(places[0]):
            return Region(())
        spans = [(int(place.min()), int(place.max())) for place in places]
        part = self.grid[tuple(slice(first, last + 1) for first, last in spans)] == group
        stops = [run.stops[first : last + 2] for run, (first, last) in zip(self.runs, spans, strict=True)]
        return Region(tuple(_embedded(self.box, self.axes, intervals) for intervals in boxes_of(part, stops)))


def label_of(value: object) -> str:
    """A group's value as people read it."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value == int(value):
            return str(int(value))
    return str(value)


def _embedded(box: Box, axes: Sequence[int], intervals: Sequence[Interval]) -> Box:
    low, high = list(box.low), list(box.high)
    for axis, (first, last) in zip(axes, intervals, strict=True):
        low[axis], high[axis] = first, last
    return Box(tuple(low), tuple(high))


@dataclass(frozen=True)
class Amount:
    """SUM of an expression: what each row adds, in whole grains. `text` is the expression as SQL; two texts of one
    amount ask for the same.

    A row adds `table` of its cell; and with `terms`, which have bins in them, the sum of each table times the row's
    grains of its attributes. That is clamped to `low` … `high` of the cell, so that what a row may add is said by
    tables of codes alone, whatever its grains are.
    """

    text: str
    table: CellTable
    grain: Fraction = Fraction(1)
    terms: tuple[tuple[tuple[str, ...], CellTable], ...] = ()
    low: CellTable | None = None
    high: CellTable | None = None

    @property
    def _key(self) -> tuple[object, ...]:
        return self.table, self.grain, self.terms, self.low, self.high

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Amount) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self.table)

    @property
    def ends(self) -> tuple[CellTable, CellTable]:
        """The least and the most grains that a row of each cell adds."""
        return self.low or self.table, self.high or self.table

    @cached_property
    def most(self) -> CellTable:
        """The most |grains| that a row of each cell adds."""
        return joined(lambda low, high: np.maximum(np.abs(low), np.abs(high)), *self.ends)

    @cached_property
    def least(self) -> int:
        return int(self.ends[0].table.min())

    @cached_property
    def greatest(self) -> int:
        return int(self.ends[1].table.max())

    @property
    def largest(self) -> int:
        """The most |grains| that a row adds."""
        return max(-self.least, self.greatest)

    @property
    def is_one_signed(self) -> bool:
        return self.least >= 0 or self.greatest <= 0

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """The attributes whose codes are read."""
        tables = (self.table, *self.ends, *(table for _, table in self.terms))
        return tuple(dict.fromkeys(name for table in tables for name in table.attributes))

    @cached_property
    def in_grains(self) -> tuple[str, ...]:
        """The attributes whose grains are read."""
        return tuple(dict.fromkeys(name for factors, _ in self.terms for name in factors))

    def of_rows(self, codes: Codes, units: Codes) -> Ints:
        """What each row adds. What runs depends on the amount and the number of rows alone."""
        added = self.table.at(codes)
        for factors, table in self.terms:
            term = table.at(codes)
            for name in factors:
                term = term * units(name).astype(np.int64, copy=False)
            added = added + term
        if self.low is None or self.high is None:
            return added
        clamped: Ints = np.minimum(np.maximum(added, self.low.at(codes)), self.high.at(codes))
        return clamped

    def require_in_domain(self, domain: Domain) -> None:
        for table in (self.table, *self.ends, *(table for _, table in self.terms)):
            table.require_in_domain(domain)
        if (self.low is None) != (self.high is None) or bool(self.terms) != (self.low is not None):
            raise UnsupportedQuery("a sum of bins is clamped between two ends, and no other is")
        for name in self.in_grains:
            if not isinstance(domain[name], Bins):
                raise UnsupportedQuery(f"{name} is no attribute in bins: it is summed by its codes")
        if self.grain <= 0 or self.largest >= LARGEST or len(self.terms) > MOST_TERMS:
            raise UnsupportedQuery("a sum's amounts are too large")

    def pieces(self, box: Box, domain: Domain) -> Iterator[tuple[Box, int]]:
        """Disjoint parts of a box with the most |grains| that a row in each adds; parts that add nothing are left out.

        Axes are cut where the amount may change, and where that makes many parts, neighbours are taken together.
        """
        axes = [domain.axis(name) for name in self.most.attributes]
        runs = [
            Runs.of(of_code, box.low[axis], box.high[axis])
            for axis, of_code in zip(axes, self.most.classes, strict=True)
        ]
        grid = self.most.table[np.ix_(*(run.classes for run in runs))]
        most = max(int(PIECES ** (1 / len(axes)) + 1e-9), 1)
        stops = []
        for place, run in enumerate(runs):
            width = -(-len(run.classes) // most)
            starts = np.arange(0, len(run.classes), width)
            grid = np.maximum.reduceat(grid, starts, axis=place)
            stops.append([*(run.stops[start] for start in starts.tolist()), run.stops[-1]])
        for grains in np.unique(grid[grid > 0]).tolist():
            for intervals in boxes_of(grid == grains, stops):
                yield _embedded(box, axes, intervals), grains

    def to_json(self) -> Json:
        body = {**self.table.to_json(), "text": self.text, "grain": str(self.grain)}
        if self.low is None or self.high is None:
            return body
        terms = [{"times": list(factors), **table.to_json()} for factors, table in self.terms]
        return {**body, "terms": terms, "low": self.low.to_json(), "high": self.high.to_json()}

    @classmethod
    def from_json(cls, body: Json) -> "Amount":
        table, grain = CellTable.from_json(body), parse_exact(body["grain"])
        if "terms" not in body:
            return cls(body["text"], table, grain)
        terms = tuple((tuple(term["times"]), CellTable.from_json(term)) for term in body["terms"])
        return cls(
            body["text"], table, grain, terms, CellTable.from_json(body["low"]), CellTable.from_json(body["high"])
        )


def joined(combine: Callable[..., Ints], *tables: CellTable) -> CellTable:
    """A function of several functions of codes. Attributes come in the order in which they are met."""
    names = list(dict.fromkeys(name for table in tables for name in table.attributes))
    places: list[list[Ints]] = [[] for _ in tables]
    classes: list[Ints] = []
    for name in names:
        of_code = [table.classes[table.attributes.index(name)] for table in tables if name in table.attributes]
        _, first, joint = np.unique(np.stack(of_code), axis=1, return_index=True, return_inverse=True)
        classes.append(joint.reshape(-1).astype(np.int64))
        for place, table in zip(places, tables, strict=True):
            own = table.classes[table.attributes.index(name)] if name in table.attributes else None
            place.append(np.zeros(first.size, np.int64) if own is None else own[first])
    grids = []
    for place, table in zip(places, tables, strict=True):
        kept = [index for name, index in zip(names, place, strict=True) if name in table.attributes]
        order = [table.attributes.index(name) for name in names if name in table.attributes]
        grid = table.table.transpose(order)[np.ix_(*kept)]
        grids.append(
            grid.reshape(
                [index.size if name in table.attributes else 1 for name, index in zip(names, place, strict=True)]
            )
        )
    shape = [place.size for place in places[0]]
    if np.prod(shape, dtype=float) > MOST_CELLS:
        raise UnsupportedQuery(
            f"an expression has {np.prod(shape, dtype=float):,.0f} cells; at most {MOST_CELLS:,} are taken"
        )
    return CellTable.of(names, classes, np.broadcast_to(combine(*grids), shape))


def product_of(shape: Sequence[int]) -> list[Ints]:
    """The classes of every cell of a table, attribute by attribute, cells in their order."""
    return [column.reshape(-1) for column in np.meshgrid(*map(np.arange, shape), indexing="ij")] if shape else []
