"""Attacks on one row stay within the bound that the noise was calibrated for, and would not with half of it."""

from fractions import Fraction

import pytest
from scipy.stats import binom

from discreet.mining.sulq import exact_trials
from discreet.noise.bits import SeededBits
from experiments.sulq.privacy import ADVERSARIES, DELTA, attacks, most_likely

BOUND, QUERIES, ATTACKS = Fraction(1, 20), 60, 4000


def breaches(trials, adversary):
    moved = attacks(trials, adversary, ATTACKS, SeededBits(3), QUERIES)
    return int((moved > float(DELTA)).sum())


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_attacks_succeed_no_more_often_than_stated(adversary):
    trials = exact_trials(QUERIES, DELTA, BOUND)
    assert binom.sf(breaches(trials, adversary) - 1, ATTACKS, float(BOUND)) > 1e-4


def test_the_bound_is_nearly_reached_and_half_of_the_noise_breaks_it():
    trials = exact_trials(QUERIES, DELTA, BOUND)
    assert breaches(trials, "insists") <= breaches(trials, "stops in time")
    assert breaches(trials, "stops in time") > ATTACKS * BOUND / 3
    assert breaches(trials // 4 * 2, "stops in time") > ATTACKS * BOUND * 2


def test_an_upper_bound_for_no_breach_at_all_is_the_rule_of_thumb():
    assert most_likely(0, 10_000) == pytest.approx(4.6 / 10_000, rel=0.01)
