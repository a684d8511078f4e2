"""Facts: exact statistics that are public anyway, by law, by policy or from a rival publication.

A fact constrains the table: it is a row of A·x = b, where x holds the number of people at each point of the domain, or
many such rows at once (a cuboid). It is never compared with the table: it is what everybody knows, true or not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import InvalidFact, UnsupportedQuery
from discreet.notebook import FieldsView
from discreet.query.query import Combination, Count, require_in_domain

MOST = 2**53
"""Values stay below this, so that they are exact in every kind of arithmetic."""

Whole = NDArray[np.int64]
Term = tuple[int, Region]
"""A whole number, times the count of a region."""


@dataclass(frozen=True, repr=False)
class CountFact(FieldsView):
    """Σ coefficient × count of region = value. `text` is how it was put: SQL, for people.

    `number` is the journal's entry of it, and `table` the entry that accepted the table that it is about: both 0 for a
    fact that no journal has, and `table` 0 for a vault's first table.
    """

    kind: ClassVar[str] = "count"
    terms: tuple[Term, ...]
    value: int
    text: str = ""
    number: int = 0
    table: int = 0

    def rows(self, domain: Domain) -> Iterator[tuple[tuple[Term, ...], int]]:  # noqa: ARG002
        """The one row of A·x = b that it is: its terms and its value."""
        yield self.terms, self.value

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "text": self.text,
            "terms": [
                [times, [[list(box.low), list(box.high)] for box in region.boxes]] for times, region in self.terms
            ],
            "value": self.value,
        }


@dataclass(frozen=True, eq=False, repr=False)
class CuboidFact(FieldsView):
    """Every count of everybody by some attributes; `values` has an axis for each, over its codes, in the domain's
    order.

    Without attributes it is n, the number of people. `number` and `table` are as for a CountFact.
    """

    kind: ClassVar[str] = "cuboid"
    by: tuple[str, ...]
    values: Whole
    text: str = ""
    number: int = 0
    table: int = 0

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CuboidFact)
            and (self.by, self.text, self.number, self.table) == (other.by, other.text, other.number, other.table)
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]

    def axes(self, domain: Domain) -> tuple[int, ...]:
        return tuple(domain.axis(name) for name in self.by)

    def rows(self, domain: Domain) -> Iterator[tuple[tuple[Term, ...], int]]:
        """A row of A·x = b for each cell, in the order of the codes."""
        whole, axes = domain.everything.boxes[0], self.axes(domain)
        for codes in np.ndindex(self.values.shape):
            low, high = list(whole.low), list(whole.high)
            for axis, code in zip(axes, codes, strict=True):
                low[axis] = high[axis] = code
            yield ((1, Region((Box(tuple(low), tuple(high)),))),), int(self.values[codes])

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "text": self.text, "by": list(self.by), "values": self.values.tolist()}


Fact = CountFact | CuboidFact


def count_fact(query: Count | Combination, value: object, domain: Domain, text: str = "") -> CountFact:
    """The fact that a count, or a sum of whole multiples of counts, has this value. Raises InvalidFact."""
    terms = query.terms if isinstance(query, Combination) else ((1, query),)
    merged: dict[Region, int] = {}
    for times, count in terms:
        if not isinstance(count, Count) or count.by:
            raise InvalidFact("a fact is a COUNT, or a sum of counts, without groups; --cuboid takes whole tables")
        try:
            require_in_domain(count, domain)
        except UnsupportedQuery as error:
            raise InvalidFact(str(error)) from None
        merged[count.where] = merged.get(count.where, 0) + times
    exact = _whole(value, text or "the fact")
    kept = tuple((times, region) for region, times in merged.items() if times and region)
    signs = {times > 0 for times, _ in kept}
    if (exact < 0 and False not in signs) or (exact > 0 and True not in signs):
        raise InvalidFact(f"{text or 'the fact'} cannot be {exact}: counts are never negative")
    if not kept:
        raise InvalidFact(f"{text or 'the fact'} is 0 on every table: no point of the domain is counted in it")
    return CountFact(kept, exact, text)


def cuboid_fact(by: tuple[str, ...], values: ArrayLike, domain: Domain, text: str = "") -> CuboidFact:
    """The fact that the counts by some attributes, in their order, are these. Raises InvalidFact, and DomainError."""
    name = text or f"cuboid {', '.join(by) or '()'}"
    axes = [domain.axis(attribute) for attribute in by]
    if len(set(axes)) < len(axes):
        raise InvalidFact(f"{name}: an attribute is given twice")
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidFact(f"{name}: its values are no array; their rows differ in length") from None
    shape = tuple(domain.shape[axis] for axis in axes)
    if array.shape != shape:
        raise InvalidFact(f"{name} has the shape {array.shape}; the domain's codes make it {shape}")
    if not np.issubdtype(array.dtype, np.integer):
        finite = np.issubdtype(array.dtype, np.floating) and bool(np.isfinite(array).all())
        if not finite or bool((array != np.rint(array)).any()):
            raise InvalidFact(f"{name}: a count is a whole number")
    for bad, why in ((array < 0, "counts are never negative"), (array >= MOST, f"counts are below {MOST}")):
        if bad.any():
            cell = tuple(int(code) for code in np.argwhere(bad)[0])
            labels = ", ".join(
                f"{domain.attributes[a].name} {domain.attributes[a].label(c)}" for a, c in zip(axes, cell, strict=True)
            )
            raise InvalidFact(f"{name} has {array[cell]} at {labels or 'its one cell'}; {why}")
    order = sorted(range(len(axes)), key=lambda place: axes[place])
    ordered = np.array(array.astype(np.int64).transpose(order), order="C")
    ordered.flags.writeable = False
    return CuboidFact(tuple(domain.names[axis] for axis in sorted(axes)), ordered, text)


def numbered(fact: Fact, number: int, table: int) -> Fact:
    """The fact as the journal has it."""
    return replace(fact, number=number, table=table)


def fact_from_json(body: Mapping[str, Any], number: int = 0, table: int = 0) -> Fact:
    """The inverse of to_json. Raises InvalidFact for numbers that no fact has."""
    if body["kind"] == CuboidFact.kind:
        values = np.array(body["values"], np.int64)
        values.flags.writeable = False
        return CuboidFact(tuple(body["by"]), values, body["text"], number, table)
    terms = tuple(
        (_whole(times, "a term"), Region(tuple(Box(tuple(low), tuple(high)) for low, high in boxes)))
        for times, boxes in body["terms"]
    )
    return CountFact(terms, _whole(body["value"], "a fact"), body["text"], number, table)


def _whole(value: object, name: str) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidFact(f"{name}: its value is a whole number, not {value!r}")
    if abs(int(value)) >= MOST:
        raise InvalidFact(f"{name}: its value is beyond {MOST}")
    return int(value)
