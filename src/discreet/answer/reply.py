"""What an analyst gets: an answer, or an explanation of what an answer would cost."""

import csv
import html
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from discreet.answer.compound import Compound
from discreet.answer.estimate import Estimate, Kind, Ratio
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery, VaultError
from discreet.exact import number_text
from discreet.ledger.budget import Budget
from discreet.ledger.guarantee import Guarantee
from discreet.notebook import FieldsView, NotebookView, Pairs
from discreet.plain import cells_of_text
from discreet.sql.question import NULL
from discreet.sql.where_text import where_text

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
LabelKind = Literal["text", "whole", "number"]
ROUNDING = 1e-9
"""Interval ends this close to each other, relatively, may be equal."""

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.figure import Figure

    from discreet.answer.past import PastAnswer
    from discreet.replies import AnswerJson, CompoundJson, ExplanationJson, PartJson, RowJson


@dataclass(frozen=True, repr=False)
class Row(FieldsView):
    """One number: of a group (its labels) and an aggregate (its column)."""

    labels: tuple[Label, ...]
    column: str
    value: float | None
    low: float | None
    high: float | None
    kind: Kind
    asked: Region
    answered: Region
    relaxation_error: float = 0.0
    source: Estimate | Ratio | None = None
    """What the number was made of; None for quantiles."""
    affordable: float | None = None
    """Of a number that is not what was asked for: within how much of the truth that could be measured instead."""
    affordable_scale: float | None = None
    """The same where the error depends on the data (quantiles, some averages): with noise of which scale."""
    may_be_zero: bool = False
    """Whether it cannot be told from 0: that lies in its interval, or above that of a count, which is no less."""
    shrunken: float | None = None
    """Of a count in a long GROUP BY: the estimate made of all lines and the noise's law, see `answer/shrink.py`."""
    chosen: bool = False
    """Whether its line was chosen by its noise: its interval then holds for all lines at once that were there."""
    line: int | None = None
    """The number of its line, where labels do not tell lines apart."""
    bounds: tuple[float, float] | None = None
    """What the domain lets the number be, where it and its interval are cut to that."""

    @property
    def is_too_noisy(self) -> bool:
        """Whether its interval is as wide as the number itself: too noisy to read."""
        if self.value is None or self.low is None or self.high is None or self.low == self.high:
            return False
        return self.source is not None and (self.high - self.low) / 2 >= abs(self.value)

    @property
    def is_unanswered(self) -> bool:
        """Whether too little was left to measure it, and nothing that was released comes near."""
        return self.value is None and self.kind == "unanswered"

    @property
    def is_near(self) -> bool:
        """Whether it is about another region than the one asked about."""
        return self.value is not None and self.answered != self.asked

    def is_wider_than(self, within: Fraction | None) -> bool:
        """Whether the interval reaches further from its middle than was asked for."""
        low, high = self.low, self.high
        if within is None or low is None or high is None:
            return False
        return (high - low) / 2 > float(within) * (1 + ROUNDING)

    @property
    def offer(self) -> str | None:
        """What could be had instead, in words."""
        if self.affordable is not None:
            return f"± {number(self.affordable)}"
        return None if self.affordable_scale is None else f"scale {number(self.affordable_scale)}"

    @property
    def compound(self) -> Compound | None:
        return self.source.compound if isinstance(self.source, Estimate) else None

    @property
    def is_even(self) -> bool:
        """Whether its interval reaches as far to either side: an average's and a quantile's need not."""
        if not isinstance(self.source, Estimate) or self.low is None or self.high is None:
            return False
        return self.bounds is None or (self.bounds[0] < self.low and self.high < self.bounds[1])

    def within_bounds(self, least: float, most: float) -> "Row":
        """The same of a number that lies between two others, whatever the noise says."""

        def cut(number: float | None) -> float | None:
            return None if number is None else min(max(number, least), most)

        return replace(self, value=cut(self.value), low=cut(self.low), high=cut(self.high), bounds=(least, most))


@dataclass(frozen=True)
class Answer:
    """An answer to one SELECT, with an interval beside every number. Nothing in it is exact unless it says so."""

    text: str
    by: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Sequence[Row]
    confidence: Fraction
    cost: Fraction
    """What the answer spent where it spent most, as ε or ρ; 0 for an answer made of what was public."""
    budget: Budget
    """What that is of."""
    guarantee: Guarantee
    notes: tuple[str, ...]
    domain: Domain
    order: tuple[str, ...] = ()
    """All columns in the order they were asked for, where that is not labels before numbers."""
    label_kinds: tuple[LabelKind, ...] = ()
    """What the labels of a statement are; those of a plain question are what its attributes are."""

    @property
    def lines(self) -> list[tuple[tuple[Label, ...], list[Row]]]:
        """The rows line by line, each with its labels."""
        found: dict[object, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.labels if row.line is None else row.line, []).append(row)
        return [(rows[0].labels, [row for row in rows if row.column in self.columns]) for rows in found.values()]

    @property
    def only(self) -> Row:
        if len(self.rows) != 1 or not self.columns:
            raise UnsupportedQuery(f"this answer has {len(self.rows)} numbers; look at .rows")
        return self.rows[0]

    @property
    def value(self) -> float | None:
        return self.only.value

    def interval(self, confidence: float | None = None) -> tuple[float | None, float | None]:
        """Bounds that hold the truth of the answered region with this probability (the one asked with by default)."""
        row = self.only
        if confidence is None or not isinstance(row.source, Estimate):
            if confidence is not None and Fraction(str(confidence)) != self.confidence:
                raise UnsupportedQuery(
                    "ask with that confidence: this kind of number has the interval it was asked with"
                )
            return row.low, row.high
        half = row.source.halfwidth(Fraction(str(confidence)))
        low, high = row.source.value - half, row.source.value + half
        if row.bounds is None:
            return low, high
        least, most = row.bounds
        return min(max(low, least), most), min(max(high, least), most)

    @property
    def kind(self) -> str:
        """Where the numbers come from; "mixed" where that differs by row."""
        kinds = {row.kind for row in self.rows}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    @property
    def asked(self) -> str:
        """The region asked for, as a WHERE clause."""
        return where_text(self.only.asked, self.domain)

    @property
    def answered(self) -> str:
        """The region answered, as a WHERE clause: another one than asked only where the answer is relaxed."""
        return where_text(self.only.answered, self.domain)

    @property
    def relaxation_error(self) -> float:
        return max((row.relaxation_error for row in self.rows), default=0.0)

    @property
    def compound(self) -> Compound | None:
        """The released answers that a relaxed answer adds and subtracts."""
        return self.only.compound

    def to_json(self) -> "AnswerJson":
        single = len(self.rows) == 1 and bool(self.columns)
        return {
            "sql": self.text,
            "value": self.value if single else None,
            "interval": list(self.interval()) if single else None,
            "confidence": float(self.confidence),
            "kind": self.kind,
            "asked": self.asked if single else None,
            "answered": self.answered if single else None,
            "relaxation_error": self.relaxation_error,
            "compound": _compound_json(self.compound, self.domain) if single else None,
            "cost": number_text(self.cost),
            "share": float(self.cost / self.budget.total),
            "guarantee": self.guarantee.to_json(),
            "notes": list(self.notes),
            "rows": [self._row_json(row) for row in self.rows],
        }

    def _row_json(self, row: Row) -> "RowJson":
        found: RowJson = {
            "labels": dict(zip(self.by, row.labels, strict=True)),
            "column": row.column,
            "value": row.value,
            "low": row.low,
            "high": row.high,
            "kind": row.kind,
            "may_be_zero": row.may_be_zero,
            "too_noisy": row.is_too_noisy,
        }
        if row.shrunken is not None:
            found["shrunken"] = row.shrunken
        if row.chosen:
            found["chosen"] = True
        if row.is_near:
            found["answered"] = where_text(row.answered, self.domain)
            found["relaxation_error"] = row.relaxation_error
        if row.affordable is not None:
            found["affordable"] = row.affordable
        if row.affordable_scale is not None:
            found["affordable_scale"] = row.affordable_scale
        return found

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

    def origins(self, rows: Sequence[Row]) -> tuple[str, str]:
        """Of a line: the kinds of its numbers, and what regions they are for where not for those asked about."""
        return "/".join(dict.fromkeys(row.kind for row in rows)), "; ".join(self._regions(rows))

    def _regions(self, rows: Sequence[Row]) -> list[str]:
        """Other regions than those asked about that the numbers of a line are for."""
        return list(dict.fromkeys(where_text(row.answered, self.domain) for row in rows if row.is_near))

    def to_csv(self, shrunken: bool = False) -> str:
        """A line for each group, each aggregate with its low and high; on request with its shrunken number too. No text
        in it is a formula to a spreadsheet: see `cells_of_text`."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        also = self.shrunken if shrunken else frozenset[str]()
        ends = {column: ["", "_low", "_high"] + ["_shrunken"] * (column in also) for column in self.columns}
        numbered = [f"{column}{end}" for column in self.columns for end in ends[column]]
        writer.writerow(cells_of_text([*self.by, *numbered, *self.origin_names]))
        for labels, rows in self.lines:
            numbers = [
                number
                for row in rows
                for number in (row.value, row.low, row.high, *[row.shrunken] * (row.column in also))
            ]
            writer.writerow([*cells_of_text(labels), *numbers, *cells_of_text(self.origins(rows))])
        return out.getvalue()

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

    def first(self, most: int) -> tuple["Answer", int]:
        """The same with its first lines alone, and how many more there are: the others are not even made."""
        in_line = max(len(self.columns), 1)
        hidden = max(len(self.rows) // in_line - most, 0)
        return (replace(self, rows=self.rows[: most * in_line]), hidden) if hidden else (self, 0)

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
        spent = f"spent {self.budget.in_words(self.cost)}" if self.cost else "spent nothing"
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


@dataclass(frozen=True, repr=False)
class Forecast(FieldsView):
    """What one aggregate of a question would be answered from, and how far off it would be."""

    column: str
    kinds: dict[str, int]
    halfwidth: float | None
    scale: float
    unit: str
    """What scale and halfwidth are counted in: rows, people, values; or the attribute, or expression, that is summed
    or averaged, whose own unit it is."""
    relative: float | None = None
    """The halfwidth as a part of the number, where what was released allows a guess at it; of several, the median."""


@dataclass(frozen=True, repr=False)
class Explanation(NotebookView):
    """What an answer would cost and be worth. Made of public things; spends nothing."""

    text: str
    forecasts: tuple[Forecast, ...]
    confidence: Fraction
    budget: Budget
    """What cost and left are of."""
    cost: Fraction
    is_exact: bool
    """Whether the answer spends just that; else, where a later step depends on a noisy one, at most that."""
    left: Fraction
    more: int | None
    """How many such questions the region allows at this accuracy; None where they are free."""
    notes: tuple[str, ...]

    def _shown(self) -> tuple[str, Pairs]:
        most = "" if self.is_exact else "at most "
        costs = f"{most}{self.budget.in_words(self.cost)}" if self.cost else "nothing"
        off = [(each.column, _off_by(each)) for each in self.forecasts]
        return "What an answer would cost", [
            ("sql", self.text),
            *off,
            ("costs", costs),
            ("left", self.budget.in_words(self.left)),
        ]

    def to_json(self) -> "ExplanationJson":
        return {
            "sql": self.text,
            "cost": number_text(self.cost),
            "cost_is": "exact" if self.is_exact else "at most",
            "share": float(self.cost / self.budget.total),
            "left": number_text(self.left),
            "more": self.more,
            "confidence": float(self.confidence),
            "aggregates": [
                {
                    "column": f.column,
                    "kinds": f.kinds,
                    "halfwidth": f.halfwidth,
                    "scale": f.scale,
                    "unit": f.unit,
                    "relative": f.relative,
                }
                for f in self.forecasts
            ],
            "notes": list(self.notes),
        }


def more_lines(hidden: int, instead: str) -> list[str]:
    """What to say of lines that are not shown."""
    return [f"… and {hidden:,} more lines: {instead}"] if hidden else []


def _off_by(forecast: Forecast) -> str:
    made_of = ", ".join(forecast.kinds)
    return made_of if forecast.halfwidth is None else f"± {number(forecast.halfwidth)}, {made_of}"


def number(value: float | None) -> str:
    """A number with its thousands apart, without decimals that say nothing."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 10_000 else f"{value:,.4g}"


def _interval_text(row: Row) -> str:
    """± where the interval is even around the value, else its ends."""
    if row.low is None or row.high is None:
        ends = [("≥", row.low), ("≤", row.high)]
        return next((f"{sign} {number(end)}" for sign, end in ends if end is not None), "–")
    if row.is_even:
        return f"± {number((row.high - row.low) / 2)}{', may be 0' * row.may_be_zero}"
    return f"{number(row.low)} … {number(row.high)}{', too noisy' * row.is_too_noisy}"


def _offers(rows: Sequence[Row]) -> str:
    return "; ".join(dict.fromkeys(row.offer for row in rows if row.offer is not None))


def _line(labels: tuple[Label, ...], rows: list[Row], bounded: set[str], shrunken: frozenset[str]) -> list[str]:
    cells = [NULL if label is None else label for label in labels]
    for row in rows:
        cells += [number(row.value), _interval_text(row)][: 1 + (row.column in bounded)]
        cells += [number(row.shrunken)] * (row.column in shrunken)
    return [*cells, "/".join(dict.fromkeys(row.kind for row in rows))]


def _compound_json(compound: Compound | None, domain: Domain) -> "CompoundJson | None":
    if compound is None:
        return None

    def parts(answers: "Sequence[PastAnswer]") -> "list[PartJson]":
        return [{"where": where_text(answer.where, domain), "value": answer.value} for answer in answers]

    return {"plus": parts(compound.plus), "minus": parts(compound.minus)}
