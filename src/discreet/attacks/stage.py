"""Made-up people to attack: each has a bit that nobody may learn, and the attacker knows everything else.

What a bit says is what the vault's neighbours protect. Where they are add-remove, it is whether the person is in the
table at all; where they are replace, which of two values the person has. A person has as many rows as the privacy unit
allows, all alike: nobody is worse off.

People stand in blocks. A block is one group of a GROUP BY within one run of cells, so that blocks have no point in
common: their answers have independent noise, and one question tries an attack on all of them at once. Blocks stand
apart where they are small and there is room, which leaves a vault few answers to combine for each: it is asked faster.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from math import prod

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.domain.attribute import Attribute, Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.ledger.guarantee import Neighbours
from discreet.noise.bits import Bits
from discreet.query.query import Count
from discreet.sql.parse import MOST_GROUPS
from discreet.sql.where_text import identifier, where_text

Counts = NDArray[np.int64]
ONE, ZERO = 0, 1
"""The codes of the secret attribute that stand for a bit of 1 and of 0."""
ROOMY = 8
"""An axis with at least so many values has gaps: of its values, only every other one is used."""


@dataclass(frozen=True)
class Axis:
    """An attribute, how many of its codes are used, and how far apart those are."""

    name: str
    codes: int
    step: int = 1


@dataclass(frozen=True)
class Stage:
    """Where people stand: in `runs` runs of `width` cells each, counted along `rows`, in every group of `by`.

    Without rows there is one cell, which is everything.
    """

    domain: Domain
    rows: tuple[Axis, ...]
    by: tuple[Axis, ...]
    secret: str | None
    """The attribute that holds the bit; None where the bit is to be in the table."""
    runs: int
    width: int
    stride: int
    """From the first cell of a run to that of the next."""

    @property
    def groups(self) -> int:
        return _size(self.by)

    @property
    def blocks(self) -> int:
        return self.runs * self.groups

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of arrays of people: by run, group and cell."""
        return self.runs, self.groups, self.width

    def sql(self, run: int, cells: Sequence[int], code: int = ONE) -> str:
        """Count, block by block, who stands in these cells of a run with a bit of 1; or of 0."""
        query = self.query(run, cells, code)
        names, condition = ", ".join(map(identifier, query.by)), where_text(query.where, self.domain)
        grouped = f"SELECT {names}, COUNT(*) FROM {self.domain.name} WHERE {condition} GROUP BY {names}"
        return grouped if names else f"SELECT COUNT(*) FROM {self.domain.name} WHERE {condition}"

    def query(self, run: int, cells: Sequence[int], code: int = ONE) -> Count:
        """The same, not as SQL."""
        where = self._crowd if self.secret is None else self._crowd.intersect(self._slabs(self.secret, [code]))
        if self.rows:
            where = where.intersect(self._places(run * self.stride + np.array(cells)))
        return Count(where, tuple(axis.name for axis in self.by))

    def groups_of(self, answer: Counts) -> Counts:
        """The numbers of the groups in use, of an answer over all codes."""
        used = tuple(slice(0, axis.codes * axis.step, axis.step) for axis in self.by)
        return answer[used].reshape(self.groups)

    def within(self, region: Region, run: int, group: int) -> NDArray[np.bool_]:
        """Which cells of a block lie in a region, for a bit of 1."""
        points = self._points(run * self.stride + np.arange(self.width), np.full(self.width, group), ONE)
        return np.array([point in region for point in points.tolist()])

    def table(self, ones: Counts, zeros: Counts, rows_each: int, id_column: str | None) -> pa.Table:
        """The rows of so many people of each bit at each cell; who is not in the table has none."""
        standing = [self._standing(ones, ONE)] + ([] if self.secret is None else [self._standing(zeros, ZERO)])
        points = np.repeat(np.concatenate(standing), rows_each, axis=0)
        columns = {a.name: _values(a, points[:, axis]) for axis, a in enumerate(self.domain.attributes)}
        if id_column is not None:
            columns[id_column] = pa.array(np.arange(len(points)) // rows_each)
        return pa.table(columns)

    def _standing(self, people: Counts, code: int) -> Counts:
        run, group, cell = np.nonzero(people)
        return np.repeat(self._points(run * self.stride + cell, group, code), people[run, group, cell], axis=0)

    def _points(self, cells: Counts, groups: Counts, code: int) -> Counts:
        """The points of the domain at these cells, in these groups, for a code of the secret."""
        found = np.zeros((len(cells), len(self.domain.attributes)), np.int64)
        for axes, flat in ((self.rows, cells), (self.by, groups)):
            for axis, codes in zip(axes, _codes(axes, flat), strict=True):
                found[:, self.domain.axis(axis.name)] = codes
        if self.secret is not None:
            found[:, self.domain.axis(self.secret)] = code
        return found

    @cached_property
    def _crowd(self) -> Region:
        """All groups, whatever the row and the secret."""
        slabs = [self._slabs(axis.name, range(0, axis.codes * axis.step, axis.step)) for axis in self.by]
        return reduce(Region.intersect, slabs, self.domain.everything)

    def _places(self, cells: Counts) -> Region:
        """Cells along all rows, as a region."""
        points = np.transpose(_codes(self.rows, cells)).tolist()
        slabs = [[self._slabs(a.name, [code]) for a, code in zip(self.rows, point, strict=True)] for point in points]
        return Region.of(box for each in slabs for box in reduce(Region.intersect, each).boxes)

    def _slabs(self, name: str, codes: Iterable[int]) -> Region:
        return Region.of(box for code in codes for box in self.domain.slab(name, code, code).boxes)


def set_stage(domain: Domain, neighbours: Neighbours, width: int, blocks: int) -> Stage:
    """A stage of at most so many blocks, each of at most `width` cells: as many as the domain has room for."""
    spare = sorted((Axis(a.name, a.cells) for a in domain.attributes if a.cells > 1), key=lambda axis: axis.codes)
    secret = spare.pop(0).name if neighbours == "replace" and spare else None
    if not spare:
        raise UnsupportedQuery(
            f"{domain.name} has too few values for people with a secret to stand apart in; --kind inference still works"
        )
    rows = _rows(spare, width)
    by: list[Axis] = []
    for axis in reversed([axis for axis in spare if axis not in rows]):
        room = blocks // _size(by)
        if room > 1 and prod(domain[name].size for name in (axis.name, *(a.name for a in by))) <= MOST_GROUPS:
            step = 2 if axis.codes >= ROOMY >= width > 1 and not by else 1
            by.append(Axis(axis.name, min(-(-axis.codes // step), room), step))
    cells = _size(rows)
    width = min(width, cells)
    stride = width + 1 if cells >= ROOMY * width else width
    runs = min(max(blocks // _size(by), 1), (cells - width) // stride + 1)
    return Stage(domain, tuple(rows), tuple(by), secret, runs, width, stride)


def _rows(spare: Sequence[Axis], width: int) -> list[Axis]:
    """The attribute that is just large enough; where none is, as many of the largest as it takes. None for one cell."""
    enough = [axis for axis in spare if axis.codes >= width > 1]
    rows = enough[:1]
    for axis in reversed(spare):
        if _size(rows) < width:
            rows.append(axis)
    return rows


def _size(axes: Sequence[Axis]) -> int:
    return prod(axis.codes for axis in axes)


def _codes(axes: Sequence[Axis], flat: Counts) -> list[Counts]:
    """The codes on each axis of cells that are counted along all of them."""
    if not axes:
        return []
    along = np.unravel_index(flat, [axis.codes for axis in axes])
    return [places * axis.step for axis, places in zip(axes, along, strict=True)]


def _values(attribute: Attribute, codes: Counts) -> pa.Array:
    """A value for each of these ordinary codes."""
    match attribute:
        case Integer(low=low):
            return pa.array(codes + low)
        case Category(values=values):
            return pa.array(values, pa.string()).take(pa.array(codes))
        case Bins(edges=edges):
            ends = [None if edge is None else float(edge) for edge in edges]
            inside = [_between(low, high) for low, high in pairwise(ends)]
            return pa.array(inside, pa.float64()).take(pa.array(codes))
    raise UnsupportedQuery(f"{attribute.name}: a kind that this version does not know")


def _between(low: float | None, high: float | None) -> float:
    """A number in a bin, whose ends are not both open."""
    if low is None or high is None:
        return low if low is not None else (high or 0.0) - 1 - abs(high or 0.0)
    return low + (high - low) / 2


def coins(shape: tuple[int, ...], bits: Bits) -> NDArray[np.bool_]:
    """Fair coins, each tossed by itself."""
    size = prod(shape)
    tossed = np.unpackbits(bits.words(-(-size // 64)).view(np.uint8))
    return tossed[:size].astype(np.bool_).reshape(shape)
