"""The calibrations of SuLQ's noise, against enumeration, the cleverest adversary, and another accountant."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import from_two_probability_mass_functions
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidBudget
from discreet.ledger.budget_choice import budget_from_json
from discreet.ledger.guarantee import guarantee_from_json
from discreet.ledger.standing import Standing
from discreet.mining.sulq import exact_trials, loss_of, paper_trials, query_budget

ONE_IN_A_MILLION = Fraction(1, 10**6)


def binomial(trials):
    """Pr[K = k] for each k, exactly."""
    half = trials // 2
    return {k: Fraction(math.comb(trials, half + k), 2**trials) for k in range(-half, half + 1)}


def exact_loss(trials, queries, delta):
    """p*(1 + e^−δ) and (ε, δ')-privacy at ε = δ by going through all answers: an oracle for small numbers."""
    one = binomial(trials)
    pairs = []
    for noise in itertools.product(one, repeat=queries):
        with_row = math.prod(one[k] for k in noise)
        pairs.append((with_row, math.prod(one.get(k - 1, Fraction(0)) for k in noise)))
    odds = Fraction(math.exp(delta))
    pairs.sort(key=lambda pair: pair[0] / pair[1] if pair[1] else math.inf, reverse=True)
    event = without = best = Fraction(0)
    for here, there in pairs:
        if event + here < odds * (without + there):
            share = (event - odds * without) / (odds * there - here)
            return min(1.0, float(event + share * here) * (1 + math.exp(-delta))), float(best)
        event, without = event + here, without + there
        best = max(best, event - odds * without)
    raise AssertionError


@pytest.mark.parametrize(
    ("trials", "queries", "delta"),
    [(2, 1, 1.0), (8, 1, 3.0), (40, 1, 0.5), (118, 1, 1.0), (12, 2, 1.0), (20, 2, 2.0), (8, 3, 1.5), (6, 4, 4.0)],
)
def test_the_bounds_are_those_of_enumeration_and_never_below(trials, queries, delta):
    exact, exact_delta = exact_loss(trials, queries, delta)
    found = loss_of(trials, queries, Fraction(delta))
    assert exact * (1 - 1e-9) <= found.failure <= exact * 1.03
    assert exact_delta * (1 - 1e-9) <= found.dp_delta <= exact_delta * 1.03 + 1e-12


def cleverest(trials, queries, delta, shares=(0.0, 0.5, 1.0)):
    """The largest Pr[|Δconf| > δ] that any adversary reaches, who sees the log-odds and chooses: ask about the row, ask
    something on which the other rows differ from it with a probability only, or ask about somebody else."""
    one = {k: float(p) for k, p in binomial(trials).items()}

    def value(conf, left):
        if left == 0 or abs(conf) > delta:
            return float(abs(conf) > delta)
        best = 0.0
        for share in shares:
            total = 0.0
            for k, p in one.items():
                other = (1 - share) * p + share * one.get(k - 1, 0.0)
                total += p * value(conf + (math.log(p / other) if other else math.inf), left - 1)
            best = max(best, total)
        return best

    return value(0.0, queries)


@pytest.mark.parametrize(("trials", "queries", "delta"), [(16, 3, 1.0), (24, 2, 0.7), (8, 3, 2.0), (30, 3, 0.5)])
def test_no_adaptive_adversary_gets_past_the_bound(trials, queries, delta):
    fixed = cleverest(trials, queries, delta, shares=(1.0,))
    adaptive = cleverest(trials, queries, delta)
    assert fixed <= adaptive <= loss_of(trials, queries, Fraction(delta)).failure


@pytest.mark.parametrize(
    ("trials", "queries", "delta"), [(208_390, 2000, 1.0), (1044, 10, 1.0), (4144, 10, 0.5), (600, 100, 3.0)]
)
def test_the_same_answers_are_as_differentially_private_to_another_accountant(trials, queries, delta):
    half, reach = trials // 2, min(trials // 2, int(8 * trials**0.5))
    noise = np.arange(-reach, reach + 1)
    logs = [
        math.lgamma(trials + 1) - math.lgamma(half + k + 1) - math.lgamma(half - k + 1) - trials * math.log(2)
        for k in noise
    ]
    here = dict(zip(noise.tolist(), logs, strict=True))
    there = {k + 1: log for k, log in here.items()}
    least, most = (
        from_two_probability_mass_functions(
            there, here, value_discretization_interval=2e-3 / trials**0.5, pessimistic_estimate=pessimistic
        )
        .self_compose(queries)
        .get_delta_for_epsilon(delta)
        for pessimistic in (False, True)
    )
    assert most < 1.3 * least
    assert least <= loss_of(trials, queries, Fraction(delta)).dp_delta <= most * 1.03


def test_two_thousand_queries_take_noise_of_variance_about_fifty_thousand():
    # Issue: δ = 1, T = 2,000, one in a million gives σ² = R/4 ≈ 55,000, by Chernoff's 2·T·ln(10^6); the least is a
    # little less.
    trials = exact_trials(2000, Fraction(1), ONE_IN_A_MILLION)
    assert trials == 208_390
    assert 0.93 < trials / 4 / (2 * 2000 * math.log(10**6)) < 1
    assert loss_of(trials, 2000, Fraction(1)).failure <= 1e-6 < loss_of(trials - 2, 2000, Fraction(1)).failure


def test_the_papers_noise_is_the_formula_with_mu_6():
    # SuLQ, Section 4: R = (T/δ²)·log^μ n, "taking μ = 6 will work".
    assert paper_trials(2000, Fraction(1), 10**6) == 2 * math.ceil(2000 * math.log(10**6) ** 6 / 2)
    assert paper_trials(500, Fraction(1, 2), 10**6) == paper_trials(2000, Fraction(1), 10**6)
    assert paper_trials(10, Fraction(1), 1000, power=2) == 478


@settings(max_examples=15)
@given(st.integers(1, 300), st.integers(1, 30), st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3)]))
def test_more_noise_tells_less_and_more_queries_tell_more(half, queries, delta):
    here = loss_of(2 * half, queries, delta)
    assert loss_of(2 * half + 2, queries, delta).failure <= here.failure * (1 + 1e-6)
    assert loss_of(2 * half, queries + 1, delta).failure >= here.failure * (1 - 1e-6)
    assert 0 <= here.dp_delta <= here.failure <= 1


@pytest.mark.parametrize(("queries", "delta", "failure"), [(1, 3, "1/100"), (20, 9, "1e-6"), (5, 20, "1e-3")])
def test_exact_calibration_is_the_least_also_where_nothing_is_gaussian(queries, delta, failure):
    trials = exact_trials(queries, Fraction(delta), Fraction(failure))
    assert loss_of(trials, queries, Fraction(delta)).failure <= Fraction(failure)
    assert all(loss_of(fewer, queries, Fraction(delta)).failure > Fraction(failure) for fewer in range(2, trials, 2))


@pytest.mark.parametrize("calibration", ["exact", "paper"])
def test_a_budget_of_queries_states_what_it_keeps(calibration):
    budget = query_budget(100, "0.5", 10**5, 201, calibration, "1e-6")
    promise = Standing.of(budget).guarantee()
    assert budget_from_json(budget.to_json()) == budget
    assert guarantee_from_json(promise.to_json()) == promise
    assert promise.failure <= ONE_IN_A_MILLION
    assert promise.failure_of_all == 201 * promise.failure
    assert float(promise.dp_delta) >= loss_of(budget.trials, 100, Fraction(1, 2)).dp_delta
    assert (budget.limit, budget.amount_of(3), budget.law.variance) == (100, 3, budget.trials / 4)
    assert "3 of T = 100" in str(Standing.of(budget).promise(3))
    assert "faces 2δ" in str(promise)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"queries": 0}, "whole number from 1"),
        ({"queries": 1.5}, "whole number from 1"),
        ({"queries": 10**8}, "whole number from 1"),
        ({"delta": 0}, "above 0"),
        ({"delta": 51}, "0.001 and 50"),
        ({"delta": "one"}, "finite number"),
        ({"failure": 0}, "above 0"),
        ({"failure": "0.5"}, "1e-12 and 0.1"),
        ({"calibration": "rough"}, "exact or paper"),
        ({"queries": 10**6, "delta": "0.01", "calibration": "paper"}, "coins"),
        ({"queries": 10**7, "delta": "0.001"}, "coins"),
        ({"queries": 1, "delta": 10, "people": 3, "calibration": "paper"}, "take calibration exact"),
    ],
)
def test_a_budget_of_queries_that_makes_no_sense_is_refused(change, words):
    asked = {"queries": 100, "delta": 1, "people": 1000, "points": 10, "calibration": "exact", "failure": "1e-6"}
    with pytest.raises(InvalidBudget, match=words):
        query_budget(**{**asked, **change})
