"""What a table's own description says of a column: labels, lists of values, limits, comments. No row is read for it."""

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal

from discreet.domain.attribute import Kind


@dataclass(frozen=True)
class RangeEnd:
    """An end of a declared range, and whether it belongs to it."""

    value: Decimal | date
    included: bool = True


@dataclass(frozen=True)
class Allowed:
    """Which values a column may have: those of a list, or those between two ends. None where nothing is said."""

    values: tuple[str, ...] | None = None
    low: RangeEnd | None = None
    high: RangeEnd | None = None

    def within(self, other: "Allowed") -> "Allowed":
        """What both allow."""
        values = self.values if other.values is None else other.values
        if self.values is not None and other.values is not None:
            values = tuple(value for value in self.values if value in other.values)
        return Allowed(values, _inner(self.low, other.low, 1), _inner(self.high, other.high, -1))


def _inner(one: RangeEnd | None, other: RangeEnd | None, sign: int) -> RangeEnd | None:
    if one is None or other is None or type(one.value) is not type(other.value):
        return one or other
    if one.value == other.value:
        return replace(one, included=one.included and other.included)
    lower, upper = (one, other) if one.value < other.value else (other, one)  # type: ignore[operator]
    return upper if sign > 0 else lower


@dataclass(frozen=True)
class Declared:
    """All that is declared of one column."""

    kind: Kind | None = None
    """What its type is best coded as; None where the type that it is read by says as much."""
    words: str = ""
    """The type as its own source calls it."""
    title: str = ""
    """What the column is called for people: a comment, or a variable's label."""
    limits: Allowed = Allowed()
    null: bool = False
    """Whether it is declared that values may be missing."""
    booleans: str = ""
    book: str = ""
    """A file that declares labels of its values."""
    book_list: str = ""
    """Which of that file's lists is meant, where it is not called like the column."""
    by: str = ""
    """What declares its values, for people."""
    key: bool = False
    """Whether it is the key of the table, which tells rows apart and is no attribute of anybody."""
