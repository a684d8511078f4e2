"""Draws that depend on the seed and the row's number only, so that a row is the same however the table is cut.

This makes people, not noise: SplitMix64 is a fixed function that anyone can repeat.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GOLDEN = 0x9E3779B97F4A7C15
STREAMS = 2**16


def row_bits(seed: int, stream: int, first: int, rows: int) -> NDArray[np.uint64]:
    """64 bits for each of the rows first, first + 1, …: SplitMix64 at (seed, stream, row) [Steele, Lea, Flood 2014]."""
    key = _mixed(np.array([(seed * STREAMS + stream) % 2**64], dtype=np.uint64))
    state = np.arange(first + 1, first + rows + 1, dtype=np.uint64)
    state *= np.uint64(GOLDEN)
    state += key
    return _mixed(state)


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finaliser, in place: every bit out depends on every bit in."""
    state ^= state >> np.uint64(30)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state *= np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return state


def split_bits(bits: NDArray[np.uint64], widths: Sequence[int]) -> Iterator[NDArray[np.int64]]:
    """Numbers of the given widths in bits, cut one after the other from each row's 64."""
    shift = 0
    for width in widths:
        yield ((bits >> np.uint64(shift)) & np.uint64(2**width - 1)).view(np.int64)
        shift += width


@dataclass(frozen=True)
class ChanceTable:
    """A table from (codes given, a number of `width` bits) to a code."""

    table: NDArray[np.uint8]
    sizes_given: tuple[int, ...]
    width: int

    @classmethod
    def of(cls, chances: NDArray[np.float64], width: int) -> "ChanceTable":
        """The last axis of `chances` is that of the code drawn, the others are those of the codes given.

        Chances need not sum to 1; they are rounded to multiples of 2^-width.
        """
        shares = chances.reshape(-1, chances.shape[-1])
        ends = np.rint(np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True) * 2**width).astype(np.int64)
        counts = np.diff(ends, axis=1, prepend=0)
        codes = np.tile(np.arange(shares.shape[1], dtype=np.uint8), len(shares))
        return cls(np.repeat(codes, counts.ravel()), chances.shape[:-1], width)

    def draw(self, numbers: NDArray[np.int64], *given: NDArray[np.int64]) -> NDArray[np.int64]:
        """A code for each number; uniform numbers give each code with its chance."""
        row = np.zeros(1, dtype=np.int64)
        for size, codes in zip(self.sizes_given, given, strict=True):
            row = row * size + codes
        drawn: NDArray[np.int64] = self.table[(row << self.width) | numbers].astype(np.int64)
        return drawn
