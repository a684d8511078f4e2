"""Published statistics: noisy counts of every conjunction of ℓ literals on t random subsets. [SuLQ, Section 6]

From the file alone anybody learns any Boolean function of 2ℓ attributes (learn.py). It takes t·C(k,ℓ)·2^ℓ queries; the
seed prints C(k,2ℓ)·2^{2ℓ} there, which is what publishing every conjunction of 2ℓ literals would take. How many subsets
an error takes: learn.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PartyError
from discreet.mining.accuracy import require_error
from discreet.mining.attribute import BooleanAttribute
from discreet.mining.estimate import deviations
from discreet.mining.party import Counts, Party, noise_variance
from discreet.mining.sampling import RATE
from discreet.notebook import FieldsView
from discreet.query.subset import Seeded

FIRST_SEED = 1
LEAST_SUBSETS = 16
MOST_CELLS = 1 << 28


@dataclass(frozen=True)
class StatisticsPlan:
    """What to publish, and how well functions can be learnt from it, whatever the data. Spends nothing."""

    attributes: tuple[BooleanAttribute, ...]
    arity: int
    """ℓ: literals a published conjunction has."""
    subsets: int
    """t."""
    people: int
    trials: int
    confidence: float

    @property
    def queries(self) -> int:
        """t·C(k,ℓ)·2^ℓ: one for each conjunction on each subset."""
        return self.subsets * conjunctions(len(self.attributes), self.arity)

    @property
    def queries_naive(self) -> int:
        """C(k,2ℓ)·2^{2ℓ}: what publishing every conjunction of 2ℓ literals, once, would take."""
        return conjunctions(len(self.attributes), 2 * self.arity)

    @property
    def error(self) -> float:
        """Within what any function of 2ℓ attributes is known, at the confidence."""
        worst = worst_deviation(self.arity, self.people, self.trials / 4)
        return deviations(self.confidence) * worst / math.sqrt(self.subsets - 1)

    def to_json(self) -> dict[str, Any]:
        derived = ("queries", "queries_naive", "error")
        defined = [vars(attribute) for attribute in self.attributes]  # a list: their order is that of the counts
        return {**vars(self), "attributes": defined, **{name: getattr(self, name) for name in derived}}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> "StatisticsPlan":
        defined = tuple(BooleanAttribute(**attribute) for attribute in body["attributes"])
        numbers = {key: body[key] for key in ("arity", "subsets", "people", "trials", "confidence")}
        return cls(defined, **numbers)


def conjunctions(attributes: int, arity: int) -> int:
    """C(k,ℓ)·2^ℓ: the conjunctions of ℓ literals over k attributes."""
    return math.comb(attributes, arity) << arity


def worst_deviation(arity: int, people: int, noise: float) -> float:
    """The standard deviation, from one subset, of the worst function of 2ℓ attributes on the worst data."""
    spread = float(RATE * (1 - RATE)) * people
    return math.sqrt(2) * (0.5 + (1 << arity) * noise / spread)


def subsets_needed(arity: int, people: int, noise: float, error: float, confidence: float) -> int:
    """t such that any function of 2ℓ attributes is within ±error, whatever the data."""
    worst = worst_deviation(arity, people, noise)
    return max(LEAST_SUBSETS, 1 + math.ceil((deviations(confidence) * worst / require_error(error)) ** 2))


def subsets_by_the_seed(arity: int, attributes: int, error: float, failure: float) -> int:
    """t as Section 6 has it, with 1 for the constant that its O(…) leaves out."""
    log_error = math.log(1 / error)
    factor = math.log(1 / failure) + arity * math.log(attributes) + math.log(max(log_error, 1))
    return math.ceil((1 << 4 * arity) * (log_error + arity) * factor / error**2)


def subsets_of(plan: StatisticsPlan) -> tuple[Seeded, ...]:
    """The same subsets in every publication: they are public, and say nothing about the data."""
    return tuple(Seeded(FIRST_SEED + place, RATE) for place in range(plan.subsets))


def plan_statistics(
    attributes: Sequence[BooleanAttribute],
    party: Party,
    *,
    arity: int | None = None,
    subsets: int | None = None,
    error: float = 0.1,
    confidence: float = 0.95,
) -> StatisticsPlan:
    """What to publish for functions within ±error: t subsets, or so many `subsets`; ℓ as large as what is left allows
    where no `arity` is given. Raises PartyError, with what would fit, where t·C(k,ℓ)·2^ℓ exceeds what is left."""
    noise, left = noise_variance(party), party.queries_left
    if not attributes:
        raise PartyError("there is no column with two values; name attributes, each with a condition: 'old: age > 50'")
    if arity is not None and not 1 <= arity <= len(attributes):
        raise PartyError(f"conjunctions have from 1 to {len(attributes)} literals, as many as there are attributes")
    if subsets is not None and subsets < LEAST_SUBSETS:
        raise PartyError(f"nothing can be learnt from fewer than {LEAST_SUBSETS} subsets")
    plans = [
        StatisticsPlan(
            tuple(attributes),
            size,
            subsets or subsets_needed(size, party.people, noise, error, confidence),
            party.people,
            party.trials,
            confidence,
        )
        for size in ([arity] if arity is not None else range(max(len(attributes) // 2, 1), 0, -1))
    ]
    fitting = next((plan for plan in plans if plan.queries <= left), None)
    if fitting is None:
        raise PartyError(_what_would_fit(plans[-1], left))
    if fitting.queries > MOST_CELLS:
        raise PartyError(f"{fitting.queries:,} counts are more than a file holds here; name fewer attributes")
    return fitting


def _what_would_fit(plan: StatisticsPlan, left: int) -> str:
    k = len(plan.attributes)
    each = conjunctions(k, plan.arity)
    takes = f"{plan.subsets:,} subsets × C({k},{plan.arity}) × 2^{plan.arity} = {plan.queries:,} queries"
    advice = []
    if left // each >= LEAST_SUBSETS:
        fewer = replace(plan, subsets=left // each)
        within = f"an error of ±{fewer.error:.2g}" if fewer.error < 1 else "an error that leaves nothing to learn"
        advice.append(f"{fewer.subsets:,} subsets would fit, for {within}")
    fewer_attributes = [n for n in range(plan.arity, k) if plan.subsets * conjunctions(n, plan.arity) <= left]
    if fewer_attributes:
        advice.append(f"{fewer_attributes[-1]} attributes would fit")
    return f"this takes {takes}, and {left:,} are left; {', or '.join(advice) or 'nothing like it fits'}"


@dataclass(frozen=True, eq=False, repr=False)
class Statistics(FieldsView):
    """Published counts, and what their readers need to know."""

    attributes: tuple[BooleanAttribute, ...]
    arity: int
    seeds: tuple[int, ...]
    sizes: Counts
    """The people of the roster in each subset."""
    counts: NDArray[np.int64]
    """By ℓ-tuple of attributes (in the order of `combinations`), by pattern (bit i: the tuple's i-th attribute holds),
    by subset."""
    people: int
    trials: int
    roster: str
    guarantee: str
    charge: int
    receipt: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    def save(self, path: str | Path) -> None:
        """Write the statistics to a new folder: Parquet and a datapackage.json. What is there is whole."""
        from discreet.mining.folder import write_statistics

        write_statistics(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> "Statistics":
        """The statistics in a folder. Raises ArchiveError where it is damaged."""
        from discreet.mining.folder import statistics_parts

        return Statistics(**statistics_parts(Path(path)))

    def describe(self) -> dict[str, Any]:
        """The statistics in public terms."""
        return {
            "attributes": {attribute.name: attribute.condition for attribute in self.attributes},
            "arity": self.arity,
            "subsets": len(self.seeds),
            "counts": self.counts.size,
            "people": self.people,
            "trials": self.trials,
            "guarantee": self.guarantee,
            "charge": self.charge,
            "receipt": self.receipt,
        }
