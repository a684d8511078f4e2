"""The exponential mechanism: exact shares of all strings of 128 bits, late digits, skew, and the law of the draws."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import InvalidNoise
from discreet.noise.bits import SeededBits
from discreet.noise.exponential import Gaps, _digits, _weigh, sample_exponential

CASES = [
    ([0, 0], Fraction(1, 3)),
    ([3, 1, 2], Fraction(1)),
    ([-5, 0, -1, 7, 7, 2], Fraction(2, 7)),
    ([10**6, 10**6 - 12, 10**6 - 400], Fraction(1, 5)),
    (list(range(-40, 40)), Fraction(1, 9)),
]


def drawn(utilities, rate, bits, rows: int = 1) -> list[int]:
    """As many draws as there are rows, each among candidates of these utilities."""
    gaps = [max(utilities) - utility for utility in utilities]
    return sample_exponential([Gaps(np.array([gaps] * rows, np.int64), rate)], bits).tolist()


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
        assert drawn(utilities, rate, scripted(words_of(end - 1, 2))) == [index]
        assert drawn(utilities, rate, scripted(words_of(end + 1, 2))) == [index + 1]
        with pytest.raises(exhausted):  # the string that holds the boundary itself decides nothing yet
            drawn(utilities, rate, scripted(words_of(end, 2)))


@pytest.mark.parametrize(("utilities", "rate"), CASES[1:])
@pytest.mark.parametrize("words", [4, 6, 10])
def test_a_point_at_a_boundary_reads_on_until_it_is_decided(scripted, utilities, rate, words):
    with mpmath.workprec(64 * words + 400):
        end = int(mpmath.floor(mpmath.ldexp(shares(utilities, rate)[0], 64 * words)))
    assert drawn(utilities, rate, scripted(words_of(end - 1, words))) == [0]
    assert drawn(utilities, rate, scripted(words_of(end + 1, words))) == [1]


def test_the_first_and_the_last_string_belong_to_the_first_and_the_last_index(scripted):
    assert drawn([1, 5, 2], 1, scripted([0, 0])) == [0]
    assert drawn([1, 5, 2], 1, scripted([2**64 - 1, 2**64 - 1])) == [2]


def test_a_single_candidate_is_always_drawn(scripted):
    assert drawn([-(2**62)], Fraction(1, 3), scripted([0, 0])) == [0]


def test_rows_read_their_words_one_after_another_and_are_drawn_as_by_themselves(scripted):
    utilities, rate = CASES[2]
    words = SeededBits(8).words(40).tolist()
    alone = [drawn(utilities, rate, scripted(words[i : i + 2]))[0] for i in range(0, 40, 2)]
    assert drawn(utilities, rate, scripted(words), rows=20) == alone
    assert len(set(alone)) > 2


def test_a_row_that_is_open_reads_on_and_the_others_stay_what_they_were(scripted):
    utilities, rate = CASES[2]
    with mpmath.workprec(600):
        end = int(mpmath.floor(mpmath.ldexp(shares(utilities, rate)[3], 256)))
    decided, still_open = words_of(12345, 4), words_of(end + 1, 4)
    bits = scripted([*decided[:2], *still_open[:2], *decided[2:], *still_open[2:]])
    assert drawn(utilities, rate, bits, rows=2) == [0, 4]
    assert not bits.left


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30),
    st.fractions(Fraction(1, 10**6), 10),
    st.integers(0, 2**128 - 1),
)
def test_the_index_is_the_one_whose_share_holds_the_point(scripted, utilities, rate, point):
    first = words_of(point, 2)
    bits = scripted(first + SeededBits(1).words(20).tolist())
    [index] = drawn(utilities, rate, bits)
    read = first + SeededBits(1).words(20 - len(bits.left)).tolist()
    with mpmath.workprec(3000):
        uniform = mpmath.fsum(mpmath.ldexp(word, -64 * (i + 1)) for i, word in enumerate(read))
        ends = [mpmath.mpf(0), *shares(utilities, rate)]
        assert ends[index] <= uniform <= ends[index + 1]


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 999)), min_size=1, max_size=20),
    st.fractions(Fraction(1, 10**6), 1),
    st.integers(0, 2**64),
)
def test_a_gap_in_two_parts_is_their_sum(parts, rate, seed):
    rows, thousandths = np.array(parts, np.int64).T[:, None, :]
    one = [Gaps(1000 * rows + thousandths, rate / 1000)]
    two = [Gaps(rows, rate), Gaps(thousandths, rate / 1000, 999)]
    assert sample_exponential(one, SeededBits(seed)) == sample_exponential(two, SeededBits(seed))


@settings(deadline=None, derandomize=True)
@given(
    st.integers(0, 2**63 - 1) | st.integers(0, 2000),
    st.integers(0, 10**18 - 1),
    st.fractions(Fraction(1, 10**6), 10) | st.builds(Fraction, st.just(1), st.integers(1, 2**51)),
    st.sampled_from([5, 9]),
)
def test_a_weight_is_rounded_down_by_no_more_than_is_allowed_for(gap, part, rate, limbs):
    digits, reaches, error = _digits(((rate, 2**63 - 1), (rate / 10**18, 10**18 - 1)), limbs)
    weight = np.empty(limbs, np.uint64)
    _weigh(np.minimum([gap, part], reaches).astype(np.uint64), digits, weight)
    found = sum(int(limb) << 32 * i for i, limb in enumerate(weight))
    with mpmath.workprec(2000):
        exponent = rate * (gap + Fraction(part, 10**18))
        true = mpmath.ldexp(mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator), 32 * limbs)
        assert found <= true <= found + error
    assert error < 2**9


def test_five_thousand_candidates_of_any_skew_are_drawn_and_the_best_wins_when_far_ahead():
    utilities = [-abs(i - 1234) * 10**12 for i in range(5000)]
    assert set(drawn(utilities, 1, SeededBits(6), rows=20)) == {1234}


def test_the_largest_gaps_are_no_candidates():
    gaps = np.array([[2**63 - 1, 0, 2**62, 0, 2**63 - 1]] * 1000)
    assert set(sample_exponential([Gaps(gaps, Fraction(1, 2**40))], SeededBits(2)).tolist()) == {1, 3}


@pytest.mark.parametrize(("utilities", "rate"), CASES[:3])
def test_draws_follow_the_law_and_not_that_of_a_rate_30_percent_off(utilities, rate):
    size = 20_000
    observed = np.bincount(drawn(utilities, rate, SeededBits(5), size), minlength=len(utilities))

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
        drawn([1, 2], rate, SeededBits(1))


def test_no_candidate_is_an_error():
    with pytest.raises(InvalidNoise, match="at least one candidate"):
        sample_exponential([Gaps(np.empty((3, 0), np.int64), 1)], SeededBits(1))
