"""The exponential mechanism: exact shares of all strings of 128 bits, late digits, skew, and the law of the draws."""

from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import InvalidNoise
from discreet.noise.bits import SeededBits
from discreet.noise.exponential import sample_exponential

CASES = [
    ([0, 0], Fraction(1, 3)),
    ([3, 1, 2], Fraction(1)),
    ([-5, 0, -1, 7, 7, 2], Fraction(2, 7)),
    ([10**6, 10**6 - 12, 10**6 - 400], Fraction(1, 5)),
    (list(range(-40, 40)), Fraction(1, 9)),
]


def shares(utilities: list[int], rate: Fraction) -> list[mpmath.mpf]:
    """Where each index's part of [0, 1) ends."""
    weights = [mpmath.exp(mpmath.mpf(rate.numerator) * (u - max(utilities)) / rate.denominator) for u in utilities]
    return [mpmath.fsum(weights[: i + 1]) / mpmath.fsum(weights) for i in range(len(weights))]


def words_of(number: int, count: int) -> list[int]:
    return [number >> 64 * i & 2**64 - 1 for i in reversed(range(count))]


@pytest.mark.parametrize(("utilities", "rate"), CASES[1:])
def test_each_index_has_exactly_its_share_of_all_strings_of_128_bits(scripted, exhausted, utilities, rate):
    with mpmath.workprec(600):
        ends = [int(mpmath.floor(mpmath.ldexp(end, 128))) for end in shares(utilities, rate)[:-1]]
    for index, end in enumerate(ends):
        assert sample_exponential(utilities, rate, scripted(words_of(end - 1, 2))) == index
        assert sample_exponential(utilities, rate, scripted(words_of(end + 1, 2))) == index + 1
        with pytest.raises(exhausted):  # the string that holds the boundary itself decides nothing yet
            sample_exponential(utilities, rate, scripted(words_of(end, 2)))


@pytest.mark.parametrize(("utilities", "rate"), CASES[1:])
@pytest.mark.parametrize("words", [4, 6, 10])
def test_a_point_at_a_boundary_reads_on_until_it_is_decided(scripted, utilities, rate, words):
    with mpmath.workprec(64 * words + 400):
        end = int(mpmath.floor(mpmath.ldexp(shares(utilities, rate)[0], 64 * words)))
    assert sample_exponential(utilities, rate, scripted(words_of(end - 1, words))) == 0
    assert sample_exponential(utilities, rate, scripted(words_of(end + 1, words))) == 1


def test_the_first_and_the_last_string_belong_to_the_first_and_the_last_index(scripted):
    assert sample_exponential([1, 5, 2], 1, scripted([0, 0])) == 0
    assert sample_exponential([1, 5, 2], 1, scripted([2**64 - 1, 2**64 - 1])) == 2


def test_a_single_candidate_is_always_drawn(scripted):
    assert sample_exponential([-(10**30)], Fraction(1, 3), scripted([0, 0])) == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30),
    st.fractions(Fraction(1, 10**6), 10),
    st.integers(0, 2**128 - 1),
)
def test_the_index_is_the_one_whose_share_holds_the_point(scripted, utilities, rate, point):
    first = words_of(point, 2)
    bits = scripted(first + SeededBits(1).words(20).tolist())
    index = sample_exponential(utilities, rate, bits)
    read = first + SeededBits(1).words(20 - len(bits.left)).tolist()
    with mpmath.workprec(3000):
        drawn = mpmath.fsum(mpmath.ldexp(word, -64 * (i + 1)) for i, word in enumerate(read))
        ends = [mpmath.mpf(0), *shares(utilities, rate)]
        assert ends[index] <= drawn <= ends[index + 1]


def test_five_thousand_candidates_of_any_skew_take_a_bounded_time_and_the_best_wins_when_far_ahead():
    utilities = [-abs(i - 1234) * 10**12 for i in range(5000)]
    assert {sample_exponential(utilities, 1, SeededBits(seed)) for seed in range(20)} == {1234}


@pytest.mark.parametrize(("utilities", "rate"), CASES[:3])
def test_draws_follow_the_law_and_not_that_of_a_rate_30_percent_off(utilities, rate):
    bits, size = SeededBits(5), 20_000
    counts = Counter(sample_exponential(utilities, rate, bits) for _ in range(size))
    observed = [counts[i] for i in range(len(utilities))]

    def accepted(rate: Fraction) -> float:
        weights = np.exp(float(rate) * np.array(utilities))
        return float(stats.chisquare(observed, size * weights / weights.sum()).pvalue)

    assert accepted(rate) > 1e-4
    if len(set(utilities)) > 1:
        assert accepted(rate * Fraction(7, 10)) < 1e-12
        assert accepted(rate * Fraction(13, 10)) < 1e-12


@pytest.mark.parametrize("rate", [0, -1, 0.5, float("nan"), True, None], ids=repr)
def test_a_rate_that_is_not_exact_and_positive_is_refused(rate):
    with pytest.raises(InvalidNoise, match="a rate must be exact and positive"):
        sample_exponential([1, 2], rate, SeededBits(1))


def test_no_candidate_is_an_error():
    with pytest.raises(InvalidNoise, match="at least one candidate"):
        sample_exponential([], 1, SeededBits(1))
