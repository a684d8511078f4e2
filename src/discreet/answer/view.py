"""An answer as people see it: a table, a file, a frame, a picture; whether it was asked here or of a server."""

import csv
import html
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Literal, Protocol, Self, TypeVar

from discreet.errors import UnsupportedQuery, VaultError
from discreet.plain import cells_of_text

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.figure import Figure

ANSWERED_FOR = "answered for"
NEAR = "relaxed: too little budget is left, so a number and its interval are for the region beside them"
OFFER = "what was asked could be had as sharply as the last column says: ask with within (--within) that, or more"
OR_SCALE = ", and where it says scale with scale (--scale)"
MOST_SHOWN = 40
"""Lines of an answer that a notebook shows."""
IN_NOTEBOOKS = ".rows has all of them, print() shows more"
MOST_PRINTED = 1_000
"""Lines of an answer that are printed; files have all of them."""
Label = str | None
LabelKind = Literal["text", "whole", "number", "date"]


class ShownRow(Protocol):
    """One number as it is shown: of a group and an aggregate."""

    @property
    def texts(self) -> tuple[Label, ...]: ...
    @property
    def key(self) -> object:
        """Equal for the numbers of one line."""

    @property
    def column(self) -> str: ...
    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def kind(self) -> str: ...
    @property
    def shrunken(self) -> float | None: ...
    @property
    def may_be_zero(self) -> bool: ...
    @property
    def affordable_scale(self) -> float | None: ...
    @property
    def offer(self) -> str | None: ...
    @property
    def is_near(self) -> bool: ...
    @property
    def is_even(self) -> bool: ...
    @property
    def is_too_noisy(self) -> bool: ...


R = TypeVar("R", bound=ShownRow)


@dataclass(frozen=True)
class ShownNumbers:
    """A column of an answer: the numbers of its lines."""

    values: list[float | None]
    low: list[float | None]
    high: list[float | None]
    shrunken: list[float] | None = None


@dataclass(frozen=True)
class ShownColumns:
    """An answer by columns, where no line is for another region: the labels of its lines, its numbers by name, and
    the kinds of each line."""

    labels: Sequence[Sequence[Label]]
    numbers: Mapping[str, ShownNumbers]
    kinds: Sequence[str]


class ColumnarRows(ABC):
    """Rows that are kept in columns, of which long files are sooner made than of one row after the other."""

    @abstractmethod
    def shown(self) -> ShownColumns | None:
        """All of them, or None where they are not alike enough."""


class AnswerView(ABC, Generic[R]):
    """What shows an answer. Its numbers stand line by line, in the order of its columns."""

    text: str
    by: tuple[str, ...]
    columns: tuple[str, ...]
    order: tuple[str, ...]
    label_kinds: tuple[LabelKind, ...]
    rows: Sequence[R]
    confidence: Fraction | float
    cost: Fraction
    notes: tuple[str, ...]

    if TYPE_CHECKING:  # one has it as a field

        @property
        def kind(self) -> str:
            """Where the numbers come from; "mixed" where that differs by row."""

    @abstractmethod
    def _region_text(self, row: R) -> str:
        """The region that a number is for, as a WHERE clause."""

    @abstractmethod
    def _spent(self) -> str:
        """What the answer spent, in words."""

    @property
    def lines(self) -> list[tuple[tuple[Label, ...], list[R]]]:
        """The rows line by line, each with its labels."""
        found: dict[object, list[R]] = {}
        for row in self.rows:
            found.setdefault(row.key, []).append(row)
        return [(rows[0].texts, [row for row in rows if row.column in self.columns]) for rows in found.values()]

    @property
    def only(self) -> R:
        if len(self.rows) != 1 or not self.columns:
            raise UnsupportedQuery(f"this answer has {len(self.rows)} numbers; look at .rows")
        return self.rows[0]

    @property
    def value(self) -> float | None:
        return self.only.value

    @property
    def shrunken(self) -> frozenset[str]:
        """The columns that have shrunken numbers."""
        return frozenset(row.column for row in self.rows if row.shrunken is not None)

    def table(self, shrunken: bool = False) -> tuple[list[str], list[list[str]]]:
        """Headers and lines: a group a line, and for each aggregate its value with its interval; on request with its
        shrunken number too."""
        also = self.shrunken if shrunken else frozenset[str]()
        bounded = {row.column for row in self.rows if row.low is not None or row.high is not None}
        headers = [*self.by]
        for column in self.columns:
            headers += [column, f"{float(self.confidence):.0%}"][: 1 + (column in bounded)]
            headers += [f"{column} shrunken"] * (column in also)
        headers.append("kind")
        near, offered = any(row.is_near for row in self.rows), any(row.offer for row in self.rows)
        headers += [ANSWERED_FOR] * near + ["could be had"] * offered
        return headers, [
            [
                *_line(labels, rows, bounded, also),
                *["; ".join(self._regions(rows))] * near,
                *[_offers(rows)] * offered,
            ]
            for labels, rows in self.lines
        ]

    @property
    def origin_names(self) -> tuple[str, str]:
        """What the columns of `origins` are called where no other column is."""
        taken = {*self.by, *self.columns}
        kind, answered_for = (f"discreet_{name}" if name in taken else name for name in ("kind", "answered_for"))
        return kind, answered_for

    def origins(self, rows: Sequence[R]) -> tuple[str, str]:
        """Of a line: the kinds of its numbers, and what regions they are for where not for those asked about."""
        return "/".join(dict.fromkeys(row.kind for row in rows)), "; ".join(self._regions(rows))

    def _regions(self, rows: Sequence[R]) -> list[str]:
        """Other regions than those asked about that the numbers of a line are for."""
        return list(dict.fromkeys(self._region_text(row) for row in rows if row.is_near))

    @property
    def in_order(self) -> list[str]:
        """All columns in the order they were asked for; first those that only group."""
        named = [*self.by, *self.columns]
        order = [name for name in self.order if name in named]
        return [*(name for name in named if name not in order), *order]

    def to_csv(self, shrunken: bool = False) -> str:
        """A line for each group, each aggregate with its low and high; on request with its shrunken number too. No text
        in it is a formula to a spreadsheet: see `cells_of_text`."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        also = self.shrunken if shrunken else frozenset[str]()
        ends = {column: ["", "_low", "_high"] + ["_shrunken"] * (column in also) for column in self.columns}
        headers = [f"{column}{end}" for column in self.in_order for end in ends.get(column, [""])]
        writer.writerow(cells_of_text([*headers, *self.origin_names]))
        columns = self.in_columns
        if columns is not None:
            writer.writerows(_lines(columns, self.by, self.in_order, also))
            return out.getvalue()
        for labels, rows in self.lines:
            cells: dict[str, list[object]] = {
                name: [label] for name, label in zip(self.by, cells_of_text(labels), strict=True)
            }
            for row in rows:
                cells[row.column] = [row.value, row.low, row.high, *[row.shrunken] * (row.column in also)]
            line = [cell for column in self.in_order for cell in cells[column]]
            writer.writerow([*line, *cells_of_text(self.origins(rows))])
        return out.getvalue()

    @property
    def in_columns(self) -> ShownColumns | None:
        """All of it by columns, where its rows are kept so and are alike."""
        return self.rows.shown() if isinstance(self.rows, ColumnarRows) else None

    def to_arrow(self) -> "pa.Table":
        """The same as an Arrow table; what is not known is null."""
        from discreet.answer.frame import arrow_of

        return arrow_of(self)

    def to_pandas(self) -> "pd.DataFrame":
        """The same as a data frame."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def plot(self, column: str | None = None) -> "Figure":
        """A picture of an aggregate, the first where none is named, by group and with its intervals."""
        from discreet.answer.frame import picture_of

        return picture_of(self, column)

    def __repr__(self) -> str:
        return self._as_text(MOST_SHOWN, IN_NOTEBOOKS)

    def save_csv(self, path: Path, shrunken: bool = False) -> None:
        try:
            path.write_text(self.to_csv(shrunken), encoding="utf-8")
        except OSError:
            raise VaultError(f"{path} cannot be written; the answer is recorded: ask again, it is free") from None

    def __str__(self) -> str:
        return self._as_text(MOST_PRINTED, ".rows has all of them, .save_csv() writes them")

    def first(self, most: int) -> tuple[Self, int]:
        """The same with its first lines alone, and how many more there are: the others are not even made."""
        in_line = max(len(self.columns), 1)
        hidden = max(len(self.rows) // in_line - most, 0)
        if not hidden:
            return self, 0
        return replace(self, rows=self.rows[: most * in_line]), hidden  # type: ignore[type-var]

    def _as_text(self, most: int, instead: str) -> str:
        """The first lines, and how many more there are."""
        shown, hidden = self.first(most)
        headers, lines = shown.table()
        widths = [max(map(len, column)) for column in zip(headers, *lines, strict=True)]
        texts = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (headers, *lines)
        ]
        return "\n".join([*texts, *more_lines(hidden, instead), *shown.footnotes()])

    def footnotes(self) -> list[str]:
        """What a reader must know beside the numbers."""
        spent = f"spent {self._spent()}" if self.cost else "spent nothing"
        notes = [NEAR] if any(row.is_near for row in self.rows) else []
        if any(row.offer for row in self.rows):
            notes.append(OFFER + OR_SCALE * any(row.affordable_scale is not None for row in self.rows))
        return [*self.notes, *notes, spent]

    def _repr_html_(self) -> str:
        shown, hidden = self.first(MOST_SHOWN)
        headers, lines = shown.table()
        head = "".join(f"<th>{html.escape(header)}</th>" for header in headers)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
        notes = "<br>".join(html.escape(note) for note in (*more_lines(hidden, IN_NOTEBOOKS), *shown.footnotes()))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><small>{notes}</small>"


def more_lines(hidden: int, instead: str) -> list[str]:
    """What to say of lines that are not shown."""
    return [f"… and {hidden:,} more lines: {instead}"] if hidden else []


def number(value: float | None) -> str:
    """A number with its thousands apart, without decimals that say nothing."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 10_000 else f"{value:,.4g}"


def _interval_text(row: ShownRow) -> str:
    """± where the interval is even around the value, else its ends."""
    if row.low is None or row.high is None:
        ends = [("≥", row.low), ("≤", row.high)]
        return next((f"{sign} {number(end)}" for sign, end in ends if end is not None), "–")
    if row.is_even:
        return f"± {number((row.high - row.low) / 2)}{', may be 0' * row.may_be_zero}"
    return f"{number(row.low)} … {number(row.high)}{', too noisy' * row.is_too_noisy}"


def _offers(rows: Sequence[ShownRow]) -> str:
    return "; ".join(dict.fromkeys(row.offer for row in rows if row.offer is not None))


def _line(
    labels: tuple[Label, ...], rows: Sequence[ShownRow], bounded: set[str], shrunken: frozenset[str]
) -> list[str]:
    from discreet.sql.question import NULL  # takes long to import, and a client is quick

    cells = [NULL if label is None else label for label in labels]
    for row in rows:
        cells += [number(row.value), _interval_text(row)][: 1 + (row.column in bounded)]
        cells += [number(row.shrunken)] * (row.column in shrunken)
    return [*cells, "/".join(dict.fromkeys(row.kind for row in rows))]


def offer_text(within: float | None, scale: float | None) -> str | None:
    """What could be had instead, in words."""
    if within is not None:
        return f"± {number(within)}"
    return None if scale is None else f"scale {number(scale)}"


def _lines(
    shown: ShownColumns, by: Sequence[str], order: Sequence[str], also: frozenset[str]
) -> Iterator[tuple[object, ...]]:
    """The lines of a file, from columns."""
    columns: list[Sequence[object]] = []
    labels_of = dict(zip(by, shown.labels, strict=True))
    for name in order:
        if name in labels_of:
            known = {*labels_of[name]}
            written = dict(zip(known, cells_of_text(known), strict=True))
            columns.append([written[label] for label in labels_of[name]])
            continue
        own = shown.numbers[name]
        columns += [own.values, own.low, own.high]
        columns += [own.shrunken or [None] * len(own.values)] * (name in also)
    columns += [cells_of_text(shown.kinds), [""] * len(shown.kinds)]
    return zip(*columns, strict=True)
