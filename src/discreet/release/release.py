"""Releases: noisy values that are public from here on, with what they promise and how far off they may be."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.errors import InvalidNoise, UnsupportedQuery
from discreet.exact import parse_exact
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.receipt import Receipt
from discreet.noise.law import Exponential, Law, Noise
from discreet.notebook import FieldsView, Pairs, brief
from discreet.query.choice import Candidate
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Choice, Quantile, Query, SubsetCount, group_attribute, group_name

if TYPE_CHECKING:
    from discreet.replies import ReleaseJson

MOST_TOLD = 3
"""Numbers of an array that are shown."""
Numbers = NDArray[np.int64] | NDArray[np.floating[Any]]


@dataclass(frozen=True, repr=False)
class Noisy(FieldsView):
    """One measurement's answer: whole grains with discrete noise in every cell (codes of a Quantile; the place of what
    was chosen, of a Choice)."""

    measurement: Measurement
    grain: Fraction
    units: NDArray[np.int64]

    @property
    def values(self) -> Numbers:
        """The noisy answer, an array over the codes of the query's `by` (0-dimensional without one)."""
        largest = int(np.abs(self.units).max(initial=0))
        if self.grain.denominator == 1 and largest * self.grain.numerator < 2**63:
            return self.units * self.grain.numerator
        return self.units * float(self.grain)

    @cached_property
    def noise(self) -> Noise:
        """The law of the noise in each cell, in whole grains."""
        return _in_grains(self.measurement.law, self.grain)

    @property
    def variance(self) -> float:
        """The exact variance of the noise in each cell: the discrete one."""
        return float(self.grain) ** 2 * self.noise.variance

    def halfwidth(self, confidence: float = 0.95) -> Fraction:
        """The least w such that the noise stays within ±w with at least this probability."""
        try:
            exact = parse_exact(str(confidence))
        except ValueError:
            raise InvalidNoise("a confidence is a number between 0 and 1, such as 0.95") from None
        return self.grain * self.noise.halfwidth(exact)

    def interval(self, confidence: float = 0.95) -> tuple[Any, Any]:
        """Bounds that hold the true answer with at least this probability, cell by cell."""
        half = self.halfwidth(confidence)
        width = int(half) if half.denominator == 1 else float(half)
        low, high = self.values - width, self.values + width
        return (low.item(), high.item()) if low.ndim == 0 else (low, high)

    @property
    def words(self) -> str:
        """The numbers, the first of many, with how far off each may be."""
        numbers = [f"{number:,.10g}" for number in self.values.reshape(-1)[:MOST_TOLD].tolist()]
        more = f", … {self.values.size:,} in all" if self.values.size > MOST_TOLD else ""
        told = f"{', '.join(numbers)}{more}"
        if isinstance(self.measurement.query, Quantile):
            return f"code {told}"
        if isinstance(self.measurement.query, Choice):
            return f"candidate {told}: {', '.join(chosen(self).by)}"
        each = " each" if self.values.size > 1 else ""
        return f"{told} ± {float(self.halfwidth()):,.6g}{each} at 95%"

    def rows(self, domain: Domain, confidence: float = 0.95) -> Iterator["ReleasedCell"]:
        """One row for each cell: the labels of its group, the value, and an interval where there is one."""
        query = self.measurement.query
        attributes = [group_attribute(group, domain) for group in query.by]
        values = self.values
        half = None if isinstance(query, Quantile | Choice) else float(self.halfwidth(confidence))
        for cell in np.ndindex(values.shape):
            if isinstance(query, SubsetCount):
                labels: tuple[str, ...] = (str(query.subsets[cell[0]]),)
            else:
                labels = tuple(attribute.label(code) for attribute, code in zip(attributes, cell, strict=True))
            value = values[cell].item()
            yield ReleasedCell(
                labels, value, None if half is None else value - half, None if half is None else value + half
            )


def chosen(noisy: Noisy) -> Candidate:
    """The candidate that a choice is."""
    query = noisy.measurement.query
    assert isinstance(query, Choice), "only a choice has candidates"
    return query.candidates[int(noisy.units)]


def label_names(query: Query) -> tuple[str, ...]:
    """What the labels of an answer's rows are called."""
    return ("subset",) if isinstance(query, SubsetCount) else tuple(map(group_name, query.by))


class ReleasedCell(NamedTuple):
    """A cell as people read it."""

    labels: tuple[str, ...]
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a charge measured, and its numbers, as the journal has them: a release without what it promises by now."""

    charge: int
    plan: Plan
    answers: tuple[Noisy, ...]


@dataclass(frozen=True, repr=False)
class Release(FieldsView):
    """What the gate returned for a plan. Anything computed from it alone is free.

    The guarantee is what holds by now; `facts` are the journal's numbers of the facts that were public when it was
    charged: those that its noise was calibrated to.
    """

    plan: Plan
    answers: tuple[Noisy, ...]
    guarantee: Guarantee
    charge: int
    receipt: Receipt
    facts: tuple[int, ...] = ()
    table: str | None = None
    """Which one it is of, where the vault has several."""

    def _shown(self) -> tuple[str, Pairs]:
        title, pairs = super()._shown()
        return title, [("value", brief([noisy.words for noisy in self.answers])), *pairs]

    @property
    def only(self) -> Noisy:
        """The answer of a plan with one measurement."""
        if len(self.answers) != 1:
            raise UnsupportedQuery(f"this release has {len(self.answers)} answers; look at .answers")
        return self.answers[0]

    @property
    def value(self) -> Any:
        """The one number, or the one array."""
        values = self.only.values
        return values.item() if values.ndim == 0 else values

    @property
    def variance(self) -> float:
        return self.only.variance

    def interval(self, confidence: float = 0.95) -> tuple[Any, Any]:
        return self.only.interval(confidence)

    def to_json(self) -> "ReleaseJson":
        found: ReleaseJson = {
            "answers": [
                {
                    **measurement,
                    "value": noisy.values.tolist(),
                    "variance": None if isinstance(noisy.measurement.query, Quantile | Choice) else noisy.variance,
                }
                for noisy, measurement in zip(self.answers, self.plan.to_json(), strict=True)
            ],
            "guarantee": self.guarantee.to_json(),
            "charge": self.charge,
            "receipt": str(self.receipt),
            "facts": list(self.facts),
        }
        if self.table is not None:
            found["table"] = self.table
        return found


def noise_in_grains(measurement: Measurement, domain: Domain) -> Noise:
    """The noise that is drawn for each number of an answer, in whole grains."""
    return _in_grains(measurement.law, measurement.query.grain(domain))


def _in_grains(law: Law, grain: Fraction) -> Noise:
    if isinstance(law, Exponential):
        raise UnsupportedQuery(
            "how far off the exponential mechanism is depends on the data; a quantile's rank error is public"
        )
    return law if grain == 1 else law.times(1 / grain)
