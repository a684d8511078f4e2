"""The discrete Laplace distribution, exactly: its draws, its variance, its half-widths. Proof: laplace.md."""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise
from discreet.native import kernel
from discreet.noise.bernoulli import WORDS_PER_FLIP, Coins, expand, flip
from discreet.noise.bits import Bits, Words
from discreet.noise.blocks import FINISHED, OUT_OF_WORDS, fill_by_blocks
from discreet.noise.deviation import require_scale
from discreet.noise.enclosure import Enclosure
from discreet.noise.geometric import add_high_digits, digit_biases, draw_low_digits, low_digits
from discreet.noise.lanes import SQUARE, gather_lanes

SIGN, NONZERO, FIRST_DIGIT = 0, 1, 2  # rows of a block's planes


def sample_laplace(
    scale: Fraction | int, size: int, bits: Bits, out: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Draw `size` independent integers k with Pr[k] ∝ exp(-|k| / scale), exactly.

    Requires 0 < scale <= 2**50, exact. Fills `out` where one is given, contiguous and of that size.
    A draw beyond 60 bits is InvalidNoise, not a wrap; its probability is below exp(-512).
    """
    scale = require_scale(scale)
    if size < 0:
        raise InvalidNoise(f"the number of draws must not be negative, not {size}")
    if out is None:
        out = np.empty(size, np.int64)
    elif out.shape != (size,) or out.dtype != np.int64 or not out.flags.c_contiguous:
        raise InvalidNoise(f"out must be {size} contiguous numbers of type int64")
    planes = low_digits(scale) + FIRST_DIGIT
    words_per_lane_word = WORDS_PER_FLIP * planes + 1
    fill_by_blocks(out, _draw_laplace, lambda further: laplace_coins(scale, further), words_per_lane_word, bits)
    return out


@lru_cache(maxsize=256)
def laplace_coins(scale: Fraction, further_words: int) -> Coins:
    """The coins of `digit_biases`, and last that of not being zero."""

    def biases(precision: int) -> list[Enclosure]:
        digits = digit_biases(scale, precision)
        first = digits[0] if len(digits) > 1 else digits[0].logistic()
        return [*digits, first.doubled()]

    return expand(biases, further_words)


class LaneBlock(NamedTuple):
    """What one block of lanes needs while it is drawn. `values` holds the draws at the end, 64 for a lane word."""

    planes: Words
    square: Words
    undecided: Words
    values: NDArray[np.int64]


@kernel
def make_block(coins: Coins, lane_words: int) -> LaneBlock:
    digits = coins.shared.shape[0] - 2
    return LaneBlock(
        np.empty((FIRST_DIGIT + digits, lane_words), np.uint64),
        np.empty((SQUARE, lane_words), np.uint64),
        np.empty(lane_words, np.uint64),
        np.empty(64 * lane_words, np.int64),
    )


@kernel
def draw_block(words: Words, position: int, coins: Coins, block: LaneBlock) -> int:
    """Draw the Laplace numbers of one block into its values. Returns as `flip` does."""
    planes, values = block.planes, block.values
    tail_coin, nonzero_coin = coins.shared.shape[0] - 2, coins.shared.shape[0] - 1
    if position + planes.shape[1] > words.size:
        return OUT_OF_WORDS
    for j in range(planes.shape[1]):
        planes[SIGN, j] = words[position + j]
    position += planes.shape[1]
    position = flip(words, position, coins, nonzero_coin, block.undecided, planes[NONZERO])
    if position >= 0:
        position = draw_low_digits(words, position, coins, planes[FIRST_DIGIT:], block.undecided)
    if position >= 0:
        gather_lanes(planes, block.square, values)
        unit = 1 << planes.shape[0]
        position = add_high_digits(words, position, coins, tail_coin, unit, values, block.undecided)
    for lane in range(values.size):
        negative, nonzero = values[lane] & 1, (values[lane] >> 1) & 1
        magnitude = ((values[lane] >> FIRST_DIGIT) + 1) & -nonzero
        values[lane] = (magnitude ^ -negative) + negative
    return position


@kernel
def _draw_laplace(words: Words, coins: Coins, lane_words: int, out: NDArray[np.int64]) -> tuple[int, int, int]:
    block = make_block(coins, lane_words)
    done = used = 0
    while done < out.size:
        position = draw_block(words, used, coins, block)
        if position < 0:
            return done, used, position
        used = position
        count = min(block.values.size, out.size - done)
        for lane in range(count):
            out[done + lane] = block.values[lane]
        done += count
    return done, used, FINISHED
