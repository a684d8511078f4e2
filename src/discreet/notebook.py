"""What notebooks show of a thing: a title and a few pairs, as text and as a table."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from fractions import Fraction
from html import escape
from numbers import Number
from pathlib import Path
from typing import Any

Pairs = Sequence[tuple[str, object]]


class NotebookView(ABC):
    """Something that is shown by what it says of itself, in a few lines."""

    @abstractmethod
    def _shown(self) -> tuple[str, Pairs]:
        """A title, and names with what they are; no more than a screen can hold."""

    def __repr__(self) -> str:
        title, pairs = self._shown()
        width = max((len(name) for name, _ in pairs), default=0)
        return "\n".join([f"<{title}>", *(f"  {name.ljust(width)}  {value}" for name, value in pairs)])

    def _repr_html_(self) -> str:
        title, pairs = self._shown()
        lines = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
            for name, value in pairs
        )
        return f"<b>{escape(title)}</b><table>{lines}</table>"


class FieldsView(NotebookView):
    """A dataclass that is shown by its fields: those that say something, each in a few words."""

    def _shown(self) -> tuple[str, Pairs]:
        own = [(one.name, getattr(self, one.name)) for one in fields(self) if _is_told(one, self)]  # type: ignore[arg-type]
        return type(self).__name__, [(name, brief(value)) for name, value in own]


MOST_SIGNS, MOST_NAMED = 80, 3
"""Of a text that is shown, and of the members of a collection."""


def _is_told(one: "Field[Any]", whole: object) -> bool:
    """Whether a field is shown: a public one, that is not what it is when nothing is said."""
    if not one.repr or one.name.startswith("_"):
        return False
    value = getattr(whole, one.name)
    return one.default is MISSING or type(value) is not type(one.default) or bool(value != one.default)


def brief(value: object) -> str:
    """A value in a few words. What is large, or a thing of its own, goes by its kind and its size."""
    if value is None:
        return "–"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape:
        return f"{' × '.join(map(str, shape))} numbers"
    if isinstance(value, Fraction):
        return f"{float(value):.6g}"
    if isinstance(value, Mapping):
        return _listed([f"{key}: {brief(one)}" for key, one in value.items()])
    if isinstance(value, list | tuple | set | frozenset):
        return _listed([brief(one) for one in value])
    has_words = isinstance(value, str | Number | Path) or type(value).__str__ is not object.__str__
    return _cut(str(value)) if has_words else type(value).__name__


def _listed(parts: list[str]) -> str:
    more = f", … {len(parts):,} in all" if len(parts) > MOST_NAMED else ""
    return _cut(", ".join(parts[:MOST_NAMED])) + more if parts else "none"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_SIGNS else f"{line[: MOST_SIGNS - 1]}…"
