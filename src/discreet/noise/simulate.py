"""Made-up noise for intervals: repeatable, and of the laws that real noise has. It protects nobody and reads no rows.

A counter is hashed (SplitMix64) with a key, so that the same question about the same released numbers gets the same
interval again; each 16 bits of it choose one of 65,536 equally likely quantiles of a law.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.noise.law import Gaussian, Laplace, Noise
from discreet.noise.spread import Draws, Mixture, Spread, halfwidth

Floats = NDArray[np.float64]
STEP = 0x9E3779B97F4A7C15
QUANTILES = 1 << 16
USUAL = Fraction(19, 20)
"""A mixture, and a sum of several draws, is drawn from a normal law that is as wide as it may be at this confidence."""
DEVIATIONS = NormalDist().inv_cdf(0.5 + float(USUAL) / 2)
REACH = 10
"""A normal law is written out so many deviations to either side."""
FINEST = 5000
"""In steps of whole numbers, or of one in so many parts of its deviation where that is more."""


def simulated(law: Noise | Mixture | Spread, rows: int, columns: int, key: int) -> Floats:
    """So many independent numbers of a law, or sums of several draws. Another key makes others."""
    return _chosen(_quantiles(law), rows, columns, key)


def _chosen(quantiles: Floats, rows: int, columns: int, key: int) -> Floats:
    words = _words(-(-rows * columns // 4), key).view(np.uint16)[: rows * columns]
    return np.asarray(quantiles[words].reshape(rows, columns))


def simulated_together(covariance: Floats, spreads: Sequence[Spread], columns: int, key: int) -> Floats:
    """Numbers with these correlations, a row for each: normal, and each as wide as its own draws at the usual
    confidence."""
    deviations = np.sqrt(np.diagonal(covariance))
    lengths, directions = np.linalg.eigh(covariance / np.multiply.outer(deviations, deviations))
    root = directions * np.sqrt(np.maximum(lengths, 0.0))
    widths = np.array([halfwidth(spread, USUAL) / DEVIATIONS for spread in spreads])
    return np.asarray(widths[:, None] * (root @ _chosen(_unit(), len(spreads), columns, key)))


def _words(count: int, key: int) -> NDArray[np.uint64]:
    start = np.uint64((key * STEP + STEP) & (2**64 - 1))
    with np.errstate(over="ignore"):
        z = np.arange(count, dtype=np.uint64) * np.uint64(STEP) + start
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


@lru_cache(32)
def _quantiles(law: Noise | Mixture | Spread) -> Floats:
    if isinstance(law, tuple):
        return _normal(halfwidth(law, USUAL) / DEVIATIONS)
    levels = (np.arange(QUANTILES) + 0.5) / QUANTILES
    if isinstance(law, Laplace):
        # |K| ≥ k with the chance 2q^k/(1 + q), q = exp(−1/scale).
        scale = float(law.scale)
        q = math.exp(-1 / scale)
        tails = 2 * np.minimum(levels, 1 - levels)
        return np.where(levels < 0.5, -1, 1) * np.floor(np.log(tails * ((1 + q) / 2)) * -scale)
    if isinstance(law, Mixture):
        return _normal(halfwidth((Draws(1.0, law),), USUAL) / DEVIATIONS)
    deviation = math.sqrt(float(law.sigma_squared) if isinstance(law, Gaussian) else law.variance)
    return _normal(deviation, max(1.0, math.floor(deviation / FINEST)))


@lru_cache(1)
def _unit() -> Floats:
    return _normal(1.0)


def _normal(deviation: float, step: float | None = None) -> Floats:
    """The quantiles of a normal law, in steps; all 0 of one without spread, as sums of hardly any noise have."""
    if deviation == 0:
        return np.zeros(QUANTILES)
    step = step or deviation / FINEST
    levels = (np.arange(QUANTILES) + 0.5) / QUANTILES
    points = step * np.arange(-math.ceil(REACH * deviation / step) - 1, math.ceil(REACH * deviation / step) + 2)
    masses = np.exp(-(points**2) / (2 * deviation * deviation))
    return np.asarray(points[np.searchsorted(np.cumsum(masses / masses.sum())[:-1], levels)], np.float64)
