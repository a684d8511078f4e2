"""Coins of any bias, 64 in a machine word, exactly. The proof is in bernoulli.md."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise
from discreet.native import kernel
from discreet.noise.bits import Bits, Words
from discreet.noise.blocks import FINISHED, OUT_OF_DIGITS, OUT_OF_WORDS, fill_by_blocks
from discreet.noise.enclosure import Enclosure, enclose_exp

SHARED_DIGITS = 8  # all lanes compare these; one lane in 256 goes on alone. Fewer cost time, more cost bits
WORDS_PER_FLIP = SHARED_DIGITS + 64 / 2**SHARED_DIGITS  # expected, for 64 lanes


class Coins(NamedTuple):
    """Binary expansions of biases, one coin a row: the first digits as words of 64 equal bits, then 64 a word."""

    shared: Words
    further: Words


def expand(biases: Callable[[int], Sequence[Enclosure]], further_words: int) -> Coins:
    """The coins with these biases, to 8 + 64 * further_words digits.

    `biases(precision)` encloses the same numbers ever more tightly as the precision grows. None of them may have
    a finite binary expansion; then some precision settles every digit.
    """
    digits = SHARED_DIGITS + 64 * further_words
    precision = digits + 56
    expansions = [bias.digits(digits) for bias in biases(precision)]
    while None in expansions:
        precision *= 2
        expansions = [bias.digits(digits) for bias in biases(precision)]
    packed = b"".join(expansion.to_bytes(digits // 8, "big") for expansion in expansions if expansion is not None)
    table = np.frombuffer(packed, np.uint8).reshape(len(expansions), digits // 8)
    first = np.unpackbits(table[:, : SHARED_DIGITS // 8], axis=1).astype(np.uint64)
    return Coins(
        shared=first * np.uint64(2**64 - 1),
        further=np.ascontiguousarray(table[:, SHARED_DIGITS // 8 :]).view(">u8").astype(np.uint64),
    )


@kernel
def flip(words: Words, position: int, coins: Coins, coin: int, undecided: Words, heads: Words) -> int:
    """Flip one coin in every lane of `heads`, reading words from `position` on.

    Returns the position after the last word read, or OUT_OF_WORDS or OUT_OF_DIGITS. Leaves no lane undecided;
    `undecided` is scratch of the same size.
    """
    lane_words = heads.size
    start = position
    position += SHARED_DIGITS * lane_words
    if position > words.size:
        return OUT_OF_WORDS
    fresh = words[start:position].reshape(SHARED_DIGITS, lane_words)
    shared = coins.shared[coin]
    for j in range(lane_words):
        open_lanes = np.uint64(2**64 - 1)
        decided_heads = np.uint64(0)
        for t in range(SHARED_DIGITS):
            differs = fresh[t, j] ^ shared[t]
            decided_heads |= open_lanes & differs & shared[t]
            open_lanes &= ~differs
        undecided[j] = open_lanes
        heads[j] = decided_heads
    for j in range(lane_words):
        open_lanes = undecided[j]
        while open_lanes != 0:
            lane = open_lanes & (~open_lanes + np.uint64(1))
            open_lanes ^= lane
            position = _flip_alone(words, position, coins.further[coin], lane, heads, j)
            if position < 0:
                return position
    return position


@kernel
def _flip_alone(words: Words, position: int, further: Words, lane: np.uint64, heads: Words, j: int) -> int:
    for digits in further:
        if position >= words.size:
            return OUT_OF_WORDS
        word = words[position]
        position += 1
        if word < digits:
            heads[j] |= lane
        if word != digits:
            return position
    return OUT_OF_DIGITS


@lru_cache(maxsize=256)
def _exp_coin(exponent: Fraction, further_words: int) -> Coins:
    return expand(lambda precision: [enclose_exp(exponent, precision)], further_words)


@kernel
def _draw_coins(words: Words, coins: Coins, lane_words: int, out: NDArray[np.bool_]) -> tuple[int, int, int]:
    undecided = np.empty(lane_words, np.uint64)
    heads = np.empty(lane_words, np.uint64)
    done = used = 0
    while done < out.size:
        position = flip(words, used, coins, 0, undecided, heads)
        if position < 0:
            return done, used, position
        used = position
        count = min(64 * lane_words, out.size - done)
        for lane in range(count):
            out[done + lane] = (heads[lane >> 6] >> np.uint64(lane & 63)) & np.uint64(1)
        done += count
    return done, used, FINISHED


def sample_bernoulli_exp(exponent: Fraction | int, size: int, bits: Bits) -> NDArray[np.bool_]:
    """Flip `size` coins, each heads with probability exp(-exponent), exactly. Requires exponent > 0."""
    if exponent <= 0:
        raise InvalidNoise(f"a coin of bias exp(-x) needs x > 0, not {exponent}")
    exponent = Fraction(exponent)
    out = np.empty(size, np.bool_)
    fill_by_blocks(out, _draw_coins, lambda further: _exp_coin(exponent, further), WORDS_PER_FLIP, bits)
    return out
