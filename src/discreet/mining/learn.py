"""Any Boolean function of 2ℓ attributes from published counts of ℓ of them, asking nobody. [SuLQ, Section 6]

The seed sums the truth table's rows: Pr of a row of 2ℓ literals follows from the counts of its two halves over common
subsets, as for two parties. Here the same sum is taken in the Walsh basis (learn.md): there, every published table that
holds a set of attributes helps to take the noise out of it, and every way to halve a set is used.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from discreet.errors import UnsupportedQuery
from discreet.mining.estimate import IntervalEstimate, deviations
from discreet.mining.joint import spread_of
from discreet.mining.statistics import Statistics
from discreet.sql.formula import Formula, read_formula

Numbers = NDArray[np.float64]
Places = tuple[int, ...]
"""A set of attributes, by their places in the file, ascending."""


@dataclass(frozen=True)
class Learnt:
    """The share of the roster's people for whom a function holds."""

    function: str
    attributes: tuple[str, ...]
    probability: IntervalEstimate
    confidence: float
    people: int
    subsets: int
    guarantee: str

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "attributes": list(self.attributes), "probability": self.probability.to_json()}


def learn(statistics: Statistics, function: str | Formula, *, confidence: float = 0.95) -> Learnt:
    """How many of the roster meet a Boolean function of at most 2ℓ attributes, with an interval."""
    formula = function if isinstance(function, Formula) else read_formula(function, statistics.names)
    if len(formula.names) > 2 * statistics.arity:
        raise UnsupportedQuery(
            f"the function has {len(formula.names)} attributes; from conjunctions of {statistics.arity} literals, "
            f"functions of at most {2 * statistics.arity} can be learnt"
        )
    deviations(confidence)
    return Learnt(
        function=formula.text,
        attributes=formula.names,
        probability=_probability(statistics, formula, confidence),
        confidence=confidence,
        people=statistics.people,
        subsets=len(statistics.seeds),
        guarantee=statistics.guarantee,
    )


def _probability(statistics: Statistics, formula: Formula, confidence: float) -> IntervalEstimate:
    """Σ f̂(U)·E[χ_U]: measured where |U| ≤ ℓ, from products of measured halves where not.

    `influence` is what each subset adds to the estimate; subsets are independent, so its spread tells the error.
    """
    walsh = _Walsh(statistics)
    subsets = len(statistics.seeds)
    value, influence = 0.0, np.zeros(subsets)
    for chosen, weight in _coefficients(formula, statistics.names):
        if len(chosen) <= statistics.arity:
            one = walsh.centred(chosen)
            value += weight * one.mean
            influence += weight * one.pull * one.rest
            continue
        halves = list(_halves(chosen, statistics.arity))
        for left, right in halves:
            first, second, share = walsh.centred(left), walsh.centred(right), weight / len(halves)
            both = first.rest * second.rest * subsets / (subsets - 1) / walsh.spread
            value += share * (first.mean * second.mean + both.mean())
            influence += share * (both + second.mean * first.pull * first.rest + first.mean * second.pull * second.rest)
    distance = float(stdtrit(subsets - 1, 0.5 + confidence / 2)) * float(influence.std(ddof=1)) / subsets**0.5
    return IntervalEstimate(float(value), float(value - distance), float(value + distance)).clipped(0, 1)


def _coefficients(formula: Formula, names: tuple[str, ...]) -> Iterator[tuple[Places, float]]:
    """The Walsh coefficients of a function that are not 0: f = Σ f̂(U)·χ_U, χ_U = Π over U of (1 − 2x)."""
    spectrum = formula.table.astype(np.float64)
    for axis in range(len(formula.names)):
        pairs = spectrum.reshape(-1, 2, 1 << axis)
        spectrum = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
    spectrum /= len(spectrum)
    places = [names.index(name) for name in formula.names]
    for mask in np.flatnonzero(spectrum).tolist():
        yield tuple(sorted(places[bit] for bit in range(len(places)) if mask >> bit & 1)), float(spectrum[mask])


def _halves(chosen: Places, arity: int) -> Iterator[tuple[Places, Places]]:
    """Every way to part a set in two of at most ℓ attributes each, once."""
    for size in range(len(chosen) - arity, len(chosen) // 2 + 1):
        for left in combinations(chosen, size):
            right = tuple(place for place in chosen if place not in left)
            if size < len(right) or left < right:
                yield left, right


@dataclass(frozen=True)
class _CentredWalsh:
    """Σ of χ_V over a subset's people: its mean for one person, and the rest, subset by subset."""

    mean: float
    rest: Numbers
    pull: Numbers
    """How much each subset's rest moves the mean, times the number of subsets."""


class _Walsh:
    """The published counts as sums of χ_V over each subset, for sets of at most ℓ attributes."""

    def __init__(self, statistics: Statistics) -> None:
        self.statistics = statistics
        self.spread = spread_of(statistics.sizes, statistics.people)
        self._tables = list(combinations(range(len(statistics.attributes)), statistics.arity))
        self._found: dict[Places, _CentredWalsh] = {}

    def centred(self, chosen: Places) -> _CentredWalsh:
        if chosen not in self._found:
            sizes = self.statistics.sizes.astype(np.float64)
            sums = self._sums(chosen)
            mean = float(sizes @ sums) / float(sizes @ sizes)
            pull = sizes * len(sizes) / float(sizes @ sizes)
            self._found[chosen] = _CentredWalsh(mean, sums - mean * sizes, pull)
        return self._found[chosen]

    def _sums(self, chosen: Places) -> Numbers:
        """The mean over all tables that hold the set: each has noise of its own."""
        holding = [place for place, table in enumerate(self._tables) if set(chosen) <= set(table)]
        total = np.zeros(len(self.statistics.seeds))
        patterns = np.arange(2**self.statistics.arity)
        for place in holding:
            signs = np.ones(len(patterns))
            for attribute in chosen:
                signs *= 1 - 2 * (patterns >> self._tables[place].index(attribute) & 1)
            total += signs @ self.statistics.counts[place]
        return total / len(holding)
