"""How two attributes occur together, from noisy counts of each alone over common random subsets.

The parties never meet: what ties them is that a subset with more people of α than its size lets expect has more of
those people, and they bring their β along. Derivations, and why nothing simpler does as well: joint.md.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mining.estimate import IntervalEstimate, deviations
from discreet.mining.party import Counts

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Noisy counts of one attribute over random subsets, and the variance of their noise."""

    counts: Counts
    noise: float


@dataclass(frozen=True)
class JointShares:
    """Shares of the roster: of α, of β, and of both beyond what chance would give, Pr[αβ] − Pr[α]·Pr[β]."""

    alpha: float
    beta: float
    excess: IntervalEstimate
    variance_alpha: float
    variance_beta: float
    covariance: float
    """Of the two shares' estimates; the excess is independent of both."""
    confidence: float

    def share(self, constant: float, of_alpha: float, of_beta: float, of_both: float) -> IntervalEstimate:
        """A probability that is linear in 1, Pr[α], Pr[β] and Pr[αβ], clipped to probabilities."""
        slopes = of_alpha + of_both * self.beta, of_beta + of_both * self.alpha
        value = constant + of_alpha * self.alpha + of_beta * self.beta + of_both * self._both
        return self._around(value, slopes, of_both).clipped(0, 1)

    @property
    def gap(self) -> IntervalEstimate:
        """Δ = Pr[β|α] − Pr[β]. [SuLQ, Equation 1]"""
        if not self._alpha_is_there:
            return IntervalEstimate(0.0, -1.0, 1.0)
        slopes = -self.excess.value / self.alpha**2, 0.0
        beta = self.share(0, 0, 1, 0)
        return self._around(self.excess.value / self.alpha, slopes, 1 / self.alpha).clipped(-beta.high, 1 - beta.low)

    @property
    def conditional(self) -> IntervalEstimate:
        """Pr[β|α]; anything is possible where nobody may have α."""
        if not self._alpha_is_there:
            return IntervalEstimate(self.beta, 0.0, 1.0).clipped(0, 1)
        slopes = -self.excess.value / self.alpha**2, 1.0
        return self._around(self.beta + self.excess.value / self.alpha, slopes, 1 / self.alpha).clipped(0, 1)

    @property
    def _both(self) -> float:
        return self.excess.value + self.alpha * self.beta

    @property
    def _alpha_is_there(self) -> bool:
        return self.alpha > deviations(self.confidence) * math.sqrt(self.variance_alpha)

    def _around(self, value: float, slopes: tuple[float, float], of_excess: float) -> IntervalEstimate:
        """Independent distances to a bound add up as squares; the excess has a distance for each side."""
        by_alpha, by_beta = slopes
        of_shares = deviations(self.confidence) ** 2 * (
            by_alpha**2 * self.variance_alpha
            + by_beta**2 * self.variance_beta
            + 2 * by_alpha * by_beta * self.covariance
        )
        down = of_excess * (self.excess.value - self.excess.low)
        up = of_excess * (self.excess.high - self.excess.value)
        if of_excess < 0:
            down, up = -up, -down
        return IntervalEstimate(value, value - math.sqrt(of_shares + down**2), value + math.sqrt(of_shares + up**2))


def joint_of(alpha: Sample, beta: Sample, sizes: Counts, people: int, confidence: float) -> JointShares:
    """Shares and excess from counts over the same random subsets, of known sizes, at both parties.

    Requires two subsets or more, drawn independently of the data. Best linear estimates of the shares; maximum
    likelihood for the excess, with an interval of all values that the score does not reject.
    """
    spread = spread_of(sizes, people)
    first, second = _centred(alpha, sizes, spread, people), _centred(beta, sizes, spread, people)
    scale = math.sqrt(first.variance * second.variance) / spread
    freedom = len(sizes) - 1
    correlation = _correlation(
        float(first.rest @ first.rest) / freedom,
        float(second.rest @ second.rest) / freedom,
        float(first.rest @ second.rest) / freedom,
        deviations(confidence) ** 2 / freedom,
    )
    squares = float(np.square(sizes, dtype=np.float64).sum())
    found = JointShares(
        alpha=first.share,
        beta=second.share,
        excess=IntervalEstimate(*(scale * bound for bound in (correlation.value, correlation.low, correlation.high))),
        variance_alpha=first.variance / squares,
        variance_beta=second.variance / squares,
        covariance=spread * scale * correlation.value / squares,
        confidence=confidence,
    )
    return replace(found, excess=_possible(found))


def _possible(found: JointShares) -> IntervalEstimate:
    """The excess within what the shares allow: as many have both as have the rarer one, at most. [Fréchet's bounds]

    Bounds stay as far outside as the shares may be off, so that they hold the truth as often as before.
    """
    alpha, beta, excess = found.alpha, found.beta, found.excess
    least, most = max(0.0, alpha + beta - 1) - alpha * beta, min(alpha, beta) - alpha * beta
    slack = deviations(found.confidence) * (math.sqrt(found.variance_alpha) + math.sqrt(found.variance_beta))
    value = min(max(excess.value, least), most)
    near = excess.clipped(least - slack, most + slack)
    return IntervalEstimate(value, min(near.low, value), max(near.high, value))


def spread_of(sizes: Counts, people: int) -> float:
    """The mean of N(n−N)/(n−1): what a subset's count varies by, per unit of an attribute's variance."""
    exact = sizes.astype(np.float64)
    return float((exact * (people - exact)).mean()) / max(people - 1, 1)


@dataclass(frozen=True)
class _CentredSample:
    share: float
    variance: float
    """Of a count, given the subset's size: by who was drawn, and by noise."""
    rest: Numbers
    """The counts less what the sizes let expect, in standard deviations."""


def _centred(sample: Sample, sizes: Counts, spread: float, people: int) -> _CentredSample:
    exact = sizes.astype(np.float64)
    share = float(exact @ sample.counts) / float(exact @ exact)
    possible = min(max(share, 0.0), 1.0)
    # A roster with nobody of α, and no noise at all, would divide by zero.
    variance = max(spread * possible * (1 - possible) + sample.noise, 1 / people)
    return _CentredSample(share, variance, (sample.counts - share * exact) / math.sqrt(variance))


def _correlation(xx: float, yy: float, xy: float, allowed: float) -> IntervalEstimate:
    """The correlation of normal pairs with unit variances, from their mean squares and products.

    The estimate maximises the likelihood; the interval holds every ρ with score² ≤ allowed · information, which is its
    hull in case that is not an interval.
    """
    score = np.array([-1.0, xy, 1 - xx - yy, xy])
    candidates = _real(np.roots(score))
    value = max(candidates, key=lambda rho: _likelihood(rho, xx, yy, xy))
    information = np.array([1.0, 0, -1, 0, -1, 0, 1])  # (1 − ρ²)²(1 + ρ²)
    bounds = _real(np.roots(np.polysub(np.polymul(score, score), allowed * information)))
    return IntervalEstimate(value, min(*bounds, value), max(*bounds, value))


def _real(roots: NDArray[Any]) -> list[float]:
    """The real roots within [−1, 1]; rounding may have given a double one a small imaginary part."""
    near = [float(root.real) for root in roots.astype(np.complex128) if abs(root.imag) < 1e-6]
    return [min(max(root, -1.0), 1.0) for root in near if abs(root) <= 1 + 1e-6] or [0.0]


def _likelihood(rho: float, xx: float, yy: float, xy: float) -> float:
    rest = max(1 - rho**2, 1e-12)
    return -math.log(rest) - (xx - 2 * rho * xy + yy) / rest
