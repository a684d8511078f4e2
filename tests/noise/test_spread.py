"""Half-widths: the least ones for sums on a lattice, hardly wider for others, and safe for every combination."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidNoise
from discreet.noise.bits import Bits
from discreet.noise.deviation import laplace_halfwidth, laplace_variance
from discreet.noise.law import Binomial, Gaussian, Laplace
from discreet.noise.spread import (
    MOST_EVENLY,
    Draws,
    Mixture,
    any_halfwidth,
    halfwidth,
    mixture_deviations,
    normal_halfwidth,
    rounded_down,
)

CONFIDENCES = [0.5, 0.8, 0.9, 0.907, 0.95, 0.99, 0.999, 0.999999]
SURE = Fraction(19, 20)
LAWS = [Laplace(Fraction(1, 2)), Laplace(Fraction(2)), Gaussian(Fraction(1, 2)), Gaussian(Fraction(9))]


def law(scale: float, reach: int) -> np.ndarray:
    """Pr[K = k] for k from -reach to reach."""
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))


def stretched(pmf: np.ndarray, factor: int) -> np.ndarray:
    """The law of factor·K."""
    wide = np.zeros((len(pmf) - 1) * factor + 1)
    wide[::factor] = pmf
    return wide


def beyond(pmf: np.ndarray, width: float) -> float:
    """Pr[|X| > width] of a law on integers that is symmetric about the middle."""
    reach = len(pmf) // 2
    return float(pmf[np.abs(np.arange(-reach, reach + 1)) > width].sum())


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)])
@pytest.mark.parametrize("draws", [2, 3, 10, 40])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_a_sum_of_draws_has_the_least_halfwidth_that_holds_enough(scale, draws, confidence):
    pmf, one = np.ones(1), law(float(scale), 60 + 40 * int(scale))
    for _ in range(draws):
        pmf = np.convolve(pmf, one)
    width = halfwidth([Draws(1.0, Laplace(scale), draws)], Fraction(str(confidence)))
    assert beyond(pmf, width) <= 1 - confidence + 1e-12
    assert width == 0 or beyond(pmf, width - 1) > 1 - confidence - 1e-12


def test_one_draw_has_the_certified_halfwidth():
    assert halfwidth([Draws(1.0, Laplace(Fraction(20)))], SURE) == laplace_halfwidth(Fraction(20), SURE)


def test_a_sum_too_wide_to_write_out_is_smoothed_and_hardly_wider():
    scale, draws = Fraction(10_000), 100
    deviation = math.sqrt(draws * laplace_variance(scale))
    assert 1.955 * deviation < halfwidth([Draws(1.0, Laplace(scale), draws)], SURE) < 1.975 * deviation


def in_steps(draws: list[Draws], finest: float) -> np.ndarray:
    """The law of a sum of draws whose weights are multiples of a step, convolved point by point."""
    pmf = np.ones(1)
    for draw in draws:
        scale, times = float(draw.law.scale), round(draw.weight / finest)
        one = law(scale, 20 + int(30 * scale))
        found = np.zeros(len(pmf) + (len(one) - 1) * times)
        for at, mass in enumerate(one):
            found[at * times : at * times + len(pmf)] += mass * pmf
        pmf = found
    return pmf


@pytest.mark.parametrize("scale", [Fraction(3, 10), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("weights", [(0.37, 0.63), (0.101, 0.899), (0.211, 0.333, 0.456)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_weights_that_make_no_lattice_get_a_width_that_holds_and_is_hardly_above_the_least(scale, weights, confidence):
    draws = [Draws(weight, Laplace(scale)) for weight in weights]
    pmf = in_steps(draws, 0.001)
    width = halfwidth(draws, Fraction(str(confidence))) / 0.001
    allowed = 1 - confidence
    assert beyond(pmf, width) <= allowed
    # Less the slack, it would not hold.
    deviation = math.sqrt(sum(draw.variance for draw in draws)) / 0.001
    assert beyond(pmf, width - 0.05 * deviation) > allowed


@given(
    draws=st.lists(
        st.builds(
            Draws,
            st.sampled_from([0.25, 0.5, 1.0, 1.5, -2.0]),
            st.sampled_from(
                [Laplace(Fraction(1, 2)), Laplace(Fraction(2)), Gaussian(Fraction(1, 2)), Gaussian(Fraction(9))]
            ),
            st.integers(1, 3),
        ),
        min_size=1,
        max_size=3,
    ),
    confidence=st.sampled_from([Fraction(1, 2), Fraction(9, 10), SURE, Fraction(99, 100)]),
)
def test_laws_may_differ_and_signs_do_not_matter(draws, confidence):
    pmf = np.ones(1)
    for draw in draws:
        k = np.arange(-160, 161)
        one = np.exp(-np.abs(k) / float(draw.law.scale)) if isinstance(draw.law, Laplace) else gaussian(draw.law, k)
        for _ in range(draw.count):
            pmf = np.convolve(pmf, stretched(one / one.sum(), round(abs(draw.weight) / 0.25)))
    width = halfwidth(draws, confidence) / 0.25
    assert beyond(pmf, width) <= 1 - confidence + 1e-9
    assert width < 1 or beyond(pmf, math.ceil(width * (1 - 1e-5)) - 1) > 1 - confidence - 1e-9


def gaussian(law: Gaussian, k: np.ndarray) -> np.ndarray:
    return np.exp(-(k**2) / (2 * float(law.sigma_squared)))


def test_coins_have_whole_numbers_of_their_own():
    # Of 4 coins, less 2, two draws: heads among 8 coins, less 4.
    assert halfwidth([Draws(1.0, Binomial(4), 2)], Fraction(70, 256)) == 0
    assert halfwidth([Draws(1.0, Binomial(4), 2)], Fraction(71, 256)) == 1


def test_thousands_of_weights_come_near_the_normal_law():
    weights = np.linspace(0.1, 1, 2000)
    draws = [Draws(float(weight), Laplace(Fraction(3))) for weight in weights]
    deviation = math.sqrt(sum(draw.variance for draw in draws))
    assert 1.955 * deviation < halfwidth(draws, SURE) < 1.975 * deviation


@pytest.mark.parametrize("scale", ["1/1000", "1/20", "3/10", "1", "20", "500", "100000"])
@pytest.mark.parametrize("weights", [(1, 1), (1, -1, 1), (0.5, 0.5), (0.37291, 0.62709)])
def test_seeded_draws_stay_within_as_often_as_it_says(scale, weights):
    bits, noise, runs = Bits(), Laplace(Fraction(scale)), 20_000
    sums = sum(weight * noise.sample(runs, bits) for weight in weights)
    width = halfwidth([Draws(weight, noise) for weight in weights], SURE)
    assert np.mean(np.abs(sums) <= width + 1e-9) >= 0.945


def test_no_draw_at_all_is_exact():
    assert halfwidth([], SURE) == 0
    assert halfwidth([Draws(0.0, Laplace(Fraction(5)))], SURE) == 0


@pytest.mark.parametrize("scale", ["1/100000", "1/400", "1/20"])
def test_next_to_no_noise_has_next_to_no_width(scale):
    """Chebyshev: the proof of sums of draws has nothing to say of draws that are 0 but for one in 10^200."""
    assert any_halfwidth(1e-200, Fraction(scale), 0.95) <= 1e-99


@pytest.mark.parametrize("scale", [1, 5, 50, 500])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_the_safe_halfwidth_is_what_the_proof_allows_for_some_kappa(scale, confidence):
    """spread.md: σ·(√(2λ²/σ²)·c + κ/√(6σ²)), c for 1 − α·(1 − exp(−κ²/2)), holds for every κ; and so does σ/√α."""
    least = laplace_variance(Fraction(scale))

    def allowed(kappa):
        certain = mixture_deviations(1 - (1 - confidence) * (1 - math.exp(-(kappa**2) / 2)))
        return math.sqrt(2 * scale**2 / least) * certain + kappa / math.sqrt(6 * least)

    best = min(*map(allowed, np.linspace(0.5, 6, 111)), (1 - confidence) ** -0.5)
    width = any_halfwidth(100.0, Fraction(scale), confidence) / 10
    assert best - 1e-4 <= width <= 1.03 * best


@pytest.mark.parametrize("confidence", [Fraction(0), Fraction(1), Fraction(2)])
def test_a_confidence_lies_between_0_and_1(confidence):
    with pytest.raises(InvalidNoise):
        halfwidth([Draws(1.0, Laplace(Fraction(5)), 2)], confidence)


def test_the_rarest_failures_are_bounded_too():
    draws = [Draws(1.0, Laplace(Fraction(5)), 2)]
    widths = [halfwidth(draws, 1 - Fraction(1, 10**power)) for power in (6, 8, 10, 11)]
    assert widths == sorted(widths)


@pytest.mark.parametrize("confidence", CONFIDENCES)
def test_the_safe_number_of_deviations_covers_single_draws_and_normal_sums(confidence):
    allowed = 1 - confidence
    single, normal = math.log(1 / allowed) / math.sqrt(2), NormalDist().inv_cdf(1 - allowed / 2)
    assert max(single, normal) <= mixture_deviations(confidence) + 1e-5 <= max(single, normal) * 1.05


def test_the_safe_number_of_deviations_at_95_percent():
    assert mixture_deviations(0.95) == pytest.approx(2.157, abs=5e-4)


def test_two_equal_draws_need_more_than_either_quantile_where_these_agree():
    # Pr[|X + Y| > t standard deviations] = exp(-2t)(1 + t) for two Laplace draws.
    allowed = 1 - 0.9067
    quantile = max(math.log(1 / allowed) / math.sqrt(2), NormalDist().inv_cdf(1 - allowed / 2))
    assert math.exp(-2 * quantile) * (1 + quantile) > allowed
    safe = mixture_deviations(1 - allowed)
    assert math.exp(-2 * safe) * (1 + safe) <= allowed


@given(
    scales=st.lists(st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(3), Fraction(12)]), min_size=1, max_size=3),
    factors=st.lists(st.integers(1, 5), min_size=3, max_size=3),
    confidence=st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]),
)
def test_the_safe_halfwidth_holds_for_every_combination_of_discrete_draws(scales, factors, confidence):
    pmf, variance = np.ones(1), 0.0
    for scale, factor in zip(scales, factors, strict=False):
        pmf = np.convolve(pmf, stretched(law(float(scale), 40 + 30 * int(scale)), factor))
        variance += factor**2 * laplace_variance(scale)
    width = any_halfwidth(variance, min(scales), confidence)
    assert beyond(pmf, width) <= 1 - confidence + 1e-12


@pytest.mark.parametrize("weights", [(1,), (1, 1), (2, 1, 1), (1, 3, 2)])
@pytest.mark.parametrize("sigma_squared", [1, 9, 100])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_a_mixture_of_gaussian_draws_has_a_width_that_holds_and_is_hardly_above_the_normal_law_s(
    weights, sigma_squared, confidence
):
    least = Gaussian(Fraction(sigma_squared))
    one, pmf = gaussian(least, np.arange(-12 * sigma_squared, 12 * sigma_squared + 1)), np.ones(1)
    for weight in weights:
        pmf = np.convolve(pmf, stretched(one / one.sum(), weight))
    variance = sum(weight**2 * least.variance for weight in weights)
    width = halfwidth([Draws(1.0, Mixture(variance, least))], Fraction(str(confidence)))
    deviation = math.sqrt(variance)
    assert width == normal_halfwidth(variance, confidence)
    assert NormalDist().inv_cdf(0.5 + confidence / 2) * deviation <= width
    assert width <= NormalDist().inv_cdf(0.5 + confidence / 2) * deviation + 0.5 + 1e-9
    assert beyond(pmf, width) <= 1 - confidence + 1e-6
    with_more = halfwidth([Draws(1.0, Mixture(variance, least)), Draws(2.0, least)], Fraction(str(confidence)))
    assert with_more == normal_halfwidth(variance + 4 * least.variance, confidence, 2.0)


@pytest.mark.parametrize("parts", [0.3, 1, 1.9, 2, 3, 4 - 1e-9, 4, 7.5, 31, 63.9, 64, 65, 1000, 1e9])
def test_how_evenly_draws_share_a_variance_is_told_in_powers_of_two_up_to_the_most(parts):
    powers = [1 << power for power in range(10)]
    told = rounded_down(parts)
    assert told == max(power for power in powers if power <= min(max(parts + 1e-6, 1), MOST_EVENLY))


def test_the_more_evenly_laplace_draws_share_a_variance_the_narrower_down_to_the_normal_law():
    widths = [
        halfwidth([Draws(1.0, Mixture(10_000.0, Laplace(Fraction(50)), evenly))], SURE) / 100
        for evenly in (1, 2, 8, 64, 1000)
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 1.05 * widths[2]
    assert widths[3] == widths[4] > NormalDist().inv_cdf(0.975)


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 4.0, 100.0])
def test_the_fraction_that_a_discrete_draw_lacks_is_subgaussian_with_proxy_a_sixth(scale):
    rate = 1 / scale
    for s in np.linspace(0.01, 30, 300):
        if abs(s - rate) > 1e-3:
            moment = (1 - (math.sinh(s / 2) / math.sinh(rate / 2)) ** 2) / (1 - (s / rate) ** 2)
            assert moment <= math.exp(s**2 / 12) * (1 + 1e-9)


@pytest.mark.parametrize(
    "draws",
    [
        [Draws(1.0, Laplace(Fraction(20)))],
        [Draws(0.5, Laplace(Fraction(20)), 2)],
        [Draws(1.0, Laplace(Fraction(20))), Draws(0.3, Laplace(Fraction(7)), 9)],
        [Draws(1.0, Gaussian(Fraction(400)), 3)],
        [Draws(1.0, Gaussian(Fraction(400)))],
        [Draws(1.0, Mixture(800.0, Laplace(Fraction(20)), 4))],
        [Draws(1.0, Mixture(800.0, Gaussian(Fraction(400)), 4))],
    ],
)
def test_a_width_grows_as_less_may_go_wrong_also_where_no_float_tells_it_from_nothing(draws):
    widths = [halfwidth(draws, 1 - Fraction(1, 10**power)) for power in (2, 6, 10, 12, 20, 100, 400)]
    assert widths == sorted(widths)
    assert widths[-1] < 100 * widths[0] * 10
    # No law has thinner tails than a normal one: beyond are at most the chances of the far ones.
    deviation = math.sqrt(sum(draw.variance for draw in draws))
    assert widths[-2] > math.sqrt(2 * 99 * math.log(10)) * deviation * 0.9
