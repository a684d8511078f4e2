"""Tables of the same people: each with its rows of a person, and what a person is in all of them together.

A table has attributes of its own and, where its rows have a parent in another table, the parent's. A person's row of
every table at once is a point of `LinkedTables.person`: what is spent on a person is a field over that.
[docs/explain/several-tables.md]
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnknownTable


@dataclass(frozen=True)
class LinkedTable:
    """One of several tables. Its domain has its own attributes first, then its parent's."""

    domain: Domain
    own: int
    """How many of the attributes are its own."""
    id: str | None = None
    """The column that tells people apart; None where a row is whose its parent is."""
    parent: str | None = None
    key: str | None = None
    """The column, here and in the parent, that says which row is the parent; None where the person has one there."""

    @property
    def name(self) -> str:
        return self.domain.name

    @property
    def max_rows(self) -> int:
        return self.domain.max_rows

    @property
    def own_domain(self) -> Domain:
        """What its source has: its own attributes alone."""
        return replace(self.domain, attributes=self.domain.attributes[: self.own])


@dataclass(frozen=True)
class Place:
    """Where the points of a table are among those of a person: axis i of the table is `axes[i]` of theirs."""

    table: LinkedTable
    axes: tuple[int, ...]
    whole: Box

    def box(self, box: Box) -> Box:
        """The points of a person who has a row in a box of the table."""
        low, high = list(self.whole.low), list(self.whole.high)
        for axis, first, last in zip(self.axes, box.low, box.high, strict=True):
            low[axis], high[axis] = first, last
        return Box(tuple(low), tuple(high))

    def region(self, region: Region) -> Region:
        return Region(tuple(self.box(box) for box in region.boxes))

    def seen(self, box: Box) -> Box:
        """A box of a person's points as the table sees it."""
        low, high = (tuple(ends[axis] for axis in self.axes) for ends in (box.low, box.high))
        return Box(low, high)


@dataclass(frozen=True)
class LinkedTables:
    """Tables in an order in which parents come before their children."""

    tables: tuple[LinkedTable, ...]

    def __iter__(self) -> Iterator[LinkedTable]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(table.name for table in self.tables)

    def __getitem__(self, name: str) -> LinkedTable:
        """A table by its name, in either case as in SQL; an unknown one raises with the near ones."""
        found = self.find(name)
        if found is not None:
            return found
        near = difflib.get_close_matches(name, self.names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self.names)}"
        raise UnknownTable(f"there is no table {name[:60]!r}; {hint}")

    def find(self, name: str) -> LinkedTable | None:
        return next((table for table in self.tables if table.name.lower() == name.lower()), None)

    def above(self, table: LinkedTable) -> Iterator[LinkedTable]:
        """A table and its parents, the nearest first."""
        here: LinkedTable | None = table
        while here is not None:
            yield here
            here = None if here.parent is None else self[here.parent]

    @cached_property
    def _axes(self) -> Mapping[tuple[str, ...], int]:
        """The axes of a person's points: an attribute of a table with one row of each person is the person's own, and
        the same in every table below; any other is one of a row of the table that is looked at."""
        names = (key for table in self.tables for key in self._keys(table))
        return {key: axis for axis, key in enumerate(dict.fromkeys(names))}

    def _keys(self, table: LinkedTable) -> Iterator[tuple[str, ...]]:
        for origin in self.above(table):
            beside = () if origin.max_rows == 1 or origin is table else (table.name,)
            for attribute in origin.domain.attributes[: origin.own]:
                yield (*beside, origin.name, attribute.name)

    @cached_property
    def person(self) -> Domain:
        """What a person is in all tables: their own attributes, and those of a row of theirs in each table."""
        by_key = {
            key: replace(attribute, name=".".join(key))
            for table in self.tables
            for key, attribute in zip(self._keys(table), table.domain.attributes, strict=True)
        }
        return Domain("person", tuple(by_key[key] for key in self._axes), max_rows=self.rows)

    def place(self, name: str) -> Place:
        """Where a table is among a person's points."""
        table = self[name]
        axes = tuple(self._axes[key] for key in self._keys(table))
        return Place(table, axes, self.person.everything.boxes[0])

    @property
    def found_in_words(self) -> dict[str, str]:
        """How many values were found of each attribute that declares none."""
        return {
            name if len(self) == 1 else f"{one.name}.{name}": told
            for one in self.tables
            for name, told in one.own_domain.found_in_words.items()
        }

    @property
    def rows(self) -> int:
        """How many rows a person has in all tables together, at most."""
        return sum(table.max_rows for table in self.tables)
