"""Budgets of ρ and of μ: what mechanisms cost in them, and why that covers a person's rows."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidBudget, InvalidNoise, UnsupportedQuery
from discreet.ledger.budget import Induced, PureBudget
from discreet.ledger.budget_choice import budget_from_json, budget_of
from discreet.ledger.conversion import rho_for
from discreet.ledger.gaussian_price import gaussian_price
from discreet.ledger.guarantee import guarantee_from_json
from discreet.ledger.squared_budget import ConcentratedBudget, GaussianBudget
from discreet.ledger.standing import Standing
from discreet.noise.law import Binomial, Exponential, Gaussian, Laplace

ONE = Fraction(1)


def by_rho(epsilon, delta, neighbours, max_rows=1):
    """The budget of an (ε, δ) vault of before μ."""
    return ConcentratedBudget(rho_for(epsilon, delta), neighbours, max_rows, epsilon, delta)


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


@pytest.mark.parametrize(
    ("law", "neighbours", "one_signed", "grain", "cost"),
    [
        # d − d²/12 = 1/σ² at d = 1/2 for σ² = 48/23; pure: (11/7)·ε², exponential: a quarter of it.
        (Gaussian(Fraction(48, 23)), "add-remove", True, ONE, Fraction(9, 2)),
        (Gaussian(Fraction(48, 23)), "replace", True, ONE, Fraction(9, 2)),
        (Gaussian(Fraction(48, 23)), "replace", False, ONE, Fraction(9)),
        (Gaussian(Fraction(48, 23) * 9), "add-remove", True, Fraction(3), Fraction(1, 2)),
        (Gaussian(Fraction(48, 23) / 4), "add-remove", True, Fraction(1, 2), Fraction(18)),
        (Gaussian(Fraction(1, 200)), "add-remove", True, ONE, Fraction(7200)),
        (Laplace(Fraction(10)), "add-remove", True, ONE, Fraction(99, 700)),
        (Laplace(Fraction(10)), "replace", True, ONE, Fraction(99, 350)),
        (Exponential(Fraction(10)), "replace", True, ONE, Fraction(99, 1400)),
    ],
)
def test_what_a_move_of_three_costs_in_mu(law, neighbours, one_signed, grain, cost):
    assert GaussianBudget(ONE, neighbours).loss(law, Fraction(3), one_signed, grain) == cost


@given(
    amount=st.fractions(Fraction(1, 10**6), Fraction(40)),
    move=st.integers(1, 1000),
    grain=st.fractions(Fraction(1, 100), Fraction(100)),
    one_signed=st.booleans(),
    rows=st.integers(1, 5),
)
def test_noise_that_is_to_cost_so_much_in_mu_costs_that_and_no_more(amount, move, grain, one_signed, rows):
    budget = GaussianBudget(Fraction(50), "replace", rows)
    noise = budget.noise_costing(amount, move * grain, one_signed, grain)
    cost = budget.factor * budget.loss(noise, move * grain, one_signed, grain)
    paid = amount / (budget.factor * budget.signs(one_signed) * move**2)
    assert cost == amount or (6 < paid < 12 and cost == amount * 6 / paid)


@given(
    amount=st.fractions(Fraction(1, 10**6), Fraction(40)),
    move=st.fractions(Fraction(1, 100), Fraction(1000)),
    one_signed=st.booleans(),
    rows=st.integers(1, 5),
)
def test_noise_that_is_to_cost_so_much_in_rho_costs_exactly_that(amount, move, one_signed, rows):
    budget = ConcentratedBudget(Fraction(50), "replace", rows)
    noise = budget.noise_costing(amount, move, one_signed, ONE)
    assert budget.factor * budget.loss(noise, move, one_signed, ONE) == amount


def test_a_vector_costs_by_its_squared_length_and_its_own_noise():
    law = Gaussian(Fraction(30))
    assert GaussianBudget(ONE, "replace").vector_loss(law, Fraction(7)) == 7 * gaussian_price(Fraction(30))
    with pytest.raises(InvalidNoise, match="no pure guarantee"):
        PureBudget(ONE, "replace").vector_loss(law, Fraction(7))


def test_a_budget_of_mu_is_one_of_its_square():
    assert budget_of(None, None, None, "1/2", "replace", 3) == GaussianBudget(Fraction(1, 4), "replace", 3)


def test_gaussian_noise_has_no_price_in_epsilon():
    with pytest.raises(InvalidNoise, match="no pure guarantee"):
        PureBudget(ONE, "add-remove").loss(Gaussian(ONE), ONE, True)


MOVES = st.lists(st.integers(0, 9), min_size=1, max_size=4)


@given(taken=MOVES, added=MOVES, together=st.booleans(), signed=st.booleans())
def test_the_factor_covers_every_person_whose_rows_are_replaced(taken, added, together, signed):
    """Σ moves over numbers, squared, against factor × the largest charge of one row."""
    rows = max(len(taken), len(added))
    change = np.zeros(2)
    for move in taken:
        change[0] -= move
    for move in added:
        change[0 if together else 1] += -move if signed else move
    # With these laws a charge is the square of a move.
    for budget, law in (
        (ConcentratedBudget(Fraction(10**4), "replace", rows), Gaussian(Fraction(1, 2))),
        (GaussianBudget(Fraction(10**4), "replace", rows), Gaussian(Fraction(12, 11))),
    ):
        assert budget.loss(law, ONE, True) == 1
        charge = max(budget.loss(law, Fraction(move), not signed) for move in (*taken, *added))
        assert float(change @ change) <= budget.factor * charge


@given(
    st.sampled_from(["add-remove", "replace"]),
    st.integers(1, 20),
    st.fractions(Fraction(1, 1000), Fraction(5)),
    st.sampled_from([None, Fraction(1, 10**6)]),
)
def test_budgets_and_guarantees_come_back_from_json(neighbours, rows, amount, delta):
    kinds = (ConcentratedBudget, by_rho, "ρ"), (GaussianBudget, GaussianBudget.of, "μ²")
    for plain, implying, symbol in kinds:
        budget = plain(amount, neighbours, rows) if delta is None else implying(amount, delta, neighbours, rows)
        assert budget_from_json(budget.to_json()) == budget
        for guarantee in (Standing.of(budget).guarantee(), Standing.of(budget).promise(7)):
            assert guarantee_from_json(guarantee.to_json()) == guarantee
            assert symbol in str(guarantee)


def test_a_reader_that_does_not_know_mu_finds_no_epsilon_that_it_could_take_for_a_pure_one():
    assert set(GaussianBudget.of(ONE, Fraction(1, 10**6), "replace").to_json()) == {
        "mu_squared",
        "neighbours",
        "max_rows",
        "implies",
    }


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1), Fraction(-1, 2)])
def test_a_delta_that_makes_no_sense_is_refused(delta):
    with pytest.raises(InvalidBudget, match="between 0 and 1"):
        GaussianBudget.of(ONE, delta, "replace")


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
    assert pure.in_words(Fraction("0.0617")) == "ε 0.0617 of 1 · 6.2%"
    assert rho.in_words(Fraction("0.25")) == "ρ 0.25 of 0.5 · 50%"
    assert [pure.share(Fraction(part)) for part in ("0.994", "0.998", "0.99999", "1")] == [
        "99%",
        "99.8%",
        "99.9%",
        "100%",
    ]
    assert GaussianBudget(Fraction("0.5"), "replace").in_words(Fraction("0.25")) == "μ² 0.25 of 0.5 · 50%"
    for implying in (by_rho, GaussianBudget.of):
        both = implying(Fraction(2), Fraction("1e-6"), "replace")
        assert both.in_words(both.total / 50) == "2% of ε 2, δ 1e-06"


@pytest.mark.parametrize("implying", [by_rho, GaussianBudget.of], ids=["ρ", "μ"])
def test_a_quota_is_in_the_vaults_own_currency_or_a_part_of_its_budget(implying):
    pure = PureBudget(Fraction(4), "replace")
    both = implying(Fraction(2), Fraction("1e-6"), "replace")
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
