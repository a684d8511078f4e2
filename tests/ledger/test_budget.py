"""Budgets of ρ: what mechanisms cost in them, and why that covers a person's rows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidBudget, InvalidNoise, UnsupportedQuery
from discreet.ledger.budget import ConcentratedBudget, Induced, PureBudget, budget_from_json
from discreet.ledger.guarantee import guarantee_from_json
from discreet.ledger.standing import Standing
from discreet.noise.law import Binomial, Exponential, Gaussian, Laplace

ONE = Fraction(1)


@pytest.mark.parametrize(
    ("law", "neighbours", "one_signed", "cost"),
    [
        # Gaussian: f²/(2σ²); pure: ε²/2 [Bun, Steinke 2016, Propositions 1.6 and 1.4].
        (Gaussian(Fraction(50)), "add-remove", True, Fraction(9, 100)),
        (Gaussian(Fraction(50)), "replace", True, Fraction(9, 100)),
        (Gaussian(Fraction(50)), "replace", False, Fraction(18, 100)),
        (Laplace(Fraction(10)), "add-remove", True, Fraction(9, 200)),
        (Laplace(Fraction(10)), "replace", True, Fraction(9, 100)),
        (Exponential(Fraction(10)), "replace", True, Fraction(9, 100)),
    ],
)
def test_what_a_move_of_three_costs(law, neighbours, one_signed, cost):
    assert ConcentratedBudget(ONE, neighbours).loss(law, Fraction(3), one_signed) == cost


def test_gaussian_noise_has_no_price_in_epsilon():
    with pytest.raises(InvalidNoise, match="no pure guarantee"):
        PureBudget(ONE, "add-remove").loss(Gaussian(ONE), ONE, True)


MOVES = st.lists(st.integers(0, 9), min_size=1, max_size=4)


@given(taken=MOVES, added=MOVES, together=st.booleans(), signed=st.booleans())
def test_the_factor_covers_every_person_whose_rows_are_replaced(taken, added, together, signed):
    """Σ moves over numbers, squared, against factor × the largest charge of one row (σ² = 1/2, so ρ is the square)."""
    rows = max(len(taken), len(added))
    budget = ConcentratedBudget(Fraction(10**4), "replace", rows)
    change = np.zeros(2)
    for move in taken:
        change[0] -= move
    for move in added:
        change[0 if together else 1] += -move if signed else move
    charge = max(budget.loss(Gaussian(Fraction(1, 2)), Fraction(move), not signed) for move in (*taken, *added))
    assert float(change @ change) <= budget.factor * charge


@given(
    st.sampled_from(["add-remove", "replace"]),
    st.integers(1, 20),
    st.fractions(Fraction(1, 1000), Fraction(5)),
    st.sampled_from([None, Fraction(1, 10**6)]),
)
def test_budgets_and_guarantees_come_back_from_json(neighbours, rows, amount, delta):
    if delta is None:
        budget = ConcentratedBudget(amount, neighbours, rows)
    else:
        budget = ConcentratedBudget.of(amount, delta, neighbours, rows)
    assert budget_from_json(budget.to_json()) == budget
    for guarantee in (Standing.of(budget).guarantee(), Standing.of(budget).promise(7)):
        assert guarantee_from_json(guarantee.to_json()) == guarantee
        assert "ρ" in str(guarantee)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 2)])
def test_a_delta_that_makes_no_sense_is_refused(delta):
    with pytest.raises(InvalidBudget, match="between 0 and 1"):
        ConcentratedBudget.of(ONE, delta, "replace")


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9))
def test_the_farther_of_two_neighbourhoods_covers_both_in_each_measure(people, squares, other, others):
    one, two = Induced(people, squares), Induced(other, others)
    assert one.or_more(two) == two.or_more(one)
    farther = one.or_more(two)
    assert farther.people >= max(people, other)
    assert farther.squares >= max(squares, others)
    assert farther == farther.or_more(one) == farther.or_more(two)
    assert one.or_more(Induced()) == one


@pytest.mark.parametrize("budget", [PureBudget(Fraction(1), "replace"), ConcentratedBudget(Fraction(1), "replace")])
def test_counts_over_subsets_have_no_price_but_in_queries(budget):
    with pytest.raises(UnsupportedQuery, match="counts over subsets are answered by one with a budget of queries"):
        budget.units_of_queries(1, Binomial(100))


def test_amounts_are_said_as_a_part_of_the_budget():
    pure, rho = PureBudget(Fraction(1), "replace"), ConcentratedBudget(Fraction("0.5"), "replace")
    both = ConcentratedBudget.of(Fraction(2), Fraction("1e-6"), "replace")
    assert pure.in_words(Fraction("0.0617")) == "ε 0.0617 of 1 · 6.2%"
    assert rho.in_words(Fraction("0.25")) == "ρ 0.25 of 0.5 · 50%"
    assert both.in_words(both.total / 50) == "2% of ε 2, δ 1e-06"
    assert [pure.share(Fraction(part)) for part in ("0.994", "0.998", "0.99999", "1")] == [
        "99%",
        "99.8%",
        "99.9%",
        "100%",
    ]


def test_a_quota_is_in_the_vaults_own_currency_or_a_part_of_its_budget():
    pure = PureBudget(Fraction(4), "replace")
    both = ConcentratedBudget.of(Fraction(2), Fraction("1e-6"), "replace")
    assert pure.quota("0.2") == Fraction(1, 5)
    assert pure.quota("10%") == Fraction(2, 5)
    assert both.quota("10%") == both.total / 10
    assert pure.quota("100%") == pure.total
    for budget in (pure, both):
        with pytest.raises(InvalidBudget, match="100% is the whole budget"):
            budget.quota("100.1%")
    assert (pure.currency, both.currency) == ("ε", "ε")
    assert both.quota(2) == both.total  # all that is asked under it is (2, 1e-6)-private by itself
    assert both.quota(1) < both.total / 2
