"""The discrete Gaussian distribution, exactly: its draws, its variance, its half-widths. Proof: gaussian.md."""

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise
from discreet.native import kernel
from discreet.noise.bernoulli import WORDS_PER_FLIP, Coins, expand, flip
from discreet.noise.bits import Bits, Words
from discreet.noise.blocks import FINISHED, fill_by_blocks
from discreet.noise.deviation import require_sigma_squared
from discreet.noise.enclosure import Enclosure, enclose_exp
from discreet.noise.lanes import SQUARE, scatter_lanes
from discreet.noise.laplace import LaneBlock, draw_block, laplace_coins, make_block

ACCEPTED = 0.75  # of the proposals, about; it sizes buffers only
DISTANCE_DIGITS = 128  # distances are kept in two words


class GaussianCoins(NamedTuple):
    """The Laplace proposal's coins; those of bias exp(-2**i / (2 sigma**2)); and the 2c of the proof."""

    proposal: Coins
    acceptance: Coins
    twice_centre: int


def sample_gaussian(sigma_squared: Fraction | int, size: int, bits: Bits) -> NDArray[np.int64]:
    """Draw `size` independent integers k with Pr[k] ∝ exp(-k**2 / (2 sigma_squared)), exactly.

    Requires 0 < sigma_squared <= 2**100, exact. A draw beyond 60 bits is InvalidNoise, not a wrap; its probability
    is below exp(-512). [Canonne, Kamath, Steinke 2020, with a Laplace proposal that makes distances integers]
    """
    sigma_squared = require_sigma_squared(sigma_squared)
    if size < 0:
        raise InvalidNoise(f"the number of draws must not be negative, not {size}")
    out = np.empty(size, np.int64)
    # A Laplace number takes about log2(16 sigma) + 3 coins, its distance has about twice as many digits.
    coins = 3 * math.log2(16 * math.sqrt(max(float(sigma_squared), 1)))
    words_per_lane_word = WORDS_PER_FLIP * coins / ACCEPTED
    fill_by_blocks(out, _draw_gaussian, lambda further: _coins(sigma_squared, further), words_per_lane_word, bits)
    return out


@lru_cache(maxsize=256)
def _coins(sigma_squared: Fraction, further_words: int) -> GaussianCoins:
    twice_centre = max(1, math.isqrt(math.floor(4 * sigma_squared)))

    def acceptance(precision: int) -> list[Enclosure]:
        biases = [enclose_exp(1 / (2 * sigma_squared), precision + DISTANCE_DIGITS)]
        while len(biases) < DISTANCE_DIGITS:
            biases.append(biases[-1].times(biases[-1]))
        return biases

    return GaussianCoins(
        proposal=laplace_coins(2 * sigma_squared / twice_centre, further_words),
        acceptance=expand(acceptance, further_words),
        twice_centre=twice_centre,
    )


@kernel
def _draw_gaussian(words: Words, coins: GaussianCoins, lane_words: int, out: NDArray[np.int64]) -> tuple[int, int, int]:
    block = make_block(coins.proposal, lane_words)
    distances = np.empty((2, 64 * lane_words), np.uint64)
    survivors = np.empty(lane_words, np.uint64)
    done = used = 0
    while done < out.size:
        position = draw_block(words, used, coins.proposal, block)
        if position >= 0:
            digits = _measure_distances(block.values, coins.twice_centre, distances)
            position = _accept(words, position, coins.acceptance, distances, digits, block, survivors)
        if position < 0:
            return done, used, position
        used = position
        count = min(_keep(block.values, survivors), out.size - done)
        for kept in range(count):
            out[done + kept] = block.values[kept]
        done += count
    return done, used, FINISHED


@kernel
def _keep(values: NDArray[np.int64], survivors: Words) -> int:
    """Move the values of surviving lanes to the front, in order; returns how many there are."""
    kept = 0
    for j in range(survivors.size):
        for lane in range(64):
            # Without a branch, which would go wrong at every fourth lane.
            values[kept] = values[64 * j + lane]
            kept += int((survivors[j] >> np.uint64(lane)) & np.uint64(1))
    return kept


@kernel
def _measure_distances(values: NDArray[np.int64], twice_centre: int, distances: Words) -> int:
    """(y - floor(c))(y - ceil(c)) for each y = |value|, as 64 low and 64 high bits; returns how many matter."""
    any_low, any_high = np.uint64(0), np.uint64(0)
    half = np.uint64(32)
    lower_half = np.uint64(2**32 - 1)
    for lane in range(values.size):
        beyond = abs(values[lane]) - (twice_centre >> 1)
        left, right = np.uint64(abs(beyond)), np.uint64(abs(beyond - (twice_centre & 1)))
        bottom = (left & lower_half) * (right & lower_half)
        # Both factors are below 2**61, so their upper halves are below 2**29 and the middle does not wrap.
        middle = (left >> half) * (right & lower_half) + (left & lower_half) * (right >> half) + (bottom >> half)
        distances[0, lane] = left * right
        distances[1, lane] = (left >> half) * (right >> half) + (middle >> half)
        any_low |= distances[0, lane]
        any_high |= distances[1, lane]
    digits = 0
    if any_high != 0:
        digits, any_low = 64, any_high
    while any_low != 0:
        digits += 1
        any_low >>= np.uint64(1)
    return digits


@kernel
def _accept(
    words: Words, position: int, coins: Coins, distances: Words, digits: int, block: LaneBlock, survivors: Words
) -> int:
    """A lane survives if coin i is heads for every set digit i of its distance. Returns as `flip` does."""
    heads = block.planes[0]
    for j in range(survivors.size):
        survivors[j] = np.uint64(2**64 - 1)
    for digit in range(digits):
        if digit % SQUARE == 0:
            scatter_lanes(distances[digit // 64], digit % 64, block.square)
        position = flip(words, position, coins, digit, block.undecided, heads)
        if position < 0:
            return position
        for j in range(survivors.size):
            survivors[j] &= heads[j] | ~block.square[digit % SQUARE, j]
    return position
