"""An answer as its page shows it: one big number, or lines that are sorted, searched and turned over, as a table with
bars or dots, along a line, or as a heat map. Each of these views has an address."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import numpy as np

from discreet.answer.reply import Answer, Row
from discreet.domain.attribute import Bins, Integer
from discreet.server.console.charts import line_chart
from discreet.server.console.heat import Heat, heat_map
from discreet.server.console.overlap import overlap_picture
from discreet.server.console.page import number
from discreet.server.console.table import BarLine, table_of
from discreet.server.console.words import KINDS
from discreet.sql.question import NULL
from discreet.sql.where_text import where_text

LINES = 100
"""Lines on one page."""
MOST_HEAT = 20_000
CHARTS = {"bars": "Bars", "dots": "Dots", "line": "Line", "heat": "Heat map"}
OF_A_VIEW = ("chart", "sort", "find", "page")
"""The fields of an address that say how an answer is looked at; the others are the question."""
OF_A_FORM = (*OF_A_VIEW, "sure", "format")
FORMS = {"csv": "CSV", "parquet": "Parquet", "json": "JSON", "png": "PNG", "svg": "SVG"}

Line = tuple[tuple[str, ...], list[Row]]


@dataclass(frozen=True)
class AnswerLook:
    """How an answer is looked at, and where that is."""

    found: Answer
    fields: Mapping[str, Sequence[str]] = field(repr=False)
    chart: str
    sort: str
    """A column, or a label's; with a minus before it, the largest first. Nothing: as the answer has it."""
    find: str
    page: int

    def address(self, **changes: str) -> str:
        """Where the same answer is looked at otherwise."""
        return f"/ask?{self._query(**changes)}"

    def download(self, form: str) -> str:
        return f"/ask/download?{urlencode([*question_fields(self.fields), ('format', form)])}"

    def sorted_by(self, column: str) -> str:
        """By a column: its largest first, then its least; a label from A to Z."""
        first, other = (column, f"-{column}") if column in self.found.by else (f"-{column}", column)
        return self.address(sort=other if self.sort == first else first, page="")

    def direction(self, column: str) -> str:
        return {column: "ascending", f"-{column}": "descending"}.get(self.sort, "none")

    @property
    def query(self) -> str:
        """The question as an address says it."""
        return urlencode(self.question)

    @property
    def question(self) -> list[tuple[str, str]]:
        return question_fields(self.fields)

    def _query(self, **changes: str) -> str:
        now = {"chart": self.chart, "sort": self.sort, "find": self.find, "page": str(self.page or "")}
        usual = {"chart": "bars"}
        view = {key: value for key, value in {**now, **changes}.items() if value and usual.get(key) != value}
        return urlencode([*self.question, *view.items()])

    @cached_property
    def lines(self) -> list[Line]:
        """All lines that are looked for, in the order that was chosen."""
        lines: list[Line] = [
            (tuple(NULL if label is None else str(label) for label in labels), rows)
            for labels, rows in self.found.lines
        ]
        if wanted := self.find.casefold():
            lines = [line for line in lines if any(wanted in label.casefold() for label in line[0])]
        return self._sorted(lines)

    def _sorted(self, lines: list[Line]) -> list[Line]:
        column, down = self.sort.removeprefix("-"), self.sort.startswith("-")
        if column in self.found.columns:
            known = [line for line in lines if self._value(line, column) is not None]
            rest = [line for line in lines if self._value(line, column) is None]
            return [*sorted(known, key=lambda line: self._value(line, column) or 0.0, reverse=down), *rest]
        if column in self.found.by:
            place, rank = self.found.by.index(column), self._ranks(column)
            return sorted(lines, key=lambda line: rank(line[0][place]), reverse=down)
        return lines

    def _ranks(self, column: str) -> Callable[[str], tuple[float, str]]:
        """Where a label stands among those of its column: as in the domain, else numbers before texts."""
        domain = self.found.domain
        known = {label: place for place, label in enumerate(domain[column].labels)} if column in domain.names else {}

        def rank(label: str) -> tuple[float, str]:
            if label in known:
                return known[label], ""
            with suppress(ValueError):
                return float(label), ""
            return math.inf, label

        return rank

    def _value(self, line: Line, column: str) -> float | None:
        return next((row.value for row in line[1] if row.column == column), None)

    @property
    def pages(self) -> int:
        return max(-(-len(self.lines) // LINES), 1)

    @property
    def shown(self) -> list[Line]:
        return self.lines[self.page * LINES : (self.page + 1) * LINES]

    @property
    def charts(self) -> dict[str, str]:
        """The charts that suit this answer."""
        by = self.found.by
        suited = {"bars", "dots"} | ({"line"} if len(by) == 1 and self._is_ordered(0) else set())
        suited |= {"heat"} if len(by) == 2 and len(self.lines) <= MOST_HEAT else set()
        return {chart: name for chart, name in CHARTS.items() if chart in suited}

    def _is_ordered(self, place: int) -> bool:
        """Whether labels are numbers or dates."""
        kinds, name = self.found.label_kinds, self.found.by[place]
        if kinds and kinds[place] != "text":
            return True
        domain = self.found.domain
        return name in domain.names and isinstance(domain[name], Integer | Bins)


def question_fields(fields: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """The fields of an address or a form that are the question; of pick and SQL the half that counts."""
    typed = next(iter(fields.get("mode", ())), "") == "sql"
    chosen = []
    for key, values in fields.items():
        clicked = key in ("table", "aggregate", "of", "by") or key.startswith(("from.", "to.", "in."))
        if key in OF_A_FORM or (clicked if typed else key == "sql" and "mode" in fields):
            continue
        chosen += [(key, value) for value in values if value.strip()]
    return chosen


def look_at(found: Answer, fields: Mapping[str, Sequence[str]]) -> AnswerLook:
    """An answer, looked at as an address says. What it says that makes no sense is left out."""

    def said(name: str) -> str:
        return next(iter(fields.get(name, ())), "").strip()

    sort, page = said("sort"), said("page")
    known = sort.removeprefix("-") in (*found.by, *found.columns)
    asked = int(page) if page.isascii() and page.isdigit() and len(page) < 9 else 0
    look = AnswerLook(found, fields, "bars", sort if known else "", said("find"), 0)
    chart = said("chart") if said("chart") in look.charts else "bars"
    return AnswerLook(found, fields, chart, look.sort, look.find, min(asked, look.pages - 1))


def view_of(look: AnswerLook) -> dict[str, Any]:
    """An answer as its template takes it."""
    found = look.found
    single = found.only if len(found.rows) == 1 else None
    relaxed = [row for row in found.rows if row.is_near]
    return {
        "found": found,
        "look": look,
        "single": single,
        "tables": [] if single is not None else _tables(look),
        "lines": [] if single is not None or look.chart != "line" else _line_charts(look),
        "heats": [] if single is not None or look.chart != "heat" else _heats(look),
        "forms": FORMS,
        "why": KINDS[found.kind],
        "overlaps": [(row, overlap_picture(row.asked, row.answered, found.domain)) for row in relaxed[:4]],
        "more_relaxed": max(len(relaxed) - 4, 0),
        "notes": found.notes,
    }


def _tables(look: AnswerLook) -> list[Any]:
    dots = look.chart == "dots"
    return [table_of(look.found.by, column, _of_column(look, look.shown, column), LINES, dots)
            for column in look.found.columns]  # fmt: skip


def _of_column(look: AnswerLook, lines: Sequence[Line], column: str) -> list[BarLine]:
    return [_bar_line(labels, row, look.found) for labels, rows in lines for row in rows if row.column == column]


def _bar_line(labels: tuple[str, ...], row: Row, found: Answer) -> BarLine:
    about = where_text(row.answered, found.domain) if row.is_near else ""
    return BarLine(
        labels,
        row.value,
        row.low,
        row.high,
        row.kind,
        about=about,
        offer=row.offer,
        may_be_zero=row.may_be_zero,
        too_noisy=row.is_too_noisy,
        shrunken=row.shrunken,
    )


def _line_charts(look: AnswerLook) -> list[Any]:
    """A chart for each column, of all lines in the answer's own order: that of the label."""
    in_order = AnswerLook(look.found, look.fields, "line", "", look.find, 0)
    return [
        chart
        for column in look.found.columns
        if (chart := line_chart(look.found.by[0], column, _of_column(in_order, in_order.lines, column))) is not None
    ]


def _heats(look: AnswerLook) -> list[tuple[str, Heat]]:
    return [(column, heat) for column in look.found.columns if (heat := _heat(look, column)) is not None]


def _heat(look: AnswerLook, column: str) -> Heat | None:
    """A column by its two labels; cells that cannot be told from 0, or are too noisy, are crossed."""
    lines = [line for line in _of_column(look, look.lines, column) if line.value is not None]
    if not lines:
        return None
    down, across = (tuple(dict.fromkeys(line.labels[axis] for line in lines)) for axis in (0, 1))
    at = {(line.labels[0], line.labels[1]): line for line in lines}
    cells = [[at.get((row, name)) for name in across] for row in down]
    known = [[np.nan if cell is None or cell.value is None else cell.value for cell in row] for row in cells]
    values = np.array(known, dtype=np.float64)
    filled = np.where(np.isnan(values), np.nanmin(values), values)
    unsure = [[cell is None or cell.may_be_zero or cell.too_noisy for cell in row] for row in cells]

    def words(row: int, place: int) -> str:
        cell = cells[row][place]
        if cell is None or cell.value is None:
            return "–"
        return f"{number(cell.value)}, {number(cell.low)} … {number(cell.high)}"

    names = (look.found.by[0], down), (look.found.by[1], across)
    return heat_map(filled, *names, words, number, unsure=np.array(unsure, dtype=np.bool_))
