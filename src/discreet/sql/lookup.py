"""Look-up tables: public code lists that rows and results are joined with, by a key. CSV text → columns.

A value is a whole number, a number, true or false, or a text, as its whole column is; an empty cell is NULL. Keys are
texts.
"""

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from discreet.errors import UnsupportedQuery
from discreet.notebook import FieldsView
from discreet.sql.tokens import shown

Value = int | float | bool | str | None
MOST_LINES = 100_000
MOST_BYTES = 1 << 24
WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, eq=False, repr=False)
class Lookup(FieldsView):
    """A public table. Each key is on one line."""

    name: str
    key: str
    columns: Mapping[str, tuple[Value, ...]]
    """By their names in lower case, the key among them."""

    @cached_property
    def lines(self) -> dict[str, int]:
        """The number of each key's line."""
        return {str(key): number for number, key in enumerate(self.columns[self.key])}

    @property
    def lines_in_order(self) -> range:
        """The numbers of its lines."""
        return range(len(self.columns[self.key]))

    def is_key(self, column: str) -> bool:
        """Whether each line has a value of its own in a column, which rows can be compared with."""
        values = self.columns.get(column, ())
        is_plain = all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
        return is_plain and len({str(value) for value in values}) == len(values) > 0


Lookups = Callable[[], Mapping[str, Lookup]]
"""All look-up tables by their names in lower case: read when one may be asked of."""


def no_lookups() -> dict[str, Lookup]:
    return {}


def read_lookup(content: bytes, name: str, key: str, file: str) -> Lookup:
    """The table in a CSV file with a header. Refused with the file's name, and words that say where: no header, lines
    of another length, a key that is missing or there twice."""
    if not NAME.fullmatch(name):
        raise UnsupportedQuery(f"{shown(name)} is no name for a table; use letters, digits and _")
    if len(content) > MOST_BYTES:
        raise UnsupportedQuery(f"{file}: more than {MOST_BYTES >> 20} MB; a code list is shorter")
    try:
        header, *lines = csv.reader(io.StringIO(content.decode("utf-8-sig")), strict=True)
    except (UnicodeDecodeError, csv.Error, ValueError):
        raise UnsupportedQuery(f"{file}: not CSV in UTF-8 with a header") from None
    names = [column.strip().lower() for column in header]
    if len(set(names)) < len(names) or not all(names):
        raise UnsupportedQuery(f"{file}: line 1: two columns have one name, or one has none")
    if key.lower() not in names:
        raise UnsupportedQuery(f"{file}: line 1: there is no column {shown(key)}; there are {', '.join(header)}")
    if len(lines) > MOST_LINES:
        raise UnsupportedQuery(f"{file}: {len(lines):,} lines; at most {MOST_LINES:,} are taken")
    for number, line in enumerate(lines, start=2):
        if len(line) != len(names):
            raise UnsupportedQuery(f"{file}: line {number}: {len(line)} cells, not {len(names)}")
    cells = {column: [line[place] for line in lines] for place, column in enumerate(names)}
    _check_keys(file, key.lower(), cells[key.lower()])
    columns = {column: tuple(found) if column == key.lower() else _typed(found) for column, found in cells.items()}
    return Lookup(name.lower(), key.lower(), columns)


def _check_keys(file: str, column: str, keys: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for number, key in enumerate(keys, start=2):
        if not key:
            raise UnsupportedQuery(f"{file}: line {number}: {column}: a line needs its key")
        if key in seen:
            raise UnsupportedQuery(
                f"{file}: line {number}: {column}: {shown(key)} is on line {seen[key]} too; each key is on one line"
            )
        seen[key] = number


def _typed(cells: Sequence[str]) -> tuple[Value, ...]:
    there = [cell for cell in cells if cell]
    if there and all(WHOLE.fullmatch(cell) for cell in there):
        return tuple(int(cell) if cell else None for cell in cells)
    if there and all(NUMBER.fullmatch(cell) for cell in there):
        return tuple(float(cell) if cell else None for cell in cells)
    if there and {cell.lower() for cell in there} <= {"true", "false"}:
        return tuple(cell.lower() == "true" if cell else None for cell in cells)
    return tuple(cell or None for cell in cells)
