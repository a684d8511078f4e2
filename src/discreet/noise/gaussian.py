"""The discrete Gaussian distribution, exactly: its draws, its variance, its half-widths. Proof: gaussian.md."""

import math
from bisect import bisect_left
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
from discreet.noise.enclosure import Enclosure, enclose_exp
from discreet.noise.lanes import SQUARE, scatter_lanes
from discreet.noise.laplace import LaneBlock, draw_block, laplace_coins, make_block

MAX_SIGMA_SQUARED = 2**100  # the proposal's scale is then 2**50, or hardly more
ACCEPTED = 0.75  # of the proposals, about; it sizes buffers only
DISTANCE_DIGITS = 128  # distances are kept in two words
LARGE_SIGMA = 1000  # from here on sums over the law are integrals to float precision


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


def require_sigma_squared(sigma_squared: Fraction | int) -> Fraction:
    """The parameter as a Fraction, if it is exact and in range; otherwise InvalidNoise."""
    if type(sigma_squared) not in (Fraction, int):
        raise InvalidNoise(f"sigma squared must be exact: a Fraction or an int, not {type(sigma_squared).__name__}")
    if not 0 < sigma_squared <= MAX_SIGMA_SQUARED:
        raise InvalidNoise(f"sigma squared must be above 0 and at most 2**100, not {sigma_squared}")
    return Fraction(sigma_squared)


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


def gaussian_variance(sigma_squared: Fraction | int) -> float:
    """The discrete variance, to float precision: a little below sigma_squared where that is small."""
    sigma_squared = require_sigma_squared(sigma_squared)
    if sigma_squared >= 4:
        return float(sigma_squared)  # they differ by a factor 1 - 2e-32 at 4, and less beyond (gaussian.md)
    weights = _weights(sigma_squared, 40)
    squares = np.arange(1, 41, dtype=np.float64) ** 2
    return 2 * math.fsum(squares * weights) / (1 + 2 * math.fsum(weights))


@lru_cache(maxsize=256, typed=True)
def gaussian_halfwidth(sigma_squared: Fraction | int, confidence: Fraction | float) -> int:
    """The smallest integer w >= 0 with Pr[|K| <= w] >= confidence, to float precision. Requires 0 <= confidence < 1."""
    sigma_squared = require_sigma_squared(sigma_squared)
    if not 0 <= confidence < 1:
        raise InvalidNoise(f"a confidence must be at least 0 and below 1, not {confidence}")
    allowed = float(1 - Fraction(confidence))
    sigma = math.sqrt(sigma_squared)
    if sigma < LARGE_SIGMA:
        weights = _weights(sigma_squared, math.ceil(39 * sigma) + 2)
        beyond = 2 * np.cumsum(weights[::-1])[::-1]  # from the far end, small to large
        return int(np.count_nonzero(beyond > allowed * (1 + beyond[0])))
    return bisect_left(range(math.ceil(39 * sigma)), True, key=lambda w: _tail(w, sigma) <= allowed)


def _weights(sigma_squared: Fraction, count: int) -> NDArray[np.float64]:
    """exp(-k**2 / (2 sigma_squared)) for k = 1 … count."""
    rate = float(min(1 / (2 * sigma_squared), Fraction(1000)))
    return np.exp(-rate * np.arange(1, count + 1, dtype=np.float64) ** 2)


def _tail(width: int, sigma: float) -> float:
    """Pr[|K| > width] by Euler and Maclaurin's formula at the midpoint, but for a share below (z / sigma)**4."""
    z = (width + 0.5) / sigma
    return math.erfc(z / math.sqrt(2)) - z * math.exp(-z * z / 2) / (12 * sigma**2 * math.sqrt(2 * math.pi))
