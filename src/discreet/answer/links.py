"""Which regions have which corners, in columns for native loops: those that hang together are found without a scan."""

from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from discreet.native import kernel

Ints = NDArray[np.int64]
Flags = NDArray[np.uint8]

NONE = -1
"""Stands for "no common corner"."""

AT_ONCE = 4096
"""So many regions wait, at most, before they are entered into the columns."""

STARTED, SEEN = 2, 1
"""How a corner was reached: the search started at it, or came to it from another one."""


@dataclass(frozen=True)
class _LinkColumns:
    """Regions, corners and the places where they meet are numbered as they come; only the first rows are filled.

    A region's meetings lie side by side, from `begins` on to those of the next one. A corner's are a chain: its `first`
    and `last` one, and the one `following` each.
    """

    begins: Ints
    corner: Ints
    region: Ints
    following: Ints
    first: Ints
    last: Ints
    crowd: Ints
    """How many regions have a corner."""

    @classmethod
    def empty(cls) -> "_LinkColumns":
        return cls(*(np.zeros(16, np.int64) for _ in range(7)))


def _grown(column: Ints, rows: int) -> Ints:
    """The same column, or a longer copy of it where it has no room for so many rows."""
    return column if rows <= len(column) else np.concatenate((column, np.zeros(max(rows, len(column)), np.int64)))


def _chain(columns: _LinkColumns, numbers: Ints, begin: int) -> None:
    """Put meetings from `begin` on at the ends of their corners' chains."""
    if not len(numbers):
        return
    order = np.argsort(numbers, kind="stable")
    corner, meeting = numbers[order], begin + order
    is_next = corner[1:] == corner[:-1]
    columns.following[meeting[:-1][is_next]] = meeting[1:][is_next]
    heads, tails = np.flatnonzero(np.append(True, ~is_next)), np.flatnonzero(np.append(~is_next, True))
    own = corner[heads]
    is_new = columns.crowd[own] == 0
    columns.first[own[is_new]] = meeting[heads[is_new]]
    columns.following[columns.last[own[~is_new]]] = meeting[heads[~is_new]]
    columns.last[own] = meeting[tails]
    columns.crowd[own] += tails - heads + 1


class Links:
    """Regions in the order in which they were added. Native loops must not see columns that grow: they have a lock."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._numbers: dict[int, int] = {}
        self._waiting: list[tuple[int, ...]] = []
        """The corners of the last regions, which are not in columns yet."""
        self._regions = self._meetings = 0
        self._columns = _LinkColumns.empty()

    def add(self, corners: Iterable[int]) -> None:
        """The next region, with the places of its corners."""
        with self._lock:
            self._waiting.append(tuple(corners))
            if len(self._waiting) == AT_ONCE:
                self._add_waiting()

    def _add_waiting(self) -> None:
        known = self._numbers
        numbers = np.array([known.setdefault(at, len(known)) for own in self._waiting for at in own], np.int64)
        lengths = np.array([len(own) for own in self._waiting], np.int64)
        regions, begin, end = self._regions + len(lengths), self._meetings, self._meetings + len(numbers)
        old = self._columns
        self._columns = columns = _LinkColumns(
            _grown(old.begins, regions + 1),
            *(_grown(column, end) for column in (old.corner, old.region, old.following)),
            *(_grown(column, len(known)) for column in (old.first, old.last, old.crowd)),
        )
        columns.begins[self._regions + 1 : regions + 1] = begin + np.cumsum(lengths)
        columns.corner[begin:end] = numbers
        columns.region[begin:end] = np.repeat(np.arange(self._regions, regions), lengths)
        columns.following[begin:end] = NONE
        _chain(columns, numbers, begin)
        self._waiting, self._regions, self._meetings = [], regions, end

    def linked(self, start: Iterable[int], most: int, useful: bool = False) -> list[int]:
        """Regions that have corners in common with the start, or with one another, nearest first, at most so many.

        Of many at the same distance, those on the corners with the fewest regions come first: there is the least
        choice. A region with a corner that nothing else has is left out: nothing could cancel it. Where only the
        `useful` ones are wanted, so is, again and again, one with a corner that none of the found ones has besides,
        nor the start.
        """
        with self._lock:
            if self._waiting:
                self._add_waiting()
            numbers = sorted(self._numbers[corner] for corner in start if corner in self._numbers)
            at = self._columns
            found: list[int] = _search.sized(self._meetings)(
                np.array(numbers, np.int64),
                at.begins,
                at.corner,
                at.region,
                at.following,
                at.first,
                at.crowd,
                most,
                useful,
            ).tolist()
        return found


@kernel
def _search(
    start: Ints,
    begins: Ints,
    corner: Ints,
    region: Ints,
    following: Ints,
    first: Ints,
    crowd: Ints,
    most: int,
    useful: bool,
) -> Ints:
    seen = np.zeros(len(crowd), np.uint8)
    seen[start] = STARTED
    links, met = np.zeros(len(begins), np.int32), np.zeros(len(begins), np.uint8)
    found, count, frontier = np.empty(most, np.int64), 0, start
    while len(frontier) and count < most:
        poorest_first = frontier[_in_order(crowd[frontier])]
        listed = _met(poorest_first, region, following, first, links, met, most)
        before = count
        for one in listed[_in_order(-links[listed].astype(np.int64))]:
            met[one] = 1
            if count < most and _shared(corner[begins[one] : begins[one + 1]], crowd, seen):
                found[count] = one
                count += 1
        frontier = _unseen(found[before:count], begins, corner, seen)
    return _peeled(found[:count], begins, corner, start, len(crowd)) if useful else found[:count]


@kernel
def _in_order(keys: Ints) -> Ints:
    """The places of whole numbers, least first, and of equal ones as they stand. As `argsort(kind="mergesort")`, which
    takes Numba 6 seconds to compile."""
    count = len(keys)
    return np.sort(keys * count + np.arange(count)) % count


@kernel
def _met(
    corners: Ints, region: Ints, following: Ints, first: Ints, links: NDArray[np.int32], met: Flags, most: int
) -> Ints:
    """The regions on some corners that were not met before, until they are enough; `links` is how often each was."""
    listed, count = np.empty(2 * most, np.int64), 0
    for at in corners:
        meeting, seen = first[at], 0
        while meeting != NONE and seen < most:
            one = region[meeting]
            if not met[one]:
                if not links[one]:
                    listed[count] = one
                    count += 1
                links[one] += 1
            meeting, seen = following[meeting], seen + 1
        if count >= most:
            break
    return listed[:count]


@kernel
def _shared(corners: Ints, crowd: Ints, seen: Flags) -> bool:
    """Whether each of these corners has another region, or is one of the start's."""
    return bool(((crowd[corners] > 1) | (seen[corners] == STARTED)).all())


@kernel
def _unseen(regions: Ints, begins: Ints, corner: Ints, seen: Flags) -> Ints:
    """The corners of some regions that come into sight for the first time, in order."""
    total = 0
    for one in regions:
        total += begins[one + 1] - begins[one]
    corners, count = np.empty(total, np.int64), 0
    for one in regions:
        for at in corner[begins[one] : begins[one + 1]]:
            if not seen[at]:
                seen[at] = SEEN
                corners[count] = at
                count += 1
    return np.sort(corners[:count])


@kernel
def _peeled(regions: Ints, begins: Ints, corner: Ints, start: Ints, corners: int) -> Ints:
    """The regions without those that have a corner to themselves, again and again."""
    owners = np.zeros(corners, np.int32)
    owners[start] = 2
    for one in regions:
        owners[corner[begins[one] : begins[one + 1]]] += 1
    left, before = regions, -1
    while len(left) != before:
        before, kept = len(left), np.ones(len(left), np.bool_)
        for place, one in enumerate(left):
            mine = corner[begins[one] : begins[one + 1]]
            if (owners[mine] == 1).any():
                owners[mine] -= 1
                kept[place] = False
        left = left[kept]
    return left
