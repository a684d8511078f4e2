"""The discrete Laplace sampler: exact laws on enumerated strings, a scalar model, extremes, and its moments."""

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidNoise
from discreet.noise.bits import SeededBits
from discreet.noise.blocks import FINISHED
from discreet.noise.deviation import MAX_SCALE, laplace_halfwidth, laplace_variance
from discreet.noise.laplace import _draw_laplace, laplace_coins, sample_laplace

ALL_LANES = 2**64 - 1
SCALES = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(100), Fraction(6007, 3), Fraction(MAX_SCALE)]


def exp(x: Fraction) -> mpmath.mpf:
    return mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)


def biases(scale: Fraction) -> list[mpmath.mpf]:
    """Those of the digits of a geometric number below 2**m, of its tail and of not being zero, as in the proofs."""
    digits = 0
    while 2**digits < 16 * scale:
        digits += 1
    powers = [exp(-(2**i) / scale) for i in range(digits + 1)]
    return [p / (1 + p) for p in powers[:-1]] + [powers[-1], 2 * powers[0] / (1 + powers[0])]


@pytest.mark.usefixtures("either_way")
def test_every_outcome_of_the_coins_has_its_exact_probability(rational_coins):
    # q = 1/2 makes every probability rational: 64 lanes take all 64 outcomes of sign, zero, three digits and tail.
    digits, tail, nonzero = [Fraction(1, 3), Fraction(1, 5), Fraction(1, 17)], Fraction(1, 256), Fraction(2, 3)
    coins = rational_coins([*digits, tail, nonzero])
    order = [nonzero, *digits, tail]
    lanes_with_tails = [sum(1 << lane for lane in range(64) if not lane >> coin & 1) for coin in range(1, 6)]
    words = [sum(1 << lane for lane in range(64) if lane & 1)]  # the sign
    words += [lanes for lanes in lanes_with_tails for _ in range(8)]  # eight ones are tails, eight zeros heads
    words += 8 * [ALL_LANES]  # the second coin of the tail: tails everywhere
    drawn = np.empty(64, np.int64)
    assert _draw_laplace.sized(64)(np.array(words, np.uint64), coins, 1, drawn) == (64, len(words), FINISHED)

    law: Counter[int] = Counter()
    for lane, value in enumerate(drawn.tolist()):
        probability = Fraction(1, 2) * (1 - tail if lane >> 5 & 1 else 1)
        for coin, bias in enumerate(order, start=1):
            probability *= bias if lane >> coin & 1 else 1 - bias
        law[value] += probability
    expected = {k: Fraction(1, 3) * Fraction(1, 2) ** abs(k) for k in range(-16, 17) if k != 0}
    expected[0] = Fraction(1, 3) * (1 - tail**2)  # two heads of the tail coin are not among the outcomes
    assert law == expected


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_coins_have_the_certified_digits_of_the_biases_in_the_proof(scale):
    coins = laplace_coins(scale, 2)
    with mpmath.workprec(2500):
        expected = [int(mpmath.floor(mpmath.ldexp(bias, 136))) for bias in biases(scale)]
    for row, digits in enumerate(expected):
        shared = [int(digits >> (135 - t) & 1) * ALL_LANES for t in range(8)]
        assert coins.shared[row].tolist() == shared
        assert coins.further[row].tolist() == [digits >> 64 & ALL_LANES, digits & ALL_LANES]


def model(scale: Fraction, size: int, words: Iterator[int]) -> list[int]:
    """The sampler again, one lane and one digit at a time."""
    with mpmath.workprec(2500):
        expansions = [int(mpmath.floor(mpmath.ldexp(bias, 72))) for bias in biases(scale)]
    lane_words, drawn = min(32, -(-size // 64)), []

    def flip(expansion: int) -> list[bool]:
        rows = [[next(words) for _ in range(lane_words)] for _ in range(8)]
        first, further = divmod(expansion, 2**64)
        heads = []
        for lane in range(64 * lane_words):
            string = sum((rows[t][lane // 64] >> (lane % 64) & 1) << (7 - t) for t in range(8))
            heads.append(string < first or (string == first and next(words) < further))
        return heads

    while len(drawn) < size:
        negative = [word >> lane & 1 for word in [next(words) for _ in range(lane_words)] for lane in range(64)]
        nonzero = flip(expansions[-1])
        digits = [flip(expansion) for expansion in expansions[:-2]]
        values = [sum(digit[lane] << i for i, digit in enumerate(digits)) for lane in range(64 * lane_words)]
        alive = [True] * len(values)
        while any(alive):
            alive = [a and heads for a, heads in zip(alive, flip(expansions[-2]), strict=True)]
            values = [v + a * 2 ** len(digits) for v, a in zip(values, alive, strict=True)]
        drawn += [z and (-1) ** s * (1 + v) for s, z, v in zip(negative, nonzero, values, strict=True)]
    return drawn[:size]


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("size", [1, 64, 65, 5000])
def test_blocks_of_lanes_draw_what_a_scalar_model_draws_from_the_same_words(scripted, scale, size):
    words = SeededBits(size).words(90_000)
    assert sample_laplace(scale, size, scripted(words)).tolist() == model(scale, size, iter(words.tolist()))


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("at_once", [1, 50, 777])
def test_words_that_come_in_drops_change_no_draw(scripted, at_once):
    words = SeededBits(9).words(3000)
    generous = sample_laplace(5, 1000, scripted(words))
    assert np.array_equal(sample_laplace(5, 1000, scripted(words, at_once)), generous)


@pytest.mark.usefixtures("either_way")
def test_a_draw_that_runs_out_of_its_script_is_no_draw(scripted, exhausted):
    words = SeededBits(2).words(3000)
    bits = scripted(words, at_once=1)
    sample_laplace(5, 1, bits)
    taken = len(words) - len(bits.left)
    for count in range(1, taken):
        with pytest.raises(exhausted):
            sample_laplace(5, 1, scripted(words[:count]))


@pytest.mark.usefixtures("either_way")
def test_a_draw_beyond_64_bits_is_an_error_and_not_a_wrap(scripted):
    with pytest.raises(InvalidNoise, match="does not fit"):
        sample_laplace(MAX_SCALE, 1, scripted([0] * 10_000))  # only zeros: every coin is heads


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("scale", [Fraction(1, 10**400), Fraction(1, 10**6), Fraction(1, 1000)], ids=["400", "6", "3"])
def test_a_tiny_scale_draws_zeros(scale):
    assert not sample_laplace(scale, 10_000, SeededBits(1)).any()


@pytest.mark.usefixtures("either_way")
def test_the_largest_scale_fills_more_than_50_bits_on_both_sides():
    drawn = sample_laplace(MAX_SCALE, 10_000, SeededBits(1))
    assert drawn.min() < -(2**52)
    assert drawn.max() > 2**52


@pytest.mark.parametrize(
    "scale",
    [0, -1, Fraction(-1, 2), MAX_SCALE + 1, 1.5, float("nan"), float("inf"), True, "1", None],
    ids=repr,
)
def test_a_scale_that_is_not_exact_positive_and_in_range_is_refused(scale):
    for use in (lambda s: sample_laplace(s, 1, SeededBits(1)), laplace_variance, lambda s: laplace_halfwidth(s, 0.9)):
        with pytest.raises(InvalidNoise, match="a scale must be"):
            use(scale)


def test_a_negative_size_is_refused_and_an_empty_one_draws_nothing(scripted):
    with pytest.raises(InvalidNoise, match="negative"):
        sample_laplace(1, -1, SeededBits(1))
    assert sample_laplace(1, 0, scripted([])).shape == (0,)


def test_an_array_that_is_given_is_filled_and_returned():
    out = np.zeros(3000, np.int64)
    assert sample_laplace(7, 3000, SeededBits(4), out=out) is out
    assert np.array_equal(out, sample_laplace(7, 3000, SeededBits(4)))


@pytest.mark.parametrize("out", [np.zeros(2, np.int64), np.zeros(3, np.int32), np.zeros(6, np.int64)[::2]])
def test_an_array_of_another_size_type_or_layout_is_refused(out):
    with pytest.raises(InvalidNoise, match="out must be 3 contiguous"):
        sample_laplace(7, 3, SeededBits(4), out=out)


@given(st.fractions(Fraction(1, 30), 30, max_denominator=1000))
def test_the_variance_is_the_sum_over_the_law(scale):
    magnitudes = np.arange(1, 3001)
    weights = np.exp(-magnitudes / float(scale))
    total, squares = 1 + 2 * math.fsum(weights), 2 * math.fsum(magnitudes**2 * weights)
    assert laplace_variance(scale) == pytest.approx(squares / total, rel=1e-12)


@pytest.mark.parametrize(
    "scale", [Fraction(1, 1000), Fraction(1, 10), Fraction(10**6), Fraction(10**12), Fraction(2**50)]
)
def test_the_variance_keeps_its_digits_at_extreme_scales(scale):
    with mpmath.workprec(400):
        q = exp(-1 / scale)
        assert laplace_variance(scale) == pytest.approx(float(2 * q / (1 - q) ** 2), rel=1e-14, abs=0)


@given(st.fractions(Fraction(1, 30), 30, max_denominator=1000), st.floats(0, 0.9999999))
def test_the_halfwidth_is_the_first_that_reaches_the_confidence(scale, confidence):
    with mpmath.workprec(200):
        q = exp(-1 / scale)
        reached, width = (1 - q) / (1 + q), 0
        while reached < confidence:
            width += 1
            reached += 2 * q**width * (1 - q) / (1 + q)
    assert laplace_halfwidth(scale, confidence) == width


@pytest.mark.parametrize("scale", [Fraction(10**6), Fraction(10**12), Fraction(2**50)])
@pytest.mark.parametrize("confidence", [0.5, 0.95, Fraction(999_999_999, 10**9), 1 - 2**-53])
def test_the_halfwidth_is_exact_at_large_scales(scale, confidence):
    width = laplace_halfwidth(scale, confidence)
    with mpmath.workprec(400):
        q = exp(-1 / scale)
        missed = [2 * exp(-(w + 1) / scale) / (1 + q) for w in (width - 1, width)]
        allowed = 1 - Fraction(confidence)
        assert missed[1] <= mpmath.mpf(allowed.numerator) / allowed.denominator < missed[0]


@pytest.mark.parametrize("confidence", [-0.1, 1, 1.5, float("nan")])
def test_a_confidence_outside_the_unit_interval_is_refused(confidence):
    with pytest.raises(InvalidNoise, match="a confidence must be"):
        laplace_halfwidth(1, confidence)
