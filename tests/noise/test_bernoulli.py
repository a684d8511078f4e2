"""Coins of bias exp(-x): exact probabilities on all strings of bits, then digits that are asked for late."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.errors import InvalidNoise
from discreet.noise.bernoulli import expand, sample_bernoulli_exp
from discreet.noise.bits import SeededBits
from discreet.noise.enclosure import Enclosure

EXPONENTS = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(22, 7), Fraction(20)]
LAST_WORD = 2**64 - 1


def expansion(exponent: Fraction, digits: int) -> int:
    """The first binary digits of exp(-x), by mpmath."""
    with mpmath.workprec(digits + 100):
        value = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)
        return int(mpmath.floor(mpmath.ldexp(value, digits)))


def every_string_of_eight_bits() -> list[int]:
    """Eight rows of four words; lane l of the 256 reads the binary digits of l."""
    lanes = np.arange(256)
    return [
        sum(1 << int(lane % 64) for lane in lanes[lanes // 64 == word] if lane >> (7 - row) & 1)
        for row in range(8)
        for word in range(4)
    ]


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("exponent", EXPONENTS, ids=str)
def test_heads_have_the_exact_probability_over_all_strings_of_72_bits(scripted, exhausted, exponent):
    first, further = divmod(expansion(exponent, 72), 2**64)
    with pytest.raises(exhausted):  # exactly one string of 8 bits leaves the coin open
        sample_bernoulli_exp(exponent, 256, scripted(every_string_of_eight_bits()))

    for word, heads in [(0, True), (further - 1, True), (further + 1, False), (LAST_WORD, False)]:
        bits = scripted([*every_string_of_eight_bits(), word])
        flips = sample_bernoulli_exp(exponent, 256, bits)
        assert not bits.left
        assert flips.tolist() == [lane < first or (lane == first and heads) for lane in range(256)]

    # 256 strings of 8 bits, of which `first` are heads; of the 2**64 that follow the open one, `further` are.
    assert Fraction(first, 256) + Fraction(further, 2**72) == Fraction(expansion(exponent, 72), 2**72)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("words_equal_to_the_digits", [1, 2, 3, 5])
def test_a_lane_that_asks_for_more_digits_gets_certified_ones(scripted, words_equal_to_the_digits):
    exponent = Fraction(1, 3)
    digits = 8 + 64 * (words_equal_to_the_digits + 1)
    first, *further = expansion(exponent, digits).to_bytes(digits // 8, "big")
    words = [int.from_bytes(bytes(further[i : i + 8]), "big") for i in range(0, len(further), 8)]
    assert first == 0b10110111  # exp(-1/3) = 0.7165…
    for last, heads in [(words[-1] - 1, True), (words[-1] + 1, False)]:
        bits = scripted([*every_string_of_eight_bits(), *words[:-1], last])
        assert sample_bernoulli_exp(exponent, 256, bits)[first] == heads
        assert not bits.left


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("at_once", [1, 3, 64, 1000])
def test_words_that_come_in_drops_change_no_coin(scripted, at_once):
    words = SeededBits(5).words(4000)
    generous = sample_bernoulli_exp(Fraction(1, 2), 20_000, scripted(words))
    assert np.array_equal(sample_bernoulli_exp(Fraction(1, 2), 20_000, scripted(words, at_once)), generous)


def test_digits_wait_for_the_precision_that_settles_them():
    precisions = []

    def just_below_one_half(precision: int) -> list[Enclosure]:
        precisions.append(precision)
        half = 1 << precision - 1
        exact = half - (1 << precision - 300) if precision > 300 else half
        return [Enclosure(exact - 2, exact + 2, precision)]

    coins = expand(just_below_one_half, further_words=1)
    assert precisions == [128, 256, 512]
    assert coins.shared.tolist() == [[0] + 7 * [LAST_WORD]]
    assert coins.further.tolist() == [[LAST_WORD]]


@pytest.mark.parametrize("exponent", [0, -1, Fraction(-1, 2)])
def test_an_exponent_that_is_not_positive_is_refused(exponent):
    with pytest.raises(InvalidNoise, match="x > 0"):
        sample_bernoulli_exp(exponent, 1, SeededBits(1))
