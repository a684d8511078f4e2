"""Tables of codes in a plan, read again from the journal: what groups a row belongs to, and how much it adds.

A table has, for each of its attributes, the class of every code, and a whole number for every combination of classes;
all in runs of [number, times]. Slow and obvious on purpose, and of its own: see `price.py`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from discreet.audit.terms import Unreadable
from discreet.domain.attribute import Bins
from discreet.domain.domain import Domain
from discreet.exact import parse_exact

Corner = tuple[int, ...]
Piece = tuple[Corner, Corner, int]
MOST = 1 << 28
ROWS_PER_PERSON = "rows_per_person"
"""Groups of people by how many rows each has: no function of a row, and of people alone."""


@dataclass(frozen=True)
class TableOfCodes:
    """A number for every combination of classes, in order."""

    axes: tuple[int, ...]
    classes: tuple[list[int], ...]
    shape: tuple[int, ...]
    numbers: list[int]

    def at(self, point: Mapping[int, int]) -> int:
        """The number of the codes that a point has on each axis."""
        place = 0
        for axis, of_code, size in zip(self.axes, self.classes, self.shape, strict=True):
            place = place * size + of_code[point[axis]]
        return self.numbers[place]


def read_table(body: Mapping[str, Any], domain: Domain) -> TableOfCodes:
    """A table. Raises Unreadable where it does not fit the domain."""
    axes = tuple(domain.axis(name) for name in body["of"] if name in domain.names)
    classes, shape = tuple(map(_unrolled, body["classes"])), tuple(body["shape"])
    numbers = _unrolled(body["table"])
    fits = len(axes) == len(body["of"]) == len(classes) == len(shape) and len(set(axes)) == len(axes) > 0
    if not fits or len(numbers) != prod(shape):
        raise Unreadable("its plan has a table of codes that is not whole")
    for axis, of_code, size in zip(axes, classes, shape, strict=True):
        if len(of_code) != domain.shape[axis] or min(of_code) < 0 or max(of_code) >= size:
            raise Unreadable("its plan has a table of codes that does not fit the domain")
    return TableOfCodes(axes, classes, shape, numbers)


def _unrolled(runs: Sequence[Sequence[int]]) -> list[int]:
    if any(type(part) is not int for run in runs for part in run) or sum(times for _, times in runs) > MOST:
        raise Unreadable("its plan has a table of codes that is not of whole numbers")
    return [number for number, times in runs for _ in range(times)]


def groups_in(by: Sequence[Any], domain: Domain) -> int:
    """How many groups a GROUP BY has. Raises Unreadable where it groups by what the domain does not have."""
    cells = 1
    for group in by:
        if isinstance(group, str):
            if group not in domain.names:
                raise Unreadable("its plan groups by what the domain does not have")
            cells *= domain[group].size
            continue
        if ROWS_PER_PERSON in group:
            cells *= _most_rows(group)
            continue
        table, labels = read_table(group, domain), group["labels"]
        if not labels or min(table.numbers) < 0 or max(table.numbers) >= len(labels):
            raise Unreadable("its plan puts rows into groups that have no name")
        cells *= len(labels)
    return cells


def _most_rows(group: Mapping[str, Any]) -> int:
    most = group[ROWS_PER_PERSON]
    if type(most) is not int or most < 1 or len(group) > 1:
        raise Unreadable("its plan groups people by no number of rows")
    return most


@dataclass(frozen=True)
class AddedAmount:
    """What the rows of a sum add: between two tables, in grains."""

    low: TableOfCodes
    high: TableOfCodes
    grain: Fraction

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple(sorted({*self.low.axes, *self.high.axes}))

    @property
    def is_one_signed(self) -> bool:
        return min(self.low.numbers) >= 0 or max(self.high.numbers) <= 0

    def most(self, point: Mapping[int, int]) -> Fraction:
        return self.grain * max(abs(self.low.at(point)), abs(self.high.at(point)))


def read_amount(body: Mapping[str, Any], domain: Domain) -> AddedAmount:
    """What a sum adds. With bins in it, it is clamped between two tables; else it is a table."""
    grain, table = parse_exact(body["grain"]), read_table(body, domain)
    if grain <= 0:
        raise Unreadable("its plan sums in no unit")
    if "terms" not in body:
        return AddedAmount(table, table, grain)
    for term in body["terms"]:
        read_table(term, domain)
        if not all(name in domain.names and isinstance(domain[name], Bins) for name in term["times"]):
            raise Unreadable("its plan multiplies by what has no grains")
    return AddedAmount(read_table(body["low"], domain), read_table(body["high"], domain), grain)


def take_amount(
    left: Counter[Piece], amount: AddedAmount, box: tuple[Corner, Corner], needed: Callable[[Fraction], int]
) -> tuple[str, int]:
    """Take the pieces that pay for a sum of an amount over one box: a problem, or what the whole box costs as one.

    The box is cut wherever a class changes or a piece ends; in between, all points add the same.
    """
    axes, (low, high) = amount.axes, box
    paying = sorted((piece for piece, count in left.items() if count and _inside(piece, box, axes)), key=lambda p: p[2])
    starts = [_starts(axis, amount, paying, low[axis], high[axis]) for axis in axes]
    adding = {cell: most for cell in product(*starts) if (most := amount.most(dict(zip(axes, cell, strict=True))))}
    if not paying and len(set(adding.values())) == 1 and len(adding) == prod(map(len, starts)):
        return "", needed(next(iter(adding.values())))
    uncovered = set(adding)
    for cell in sorted(adding):
        if cell not in uncovered:
            continue
        for piece in paying:
            if not left[piece] or not _holds(piece, cell, axes):
                continue
            inside = {one for one in adding if _holds(piece, one, axes)}
            if inside <= uncovered and piece[2] >= needed(max(adding[one] for one in inside)):
                left[piece] -= 1
                uncovered -= inside
                break
        else:
            return "a sum of an expression is not paid for in all of its region", 0
    return "", 0


def _starts(axis: int, amount: AddedAmount, paying: Sequence[Piece], low: int, high: int) -> list[int]:
    cuts = {low}
    for table in (amount.low, amount.high):
        if axis in table.axes:
            of_code = table.classes[table.axes.index(axis)]
            cuts |= {code for code in range(low + 1, high + 1) if of_code[code] != of_code[code - 1]}
    for first, last, _ in paying:
        cuts |= {first[axis], last[axis] + 1}
    return sorted(code for code in cuts if low <= code <= high)


def _inside(piece: Piece, box: tuple[Corner, Corner], axes: Sequence[int]) -> bool:
    """Whether a piece is a part of a box, cut along some axes only."""
    return all(
        c <= a and b <= d if axis in axes else (a, b) == (c, d)
        for axis, (a, b, c, d) in enumerate(zip(piece[0], piece[1], *box, strict=True))
    )


def _holds(piece: Piece, cell: Corner, axes: Sequence[int]) -> bool:
    return all(piece[0][axis] <= code <= piece[1][axis] for axis, code in zip(axes, cell, strict=True))


def names_of(by: Sequence[Any]) -> Iterator[str]:
    """What an answer is grouped by, in words."""
    for group in by:
        if isinstance(group, str):
            yield group
        else:
            yield "rows per person" if ROWS_PER_PERSON in group else str(group["text"])
