"""Geometric numbers digit by digit, exactly. The proof is in geometric.md."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.native import kernel
from discreet.noise.bernoulli import Coins, flip
from discreet.noise.bits import Words
from discreet.noise.blocks import OUT_OF_RANGE
from discreet.noise.enclosure import Enclosure, enclose_exp

TAIL_EXPONENT = 16  # the digits drawn one by one leave a tail of probability exp(-16) at most


def low_digits(scale: Fraction) -> int:
    """How many digits are drawn one by one: the fewest m with 2**m >= 16 * scale."""
    return (-(-TAIL_EXPONENT * scale.numerator // scale.denominator) - 1).bit_length()


def digit_biases(scale: Fraction, precision: int) -> list[Enclosure]:
    """The bias of digit i, q**(2**i) / (1 + q**(2**i)), for each low digit i; last, that of the tail, q**(2**m)."""
    digits = low_digits(scale)
    power = enclose_exp(1 / scale, precision + digits)
    biases = []
    for _ in range(digits):
        biases.append(power.logistic())
        power = power.times(power)
    biases.append(power)
    return biases


@kernel
def draw_low_digits(words: Words, position: int, coins: Coins, planes: Words, undecided: Words) -> int:
    """Row i of `planes` gets digit i in every lane. The coins are those of `digit_biases`. Returns as `flip` does."""
    for i in range(planes.shape[0]):
        position = flip(words, position, coins, i, undecided, planes[i])
        if position < 0:
            return position
    return position


@kernel
def add_high_digits(
    words: Words, position: int, coins: Coins, coin: int, unit: int, values: NDArray[np.int64], undecided: Words
) -> int:
    """Add to every lane `unit` times a geometric number whose coin is the tail's. Returns as `flip` does.

    The number is the count of heads before the first tails; a lane that would leave 62 bits is OUT_OF_RANGE.
    """
    heads = np.empty_like(undecided)
    alive = np.full_like(undecided, np.uint64(2**64 - 1))
    any_alive = True
    while any_alive:
        position = flip(words, position, coins, coin, undecided, heads)
        if position < 0:
            return position
        any_alive = False
        for j in range(alive.size):
            alive[j] &= heads[j]
            if alive[j] == 0:
                continue
            any_alive = True
            for lane in range(64):
                if (alive[j] >> np.uint64(lane)) & np.uint64(1):
                    if values[64 * j + lane] > 2**62 - unit:
                        return OUT_OF_RANGE
                    values[64 * j + lane] += unit
    return position
