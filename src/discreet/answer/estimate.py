"""Estimates: a number for a region, where it comes from, and how far off it may be."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from discreet.answer.compound import Compound
from discreet.answer.policy import deviations
from discreet.domain.region import Region
from discreet.noise.law import Noise

Kind = Literal["measured", "repeated", "derived", "relaxed"]


@dataclass(frozen=True)
class Estimate:
    """An unbiased estimate of a count or sum over `answered`. `noise`, in grains, is there where it is one draw."""

    value: float
    variance: float
    kind: Kind
    answered: Region
    noise: Noise | None = None
    grain: Fraction = Fraction(1)
    relaxation_error: float = 0.0
    compound: Compound | None = None

    def halfwidth(self, confidence: Fraction) -> float:
        """The estimate is within this of the truth with at least this probability; exact for one draw."""
        if self.noise is not None:
            return float(self.grain * self.noise.halfwidth(confidence))
        return deviations(confidence) * math.sqrt(self.variance)


def nothing(region: Region) -> Estimate:
    """The count of no points: 0 on every table."""
    return Estimate(0, 0.0, "derived", region)


def combined(terms: list[tuple[int, Estimate]]) -> Estimate:
    """A sum of estimates times whole numbers. Only fresh draws are surely independent; of others the errors add up."""
    if len(terms) == 1 and terms[0][0] == 1:
        return terms[0][1]
    kinds = {estimate.kind for _, estimate in terms}
    independent = kinds == {"measured"}
    spread = [abs(times) * math.sqrt(estimate.variance) for times, estimate in terms]
    answered = terms[0][1].answered
    for _, estimate in terms[1:]:
        answered = answered.union(estimate.answered)
    return Estimate(
        value=sum(times * estimate.value for times, estimate in terms),
        variance=sum(s * s for s in spread) if independent else sum(spread) ** 2,
        kind=worst(kinds),
        answered=answered,
        relaxation_error=max(estimate.relaxation_error for _, estimate in terms),
    )


def ratio(total: Estimate, count: Estimate, confidence: Fraction, low: float, high: float) -> "Ratio":
    """Sum over count, with Fieller's interval: the θ for which total − θ·count could be noise around 0.

    Only noisy parts enter. Values lie between `low` and `high`, so the mean does. Where the count is not surely above
    0 the interval is everything between.
    """
    k = deviations(confidence) ** 2
    # (total − θ·count)² ≤ k·(Var total + θ²·Var count) is a quadratic a·θ² − 2b·θ + c ≤ 0.
    a = count.value**2 - k * count.variance
    b = total.value * count.value
    c = total.value**2 - k * total.variance
    value = total.value / count.value if count.value > 0 else None
    root = b * b - a * c
    ends = (low, high) if a <= 0 or root < 0 else ((b - math.sqrt(root)) / a, (b + math.sqrt(root)) / a)
    clipped = (min(max(ends[0], low), high), min(max(ends[1], low), high))
    if value is not None:
        value = min(max(value, low), high)
    return Ratio(value, *clipped, kind=worst({total.kind, count.kind}), count=count, total=total)


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
    order: tuple[Kind, ...] = ("relaxed", "measured", "derived", "repeated")
    return next(kind for kind in order if kind in kinds)
