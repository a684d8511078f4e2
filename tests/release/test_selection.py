"""Naming values by coins: what they lose is checked for every pair of neighbours, by arithmetic of the test's own."""

import math
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest
from mpmath import mp
from scipy.stats import binom

from discreet.errors import InvalidBudget
from discreet.noise.bits import Bits, SeededBits
from discreet.release import selection
from discreet.release.selection import ONE, SelectionRule, biases, draw_selected, half_found

PURE = [(F(1), F(1, 10**5)), (F(1, 10), F(1, 10**6)), (F(3), F(1, 10**9)), (F(1, 3), F(1, 100)), (F(8), F(1, 2))]
GAUSSIAN = [(F(1), F(1, 10**5)), (F(7, 100), F(1, 2 * 10**5)), (F(4), F(1, 10**9)), (F(1, 100), F(1, 100))]


def pure(epsilon: F, delta: F) -> SelectionRule:
    return SelectionRule(epsilon, F(0), delta)


def gaussian(mu_squared: F, delta: F) -> SelectionRule:
    return SelectionRule(F(0), mu_squared, delta)


def closed_form(epsilon: F, delta: F, people: int) -> mp.mpf:
    """As the paper states it. [Desfontaines, Voss, Gipson, Mandayam 2022]"""
    e, d = mp.mpf(epsilon.numerator) / epsilon.denominator, mp.mpf(delta.numerator) / delta.denominator
    turn = 1 + int(mp.floor(mp.log((mp.exp(e) + 2 * d - 1) / ((mp.exp(e) + 1) * d)) / e))

    def first(k: int) -> mp.mpf:
        return d * mp.expm1(k * e) / mp.expm1(e)

    if people <= turn:
        return first(people)
    more = people - turn
    return min(-mp.expm1(-more * e) * (1 + d / mp.expm1(e)) + mp.exp(-more * e) * first(turn), mp.mpf(1))


@pytest.mark.parametrize(("epsilon", "delta"), PURE)
def test_with_epsilon_the_biases_are_those_of_the_papers_closed_form(epsilon: F, delta: F) -> None:
    with mp.workdps(80):
        for people, bias in enumerate(biases(pure(epsilon, delta))):
            paper = closed_form(epsilon, delta, people) * ONE
            # Each step rounds down by less than 2 units, which later steps multiply by at most what they do to δ.
            assert -1e-20 * ONE < bias - paper <= 0.5, people


@pytest.mark.parametrize(("epsilon", "delta"), PURE)
def test_neighbours_differ_by_epsilon_and_delta_at_every_number_of_people_and_no_more_would_do(
    epsilon: F, delta: F
) -> None:
    found = [F(bias, ONE) for bias in biases(pure(epsilon, delta))]
    with mp.workdps(80):
        e = mp.exp(mp.mpf(epsilon.numerator) / epsilon.denominator)
        d = mp.mpf(delta.numerator) / delta.denominator

        def keeps(one: F, other: F) -> bool:
            """Whether both ways, and for both outcomes, Pr ≤ e^ε·Pr + δ."""
            p, q = (mp.mpf(x.numerator) / x.denominator for x in (one, other))
            return all(a <= e * b + d for a, b in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)))

        for fewer, more in pairwise(found):
            assert keeps(fewer, more)
            assert more == 1 or not keeps(fewer, more + F(1, 2**100))
    assert found[0] == 0
    assert found[-1] == 1


@pytest.mark.parametrize(("mu_squared", "delta"), GAUSSIAN)
def test_neighbours_are_as_near_as_two_normal_laws_but_for_delta_and_no_nearer(mu_squared: F, delta: F) -> None:
    found = [F(bias, ONE) for bias in biases(gaussian(mu_squared, delta))]
    with mp.workdps(120):
        mu, d = (
            mp.sqrt(mp.mpf(mu_squared.numerator) / mu_squared.denominator),
            mp.mpf(delta.numerator) / delta.denominator,
        )
        for fewer, more in pairwise(found):
            # Both with δ taken out where it helps most: of the more likely outcome of each.
            q, p = (mp.mpf(x.numerator) / x.denominator for x in (fewer, more))
            q, p = q / (1 - d), (p - d) / (1 - d)
            if q == 0 or q >= 1:
                assert p <= (q >= 1)
                continue

            def place(share: mp.mpf) -> mp.mpf:
                return mp.sqrt(2) * mp.erfinv(2 * share - 1)

            apart = place(p) - place(q)
            assert apart <= mu
            assert apart > mu - mp.mpf(10) ** -12
    assert found[0] == 0
    assert found[-1] == 1
    assert found == sorted(found)


@pytest.mark.parametrize(("mu_squared", "delta"), GAUSSIAN)
def test_with_mu_every_epsilon_has_the_delta_of_normal_laws_besides(mu_squared: F, delta: F) -> None:
    """What (1) of selection.md implies, without it: all ε at once, both ways, both outcomes."""
    found = [float(F(bias, ONE)) for bias in biases(gaussian(mu_squared, delta))]
    mu, d = math.sqrt(mu_squared), float(delta)
    for epsilon in (0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0):
        own = float(mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-epsilon / mu - mu / 2))
        allowed = d + (1 - d) * own + 1e-12
        for q, p in pairwise(found):
            for a, b in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)):
                assert a <= math.exp(epsilon) * b + allowed


@pytest.mark.parametrize("rule", [pure(F(1, 2), F(1, 1000)), gaussian(F(1, 4), F(1, 1000))])
def test_several_values_of_a_person_cost_what_is_charged_for_them(rule: SelectionRule) -> None:
    """Brute force over all outcomes of three values, each of which a person leaves: for every ε, the exact δ."""
    found = [float(F(bias, ONE)) for bias in biases(rule)]
    values = 3
    worst = 0.0
    for start in range(1, len(found)):
        there = np.array([1.0])
        gone = np.array([1.0])
        for _ in range(values):
            there = np.outer(there, [found[start], 1 - found[start]]).ravel()
            gone = np.outer(gone, [found[start - 1], 1 - found[start - 1]]).ravel()
        for p, q in ((there, gone), (gone, there)):
            for epsilon in (0.0, 0.3, 1.0, 1.5, 2.5):
                lost = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
                d = values * float(rule.delta)
                if rule.epsilon:
                    own = 0.0 if epsilon >= values * float(rule.epsilon) else 1.0
                else:
                    mu = math.sqrt(values * rule.mu_squared)
                    own = float(mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-epsilon / mu - mu / 2))
                assert lost <= own + d + 1e-12
                worst = max(worst, lost / (own + d))
    assert worst > 0.5, "it would notice a loss that is twice as large"


def test_a_text_that_nobody_has_is_never_named_and_one_that_many_have_always() -> None:
    rule = gaussian(F(1, 10), F(1, 10**5))
    many = len(biases(rule)) - 1
    drawn = draw_selected(np.repeat([0, many, 10**9], 10_000), rule, Bits())
    assert drawn.reshape(3, -1).sum(axis=1).tolist() == [0, 10_000, 10_000]


class Words(Bits):
    """Bits that are given."""

    def __init__(self, words: list[int]) -> None:
        super().__init__()
        self._words = words

    def fill(self, out):  # type: ignore[no-untyped-def]
        out[:] = self._words[: out.size]
        del self._words[: out.size]
        return out.size


def test_a_coin_is_heads_exactly_where_its_128_bits_are_below_the_bias() -> None:
    rule = pure(F(1), F(1, 10**5))
    for people in (1, 5, 11):
        bias = biases(rule)[people]
        for number, heads in ((bias - 1, True), (bias, False), (0, True), (ONE - 1, False)):
            words = [number >> 64, number & (1 << 64) - 1]
            assert draw_selected(np.array([people]), rule, Words(words)).tolist() == [heads]


@pytest.mark.parametrize("rule", [pure(F(1), F(1, 10**3)), gaussian(F(1), F(1, 10**3))])
def test_values_are_named_as_often_as_their_biases_say_and_not_a_third_more_or_less(rule: SelectionRule) -> None:
    runs = 200_000
    for people in range(1, len(biases(rule)) - 1):
        bias = float(F(biases(rule)[people], ONE))
        heads = int(draw_selected(np.full(runs, people), rule, SeededBits(people)).sum())
        assert binom.cdf(heads, runs, bias) > 1e-9
        assert binom.sf(heads - 1, runs, bias) > 1e-9
        wrong = bias * (1.3 if bias < 0.7 else 0.7)
        assert min(binom.cdf(heads, runs, wrong), binom.sf(heads - 1, runs, wrong)) < 1e-6 or bias * runs < 1000


def test_half_of_the_values_are_found_from_so_many_people_on() -> None:
    rule = pure(F(1), F(1, 10**5))
    many = half_found(rule)
    assert 2 * biases(rule)[many] >= ONE > 2 * biases(rule)[many - 1]


@pytest.mark.parametrize(
    ("epsilon", "mu_squared", "delta"),
    [(0, 0, F(1, 2)), (1, 1, F(1, 2)), (1, 0, 0), (0, 1, 1), (1, 0, F(1, 2**65))],
)
def test_a_rule_needs_one_loss_and_a_delta(epsilon: F, mu_squared: F, delta: F) -> None:
    with pytest.raises(InvalidBudget, match="loss above 0"):
        SelectionRule(F(epsilon), F(mu_squared), F(delta))


@pytest.mark.parametrize("rule", [pure(F(1, 10**4), F(1, 10**9)), gaussian(F(1, 10**9), F(1, 10**6))])
def test_what_finds_next_to_nothing_is_refused(rule: SelectionRule) -> None:
    with pytest.raises(InvalidBudget, match="a larger part"):
        biases(rule)


@pytest.mark.parametrize("steps", [4, 16])
def test_what_leads_nowhere_is_told_without_its_steps_and_never_else(
    monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    monkeypatch.setattr(selection, "MOST_STEPS", steps)
    sizes = [F(1, 10**power) for power in range(7)]
    rules = [gaussian(mu_squared, delta / 3) for mu_squared in sizes for delta in sizes]
    hopeless = [rule for rule in rules if selection._is_hopeless(rule)]
    assert 0 < len(hopeless) < len(rules)
    for rule in hopeless:
        assert 2 * selection._grown.__wrapped__(rule)[-1] < ONE
        assert half_found(rule) == steps + 1
    for rule in set(rules) - {*hopeless}:
        at_most = float((steps + 1) * rule.delta) + steps * 0.4 * math.sqrt(rule.mu_squared)
        assert at_most >= 0.5  # else it could have been told
