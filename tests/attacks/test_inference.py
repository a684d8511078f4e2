"""Theorem 2 on released answers: its numbers, its interval, and the rules that a vault's answers speak of."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.attacks.inference import attack_by_inference, ratio_interval, ratio_moments
from discreet.errors import DomainError, UnsupportedQuery
from discreet.vault import Vault

SURELY = Fraction(999_999, 1_000_000)


@pytest.mark.parametrize(("x", "factor"), [(100, 1.02), (1000, 1.0002)])
def test_corollary_1(x, factor):
    # buckets, after Corollary 1: ε = 0.1, so b = 10 and both variances are 2b² = 200.
    y = 0.3 * x
    mean, variance = ratio_moments(x, y, 200, 200)
    assert mean == pytest.approx(factor * y / x)
    assert variance == pytest.approx(200 / x**2 * (1 + 0.3**2))  # Theorem 2


@pytest.mark.parametrize("shared", [0, 150])
def test_moments_are_those_of_many_draws_where_x_is_far_from_zero(shared):
    """Two-sided: the simulated mean and variance of Y/X, with correlated noise too."""
    chance = np.random.default_rng(4)
    x, y, size = 2000.0, 600.0, 400_000
    common = chance.normal(0, np.sqrt(shared), size)
    ratio = (y + common + chance.normal(0, np.sqrt(200 - shared), size)) / (
        x + common + chance.normal(0, np.sqrt(200 - shared), size)
    )
    mean, variance = ratio_moments(x, y, 200, 200, shared)
    assert abs(ratio.mean() - mean) < 5 * np.sqrt(variance / size)
    assert ratio.var() == pytest.approx(variance, rel=0.02)


@pytest.mark.parametrize("shared", [0.0, 150.0])
@pytest.mark.parametrize(("x", "y"), [(60, 20), (300, 290), (1000, 10)])
def test_the_interval_holds_as_often_as_it_says(x, y, shared):
    """At least at its confidence, over 2,000 draws; and it is not everything."""
    chance = np.random.default_rng(8)
    held, width = 0, 0.0
    for _ in range(2000):
        common = chance.normal(0, np.sqrt(shared))
        noisy_x, noisy_y = (v + common + chance.normal(0, np.sqrt(200 - shared)) for v in (x, y))
        low, high = ratio_interval(noisy_x, noisy_y, 200, 200, shared, Fraction(9, 10))
        held += low <= y / x <= high
        width += high - low
    assert held >= 1750
    assert width / 2000 < 0.9 if x > 100 else True


def test_where_x_may_be_zero_nothing_is_concluded():
    assert ratio_interval(5, 4, 200, 200, 0, Fraction(19, 20)) == (0.0, 1.0)


@pytest.fixture
def vault(folder):  # noqa: ARG001
    return Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=1000, neighbours="replace")


def test_a_rule_is_drawn_from_two_answers(vault):
    vault.ask("SELECT COUNT(*) FROM people WHERE age < 50", scale=1)
    vault.ask("SELECT COUNT(*) FROM people WHERE age < 50 AND sex = 'F'", scale=1)
    found = attack_by_inference(vault.releases(), vault.domain, threshold=0.9, confidence=float(SURELY))
    assert found.cells == 2
    [rule] = found.rules
    assert found.words(rule) == ("age <= 49", "sex = 'F'")
    assert rule.share == pytest.approx(100 / 300, abs=0.05)
    assert rule.interval[0] < 100 / 300 < rule.interval[1]
    assert not found.warns


def test_a_group_by_tells_rules_by_itself_and_its_sum_is_not_independent_of_it(vault):
    vault.ask("SELECT sex, COUNT(*) FROM people WHERE age < 50 GROUP BY sex", scale=2)
    found = attack_by_inference(
        vault.releases(), vault.domain, sensitive="sex", threshold=0.2, confidence=float(SURELY)
    )
    assert len(found.rules) == 3
    assert found.warns
    for rule in found.rules:
        assert rule.interval[0] < 1 / 3 < rule.interval[1]
        independent = ratio_interval(rule.x, rule.y, 24, 8, 0, SURELY)
        assert rule.interval[1] - rule.interval[0] < independent[1] - independent[0]


def test_answers_that_make_no_rule_make_none(vault):
    vault.ask("SELECT COUNT(*) FROM people WHERE age < 50", scale=1)
    vault.ask("SELECT COUNT(*) FROM people WHERE age >= 60 AND sex = 'F'", scale=1)
    assert attack_by_inference(vault.releases(), vault.domain).rules == ()
    with pytest.raises(DomainError):
        attack_by_inference(vault.releases(), vault.domain, sensitive="sexx")
    with pytest.raises(UnsupportedQuery):
        attack_by_inference(vault.releases(), vault.domain, threshold=2)
