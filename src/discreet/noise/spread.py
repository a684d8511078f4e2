"""How far a sum of weighted draws may stray: the one way to make an interval. Proofs: spread.md.

What is known of an answer's error is a list of draws: their laws, how many there are of each, and their weights. One
draw has its own exact half-width; a sum on a lattice has its law written out; any other sum is smoothed a little first.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise
from discreet.noise.deviation import laplace_variance
from discreet.noise.law import Binomial, Gaussian, Laplace, Noise

Floats = NDArray[np.float64]

NODES = 1 << 16
"""Points of a smoothed law."""
LONGEST_LATTICE = 1 << 18
"""A law on more points than this is smoothed: its steps are too small to matter."""
FINEST_PART = 60
"""A lattice's step is the least weight, or it in at most so many parts."""
ALIKE = 1e-9
"""Weights this close to a multiple of a step, relatively, are one."""
ROUNDING = 1e-6
"""What is added to a width, relatively, for weights that are not whole numbers and were rounded to `DIGITS`."""
DIGITS = 12
WRAPPED = 1e-14
"""The chance of lying so far out that a law on a lattice, written out on a circle, takes it for another place."""
SMOOTHED = 1e-8
"""The same for a smoothed law; and each of what smoothing and its cut-off may move."""
TAILS = 5.75
"""Of a normal law less than `SMOOTHED` lies beyond so many deviations."""
LEAST_ALLOWED = 1e-9
"""Where less may go wrong than this, floats do not tell; Bernstein's bound does."""
FARTHEST = Fraction(1, 10**11)
"""Where less may go wrong than this, a confidence is no float any more: Bernstein's bound is taken of its logarithm."""
VANISHED = 1e-14
STEPS = 2048
MOST_EVENLY = 64
"""How evenly a mixture's variance lies on its draws is told up to here: beyond, it is as good as normal."""
TANGENTS = 24
LEAST_SCALE = Fraction(1, 600)
"""The variance of smaller scales is lost to a float."""


@dataclass(frozen=True)
class Mixture:
    """A weighted sum of many draws, of which this is known: its variance; the `least` law, all being of its kind and of
    no smaller scale; and that none has more than one in `evenly` parts of the variance."""

    variance: float
    least: Noise
    evenly: int = 1


@dataclass(frozen=True)
class Draws:
    """So many independent draws of one law, each times this weight."""

    weight: float
    law: Noise | Mixture
    count: int = 1

    @property
    def variance(self) -> float:
        return self.weight**2 * self.count * self.law.variance

    def times(self, factor: float) -> "Draws":
        return Draws(self.weight * factor, self.law, self.count)


Spread = tuple[Draws, ...]
"""An error: the sum of all of them, independent of each other."""


def halfwidth(draws: Sequence[Draws], confidence: Fraction) -> float:
    """The sum of these draws stays within ± this with at least this probability.

    The least such width for one draw and for sums on a lattice (equal weights, say); for others it is at most about
    half a percent above it, and with a mixture it holds for all of them.
    """
    if 0 < 1 - Fraction(confidence) < FARTHEST:
        return _far(gathered(draws), 1 - Fraction(confidence))
    if len(draws) == 1 and isinstance(draws[0].law, Mixture):
        return _mixed_halfwidth(tuple(draws), require_confidence(confidence))
    together = gathered(draws)
    if not together:
        return 0.0
    if any(isinstance(draw.law, Mixture) for draw in together):
        return _mixed_halfwidth(together, require_confidence(confidence))
    if len(together) == 1 and together[0].count == 1:
        return together[0].weight * _plain(together[0].law).halfwidth(confidence)
    return _halfwidth(together, require_confidence(confidence))


def gathered(draws: Iterable[Draws]) -> Spread:
    """The same sum with equal draws together, signs left out (all laws are symmetric), and the widest first."""
    counts: dict[tuple[float, Noise | Mixture], int] = {}
    for draw in draws:
        key = float(f"{abs(draw.weight):.{DIGITS}g}"), draw.law
        if key[0] and draw.count:
            counts[key] = counts.get(key, 0) + draw.count
    together = [Draws(weight, law, count) for (weight, law), count in counts.items()]
    return tuple(sorted(together, key=lambda draw: -draw.variance))


def _plain(law: Noise | Mixture) -> Noise:
    return law.least if isinstance(law, Mixture) else law


def _mixed_halfwidth(together: Spread, confidence: float) -> float:
    """The width for every sum with this variance, of draws with these laws or wider ones."""
    variance = sum(draw.variance for draw in together)
    laws = [_plain(draw.law) for draw in together]
    if any(isinstance(law, Laplace) for law in laws):
        least = min((law for law in laws if isinstance(law, Laplace)), key=lambda law: law.scale)
        largest = max(draw.variance / draw.count / getattr(draw.law, "evenly", 1) for draw in together)
        evenly = rounded_down(variance / largest)
        return math.sqrt(variance) * any_halfwidth(1.0, least.scale, confidence, evenly)
    return normal_halfwidth(variance, confidence, max(draw.weight for draw in together))


def rounded_down(parts: float) -> int:
    """The greatest power of two that is not above, and at most MOST_EVENLY."""
    return 1 << int(math.log2(min(max(parts * (1 + ROUNDING), 1.0), MOST_EVENLY)))


def normal_halfwidth(variance: float, confidence: float, step: float = 1.0) -> float:
    """The width for a combination of Gaussian draws. At σ ≥ 1 a discrete one is normal to 10^-6, but for its steps:
    half a step is added."""
    return NormalDist().inv_cdf(0.5 + require_confidence(confidence) / 2) * math.sqrt(variance) + step / 2


def require_confidence(confidence: Fraction | float) -> float:
    found = float(confidence)
    if not 0 < found < 1 - 1e-12:
        raise InvalidNoise("confidence must lie between 0 and 1, as in 0.95")
    return found


@dataclass(frozen=True, eq=False)
class WrittenOut:
    """A law as masses: that of cell k, on either side of 0, is of what lies within half a `step` of k·step. What it
    says of a distance is true of the sum itself within ± `slack`."""

    step: float
    masses: Floats
    on_lattice: bool
    slack: float

    def halfwidth(self, confidence: float) -> float:
        within = self.masses[0] + 2 * np.concatenate([[0.0], np.cumsum(self.masses[1:])])
        if self.on_lattice:
            width = self.step * int(np.searchsorted(within, confidence - 1e-13))
            return width if self.step.is_integer() else width * (1 + ROUNDING)
        cell = int(np.searchsorted(within, confidence + 4 * SMOOTHED))
        return ((cell + 0.5) * self.step + self.slack) * (1 + ROUNDING)

    def density(self, distances: Floats) -> Floats:
        """The mass of the cell that holds each distance from 0."""
        cells = np.rint(np.abs(distances) / self.step).astype(np.int64)
        return np.where(cells < len(self.masses), self.masses[np.minimum(cells, len(self.masses) - 1)], 0.0)


@lru_cache(maxsize=4096)
def _halfwidth(together: Spread, confidence: float) -> float:
    allowed = 1 - confidence
    if allowed < LEAST_ALLOWED:
        return _reach(together, allowed)
    return written_out(together, allowed).halfwidth(confidence)


def written_out(together: Spread, allowed: float = 1e-3) -> WrittenOut:
    """The law of a gathered sum, as far out as all but `allowed` of it lies at least."""
    step = _lattice_step(together)
    far = _reach(together, allowed)
    if step is not None:
        points = (_reach(together, WRAPPED) + far) / step
        if points <= LONGEST_LATTICE:
            length = 1 << max(math.ceil(math.log2(points + 2)), 3)
            angles = np.arange(length // 2 + 1, dtype=np.float64) * (2 * math.pi / (length * step))
            masses = np.fft.irfft(_transform(together, angles), length)[: length // 2]
            return WrittenOut(step, np.maximum(masses, 0.0), True, 0.0)
    period = _reach(together, SMOOTHED) + far
    cell, angles = period / NODES, np.arange(NODES // 2 + 1, dtype=np.float64) * (2 * math.pi / period)
    # A normal number is added whose transform ends where the angles do; and a cell is averaged over.
    width = TAILS / float(angles[-1])
    window = np.exp(-((width * angles) ** 2) / 2) * np.sinc(angles * cell / (2 * np.pi))
    masses = np.fft.irfft(_transform(together, angles, window), NODES)[: NODES // 2]
    return WrittenOut(cell, np.maximum(masses, 0.0), False, TAILS * width)


def _transform(together: Spread, angles: Floats, start: Floats | None = None) -> Floats:
    """The product of the characteristic functions, where it has not vanished."""
    product = np.ones_like(angles) if start is None else start.copy()
    there = np.arange(len(angles))
    for draw in together:
        values = product[there] * _characteristic(draw.law, draw.weight * angles[there]) ** draw.count
        product[there] = values
        there = there[np.abs(values) > VANISHED]
    return product


def _characteristic(law: Noise | Mixture, angles: Floats) -> Floats:
    """E cos(angle·K) of one draw K. A mixture is taken for a normal number: it is one nearly, not surely."""
    match law:
        case Mixture():
            return np.exp(-law.variance * angles**2 / 2)
        case Laplace():
            return np.asarray(1 / (1 + 2 * law.variance * np.sin(angles / 2) ** 2))
        case Binomial():
            return np.asarray(np.cos(angles / 2) ** law.trials)
        case Gaussian():
            return _gaussian_characteristic(law, angles)


def _gaussian_characteristic(law: Gaussian, angles: Floats) -> Floats:
    """By the sum over whole numbers where σ < 1, else by Poisson's: both leave out less than 10^-18."""
    square = float(law.sigma_squared)
    if square < 1:
        whole = np.arange(1, 13)
        weights = np.exp(-(whole**2) / (2 * max(square, 1e-3)))
        total: Floats = 1 + 2 * (np.cos(np.multiply.outer(angles, whole)) @ weights)
        return total / float(1 + 2 * weights.sum())
    near = np.abs(angles - 2 * np.pi * np.rint(angles / (2 * np.pi)))
    images = sum(np.exp(-square * (near + 2 * np.pi * turn) ** 2 / 2) for turn in (-1, 0, 1))
    return np.asarray(images / (1 + 2 * math.exp(-2 * np.pi**2 * square)))


def _far(together: Spread, allowed: Fraction) -> float:
    """The same width where next to nothing may go wrong, as with a choice among very many regions; of a single draw, by
    its own law."""
    if not together:
        return 0.0
    if len(together) == 1 and together[0].count == 1 and isinstance(together[0].law, Laplace):
        return together[0].weight * together[0].law.halfwidth(1 - allowed)
    return _bernstein(together, math.log(2 * allowed.denominator) - math.log(allowed.numerator))


def _reach(together: Spread, allowed: float) -> float:
    """Beyond this lies at most `allowed` of the sum's law, by Bernstein's inequality."""
    return _bernstein(together, math.log(2 / allowed))


def _bernstein(together: Spread, logarithm: float) -> float:
    """The same for log(2/allowed)."""
    variance = sum(draw.weight**2 * draw.count * _proxy(draw.law) for draw in together)
    longest = max(draw.weight * _tail(draw.law) for draw in together)
    return longest * logarithm + math.sqrt((longest * logarithm) ** 2 + 2 * logarithm * variance)


def _proxy(law: Noise | Mixture) -> float:
    if isinstance(law, Mixture) and isinstance(law.least, Gaussian):
        return law.variance * float(law.least.sigma_squared) / law.least.variance
    return float(law.sigma_squared) if isinstance(law, Gaussian) else law.variance


def _tail(law: Noise | Mixture) -> float:
    if isinstance(law, Mixture):
        # b/σ of a Laplace draw falls with its scale, and none has more than its part of the variance.
        return math.sqrt(law.variance / law.evenly / law.least.variance) * _tail(law.least)
    return -1 / math.expm1(-min(1 / float(law.scale), 700.0)) if isinstance(law, Laplace) else 0.0


def _lattice_step(together: Spread) -> float | None:
    """The largest number of which all values of the sum are multiples, if it is the least weight in a few parts."""
    weights = np.array([draw.weight for draw in together])
    for parts in range(1, FINEST_PART + 1):
        step = float(weights.min()) / parts
        multiples = weights / step
        if np.all(np.abs(multiples - np.rint(multiples)) <= ALIKE * multiples):
            return step
    return None


@lru_cache(maxsize=4096)
def any_halfwidth(variance: float, least_scale: Fraction, confidence: float, evenly: int = 1) -> float:
    """A width w such that any combination of independent discrete Laplace draws, of this scale or larger ones and with
    this variance, stays within ±w with at least this probability. None has more than 1/`evenly` of the variance."""
    allowed = 1 - require_confidence(confidence)
    # Both are worst for the least scale; a draw of a scale below LEAST_SCALE is 0, but for one in 10^260.
    scale = max(least_scale, LEAST_SCALE)
    least = laplace_variance(scale)
    widening, graininess = math.sqrt(2 * float(scale) ** 2 / least), 1 / math.sqrt(6 * least)
    # A draw is a continuous one less its fraction: allow κ standard deviations for all fractions together.
    widths = []
    for kappa in (2.0, 2.75, 3.5):
        rest = allowed * (1 - math.exp(-(kappa**2) / 2))
        widths.append(widening * mixture_deviations(1 - rest, evenly) + kappa * graininess)
    # Of laws that are hardly ever not 0, nothing is narrower than what their variance alone says [Chebyshev].
    return math.sqrt(variance) * min(*widths, 1 / math.sqrt(allowed))


@lru_cache(maxsize=256)
def mixture_deviations(confidence: float, evenly: int = 1) -> float:
    """Within how many standard deviations every combination of independent continuous Laplace draws stays, with at
    least this probability, if none has more than 1/`evenly` of the variance: 2.157 for 95% where one may have all of
    it (a single draw has 2.118), and near the normal law's 1.960 where none has much."""
    allowed = 1 - confidence
    low, high = 0.0, 1.0
    while _tail_bound(high, evenly) > allowed:
        low, high = high, 2 * high
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (middle, high) if _tail_bound(middle, evenly) > allowed else (low, middle)
    return high


def _tail_bound(t: float, evenly: int) -> float:
    """The least E max(h(V), tangent of h at v2) over some v2 ≥ t²/3; h(v) = Pr[|N(0, v)| > t], and V is the mean of so
    many exponential numbers."""
    step = (t * t + 40) / STEPS
    v = (np.arange(STEPS) + 0.5) * step
    weights = np.exp(evenly * (math.log(evenly) - v) + (evenly - 1) * np.log(v) - math.lgamma(evenly)) * step
    inflection = max(t * t / 3, 1e-6)
    touching = np.append(inflection * np.geomspace(1, 64, TANGENTS), max(1.0, inflection))
    slopes = t * np.exp(-t * t / (2 * touching)) / np.sqrt(2 * np.pi * touching**3)
    heights = _beyond(t, touching) - slopes * touching
    lines = heights[:, None] + slopes[:, None] * v
    within = np.maximum(_beyond(t, v), lines) @ weights
    end = step * STEPS
    return float((within + np.exp(-end) * (np.maximum(heights + slopes * end, 1) + slopes)).min())


def _beyond(t: float, variances: NDArray[np.floating[Any]]) -> Floats:
    return np.array([math.erfc(deviations) for deviations in (t / np.sqrt(2 * variances)).tolist()])
