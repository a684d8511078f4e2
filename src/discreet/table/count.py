"""Exact answers from coded rows: regions, groups and sums by NumPy.

What runs does not depend on the codes: rows outside a region are counted into a cell that is thrown away, sums are kept
in two halves that cannot overflow, and every array has the size that the query and the number of rows give it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.cores import on_all_cores
from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.native import kernel
from discreet.query.cells import Amount, Labelling
from discreet.query.profiles import PersonGroup
from discreet.query.query import Count, Group, People, ProfileSum, SubsetCount, Sum, answer_shape, group_attribute
from discreet.table.layout import has_units

Array = NDArray[np.int64]
Flags = NDArray[np.bool_]
Measured = Count | Sum

CODES_A_NUMBER = 64
"""NumPy compares so many codes in the time that `on_all_cores` takes for one number: threads pay from millions on."""
CODES_A_STEP = 512
"""NumPy compares so many codes in the time that Python takes for a step of a loop: see `native.py`."""
BLOCK_ROWS = 1 << 18
"""Rows that are worked on at a time: their codes, keys and flags stay in the near caches."""
BLOCK_FLAGS = 1 << 20
"""Rows at a time where all that is kept of one is a flag: bench/snapshot.py measures what larger blocks save."""
MOST_ROWS = 1 << 31
"""A population has fewer rows than this, so that halves of sums stay within 64 bits."""
HALF, LOW_HALF = 32, (1 << 32) - 1
"""Amounts are summed in two halves of so many bits …"""
LARGEST_BLOCK = 53 - HALF
"""… over at most 2 to this many rows, in doubles that have 53."""
SATURATION = 1 << 62
"""Sums are clamped to ±2^62. Clamping moves no two tables further apart, so the sensitivity stays what it was."""
SHARED_CELLS = 1 << 26
"""Several marginals come from one count by all their attributes where that has at most this many cells …"""
SMALL_CELLS, SPARSER = 1 << 20, 16
"""… and is small, or not so many times larger than all of them: summing it up must not cost more than reading again."""
FEW_BOXES = 32
"""A region of more boxes is summed up from a finer grouping, where that has at most SHARED_CELLS."""
MANY = 64
"""So many marginals that share no count are counted by compiled code, all in one pass over the rows."""


@dataclass(frozen=True)
class CodedRows:
    """Coded rows: an array of codes for each attribute, and of whole grains for those that are summed in grains."""

    domain: Domain
    size: int
    codes: Callable[[str], NDArray[Any]]
    units: Callable[[str], NDArray[Any]]


@dataclass(frozen=True)
class Total:
    """What was added up in each cell: high · 2^32 + low. A count has no high half."""

    low: Array
    high: Array | None = None

    def __add__(self, other: "Total") -> "Total":
        high = None if self.high is None or other.high is None else self.high + other.high
        return Total(self.low + other.low, high)

    def reshaped(self, shape: tuple[int, ...]) -> "Total":
        return Total(self.low.reshape(shape), None if self.high is None else self.high.reshape(shape))

    def whole(self) -> Array:
        """The sums, clamped to ±2^62."""
        if self.high is None:
            return self.low
        high, ceiling = self.high + (self.low >> HALF), SATURATION >> HALF
        whole = (np.clip(high, -ceiling, ceiling - 1) << HALF) + (self.low & LOW_HALF)
        return np.where(high >= ceiling, SATURATION, np.where(high < -ceiling, -SATURATION, whole))


def count(queries: Sequence[Measured], rows: CodedRows) -> list[Array]:
    """The exact answer of every query; groups outside its region are there, as zeros."""
    read = [_finer(query, rows.domain) for query in queries]
    totals = _read(read, rows)
    return [
        (total if finer == query else _rolled_up(query, finer, total, rows.domain)).whole()
        for query, finer, total in zip(queries, read, totals, strict=True)
    ]


def _read(queries: Sequence[Measured], rows: CodedRows) -> list[Total]:
    domain = rows.domain
    marginals = list(dict.fromkeys(_attributes(query) for query in queries if _is_marginal(query, domain)))
    counted: dict[tuple[str, ...], Array] = {}
    if len(marginals) > 1:
        shared = tuple(name for name in domain.names if any(name in by for by in marginals))
        wanted = sum(_cells(by, domain) for by in marginals)
        if _cells(shared, domain) <= min(SHARED_CELLS, max(SMALL_CELLS, SPARSER * wanted)):
            counted.update(_shared(marginals, shared, rows))
        elif len(marginals) >= MANY:
            counted.update(_by_kernel(marginals, shared, rows))
    return [
        Total(counted[_attributes(query)])
        if _is_marginal(query, domain) and _attributes(query) in counted
        else _tally(query, rows)
        for query in queries
    ]


def _is_marginal(query: Measured, domain: Domain) -> bool:
    return isinstance(query, Count) and bool(query.by) and query.where == domain.everything and not _labelled(query)


def _attributes(query: Measured) -> tuple[str, ...]:
    """The attributes that a query is grouped by, where no expressions are."""
    return tuple(group for group in query.by if isinstance(group, str))


def _labelled(query: Measured) -> bool:
    return any(isinstance(group, Labelling) for group in query.by)


def _cells(by: Sequence[Group], domain: Domain) -> int:
    return prod(group_attribute(group, domain).size for group in by)


def _shared(
    marginals: Sequence[tuple[str, ...]], shared: tuple[str, ...], rows: CodedRows
) -> dict[tuple[str, ...], Array]:
    """Marginals rolled up from the finest one, each from the smallest that is already there."""
    made = {shared: _tally(Count(rows.domain.everything, shared), rows).low}
    for by in sorted(marginals, key=len, reverse=True):
        ordered = tuple(name for name in shared if name in by)
        finer = min((have for have in made if set(ordered) <= set(have)), key=lambda have: made[have].size)
        if ordered not in made:
            gone = tuple(axis for axis, name in enumerate(finer) if name not in ordered)
            made[ordered] = made[finer].sum(axis=gone)
    ordered_of = {by: tuple(name for name in shared if name in by) for by in marginals}
    return {by: made[order].transpose([order.index(name) for name in by]) for by, order in ordered_of.items()}


def _by_kernel(
    marginals: Sequence[tuple[str, ...]], shared: tuple[str, ...], rows: CodedRows
) -> dict[tuple[str, ...], Array]:
    from discreet.table.tally import count_marginals  # compiled code that few questions need

    sizes = [rows.domain[name].size for name in shared]
    axes = [tuple(shared.index(name) for name in by) for by in marginals]
    columns = [rows.codes(name) for name in shared]
    return dict(zip(marginals, count_marginals(columns, sizes, axes), strict=True))


def attributes_read(query: Measured | People | ProfileSum | SubsetCount, domain: Domain) -> list[str]:
    """The attributes whose codes an answer is read from."""
    grouped = [name for group in query.by for name in _names(group)]
    if isinstance(query, ProfileSum):
        grouped += query.profiles.attributes
    summed = _names(query.of) if isinstance(query, Sum) else ()
    return list(dict.fromkeys((*grouped, *summed, *_restricted(query.where, domain))))


def summed_in_grains(query: Measured | People | ProfileSum | SubsetCount, domain: Domain) -> tuple[str, ...]:
    """The attributes whose grains an answer is read from."""
    if not isinstance(query, Sum):
        return ()
    if isinstance(query.of, Amount):
        return query.of.in_grains
    return (query.of,) if has_units(domain[query.of]) else ()


def _names(part: Group | Amount) -> tuple[str, ...]:
    match part:
        case PersonGroup():
            return ()
        case str():
            return (part,)
        case Amount():
            return (*part.attributes, *part.in_grains)
    return part.table.attributes


def _finer(query: Measured, domain: Domain) -> Measured:
    """The query itself, or for a region of many boxes the same of everything, by every attribute it restricts."""
    if len(query.where.boxes) <= FEW_BOXES:
        return query
    by: tuple[Group, ...] = (*query.by, *(name for name in _restricted(query.where, domain) if name not in query.by))
    finer = replace(query, where=domain.everything, by=by)
    return finer if prod(answer_shape(finer, domain)) <= SHARED_CELLS else query


def _restricted(region: Region, domain: Domain) -> list[str]:
    return [
        attribute.name
        for axis, attribute in enumerate(domain.attributes)
        if any((box.low[axis], box.high[axis]) != (0, attribute.size - 1) for box in region.boxes)
    ]


def _rolled_up(query: Measured, finer: Measured, total: Total, domain: Domain) -> Total:
    axes = [domain.axis(group) if isinstance(group, str) else None for group in finer.by]
    kept, gone = len(query.by), tuple(range(len(query.by), len(finer.by)))

    def rolled_up(half: Array) -> Array:
        answer = np.zeros(half.shape[:kept], np.int64)
        for box in query.where.boxes:
            inside = tuple(slice(None) if axis is None else slice(box.low[axis], box.high[axis] + 1) for axis in axes)
            answer[inside[:kept]] += half[inside].sum(axis=gone)
        return answer

    return Total(rolled_up(total.low), None if total.high is None else rolled_up(total.high))


def _tally(query: Measured, rows: CodedRows) -> Total:
    """One pass over the rows, on all cores, each with totals of its own where those are not large."""
    shape = answer_shape(query, rows.domain)
    cells = prod(shape)
    # Adding a block's cells up must not cost more than its rows.
    block_rows = BLOCK_FLAGS if isinstance(query, Count) and not query.by else BLOCK_ROWS
    step = min(max(block_rows, 1 << (cells - 1).bit_length()), 1 << LARGEST_BLOCK)
    steps = max(1, -(-rows.size // step))  # what runs does not tell whether there is anybody
    totals: list[Total] = []

    def work(first: int, last: int) -> None:
        total = Total(np.zeros(cells, np.int64), np.zeros(cells, np.int64) if isinstance(query, Sum) else None)
        for block in range(first, last):
            _add(query, rows, slice(block * step, min((block + 1) * step, rows.size)), total)
        totals.append(total)

    if cells <= SMALL_CELLS:
        on_all_cores(work, steps, step // CODES_A_NUMBER)
    else:
        work(0, steps)
    first, *others = totals
    for other in others:
        first += other
    return first.reshaped(shape)


def _add(query: Measured, rows: CodedRows, block: slice, total: Total) -> None:
    low, cells = total.low, total.low.size
    if isinstance(query, Count) and not query.by:
        inside = _inside(query.where, rows, block)
        low += block.stop - block.start if inside is None else np.count_nonzero(inside)
        return
    keys = cell_of_rows(query, rows, block)
    if total.high is None:
        low += np.bincount(keys, minlength=cells + 1)[:cells]
        return
    units = amounts(query, rows, block)
    # Sums of halves over a block are whole numbers below 2^53, which doubles add exactly.
    for half, summed in ((total.high, units >> HALF), (low, units & LOW_HALF)):
        half += np.bincount(keys, summed, minlength=cells + 1)[:cells].astype(np.int64)


def cell_of_rows(query: Measured, rows: CodedRows, block: slice) -> Array:
    """The cell of the answer that each row of a block belongs to; behind the last for rows outside the region."""
    keys = np.zeros(block.stop - block.start, np.int64)
    for group in query.by:
        keys *= group_attribute(group, rows.domain).size
        assert not isinstance(group, PersonGroup)  # it is people's lines that are in those groups: `profiles.py`
        keys += (
            rows.codes(group)[block] if isinstance(group, str) else group.table.at(lambda name: rows.codes(name)[block])
        )
    inside = _inside(query.where, rows, block)
    return keys if inside is None else np.where(inside, keys, _cells(query.by, rows.domain))


def amounts(query: Measured, rows: CodedRows, block: slice) -> Array:
    """What each row of a block adds: 1 to a count, whole grains to a sum."""
    if isinstance(query, Count):
        return np.ones(block.stop - block.start, np.int64)
    if isinstance(query.of, Amount):
        return query.of.of_rows(lambda name: rows.codes(name)[block], lambda name: rows.units(name)[block])
    attribute = rows.domain[query.of]
    if not isinstance(attribute, Integer):
        return rows.units(query.of)[block].astype(np.int64, copy=False)
    codes = rows.codes(query.of)[block].astype(np.int64)
    return np.where(codes < attribute.cells, codes + attribute.low, 0)


def count_people(query: People, rows: CodedRows, person: NDArray[Any]) -> Array:
    """How many people have a row in each group. Sorted by group and person, the first row of each counts."""
    counted = Count(query.where, query.by)
    shape = answer_shape(counted, rows.domain)
    cells = prod(shape)
    keys = cell_of_rows(counted, rows, slice(0, rows.size))
    order = np.lexsort((person, keys))
    keys, person = keys[order], person[order]
    first = begins(keys, person)
    return np.bincount(keys, first, minlength=cells + 1)[:cells].astype(np.int64).reshape(shape)


def begins(*sorted_by: NDArray[Any]) -> Flags:
    """Which rows are the first with their values, in an order in which those with the same stand together."""
    first = np.ones(sorted_by[0].size, np.bool_)
    first[1:] = False
    for values in sorted_by:
        first[1:] |= values[1:] != values[:-1]
    return first


def in_region(where: Region, rows: CodedRows) -> Flags:
    """Which rows lie in a region."""
    inside = _inside(where, rows, slice(0, rows.size))
    return np.ones(rows.size, np.bool_) if inside is None else inside


def _inside(where: Region, rows: CodedRows, block: slice) -> Flags | None:
    """Which rows of a block lie in a region; None where every row does, whatever its codes."""
    whole = rows.domain.everything.boxes[0]
    if any(box == whole for box in where.boxes):
        return None
    if not where.boxes:
        return np.zeros(block.stop - block.start, np.bool_)
    first, *others = where.boxes
    inside = _in_box(first, rows, block)
    for box in others:
        inside |= _in_box(box, rows, block)
    return inside


def _in_box(box: Box, rows: CodedRows, block: slice) -> Flags:
    """Axes that a box covers whole are not read."""
    inside = np.ones(block.stop - block.start, np.bool_)
    for attribute, low, high in zip(rows.domain.attributes, box.low, box.high, strict=True):
        if (low, high) != (0, attribute.size - 1):
            codes = rows.codes(attribute.name)[block]
            kind = codes.dtype.type
            keep_between.sized(codes.size // CODES_A_STEP)(inside, codes, kind(low), kind(high))
    return inside


def _keep_between_by_numpy(inside: Flags, codes: NDArray[Any], low: Any, high: Any) -> None:
    inside &= (codes - low) <= (high - low)  # below `low` the difference wraps round to a large number


@kernel(plain=_keep_between_by_numpy)
def keep_between(inside: Flags, codes: NDArray[Any], low: Any, high: Any) -> None:
    """Drop the rows from `inside` whose code is below `low` or above `high`: NumPy's four passes in one."""
    for row in range(codes.size):
        inside[row] &= (low <= codes[row]) & (codes[row] <= high)
