"""Centred binomial draws: all strings of few bits, certified acceptance, and where the two ways meet."""

import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.stats

from discreet.errors import InvalidNoise
from discreet.noise.binomial import COUNTED_TRIALS, STEPS, _accept, _bounds, sample_binomial
from discreet.noise.bits import SeededBits
from discreet.noise.deviation import MAX_TRIALS, binomial_halfwidth
from discreet.noise.law import Binomial, law_from_json, law_text, law_to_json


def acceptances(trials: int, furthest: int) -> list[mpmath.mpf]:
    """a(0) … a(furthest) of the proof, for use under a raised precision."""
    half, ratios = trials // 2, [mpmath.mpf(1)]
    for k in range(1, furthest + 1):
        ratios.append(ratios[-1] * (half - k + 1) / (half + k))
    return [ratio * mpmath.exp(mpmath.mpf(2 * k**2) / (trials + 1)) for k, ratio in enumerate(ratios)]


@pytest.mark.parametrize("trials", [2, 4, 10])
def test_every_string_of_coins_counts_once(scripted, trials):
    words = [string << (64 - trials) for string in range(2**trials)]
    law = Counter(sample_binomial(trials, 2**trials, scripted(words)).tolist())
    half = trials // 2
    assert law == {k: math.comb(trials, half + k) for k in range(-half, half + 1)}


@pytest.mark.parametrize("trials", [64, 66, 128, COUNTED_TRIALS])
def test_counted_draws_take_one_bit_for_each_trial(scripted, trials):
    each = -(-trials // 64)
    words = SeededBits(trials).words(7 * each)
    drawn = sample_binomial(trials, 7, scripted(words))
    for i, value in enumerate(drawn.tolist()):
        string = "".join(f"{word:064b}" for word in words[i * each : (i + 1) * each].tolist())
        unused = 64 * each - trials
        kept = string[:-64] + string[-64 : len(string) - unused]
        assert value == kept.count("1") - trials // 2


@pytest.mark.parametrize(
    ("trials", "distance"), [(1026, 1), (1026, 16), (1026, 200), (1026, 513), (10**6, 2500), (10**12, 30_000)]
)
def test_the_acceptance_point_is_compared_with_the_exact_probability(scripted, exhausted, trials, distance):
    with mpmath.workprec(300):
        threshold = int(mpmath.floor(mpmath.ldexp(acceptances(trials, distance)[-1], 64)))
    if threshold > 0:
        assert _accept(trials, distance, threshold - 1, scripted([]))
    assert not _accept(trials, distance, threshold + 1, scripted([]))
    with pytest.raises(exhausted):
        _accept(trials, distance, threshold, scripted([]))


@pytest.mark.parametrize("distance", [1, 16, 513])
def test_the_acceptance_times_the_proposal_is_a_ratio_of_binomial_coefficients(distance):
    exact = Fraction(math.comb(1026, 513 + distance), math.comb(1026, 513))
    with mpmath.workprec(300):
        product = acceptances(1026, distance)[-1] * mpmath.exp(-mpmath.mpf(2 * distance**2) / 1027)
        assert abs(product * exact.denominator / exact.numerator - 1) < mpmath.mpf(2) ** -250


def test_a_point_at_the_boundary_reads_on_until_it_is_decided(scripted):
    with mpmath.workprec(400):
        digits = int(mpmath.floor(mpmath.ldexp(acceptances(2000, 60)[-1], 192)))
    first, second, third = (digits >> shift & 2**64 - 1 for shift in (128, 64, 0))
    assert _accept(2000, 60, first, scripted([second, third - 1]))
    assert not _accept(2000, 60, first, scripted([second, third + 1]))


def test_a_proposal_beyond_the_number_of_trials_is_rejected(scripted):
    assert not _accept(1026, 514, 0, scripted([]))


@pytest.mark.parametrize("trials", [1026, 5000])
def test_the_table_of_bounds_never_accepts_what_the_exact_comparison_would_not(trials):
    bounds, shift = _bounds(trials)
    with mpmath.workprec(300):
        words = [int(mpmath.floor(mpmath.ldexp(a, 64))) for a in acceptances(trials, trials // 2)] + [0]
    for distance, exact in enumerate(words):
        bound = int(bounds[min(distance >> shift, STEPS - 1)])
        assert bound <= exact
        if distance < 4 * math.sqrt(trials / 4):
            assert bound > 0.9 * 2**64  # and is of use where draws are


def test_rejected_positions_are_drawn_again(monkeypatch):
    # Without any sure acceptance every proposal is compared exactly; the law must not notice.
    monkeypatch.setattr("discreet.noise.binomial._bounds", lambda _: (np.zeros(STEPS, np.uint64), 0))
    drawn = sample_binomial(1026, 800, SeededBits(3))
    assert drawn.shape == (800,)
    assert abs(float(drawn.var()) / (1026 / 4) - 1) < 4 * math.sqrt(2 / 800)


@pytest.mark.parametrize("trials", [0, -2, 3, 1027, MAX_TRIALS + 2, 10.0, True, None], ids=repr)
def test_a_number_of_trials_that_is_odd_or_out_of_range_is_refused(trials):
    with pytest.raises(InvalidNoise, match="the number of trials must be even"):
        sample_binomial(trials, 1, SeededBits(1))


@pytest.mark.parametrize("trials", [100, 10**4])
def test_a_negative_size_is_refused_and_an_empty_one_draws_nothing(scripted, trials):
    with pytest.raises(InvalidNoise, match="negative"):
        sample_binomial(trials, -1, SeededBits(1))
    assert sample_binomial(trials, 0, scripted([])).shape == (0,)


@pytest.mark.parametrize("trials", [2, 10, 1024, 208_390, 10**7])
@pytest.mark.parametrize("confidence", [Fraction(0), Fraction(1, 2), Fraction(95, 100), 1 - Fraction(1, 10**9)])
def test_the_halfwidth_is_the_least_that_holds_so_many_draws(trials, confidence):
    width, law = binomial_halfwidth(trials, confidence), scipy.stats.binom(trials, 0.5)
    beyond = [2 * law.sf(trials // 2 + w) if w >= 0 else 1.0 for w in (width, width - 1)]
    allowed = float(1 - confidence)
    assert beyond[0] <= allowed * (1 + 1e-9)
    assert width == 0 or beyond[1] > allowed * (1 - 1e-9)


@pytest.mark.parametrize(("trials", "confidence"), [(3, "1/2"), (0, "1/2"), (10, 1), (10, "-1/2"), (10, "3/2")])
def test_a_halfwidth_of_noise_that_is_not_drawn_or_of_certainty_is_refused(trials, confidence):
    with pytest.raises(InvalidNoise, match=r"must be (even|at least 0 and below 1)"):
        binomial_halfwidth(trials, Fraction(confidence))


def test_with_very_many_trials_the_halfwidth_is_that_of_the_bell():
    sigma = 10**6 / 2
    assert binomial_halfwidth(10**12, Fraction(95, 100)) == pytest.approx(1.959964 * sigma, abs=2)


def test_the_law_of_binomial_noise_is_written_down_and_read():
    law = Binomial(208_390)
    assert law_from_json(law_to_json(law)) == law
    assert (law.variance, law_text(law)) == (52_097.5, "σ = 228.249")
    assert law.times(Fraction(1)) == law
    with pytest.raises(InvalidNoise, match="no other scale"):
        law.times(Fraction(2))
    for trials in (0, 3, 10**12 + 2, 2.0):
        with pytest.raises(InvalidNoise, match="even"):
            Binomial(trials)
