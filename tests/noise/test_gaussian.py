"""The discrete Gaussian sampler: an exact law on enumerated coins, big distances, a scalar model, and its moments."""

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidNoise
from discreet.noise.bits import SeededBits
from discreet.noise.blocks import FINISHED
from discreet.noise.deviation import MAX_SIGMA_SQUARED, _tail, gaussian_halfwidth, gaussian_variance
from discreet.noise.gaussian import GaussianCoins, _coins, _draw_gaussian, _measure_distances, sample_gaussian
from discreet.noise.laplace import draw_block, make_block

ALL_LANES = 2**64 - 1
SIGMAS_SQUARED = [Fraction(1, 100), Fraction(3, 5), Fraction(1), Fraction(2500), Fraction(10**12 + 1, 4), 2**100]


def exp(x: Fraction) -> mpmath.mpf:
    return mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)


def rows(lanes_with_heads: int) -> list[int]:
    """Eight rows that make a coin heads in these lanes and tails in the others."""
    return 8 * [ALL_LANES & ~lanes_with_heads]


@pytest.mark.usefixtures("either_way")
def test_proposal_and_acceptance_together_give_every_number_its_exact_probability(rational_coins):
    # exp(-1/(2σ²)) = 1/2 makes every probability rational: Pr[k] ∝ 2**(-k²). Lanes 0…31 take all outcomes of sign,
    # zero and three digits; 64 runs take all outcomes of the six acceptance coins, of bias 2**(-2**i).
    digits, tail, nonzero = [Fraction(1, 3), Fraction(1, 5), Fraction(1, 17)], Fraction(1, 256), Fraction(2, 3)
    acceptance = [Fraction(1, 2**2**i) for i in range(6)]
    coins = GaussianCoins(rational_coins([*digits, tail, nonzero]), rational_coins(acceptance), 1)
    outcome = [sum(1 << lane for lane in range(64) if lane >> coin & 1) for coin in range(5)]
    proposal = [outcome[0], *(row for lanes in outcome[1:] for row in rows(lanes)), *rows(0)]

    law: Counter[int] = Counter()
    for pattern in range(64):
        words, drawn = list(proposal), np.empty(64, np.int64)
        for i in range(6):
            heads = pattern >> i & 1
            words += rows(ALL_LANES * heads) + 64 * heads * (i >= 4) * [0]  # 2**-16 and less begins with eight zeros
        filled, used, status = _draw_gaussian.sized(64)(np.array(words, np.uint64), coins, 1, drawn)
        assert (used, status) == (len(words), FINISHED) if filled == 64 else status != FINISHED
        run = math.prod(p if pattern >> i & 1 else 1 - p for i, p in enumerate(acceptance))
        order = [Fraction(1, 2), nonzero, *digits]
        # Each outcome of the 32 is in two of the 64 lanes; accepted lanes come in order.
        values = iter(drawn[:filled].tolist())
        for lane in range(64):
            value = proposed(lane)
            if abs(value) * (abs(value) - 1) & ~pattern:
                continue
            assert next(values) == value
            chosen = math.prod(p if lane >> coin & 1 else 1 - p for coin, p in enumerate(order))
            law[value] += Fraction(1, 2) * chosen * run * (1 - tail if value else 1)  # zero stays zero with a tail
        assert next(values, None) is None
    assert {k: p / law[0] for k, p in law.items()} == {k: Fraction(1, 2**k**2) for k in range(-8, 9)}


def proposed(lane: int) -> int:
    """The Laplace number that a lane's five coins make."""
    magnitude = 1 + (lane >> 2 & 7) if lane >> 1 & 1 else 0
    return -magnitude if lane & 1 else magnitude


@pytest.mark.parametrize("sigma_squared", SIGMAS_SQUARED, ids=str)
def test_the_coins_have_the_certified_digits_of_the_biases_in_the_proof(sigma_squared):
    coins = _coins(Fraction(sigma_squared), 2)
    with mpmath.workprec(600):
        for i in range(128):
            digits = int(mpmath.floor(mpmath.ldexp(exp(-Fraction(2**i) / (2 * sigma_squared)), 136)))
            assert coins.acceptance.shared[i].tolist() == [(digits >> (135 - t) & 1) * ALL_LANES for t in range(8)]
            assert coins.acceptance.further[i].tolist() == [digits >> 64 & ALL_LANES, digits & ALL_LANES]


@given(
    st.lists(st.integers(-(2**60) - 1, 2**60 + 1) | st.integers(-40, 40), min_size=64, max_size=64),
    st.integers(1, 2**51) | st.integers(1, 30),
)
@pytest.mark.usefixtures("either_way")
def test_distances_are_exact_in_two_words(values, twice_centre):
    distances = np.empty((2, 64), np.uint64)
    digits = _measure_distances.sized(64)(np.array(values), twice_centre, distances)
    expected = [(abs(v) - twice_centre // 2) * (abs(v) - (twice_centre + 1) // 2) for v in values]
    assert [low + (high << 64) for low, high in zip(*distances.tolist(), strict=True)] == expected
    assert digits == max(expected).bit_length() <= 128


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("sigma_squared", SIGMAS_SQUARED, ids=str)
@pytest.mark.parametrize("size", [1, 65, 1600])
def test_blocks_of_lanes_accept_what_a_scalar_model_accepts_from_the_same_words(scripted, sigma_squared, size):
    words = SeededBits(size).words(100_000)
    coins = _coins(Fraction(sigma_squared), 1)
    lane_words = min(32, -(-size // 64))
    block = make_block.sized(size)(coins.proposal, lane_words)
    accepted: list[int] = []
    position = 0
    while len(accepted) < size:
        position = draw_block.sized(size)(words, position, coins.proposal, block)
        values = block.values.tolist()
        centre = Fraction(coins.twice_centre, 2)
        distances = [(abs(v) - math.floor(centre)) * (abs(v) - math.ceil(centre)) for v in values]
        alive = [True] * len(values)
        for i in range(max(distances).bit_length()):
            with mpmath.workprec(600):
                expansion = int(mpmath.floor(mpmath.ldexp(exp(-Fraction(2**i) / (2 * sigma_squared)), 72)))
            shared = words[position : position + 8 * lane_words].reshape(8, lane_words).tolist()
            position += 8 * lane_words
            for lane, distance in enumerate(distances):
                string = sum((shared[t][lane // 64] >> (lane % 64) & 1) << (7 - t) for t in range(8))
                heads = string < expansion >> 64
                if string == expansion >> 64:
                    heads = int(words[position]) < expansion & ALL_LANES
                    position += 1
                alive[lane] &= heads or not distance >> i & 1
        accepted += [value for value, survives in zip(values, alive, strict=True) if survives]
    assert sample_gaussian(sigma_squared, size, scripted(words)).tolist() == accepted[:size]


@pytest.mark.parametrize("at_once", [1, 777])
def test_words_that_come_in_drops_change_no_draw(scripted, at_once):
    words = SeededBits(9).words(10_000)
    generous = sample_gaussian(30, 500, scripted(words))
    assert np.array_equal(sample_gaussian(30, 500, scripted(words, at_once)), generous)


@pytest.mark.usefixtures("either_way")
def test_a_tiny_sigma_draws_zeros_and_the_largest_fills_51_bits():
    assert not sample_gaussian(Fraction(1, 10**400), 1000, SeededBits(1)).any()
    drawn = sample_gaussian(MAX_SIGMA_SQUARED, 10_000, SeededBits(1))
    assert drawn.min() < -3 * 2**50
    assert drawn.max() > 3 * 2**50


@pytest.mark.parametrize("sigma_squared", [0, -1, MAX_SIGMA_SQUARED + 1, 1.5, float("nan"), True, None], ids=repr)
def test_a_parameter_that_is_not_exact_positive_and_in_range_is_refused(sigma_squared):
    uses = (lambda s: sample_gaussian(s, 1, SeededBits(1)), gaussian_variance, lambda s: gaussian_halfwidth(s, 0.9))
    for use in uses:
        with pytest.raises(InvalidNoise, match="sigma squared must be"):
            use(sigma_squared)


def test_a_negative_size_is_refused_and_an_empty_one_draws_nothing(scripted):
    with pytest.raises(InvalidNoise, match="negative"):
        sample_gaussian(1, -1, SeededBits(1))
    assert sample_gaussian(1, 0, scripted([])).shape == (0,)


@given(st.fractions(Fraction(1, 100), 30, max_denominator=1000))
def test_the_variance_is_the_sum_over_the_law(sigma_squared):
    with mpmath.workprec(120):
        weights = [exp(-Fraction(k * k) / (2 * sigma_squared)) for k in range(100)]
        squares = 2 * mpmath.fsum(k * k * weight for k, weight in enumerate(weights))
        expected = float(squares / (2 * mpmath.fsum(weights) - 1))
    assert gaussian_variance(sigma_squared) == pytest.approx(expected, rel=1e-13, abs=0)


@given(st.fractions(Fraction(1, 100), 30, max_denominator=1000), st.floats(0, 0.9999999))
def test_the_halfwidth_is_the_first_that_reaches_the_confidence(sigma_squared, confidence):
    with mpmath.workprec(120):
        weights = [exp(-Fraction(k * k) / (2 * sigma_squared)) for k in range(100)]
        total, width = 2 * mpmath.fsum(weights) - 1, 0
        reached = weights[0]
        while reached < confidence * total:
            width += 1
            reached += 2 * weights[width]
    assert gaussian_halfwidth(sigma_squared, confidence) == width


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999, 1 - 2**-40])
@pytest.mark.parametrize("sigma", [1000, 1234, 2500])
def test_the_halfwidth_by_integrals_is_that_by_sums(sigma, confidence):
    weights = np.exp(-(np.arange(20 * sigma, -1, -1.0) ** 2) / (2 * sigma**2))
    beyond = np.cumsum(2 * weights)[:-1][::-1]  # beyond[w] is the weight of |k| > w
    expected = int(np.argmax(beyond <= (1 - confidence) * (1 + beyond[0])))
    assert gaussian_halfwidth(sigma**2, confidence) == expected


@pytest.mark.parametrize("sigma", [1000, 2500])
@pytest.mark.parametrize("deviations", [0.1, 1, 3, 6])
def test_the_tail_by_integrals_is_that_by_sums_to_the_stated_share(sigma, deviations):
    width = round(deviations * sigma)
    weights = np.exp(-(np.arange(20 * sigma, 0, -1.0) ** 2) / (2 * sigma**2))
    beyond = math.fsum(weights[: 20 * sigma - width]) * 2 / (1 + 2 * math.fsum(weights))
    assert _tail(width, sigma) == pytest.approx(beyond, rel=(deviations / sigma) ** 4 + 1e-13, abs=0)


@pytest.mark.parametrize("confidence", [-0.1, 1, float("nan")])
def test_a_confidence_outside_the_unit_interval_is_refused(confidence):
    with pytest.raises(InvalidNoise, match="a confidence must be"):
        gaussian_halfwidth(1, confidence)
