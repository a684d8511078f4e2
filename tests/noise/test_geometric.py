"""Geometric numbers digit by digit: each lane has its own digits, in every word of lanes."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.noise.bernoulli import flip
from discreet.noise.blocks import OUT_OF_RANGE
from discreet.noise.geometric import add_high_digits, draw_low_digits, low_digits

LANE_WORDS = 3


@pytest.fixture
def words() -> np.ndarray:
    return np.random.default_rng(6).integers(2**64, size=4_000, dtype=np.uint64)


def lanes_of(heads: np.ndarray) -> list[bool]:
    """Whether each lane shows heads, the lowest bit of the first word first."""
    return [bool(int(word) >> lane & 1) for word in heads for lane in range(64)]


def rounds(words, coins, coin, size):
    """Heads and tails of one coin in all lanes, again and again, and the place after each round."""
    position, heads, undecided = 0, np.empty(size, np.uint64), np.empty(size, np.uint64)
    while True:
        position = flip(words, position, coins, coin, undecided, heads)
        yield lanes_of(heads), position


def test_every_lane_is_given_the_number_of_heads_before_its_first_tails(words, rational_coins):
    coins, unit = rational_coins([Fraction(1, 3), Fraction(2, 3)]), 8
    values = np.arange(64 * LANE_WORDS)
    position = add_high_digits(words, 0, coins, 1, unit, values, np.empty(LANE_WORDS, np.uint64))
    expected, alive = list(range(64 * LANE_WORDS)), [True] * (64 * LANE_WORDS)
    for shown, after in rounds(words, coins, 1, LANE_WORDS):
        last = after
        alive = [before and heads for before, heads in zip(alive, shown, strict=True)]
        expected = [value + unit * still for value, still in zip(expected, alive, strict=True)]
        if not any(alive):
            break
    assert values.tolist() == expected
    assert position == last
    assert max(values - np.arange(64 * LANE_WORDS)) >= 4 * unit


@pytest.mark.parametrize("lane", [0, 63, 64, 129, 191])
def test_a_lane_that_would_leave_62_bits_is_out_of_range_wherever_it_is(words, rational_coins, lane):
    coins = rational_coins([Fraction(2**40 - 1, 2**40 + 1)])  # heads, as good as always
    values = np.zeros(64 * LANE_WORDS, np.int64)
    values[lane] = 2**62 - 1
    assert add_high_digits(words, 0, coins, 0, 2, values, np.empty(LANE_WORDS, np.uint64)) == OUT_OF_RANGE


def test_low_digits_are_flipped_plane_by_plane(words, rational_coins):
    coins = rational_coins([Fraction(1, 3), Fraction(1, 5), Fraction(3, 7)])
    planes, scratch = np.zeros((3, LANE_WORDS), np.uint64), np.empty(LANE_WORDS, np.uint64)
    position, expected = 0, []
    for coin in range(3):
        heads = np.empty(LANE_WORDS, np.uint64)
        position = flip(words, position, coins, coin, scratch, heads)
        expected.append(heads.tolist())
    assert draw_low_digits(words, 0, coins, planes, scratch) == position
    assert planes.tolist() == expected


@pytest.mark.parametrize(
    ("scale", "digits"), [(1, 4), (Fraction(1, 16), 0), (Fraction(1, 15), 1), (4, 6), (Fraction(17, 4), 7), (2**20, 24)]
)
def test_so_many_digits_leave_a_tail_of_exp_minus_16(scale, digits):
    assert low_digits(Fraction(scale)) == digits
    assert 2**digits >= 16 * scale
    assert digits == 0 or 2 ** (digits - 1) < 16 * scale
