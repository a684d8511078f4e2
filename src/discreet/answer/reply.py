"""What an analyst gets: an answer, or an explanation of what an answer would cost."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.answer.compound import Compound
from discreet.answer.estimate import Estimate, Kind, Ratio
from discreet.answer.view import AnswerView, Label, LabelKind, number, offer_text
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.exact import number_text
from discreet.ledger.budget import Budget
from discreet.ledger.guarantee import Guarantee
from discreet.notebook import FieldsView, NotebookView, Pairs
from discreet.sql.where_text import where_text

AS_WIDE = "their intervals are as wide as the numbers; ask for more accuracy, or for larger groups"
ROUNDING = 1e-9
"""Interval ends this close to each other, relatively, may be equal."""

if TYPE_CHECKING:
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
    is_drawn: bool = False
    """Whether its interval was drawn, as a statement's is that calculates with noisy numbers."""
    bounds: tuple[float, float] | None = None
    """What the domain lets the number be, where it and its interval are cut to that."""

    @property
    def is_too_noisy(self) -> bool:
        """Whether its interval is as wide as the number itself: too noisy to read."""
        if self.value is None or self.low is None or self.high is None or self.low == self.high:
            return False
        is_noise = self.source is not None or self.is_drawn  # and not the values that a quantile may have
        return is_noise and (self.high - self.low) / 2 >= abs(self.value)

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
        return offer_text(self.affordable, self.affordable_scale)

    @property
    def texts(self) -> tuple[Label, ...]:
        return self.labels

    @property
    def key(self) -> object:
        return self.labels if self.line is None else self.line

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


@dataclass(frozen=True, repr=False)
class Answer(AnswerView[Row]):
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
    """All columns in the order they were asked for."""
    label_kinds: tuple[LabelKind, ...] = ()
    """What the labels of each column of labels are."""
    is_statement: bool = False
    """Whether its columns are what a public half made."""
    as_of: int | None = None
    """The number of the earlier snapshot that it is about, where people were taken out since."""

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
        found: AnswerJson = {
            "sql": self.text,
            "by": list(self.by),
            "columns": list(self.columns),
            "order": list(self.order),
            "label_kinds": list(self.label_kinds),
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
        if self.as_of is not None:
            found["as_of"] = self.as_of
        return found

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
            "even": row.is_even,
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

    def _region_text(self, row: Row) -> str:
        return where_text(row.answered, self.domain)

    def _spent(self) -> str:
        return self.budget.in_words(self.cost)


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
    words: tuple[str, ...] = ()
    """What a reader must know of that guess; among the notes of the whole."""


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


def _off_by(forecast: Forecast) -> str:
    if not forecast.kinds:
        return "no group" if forecast.halfwidth is not None else "known when the sub-query is answered"
    made_of = ", ".join(forecast.kinds)
    return made_of if forecast.halfwidth is None else f"± {number(forecast.halfwidth)}, {made_of}"


def _compound_json(compound: Compound | None, domain: Domain) -> "CompoundJson | None":
    if compound is None:
        return None

    def parts(answers: "Sequence[PastAnswer]") -> "list[PartJson]":
        return [{"where": where_text(answer.where, domain), "value": answer.value} for answer in answers]

    return {"plus": parts(compound.plus), "minus": parts(compound.minus)}
