"""What a server answers, as it was sent."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.answer.view import AnswerView, LabelKind, offer_text
from discreet.http_json import Json
from discreet.notebook import FieldsView

if TYPE_CHECKING:
    from discreet.replies import AnswerJson, BudgetJson, ExplanationJson

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class RemoteRow(FieldsView):
    """One number of an answer: of a group (its labels) and an aggregate (its column)."""

    labels: Mapping[str, str | None]
    column: str
    value: float | None
    low: float | None
    high: float | None
    kind: str
    may_be_zero: bool = False
    too_noisy: bool = False
    even: bool = False
    shrunken: float | None = None
    chosen: bool = False
    answered: str | None = None
    relaxation_error: float = 0.0
    affordable: float | None = None
    affordable_scale: float | None = None

    @property
    def texts(self) -> tuple[str | None, ...]:
        """Its labels, in order."""
        return tuple(self.labels.values())

    @property
    def key(self) -> object:
        return self.texts

    @property
    def offer(self) -> str | None:
        """What could be had instead, in words."""
        return offer_text(self.affordable, self.affordable_scale)

    @property
    def is_near(self) -> bool:
        """Whether it is about another region than the one asked about."""
        return self.answered is not None

    @property
    def is_even(self) -> bool:
        return self.even

    @property
    def is_too_noisy(self) -> bool:
        return self.too_noisy


@dataclass(frozen=True, repr=False)
class RemoteAnswer(AnswerView[RemoteRow]):
    """An answer to one SELECT, with an interval beside every number: it is shown, saved and drawn as one of a vault."""

    text: str
    by: tuple[str, ...]
    columns: tuple[str, ...]
    order: tuple[str, ...]
    label_kinds: tuple[LabelKind, ...]
    rows: tuple[RemoteRow, ...]
    confidence: float
    kind: str
    asked: str | None
    answered: str | None
    relaxation_error: float
    cost: Fraction
    share: float
    """The cost, as a part of the whole budget."""
    guarantee: Json
    notes: tuple[str, ...]
    as_of: int | None = None
    """The number of the earlier snapshot that it is about, where people were taken out since."""

    @classmethod
    def of(cls, body: "AnswerJson") -> "RemoteAnswer":
        return cls(
            text=body["sql"],
            by=tuple(body["by"]),
            columns=tuple(body["columns"]),
            order=tuple(body["order"]),
            label_kinds=tuple(body["label_kinds"]),
            rows=tuple(known(RemoteRow, row) for row in body["rows"]),
            confidence=body["confidence"],
            kind=body["kind"],
            asked=body["asked"],
            answered=body["answered"],
            relaxation_error=body["relaxation_error"],
            cost=Fraction(body["cost"]),
            share=body["share"],
            guarantee=body["guarantee"],
            notes=tuple(body["notes"]),
            as_of=body.get("as_of"),
        )

    @property
    def lines(self) -> list[tuple[tuple[str | None, ...], list[RemoteRow]]]:
        """The rows line by line, each with its labels: as many to a line as there are columns, whatever its labels."""
        in_line = max(len(self.columns), 1)
        found = [list(self.rows[start : start + in_line]) for start in range(0, len(self.rows), in_line)]
        return [(rows[0].texts, [row for row in rows if row.column in self.columns]) for rows in found]

    def _region_text(self, row: RemoteRow) -> str:
        return row.answered or ""

    def _spent(self) -> str:
        return f"{100 * self.share:.2g}% of the budget"

    def interval(self) -> tuple[float | None, float | None]:
        """Bounds that hold the truth of the answered region with the confidence that was asked for."""
        return self.only.low, self.only.high


@dataclass(frozen=True, repr=False)
class RemoteForecast(FieldsView):
    """What one aggregate of a question would be answered from, and how far off it would be."""

    column: str
    kinds: Mapping[str, int]
    halfwidth: float | None
    scale: float
    unit: str
    relative: float | None


@dataclass(frozen=True, repr=False)
class RemoteExplanation(FieldsView):
    """What an answer would cost and be worth."""

    text: str
    forecasts: tuple[RemoteForecast, ...]
    confidence: float
    cost: Fraction
    is_exact: bool
    """Whether the answer spends just that; else at most that."""
    left: Fraction
    more: int | None
    notes: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class RemoteBudget(FieldsView):
    """What a vault may spend, the most that anyone's row has spent, what is left there, and who spent it."""

    guarantee: Json
    spent: Fraction
    left: Fraction
    elsewhere: Fraction
    """What is left where least is spent."""
    charges: int
    pending: tuple[int, ...]
    by_user: Mapping[str, Fraction]


def explanation_of(body: "ExplanationJson") -> RemoteExplanation:
    return RemoteExplanation(
        text=body["sql"],
        forecasts=tuple(known(RemoteForecast, forecast) for forecast in body["aggregates"]),
        confidence=body["confidence"],
        cost=Fraction(body["cost"]),
        is_exact=body["cost_is"] == "exact",
        left=Fraction(body["left"]),
        more=body["more"],
        notes=tuple(body["notes"]),
    )


def budget_of(body: "BudgetJson") -> RemoteBudget:
    return RemoteBudget(
        guarantee=body["guarantee"],
        spent=Fraction(body["spent"]),
        left=Fraction(body["left"]),
        elsewhere=Fraction(body["elsewhere"]),
        charges=body["charges"],
        pending=tuple(body["pending"]),
        by_user={name: Fraction(spent) for name, spent in body["by_user"].items()},
    )


def known(kind: type[T], body: Mapping[str, Any]) -> T:
    """A result from its JSON, without what a newer server may say besides."""
    return kind(**{own.name: body[own.name] for own in fields(kind) if own.name in body})  # type: ignore[arg-type]
