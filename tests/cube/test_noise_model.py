from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cube.noise_model import NoiseModel
from discreet.errors import InvalidBudget
from discreet.ledger.budget import PureBudget
from discreet.ledger.spend import UNITS, units_up
from discreet.ledger.squared_budget import ConcentratedBudget


@pytest.mark.parametrize(
    ("neighbours", "max_rows", "scale"),
    [("add-remove", 1, 8), ("replace", 1, 16), ("add-remove", 3, 24), ("replace", 3, 48)],
)
def test_a_laplace_share_buys_the_exact_scale_k_s_over_epsilon_b(neighbours: str, max_rows: int, scale: int) -> None:
    noise = NoiseModel(PureBudget(Fraction(1, 2), neighbours, max_rows))  # type: ignore[arg-type]
    assert noise.law(Fraction(1, 4)).scale == scale
    assert noise.as_continuous().variance(Fraction(1, 4)) == 2 * scale**2
    assert noise.unit == Fraction(1, 16) * 2 * scale**2


def test_replace_costs_laplace_noise_four_times_the_variance_and_gaussian_noise_twice() -> None:
    for currency, ratio in ((PureBudget, 4), (ConcentratedBudget, 2)):
        replaced, added = (NoiseModel(currency(Fraction(1), neighbours)) for neighbours in ("replace", "add-remove"))
        assert replaced.unit == ratio * added.unit


def test_a_gaussian_share_buys_sigma_squared_of_1_over_2_rho_b() -> None:
    assert NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove")).law(Fraction(1, 10)).sigma_squared == 10
    assert NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove", 3)).law(Fraction(1, 10)).sigma_squared == 90


def test_the_discrete_variance_is_stated_8_percent_below_the_continuous_one_at_scale_1() -> None:
    noise = NoiseModel(PureBudget(Fraction(1), "add-remove"))
    assert noise.variance(Fraction(1)) == pytest.approx(2 * 0.92, rel=0.002)
    assert noise.variance(Fraction(1, 1000)) == pytest.approx(2e6, rel=1e-6)


@given(
    st.fractions(Fraction(1, 1000), 50),
    st.sampled_from(["add-remove", "replace"]),
    st.integers(1, 7),
    st.lists(st.floats(1e-6, 1), min_size=1, max_size=20),
)
def test_rounded_shares_never_cost_the_ledger_more_than_the_budget(epsilon, neighbours, max_rows, parts) -> None:
    noise = NoiseModel(PureBudget(epsilon, neighbours, max_rows))
    shares = [noise.exact_share(Fraction(part) / sum(map(Fraction, parts))) for part in parts]
    assert sum(shares) <= 1
    spent = sum(units_up(1 / noise.law(share).scale) for share in shares if share)
    assert spent <= noise.limit
    assert spent >= noise.limit - len(parts)


@pytest.mark.parametrize(
    ("budget", "neighbours", "max_rows"),
    [(0, "add-remove", 1), (-1, "replace", 1), (Fraction(1, 10**13), "replace", 1), (1, "both", 1), (1, "replace", 0)],
)
def test_an_impossible_budget_is_refused(budget, neighbours, max_rows) -> None:
    with pytest.raises(InvalidBudget):
        NoiseModel(PureBudget(Fraction(budget), neighbours, max_rows))


def test_a_budget_of_one_unit_is_enough() -> None:
    assert NoiseModel(PureBudget(Fraction(1, UNITS), "add-remove")).limit == 1
