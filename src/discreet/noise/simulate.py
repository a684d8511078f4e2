"""Made-up noise for intervals: repeatable, and of the laws that real noise has. It protects nobody and reads no rows.

A counter is hashed (SplitMix64) with a key, so that the same question about the same released numbers gets the same
interval again; each 16 bits of it choose one of 65,536 equally likely quantiles of a law.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.noise.law import Gaussian, Laplace, Noise

Floats = NDArray[np.float64]
STEP = 0x9E3779B97F4A7C15
QUANTILES = 1 << 16
REACH = 10
"""A normal law is written out so many deviations to either side."""
FINEST = 5000
"""In steps of whole numbers, or of one in so many parts of its deviation where that is more."""


def simulated(law: Noise, rows: int, columns: int, key: int) -> Floats:
    """So many independent numbers of a law. Another key makes others."""
    chosen = _words(-(-rows * columns // 4), key).view(np.uint16)[: rows * columns]
    return _quantiles(law)[chosen].reshape(rows, columns)


def _words(count: int, key: int) -> NDArray[np.uint64]:
    start = np.uint64((key * STEP + STEP) & (2**64 - 1))
    with np.errstate(over="ignore"):
        z = np.arange(count, dtype=np.uint64) * np.uint64(STEP) + start
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))


@lru_cache(32)
def _quantiles(law: Noise) -> Floats:
    levels = (np.arange(QUANTILES) + 0.5) / QUANTILES
    if isinstance(law, Laplace):
        # |K| ≥ k with the chance 2q^k/(1 + q), q = exp(−1/scale).
        scale = float(law.scale)
        q = math.exp(-1 / scale)
        tails = 2 * np.minimum(levels, 1 - levels)
        return np.where(levels < 0.5, -1, 1) * np.floor(np.log(tails * ((1 + q) / 2)) * -scale)
    deviation = math.sqrt(float(law.sigma_squared) if isinstance(law, Gaussian) else law.variance)
    step = max(1.0, math.floor(deviation / FINEST))
    points = step * np.arange(-math.ceil(REACH * deviation / step) - 1, math.ceil(REACH * deviation / step) + 2)
    masses = np.exp(-(points**2) / (2 * deviation * deviation))
    return np.asarray(points[np.searchsorted(np.cumsum(masses / masses.sum())[:-1], levels)], np.float64)
