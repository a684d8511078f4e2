"""How much noise a wish asks for, and what the vault's policy allows."""

from fractions import Fraction
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.answer.policy import (
    FINEST_STEP,
    Policy,
    deviations,
    exponential_like,
    noise_within,
    usual_noise,
)
from discreet.errors import InvalidNoise, VaultError
from discreet.ledger.budget import PureBudget
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.noise.deviation import laplace_halfwidth, laplace_variance

PURE = PureBudget(Fraction(1), "replace")
CONCENTRATED = ConcentratedBudget(Fraction(1, 2), "replace")
CONFIDENCES = st.sampled_from([Fraction(n, 1000) for n in (500, 800, 900, 950, 990, 999)])


@given(st.integers(1, 10**6), CONFIDENCES)
def test_the_solved_scale_keeps_within_and_the_next_step_does_not(within, confidence):
    scale = noise_within(Fraction(within), confidence, PURE).scale
    assert laplace_halfwidth(scale, confidence) <= within
    assert laplace_halfwidth(scale + Fraction(2, FINEST_STEP) * max(1, int(scale)), confidence) >= within


@given(st.integers(2, 10**5), CONFIDENCES)
def test_gaussian_noise_is_solved_for_too(within, confidence):
    noise = noise_within(Fraction(within), confidence, CONCENTRATED)
    assert noise.halfwidth(confidence) <= within
    assert noise.times(Fraction(21, 20)).halfwidth(confidence) >= within


@pytest.mark.parametrize("budget", [PURE, CONCENTRATED], ids=["pure", "concentrated"])
def test_the_usual_noise_spends_a_hundredth_of_the_budget(budget):
    assert budget.factor * budget.loss(usual_noise(budget), Fraction(1), True) == budget.total / 100


def test_a_quantile_costs_as_much_as_a_count():
    noise = usual_noise(CONCENTRATED)
    like = exponential_like(noise, CONCENTRATED)
    costs = [CONCENTRATED.loss(law, Fraction(1), True) for law in (like, noise)]
    assert 0.999 < costs[0] / costs[1] <= 1


@given(st.integers(1, 1000), CONFIDENCES)
def test_a_coarser_grain_scales_the_solution(within, confidence):
    fine = noise_within(Fraction(within), confidence, PURE)
    assert noise_within(Fraction(within * 100), confidence, PURE, Fraction(100)) == fine.times(Fraction(100))


@given(st.integers(1, 10**5), CONFIDENCES)
def test_deviations_cover_one_laplace_draw(scale, confidence):
    assert deviations(confidence) * laplace_variance(scale) ** 0.5 >= laplace_halfwidth(scale, confidence) - 1


@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(19, 20), Fraction(999, 1000)])
def test_deviations_cover_a_normal_variable_too(confidence):
    assert deviations(confidence) >= NormalDist().inv_cdf(0.5 + float(confidence) / 2)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"default_wihtin": 3}, "default_within"),
        ({"confidence": "1.5"}, "between 0 and 1"),
        ({"compound_size": 0}, "whole number"),
        ({"compound_size": True}, "whole number"),
        ({"weights": 2}, "table of numbers by attribute"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(settings, words):
    with pytest.raises(VaultError, match=words):
        Policy.parse(settings)


def test_a_within_below_the_grain_is_refused():
    with pytest.raises(InvalidNoise, match="steps of 100"):
        noise_within(Fraction(99), Fraction(1, 2), PURE, Fraction(100))
