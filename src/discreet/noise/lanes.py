"""Turning bit planes into integers and back: plane i holds digit i of 64 numbers a word."""

import numpy as np
from numpy.typing import NDArray

from discreet.native import kernel
from discreet.noise.bits import Words

SQUARE = 32  # planes turned at a time


@kernel
def gather_lanes(planes: Words, square: Words, values: NDArray[np.int64]) -> None:
    """Lane l of `values` becomes the sum of 2**i over the planes i with bit l set. Requires 1 to 63 planes.

    `square` is scratch of 32 rows, as wide as the planes. 32 planes are turned at a time by exchanging ever
    smaller off-diagonal blocks of a bit matrix [Warren, Hacker's Delight, 7-3], in all columns of words at once.
    """
    column = np.empty(SQUARE, np.uint64)
    for base in range(0, planes.shape[0], SQUARE):
        rows = min(SQUARE, planes.shape[0] - base)
        for k in range(SQUARE):
            for j in range(planes.shape[1]):
                square[k, j] = planes[base + k, j] if k < rows else np.uint64(0)
        _turn(square)
        for j in range(planes.shape[1]):
            for k in range(SQUARE):
                column[k] = square[k, j]
            for half in range(2):
                target = values[64 * j + SQUARE * half : 64 * j + SQUARE * (half + 1)]
                if base == 0:
                    for k in range(SQUARE):
                        target[k] = (column[k] >> np.uint64(SQUARE * half)) & np.uint64(2**SQUARE - 1)
                else:
                    for k in range(SQUARE):
                        digits = (column[k] >> np.uint64(SQUARE * half)) & np.uint64(2**SQUARE - 1)
                        target[k] |= np.int64(digits << np.uint64(base))


@kernel
def scatter_lanes(values: Words, first_digit: int, square: Words) -> None:
    """Row i of `square` becomes the plane of digit first_digit + i of the values, for 32 digits."""
    shift = np.uint64(first_digit)
    for j in range(square.shape[1]):
        for k in range(SQUARE):
            left = (values[64 * j + k] >> shift) & np.uint64(2**SQUARE - 1)
            right = (values[64 * j + SQUARE + k] >> shift) & np.uint64(2**SQUARE - 1)
            square[k, j] = left | (right << np.uint64(SQUARE))
    _turn(square)


@kernel
def _turn(square: Words) -> None:
    """Transpose the left and the right 32 x 32 bit matrix in every column of words."""
    distance = SQUARE // 2
    mask = np.uint64(0x0000FFFF0000FFFF)
    while distance > 0:
        shift = np.uint64(distance)
        for block in range(0, SQUARE, 2 * distance):
            for k in range(block, block + distance):
                upper, lower = square[k], square[k + distance]
                for j in range(square.shape[1]):
                    exchanged = ((upper[j] >> shift) ^ lower[j]) & mask
                    lower[j] ^= exchanged
                    upper[j] ^= exchanged << shift
        distance //= 2
        mask ^= mask << np.uint64(distance)
