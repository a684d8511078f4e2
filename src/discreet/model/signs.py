"""Fixed signs that look random: what numbers are moved by to see how a fit follows them."""

import numpy as np
from numpy.typing import NDArray

from discreet.model.measured import Measured

Vector = NDArray[np.float64]


def signs_of(one: Measured, place: int) -> Vector:
    """A measurement's noise as signs, each of a standard deviation; none for a fact."""
    own = signs(one.values.size, place).reshape(one.values.shape)
    own *= np.sqrt(one.variance)
    return own


def signs(size: int, place: int) -> Vector:
    """The lowest bit of SplitMix64's output. [Steele, Lea, Flood, 2014]"""
    state = np.arange(1, size + 1, dtype=np.uint64) + np.uint64(place << 32)
    state *= np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.where((state ^ (state >> np.uint64(31))) & np.uint64(1), 1.0, -1.0)
