"""Tables of codes in a plan, read again from the journal: what groups a row belongs to, and how much it adds.

A table has, for each of its attributes, the class of every code, and a whole number for every combination of classes;
all in runs of [number, times]. Slow and obvious on purpose, and of its own: see `price.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.sums import Run
from discreet.audit.terms import Unreadable
from discreet.domain.attribute import Bins
from discreet.domain.domain import Domain
from discreet.exact import parse_exact

MOST = 1 << 28
MOST_NUMBER = 1 << 62
OF_PERSON = "of_person"
"""Groups of people's lines, by what their rows come to: no function of a row, and of such lines alone."""


@dataclass(frozen=True)
class TableOfCodes:
    """A number for every combination of classes, in order."""

    axes: tuple[int, ...]
    classes: tuple[list[int], ...]
    shape: tuple[int, ...]
    numbers: list[int]

    def among(self, axes: tuple[int, ...], codes: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """The numbers of all combinations of codes on some axes, its own among them."""
        order = sorted(range(len(self.axes)), key=lambda place: axes.index(self.axes[place]))
        table = np.array(self.numbers, np.int64).reshape(self.shape).transpose(order)
        classes = dict(zip(self.axes, self.classes, strict=True))
        places = [
            [classes[axis][code] for code in own] if axis in classes else [0] * len(own)
            for axis, own in zip(axes, codes, strict=True)
        ]
        spread = table[tuple(slice(None) if axis in classes else None for axis in axes)]
        return np.asarray(spread[np.ix_(*places)])


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
    whole = all(type(part) is int and abs(part) < MOST_NUMBER for run in runs for part in run)
    if not whole or sum(times for _, times in runs) > MOST:
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
        if OF_PERSON in group:
            labels = group[OF_PERSON]["labels"]
            if not labels or len(group) > 1:
                raise Unreadable("its plan groups people by nothing")
            cells *= len(labels)
            continue
        table, labels = read_table(group, domain), group["labels"]
        if not labels or min(table.numbers) < 0 or max(table.numbers) >= len(labels):
            raise Unreadable("its plan puts rows into groups that have no name")
        cells *= len(labels)
    return cells


@dataclass(frozen=True)
class AddedByLine:
    """What a person's line adds to a sum, at most: it is clamped to two ends, whatever it is."""

    most: Fraction
    grain: Fraction
    is_one_signed: bool


def read_line(body: Mapping[str, Any]) -> AddedByLine:
    """What a line adds. One that is counted adds 1."""
    least, most = body["least"], body["most"]
    if type(least) is not int or type(most) is not int or not -MOST_NUMBER < least <= 0 <= most < MOST_NUMBER:
        raise Unreadable("its plan adds up people's lines without bounds")
    if "of" not in body:
        if (least, most) != (0, 1):
            raise Unreadable("its plan counts people's lines, and not once each")
        return AddedByLine(Fraction(1), Fraction(1), True)
    grain = parse_exact(body["of"]["grain"])
    if grain <= 0:
        raise Unreadable("its plan sums in no unit")
    return AddedByLine(max(-least, most) * grain, grain, least == 0 or most == 0)


def rows_in_lines(body: Mapping[str, Any], domain: Domain) -> int:
    """How many of a person's rows are lines of their own; 1 where one line is made of all of them."""
    if "first" not in body:
        return 1
    most = body["first"]["most"]
    if type(most) is not int or most < 1:
        raise Unreadable("its plan takes no first rows")
    for table in body["first"]["order"]:
        read_table(table, domain)
    return most


def require_lines(body: Mapping[str, Any], by: Sequence[Any], domain: Domain) -> None:
    """Raise Unreadable unless people's lines are grouped by what parts them, and by what their rows come to."""
    keys = [key for _, key in body["keys"]]
    groups_in(keys, domain)
    if not all(group in keys or (not isinstance(group, str) and OF_PERSON in group) for group in by):
        raise Unreadable("its plan groups people's lines by what does not part them")
    if any(not isinstance(key, str) and OF_PERSON in key for key in keys):
        raise Unreadable("its plan parts people's lines by themselves")
    rows_in_lines(body, domain)
    for trait in body["traits"]:
        for table in (trait["of"], *trait.get("order", ())):
            read_table(table, domain)


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

    def cuts(self, axis: int) -> set[int]:
        """The codes whose rows may add otherwise than those of the code before."""
        found = set()
        for table in (self.low, self.high):
            if axis in table.axes:
                of_code = table.classes[table.axes.index(axis)]
                found |= {code for code in range(1, len(of_code)) if of_code[code] != of_code[code - 1]}
        return found

    def most(self, runs: Sequence[Sequence[Run]]) -> tuple[list[Fraction], NDArray[np.intp]]:
        """The most that rows add, by the classes of their codes, which are the same within a run."""
        codes = [[first for first, _ in own] for own in runs]
        amounts = np.maximum(*(np.abs(table.among(self.axes, codes)) for table in (self.low, self.high)))
        different, which = np.unique(amounts, return_inverse=True)
        return [self.grain * int(one) for one in different], which.reshape(amounts.shape)


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


def names_of(by: Sequence[Any]) -> Iterator[str]:
    """What an answer is grouped by, in words."""
    for group in by:
        if isinstance(group, str):
            yield group
        else:
            yield str(group[OF_PERSON]["text"] if OF_PERSON in group else group["text"])
