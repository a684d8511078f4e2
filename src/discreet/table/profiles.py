"""People's lines, made from coded rows and added up.

What runs does not depend on the codes: rows are sorted by line, each line has a place among as many as there are rows,
and places without a line, as lines that do not count, go into a cell that is thrown away.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.query.cells import CellTable
from discreet.query.profiles import NOTHING, FirstRows, PersonGroup, Trait
from discreet.query.query import Count, Group, ProfileSum, answer_shape, group_attribute
from discreet.table.count import HALF, LOW_HALF, Array, CodedRows, Flags, Total, begins, cell_of_rows

FAR = np.iinfo(np.int64).max


@dataclass(frozen=True)
class LinedRows:
    """Rows sorted by line: `order` has their numbers, `line` the place of each one's line, `inside` whether it
    counts."""

    rows: CodedRows
    order: NDArray[np.intp]
    line: NDArray[np.intp]
    inside: Flags
    first: Flags

    def of(self, table: CellTable) -> Array:
        """What each row has, in their order; NOTHING for rows that do not count."""
        found = table.at(lambda name: self.rows.codes(name))[self.order]
        return np.where(self.inside, found, NOTHING)

    def least(self, values: Array) -> Array:
        """The least of each line."""
        found = np.full(self.line.size, FAR)
        np.minimum.at(found, self.line, values)
        return found

    def total(self, values: Array) -> Array:
        """The sum of each line."""
        found = np.zeros(self.line.size, np.int64)
        np.add.at(found, self.line, values)
        return found


def add_profiles(query: ProfileSum, rows: CodedRows, person: NDArray[Any]) -> Array:
    """What the lines in each group add up to."""
    if query.profiles.first is not None:
        return _added(query, *_first_rows(query, query.profiles.first, rows, person))
    domain = query.profiles.domain_of(rows.domain)
    keys = Count(query.where, tuple(key for _, key in query.profiles.keys))
    shape = answer_shape(keys, rows.domain)
    lines, cell = _lines(keys, rows, person)
    cell, there = np.minimum(cell, prod(shape) - 1), cell < prod(shape)
    of_keys = np.unravel_index(cell, shape) if shape else ()
    codes: dict[str, NDArray[Any]] = {name: own for (name, _), own in zip(query.profiles.keys, of_keys, strict=True)}
    codes |= {trait.attribute.name: _trait(trait, lines) for trait in query.profiles.traits}
    coded = CodedRows(domain, rows.size, codes.__getitem__, codes.__getitem__)
    return _added(query, coded, there)


def _first_rows(query: ProfileSum, first: FirstRows, rows: CodedRows, person: NDArray[Any]) -> tuple[CodedRows, Flags]:
    """All rows as lines, of which those are there that come first of their person's."""
    traits = query.profiles.traits
    own = [trait.of.at(lambda name: rows.codes(name)) for trait in traits]
    places = [table.at(lambda name: rows.codes(name)) for table in first.order]
    outside = cell_of_rows(Count(query.where), rows, slice(0, rows.size))
    order = np.lexsort((*reversed(own), *reversed(places), person, outside))
    begin, here = begins(outside[order], person[order]), np.arange(rows.size)
    turn = here - np.maximum.accumulate(np.where(begin, here, 0))
    codes: dict[str, NDArray[Any]] = {}
    for trait, values in zip(traits, own, strict=True):
        null = trait.attribute.size - 1 if trait.attribute.null else 0
        found = np.where(values == NOTHING, null, values)[order]
        codes[trait.attribute.name] = np.clip(found, 0, trait.attribute.size - 1)
    lines = CodedRows(query.profiles.domain_of(rows.domain), rows.size, codes.__getitem__, codes.__getitem__)
    return lines, (outside[order] == 0) & (turn < first.most)


def _lines(keys: Count, rows: CodedRows, person: NDArray[Any]) -> tuple[LinedRows, Array]:
    """Rows by line, and the cell of keys that each line is in; behind the last where there is no line."""
    outside = prod(answer_shape(keys, rows.domain))
    cells = cell_of_rows(keys, rows, slice(0, rows.size))
    order = np.lexsort((person, cells))
    cells, person = cells[order], person[order]
    first = begins(cells, person)
    line = np.cumsum(first) - 1
    of_line = np.full(rows.size, outside)
    of_line[line] = cells
    return LinedRows(rows, order, line, cells < outside, first), of_line


def _trait(trait: Trait, lines: LinedRows) -> Array:
    """The code that each line has of a trait; that of NULL where none of its rows says anything."""
    own = [lines.of(table) for table in trait.tables]
    said = np.logical_and.reduce([values != NOTHING for values in own])
    *order, values = [np.where(said, one, 0) for one in own]
    match trait.fold:
        case "sum":
            found = lines.total(values) - _low(trait)
        case "least":
            found = lines.least(np.where(said, values, FAR))
        case "greatest":
            found = -lines.least(np.where(said, -values, FAR))
        case "different":
            found = lines.total(_new(lines, values, said).astype(np.int64)) - _low(trait)
        case _:
            found = _at_end(trait, lines, order, values, said)
    null = trait.attribute.null_code
    if null is not None:
        found = np.where(lines.total(said.astype(np.int64)) > 0, found, null)
    return np.clip(found, 0, trait.attribute.size - 1)


def _low(trait: Trait) -> int:
    return int(getattr(trait.attribute, "low", 0))


def _new(lines: LinedRows, values: Array, said: Flags) -> Flags:
    """The first row of each value in each line, in no order that anybody sees."""
    order = np.lexsort((values, ~said, lines.line))
    new = np.zeros(values.size, np.bool_)
    new[order] = begins(lines.line[order], values[order], said[order])
    return new & said


def _at_end(trait: Trait, lines: LinedRows, order: list[Array], values: Array, said: Flags) -> Array:
    """What the first or the last row of each line has, of equal ones the least."""
    *before, size = trait.places
    place = np.zeros(values.size, np.int64)
    for one, places in zip(order, before, strict=True):
        place = place * places + one
    sign = 1 if trait.fold == "first" else -1
    found = lines.least(np.where(said, sign * place * size + values, FAR))
    return found % size


def _added(query: ProfileSum, lines: CodedRows, there: Flags) -> Array:
    keys = {key: name for name, key in query.profiles.keys}
    by: tuple[Group, ...] = tuple(
        group.labelling if isinstance(group, PersonGroup) else keys[group] for group in query.by
    )
    counted = Count(query.kept, by)
    shape = tuple(group_attribute(group, lines.domain).size for group in by)
    cells = prod(shape)
    places = np.where(there, cell_of_rows(counted, lines, slice(0, lines.size)), cells)
    if query.of is None:
        return np.bincount(places, minlength=cells + 1)[:cells].astype(np.int64).reshape(shape)
    amounts = np.clip(query.of.of_rows(lines.codes, lines.units), query.least, query.most)
    low, high = np.zeros(cells + 1, np.int64), np.zeros(cells + 1, np.int64)
    np.add.at(low, places, amounts & LOW_HALF)
    np.add.at(high, places, amounts >> HALF)
    return Total(low[:cells], high[:cells]).reshaped(shape).whole()
