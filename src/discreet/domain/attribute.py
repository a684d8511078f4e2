"""Attributes: the public, finite, ordered domains of a table's columns.

Codes of an attribute, in order: its ordinary cells 0 … cells−1, then one for values outside the declared ones (only
with outside = "other"), then one for missing values (only with null = true). Ordinary cells come first so that a range
of values is a range of codes.

A row with a value that has no code is not in the population at all: with outside = "drop" any value outside, and
without a null code any missing value (under "other" a missing value without a code of its own is "other").
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

from discreet.domain.notation import PLAIN, Notation
from discreet.exact import number_text

Outside = Literal["drop", "clamp", "other"]
Kind = Literal["integer", "category", "bins", "date"]
TRUTHS = ("true", "false")
Hierarchy = tuple["str | tuple[str, Hierarchy]", ...]
"""The leaves of a category's taxonomy from left to right; an inner node is (name, children)."""


MISSING, OTHER = "(missing)", "(other)"
"""The labels of missing values, and of all that are not declared."""


@dataclass(frozen=True, kw_only=True)
class Attribute(ABC):
    """What the three kinds share. `source` names the public document that the values come from."""

    kind: ClassVar[Kind]
    name: str
    source: str
    outside: Outside = "drop"
    null: bool = False
    notation: Notation = PLAIN

    @property
    @abstractmethod
    def cells(self) -> int:
        """The number of ordinary codes."""

    @property
    def size(self) -> int:
        """The number of codes."""
        return self.cells + (self.outside == "other") + self.null

    @property
    def other_code(self) -> int | None:
        return self.cells if self.outside == "other" else None

    @property
    def null_code(self) -> int | None:
        return self.size - 1 if self.null else None

    @property
    def total(self) -> bool:
        """Whether every possible value has a code, so that no row can be dropped."""
        return self.outside == "other" or (self.outside == "clamp" and self.null)

    def label(self, code: int) -> str:
        """The name of a code as people read it."""
        if code == self.null_code:
            return MISSING
        if code == self.other_code:
            return OTHER
        if not 0 <= code < self.cells:
            raise IndexError(f"{self.name} has codes 0 to {self.size - 1}")
        return self._cell_label(code)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.label(code) for code in range(self.size))

    @abstractmethod
    def _cell_label(self, code: int) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Integer(Attribute):
    """Whole numbers low … high, one code each."""

    kind: ClassVar[Kind] = "integer"
    low: int
    high: int

    @property
    def cells(self) -> int:
        return self.high - self.low + 1

    def value_text(self, value: Fraction) -> str:
        """A value as SQL writes it."""
        return number_text(value)

    def _cell_label(self, code: int) -> str:
        return str(self.low + code)


@dataclass(frozen=True)
class Discoverable:
    """What is public about values that nobody declares: how many are named at most, and how many bytes a name has."""

    most: int
    longest: int
    looked_for: bool = False
    """Whether a table was looked through already."""

    def can_name(self, text: bytes) -> bool:
        """Whether a text may become a value's name. It depends on that text alone."""
        if not 0 < len(text) <= self.longest:
            return False
        try:
            name = text.decode()
        except UnicodeDecodeError:
            return False
        return name.isprintable() and not name.isspace() and name.casefold() not in (MISSING, OTHER)


@dataclass(frozen=True, kw_only=True)
class Category(Attribute):
    """Named values; their order is the left-to-right order of the hierarchy, where there is one.

    `titles` are what the values are called, in the same order, where a codebook says so: shown behind them, and asked
    for like them. With `prefix` a value that is not declared is the longest declared one that it begins with. Those of
    a `discoverable` one are found in the table, when a vault is made; before that it has none.
    """

    kind: ClassVar[Kind] = "category"
    values: tuple[str, ...]
    discoverable: Discoverable | None = None
    hierarchy: Hierarchy | None = None
    titles: tuple[str, ...] = ()
    prefix: bool = False
    _codes: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_codes", {value: code for code, value in enumerate(self.values)})

    @property
    def cells(self) -> int:
        return len(self.values)

    def code(self, value: str) -> int | None:
        """The code of a value, also by its title, or by both as they are shown; None where it is not declared."""
        return self._codes.get(value, self._shown_codes.get(value))

    @cached_property
    def _shown_codes(self) -> dict[str, int]:
        titled = {title: code for code, title in enumerate(self.titles) if title}
        return {**{self._cell_label(code): code for code in titled.values()}, **titled}

    @cached_property
    def levels(self) -> tuple[tuple[str | None, ...], ...]:
        """The groups of every value, from the widest to the narrowest; None where it is in none that deep. Public."""
        paths = list(_paths(self.hierarchy or (), ()))
        depth = max((len(path) for path in paths), default=0)
        return tuple(tuple(path[level] if level < len(path) else None for path in paths) for level in range(depth))

    def spellings(self) -> Iterator[tuple[str, int | None]]:
        """Every text that is told from all others, and its code; None where it stands for a missing value."""
        yield from self._codes.items()
        written = [entry for pair in self.notation.booleans for entry in zip(pair, TRUTHS, strict=True)]
        yield from ((text, self._codes[value]) for text, value in written if value in self._codes)
        yield from ((text, None) for text in self.notation.missing)

    def _cell_label(self, code: int) -> str:
        title = self.titles[code] if self.titles else ""
        return f"{self.values[code]} {title}" if title and title != self.values[code] else self.values[code]


def _paths(hierarchy: Hierarchy, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The groups that each leaf is in, from left to right."""
    for node in hierarchy:
        if isinstance(node, str):
            yield above
        else:
            yield from _paths(node[1], (*above, node[0]))


@dataclass(frozen=True, kw_only=True)
class Bins(Attribute):
    """Half-open bins [a, b) of a numeric column between consecutive edges; None is an open end.

    `grain` is the unit to which the engine rounds a row before it is summed; without one the column has no SUM.
    """

    kind: ClassVar[Kind] = "bins"
    edges: tuple[Fraction | None, ...]
    grain: Fraction | None = None

    @property
    def cells(self) -> int:
        return len(self.edges) - 1

    def value_text(self, value: Fraction) -> str:
        """A value as SQL writes it."""
        return number_text(value)

    @property
    def open(self) -> bool:
        return self.edges[0] is None or self.edges[-1] is None

    def _cell_label(self, code: int) -> str:
        low, high = self.edges[code], self.edges[code + 1]
        left = "(−∞" if low is None else f"[{number_text(low)}"
        right = "∞)" if high is None else f"{number_text(high)})"
        return f"{left}, {right}"
