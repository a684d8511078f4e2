"""How far a cell of a cube may be off. Proofs: interval.md.

A cell that is the sum of equal draws has a known law on the integers: its half-width is exact. A consistent cell is a
combination of very many draws; its half-width holds for every combination with that variance.
"""

import math
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.cube.noise_model import LaplaceNoise
from discreet.cube.plan import CubePlan
from discreet.errors import InvalidNoise
from discreet.noise.laplace import laplace_halfwidth, laplace_variance

STEPS = 2048
TANGENTS = 24
LONGEST_LAW = 1 << 20
"""Laws on more integers than this are not written out; the bound for every combination is used instead."""
LEAST_SCALE = Fraction(1, 600)
"""The variance of smaller scales is lost to a float."""


def require_confidence(confidence: float) -> float:
    if not 0 < confidence < 1 - 1e-12:
        raise InvalidNoise("confidence must lie between 0 and 1, as in 0.95")
    return float(confidence)


def halfwidth(plan: CubePlan, mask: int, consistent: bool, confidence: float) -> float:
    """A width w such that each cell of a cuboid is within ±w of the truth with at least this probability."""
    noise = plan.noise
    if consistent and any(not mask & ~known for known, _ in plan.known):
        return 0.0
    grain = noise.measure.grain
    variance = plan.variance(*plan.lattice.names_of(mask), consistent=consistent) / float(grain) ** 2
    if not isinstance(noise, LaplaceNoise):
        return float(grain) * normal_halfwidth(variance, confidence)
    if not consistent or (len(plan.shares) == 1 and not plan.known):
        source = plan.best_source(mask)
        scale = noise.scale(plan.share_of(source)) / grain
        return float(grain) * sum_halfwidth(scale, plan.lattice.magnification(mask, source), confidence)
    return float(grain) * combination_halfwidth(variance, noise.scale(plan.largest_share) / grain, confidence)


def normal_halfwidth(variance: float, confidence: float) -> float:
    """The width for a combination of Gaussian draws. At σ ≥ 1 a discrete one is normal to 10^-6, but for its steps:
    half a step is added."""
    return NormalDist().inv_cdf(0.5 + require_confidence(confidence) / 2) * math.sqrt(variance) + 0.5


@lru_cache(maxsize=1024)
def sum_halfwidth(scale: Fraction, draws: int, confidence: float) -> float:
    """The least whole w such that a sum of so many discrete Laplace draws stays within ±w with this probability."""
    if draws == 1:
        return laplace_halfwidth(scale, Fraction(str(confidence)))
    variance = laplace_variance(scale)
    # Beyond 32 standard deviations lies less than 10^-18 of every such law.
    length = 1 << math.ceil(math.log2(max(64 * math.sqrt(draws * variance), 64)))
    if length > LONGEST_LAW:
        return combination_halfwidth(draws * variance, scale, confidence)
    angles = np.pi * np.arange(length // 2 + 1) / length
    transform = np.exp(-draws * np.log1p(2 * variance * np.sin(angles) ** 2))
    law = np.fft.irfft(transform, length)[: length // 2]
    within = law[0] + 2 * np.concatenate([[0.0], np.cumsum(law[1:])])
    return int(np.searchsorted(within, confidence - 1e-13))


@lru_cache(maxsize=4096)
def combination_halfwidth(variance: float, least_scale: Fraction, confidence: float) -> float:
    """A width w such that any combination of independent discrete Laplace draws, of this scale or larger ones and with
    this variance, stays within ±w with at least this probability."""
    allowed = 1 - require_confidence(confidence)
    # Both are worst for the least scale; a draw of a scale below LEAST_SCALE is 0, but for one in 10^260.
    scale = max(least_scale, LEAST_SCALE)
    least = laplace_variance(scale)
    widening, graininess = math.sqrt(2 * float(scale) ** 2 / least), 1 / math.sqrt(6 * least)
    # A draw is a continuous one less its fraction: allow κ standard deviations for all fractions together.
    widths = []
    for kappa in (2.0, 2.75, 3.5):
        rest = allowed * (1 - math.exp(-(kappa**2) / 2))
        widths.append(widening * mixture_deviations(1 - rest) + kappa * graininess)
    return math.sqrt(variance) * min(widths)


@lru_cache(maxsize=256)
def mixture_deviations(confidence: float) -> float:
    """Within how many standard deviations every combination of independent continuous Laplace draws stays, with at
    least this probability: 2.157 for 95%, where the normal law has 1.960 and a single draw 2.118."""
    allowed = 1 - confidence
    low, high = 0.0, 1.0
    while _tail_bound(high) > allowed:
        low, high = high, 2 * high
    while high - low > 1e-5:
        middle = (low + high) / 2
        low, high = (middle, high) if _tail_bound(middle) > allowed else (low, middle)
    return high


def _tail_bound(t: float) -> float:
    """The least E max(h(V), tangent of h at v2) for V exponential, over some v2 ≥ t²/3; h(v) = Pr[|N(0, v)| > t]."""
    step = (t * t + 40) / STEPS
    v = (np.arange(STEPS) + 0.5) * step
    weights = np.exp(-v) * step
    inflection = max(t * t / 3, 1e-6)
    touching = np.append(inflection * np.geomspace(1, 64, TANGENTS), max(1.0, inflection))
    slopes = t * np.exp(-t * t / (2 * touching)) / np.sqrt(2 * np.pi * touching**3)
    heights = _beyond(t, touching) - slopes * touching
    lines = heights[:, None] + slopes[:, None] * v
    within = np.maximum(_beyond(t, v), lines) @ weights
    end = step * STEPS
    return float((within + np.exp(-end) * (np.maximum(heights + slopes * end, 1) + slopes)).min())


def _beyond(t: float, variances: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    return np.array([math.erfc(deviations) for deviations in (t / np.sqrt(2 * variances)).tolist()])
