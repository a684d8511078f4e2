"""Estimates: a number for a region, where it comes from, and how far off it may be."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Literal

from discreet.answer.compound import Compound
from discreet.answer.draws import Laws, draws_of
from discreet.answer.index import Answers
from discreet.answer.past import PastAnswer
from discreet.domain.region import Region
from discreet.noise.spread import Draws, Mixture, Spread, gathered, halfwidth
from discreet.query.marginals import Source

Kind = Literal["measured", "repeated", "derived", "relaxed", "unanswered", "modelled"]
FROM_WORST: tuple[Kind, ...] = ("unanswered", "relaxed", "modelled", "measured", "derived", "repeated")
"""Kinds; of numbers that one is made of, an earlier one says more about it."""

ROUNDED = 1e-12
"""Released numbers are known to 13 digits: what is added up of them misses the sum by less than this part of it all."""


def without_rounding(value: float, size: float) -> float:
    """A whole number, where a sum of numbers of this size in all may be one that the arithmetic's rounding misses."""
    if isinstance(value, int):
        return value
    nearest = float(round(value))
    return nearest if abs(value - nearest) <= ROUNDED * size else value


@dataclass(frozen=True)
class Estimate:
    """An unbiased estimate of a count or sum over `answered`, and the draws of noise in it, in grains.

    One that adds up others which may have draws in common has those as its `parts` instead, each with its factor.
    """

    value: float
    variance: float
    kind: Kind
    answered: Region
    draws: Spread = ()
    grain: Fraction = Fraction(1)
    relaxation_error: float = 0.0
    compound: Compound | None = None
    sources: frozenset[Source] = frozenset()
    """The measurements that the draws are of: estimates that have none in common are independent."""
    facts: frozenset[int] = frozenset()
    """The facts that it is made of, by their numbers."""
    parts: tuple[tuple[float, "Estimate"], ...] = ()
    terms: tuple[tuple[float, PastAnswer], ...] = ()
    """Of one that is made of released answers: those, each with its share."""

    def __post_init__(self) -> None:
        if self.variance and not (self.draws or self.parts):
            raise ValueError("a noisy estimate says which draws of noise it has")

    @property
    def is_one_draw(self) -> bool:
        """Whether it is a number as it was measured."""
        if not len(self.sources) == len(self.draws) == 1:
            return False
        return self.draws[0].count == 1 and not isinstance(self.draws[0].law, Mixture)

    def halfwidth(self, confidence: Fraction) -> float:
        """The estimate is within this of the truth with at least this probability: see `noise/spread.py`."""
        if self.parts:
            # Whatever they have in common: each may fail with its share of the chance, and then their errors add up.
            each = 1 - (1 - confidence) / len(self.parts)
            return float(self.grain) * sum(abs(times) * part.halfwidth(each) for times, part in self.parts)
        return float(self.grain * Fraction(halfwidth(self.draws, confidence)))


@dataclass(frozen=True)
class Picked:
    """A quantile's code."""

    code: int
    scale: Fraction
    kind: Kind


def nothing(region: Region) -> Estimate:
    """The count of no points: 0 on every table."""
    return Estimate(0, 0.0, "derived", region)


def released(
    terms: Sequence[tuple[float, PastAnswer]], kind: Kind, region: Region, past: Answers, laws: Laws
) -> Estimate:
    """A sum of independent released answers, each times its share."""
    size = sum(abs(share * answer.value) for share, answer in terms)
    return Estimate(
        value=without_rounding(sum(share * answer.value for share, answer in terms), size),
        variance=sum(share * share * answer.variance for share, answer in terms),
        kind=kind,
        answered=region,
        draws=draws_of(terms, past, laws),
        sources=frozenset(answer.source for _, answer in terms),
        terms=tuple(terms),
    )


def combined(terms: Sequence[tuple[float, Estimate]]) -> Estimate:
    """A sum of estimates, each times a number. Those that have no draw in common are independent; of others the errors
    add up. One that comes twice is counted twice: what is taken from itself is 0, whatever its noise."""
    if len(terms) == 1 and terms[0][0] == 1:
        return terms[0][1]
    terms = _counted_once(terms)
    estimates = [estimate for _, estimate in terms]
    independent = all(_independent(a, b) for a, b in combinations(estimates, 2))
    whole = independent and not any(estimate.parts for estimate in estimates)
    spread = [abs(times) * math.sqrt(estimate.variance) for times, estimate in terms]
    answered = estimates[0].answered
    for estimate in estimates[1:]:
        answered = answered.union(estimate.answered)
    own = [draw.times(times * float(estimate.grain)) for times, estimate in terms for draw in estimate.draws]
    size = sum(abs(times * estimate.value) for times, estimate in terms)
    return Estimate(
        value=without_rounding(sum(times * estimate.value for times, estimate in terms), size),
        variance=sum(s * s for s in spread) if independent else sum(spread) ** 2,
        kind=worst({estimate.kind for estimate in estimates}),
        answered=answered,
        draws=gathered(own) if whole else (),
        relaxation_error=max(estimate.relaxation_error for estimate in estimates),
        sources=frozenset[Source]().union(*(estimate.sources for estimate in estimates)),
        parts=() if whole else tuple(terms),
    )


def gathered_sum(estimates: Sequence[Estimate], region: Region) -> Estimate:
    """The sum of estimates of a region's parts: derived from them, and of the same draws."""
    total = combined([(1, estimate) for estimate in estimates])
    if len(estimates) == 1 or total.parts:
        return replace(total, kind=worst({total.kind, "derived"}) if total.kind == "relaxed" else "derived")
    terms: list[tuple[float, PastAnswer]] = []
    for estimate in estimates:
        grain = float(estimate.grain)
        if estimate.is_one_draw:
            [source] = estimate.sources
            variance = estimate.variance / grain**2
            terms.append((grain, PastAnswer(estimate.answered, estimate.value / grain, variance, source)))
        else:
            terms += [(grain * share, answer) for share, answer in estimate.terms]
    kind: Kind = "relaxed" if total.kind == "relaxed" else "derived"
    answered = total.answered if kind == "relaxed" else region
    is_traced = all(estimate.is_one_draw or estimate.terms for estimate in estimates)
    return replace(total, kind=kind, answered=answered, terms=tuple(terms) if is_traced else ())


def _counted_once(terms: Sequence[tuple[float, Estimate]]) -> list[tuple[float, Estimate]]:
    """The same sum with every estimate in it once."""
    merged: dict[tuple[object, ...], tuple[float, Estimate]] = {}
    for times, estimate in terms:
        key = (estimate.answered, estimate.sources, estimate.value, estimate.draws)
        merged[key] = (merged[key][0] + times if key in merged else times, estimate)
    return list(merged.values())


def _independent(one: Estimate, other: Estimate) -> bool:
    """Whether two have surely no draw in common: they are of other measurements, or single draws of other groups."""
    if one.sources.isdisjoint(other.sources):
        return True
    return one.is_one_draw and other.is_one_draw and not one.answered.intersect(other.answered)


@dataclass(frozen=True)
class Ratio:
    """A mean with its interval; None where the noisy count is not above 0."""

    value: float | None
    low: float
    high: float
    kind: Kind
    count: Estimate
    total: Estimate


def in_grains(estimate: Estimate, grain: Fraction) -> Estimate:
    """The same estimate, made in whole grains, in the attribute's own unit."""
    if grain == 1:
        return estimate
    g = float(grain)
    return replace(estimate, value=estimate.value * g, variance=estimate.variance * g * g, grain=grain)


def worst(kinds: set[Kind]) -> Kind:
    """Of numbers that one is made of, the kind that says the most about it."""
    return min(kinds, key=FROM_WORST.index)


def spread_of(estimate: Estimate) -> Spread:
    """The draws of noise in an estimate, in its own unit."""
    return tuple(Draws(draw.weight * float(estimate.grain), draw.law, draw.count) for draw in estimate.draws)
