"""Half-widths: exact for sums of equal draws, safe for every combination."""

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cube.interval import (
    combination_halfwidth,
    halfwidth,
    mixture_deviations,
    require_confidence,
    sum_halfwidth,
)
from discreet.errors import InvalidNoise
from discreet.noise.laplace import laplace_halfwidth, laplace_variance

CONFIDENCES = [0.5, 0.8, 0.9, 0.907, 0.95, 0.99, 0.999, 0.999999]


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
    width = sum_halfwidth(scale, draws, confidence)
    assert beyond(pmf, width) <= 1 - confidence + 1e-12
    assert width == 0 or beyond(pmf, width - 1) > 1 - confidence - 1e-12


@pytest.mark.parametrize("confidence", [0, -0.1, 1, 1 - 1e-13, 2, float("nan")])
def test_a_confidence_that_nothing_can_be_said_for_is_refused(confidence):
    with pytest.raises(InvalidNoise, match="confidence must lie between 0 and 1"):
        require_confidence(confidence)


def test_one_draw_has_the_certified_halfwidth():
    assert sum_halfwidth(Fraction(20), 1, 0.95) == laplace_halfwidth(Fraction(20), Fraction("0.95"))


def test_a_sum_too_wide_to_write_out_has_the_safe_halfwidth():
    scale, draws = Fraction(10_000), 100
    deviation = math.sqrt(draws * laplace_variance(scale))
    assert 1.96 * deviation < sum_halfwidth(scale, draws, 0.95) < 2.17 * deviation


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
    width = combination_halfwidth(variance, min(scales), confidence)
    assert beyond(pmf, width) <= 1 - confidence + 1e-12


@pytest.mark.parametrize("scale", [1, 5, 50, 500])
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_the_safe_halfwidth_is_what_the_proof_allows_for_some_kappa(scale, confidence):
    """interval.md: σ·(√(2λ²/σ²)·c + κ/√(6σ²)), c for 1 − α·(1 − exp(−κ²/2)), holds for every κ."""
    least = laplace_variance(Fraction(scale))

    def allowed(kappa):
        certain = mixture_deviations(1 - (1 - confidence) * (1 - math.exp(-(kappa**2) / 2)))
        return math.sqrt(2 * scale**2 / least) * certain + kappa / math.sqrt(6 * least)

    best = min(map(allowed, np.linspace(0.5, 6, 111)))
    width = combination_halfwidth(100.0, Fraction(scale), confidence) / 10
    assert best - 1e-4 <= width <= 1.03 * best


@pytest.mark.parametrize("scale", [0.05, 0.3, 1.0, 4.0, 100.0])
def test_the_fraction_that_a_discrete_draw_lacks_is_subgaussian_with_proxy_a_sixth(scale):
    rate = 1 / scale
    for s in np.linspace(0.01, 30, 300):
        if abs(s - rate) > 1e-3:
            moment = (1 - (math.sinh(s / 2) / math.sinh(rate / 2)) ** 2) / (1 - (s / rate) ** 2)
            assert moment <= math.exp(s**2 / 12) * (1 + 1e-9)


def test_a_cuboid_of_base_is_a_sum_of_equal_draws_consistent_or_not(town):
    plan = town.plan(planner="base")
    for consistent in (True, False):
        assert halfwidth(plan, 0b001, consistent, 0.95) == sum_halfwidth(Fraction(1), 12, 0.95)


def test_consistency_never_widens_an_interval_much(town):
    plan = town.plan(planner="bmaxg", epsilon="1/10")
    for mask in plan.published:
        assert halfwidth(plan, mask, True, 0.95) <= 1.12 * halfwidth(plan, mask, False, 0.95)


@pytest.mark.parametrize("epsilon", [1_000, 10**6, 2**63])
def test_noise_too_small_for_a_float_has_intervals_all_the_same(town, epsilon):
    plan = town.plan(planner="bmaxg", epsilon=epsilon)
    assert all(math.isfinite(halfwidth(plan, mask, True, 0.95)) for mask in plan.published)
