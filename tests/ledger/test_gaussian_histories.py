"""Random histories by their μ², against what dp-accounting finds by the privacy losses themselves."""

from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_distribution import (
    PrivacyLossDistribution,
    from_discrete_gaussian_mechanism,
    from_discrete_laplace_mechanism,
)

from discreet.ledger.gaussian_conversion import epsilon_for_mu, mu_squared_for
from discreet.ledger.squared_budget import GaussianBudget
from discreet.noise.law import Gaussian, Laplace, Law

BUDGET = GaussianBudget(Fraction(100), "add-remove")
DELTA = Fraction(1, 10**5)
STEP = 1e-4


def losses(law: Law, move: int, pessimistic: bool) -> PrivacyLossDistribution:
    how = {"sensitivity": move, "value_discretization_interval": STEP, "pessimistic_estimate": pessimistic}
    if isinstance(law, Gaussian):
        return from_discrete_gaussian_mechanism(law.scale, **how)
    return from_discrete_laplace_mechanism(float(1 / law.scale), **how)


def epsilon_by_losses(history: list[tuple[Law, int]], pessimistic: bool) -> float:
    whole = None
    for law, move in history:
        one = losses(law, move, pessimistic)
        whole = one if whole is None else whole.compose(one)
    return whole.get_epsilon_for_delta(float(DELTA))


def epsilon_by_mu(history: list[tuple[Law, int]]) -> float:
    spent = sum(BUDGET.loss(law, Fraction(move), one_signed=True) for law, move in history)
    return float(epsilon_for_mu(spent, DELTA, 10**4))


@pytest.mark.parametrize("seed", range(4))
def test_no_history_of_gaussian_noise_loses_more_and_hardly_less(seed: int) -> None:
    draw = np.random.default_rng(seed)
    history = [
        (Gaussian(Fraction(int(draw.integers(20, 400)), 4)), int(draw.integers(1, 4)))
        for _ in range(int(draw.integers(1, 7)))
    ]
    own = epsilon_by_mu(history)
    assert epsilon_by_losses(history, pessimistic=False) <= own
    assert own <= 1.02 * epsilon_by_losses(history, pessimistic=True)


@pytest.mark.parametrize("seed", range(4))
def test_no_history_of_both_kinds_of_noise_loses_more(seed: int) -> None:
    draw = np.random.default_rng(seed)
    history = [
        (
            Gaussian(Fraction(int(draw.integers(2, 100)), 4))
            if draw.random() < 0.5
            else Laplace(Fraction(int(draw.integers(4, 40)), 2)),
            int(draw.integers(1, 3)),
        )
        for _ in range(int(draw.integers(2, 7)))
    ]
    own = epsilon_by_mu(history)
    assert epsilon_by_losses(history, pessimistic=False) <= own
    assert own <= 2 * epsilon_by_losses(history, pessimistic=True)


@pytest.mark.parametrize("counts", [10, 100, 1000])
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-5"), ("1", "1e-9")])
def test_many_counts_have_hardly_more_noise_than_continuous_noise_would(counts: int, epsilon: str, delta: str) -> None:
    """Against the exact Gaussian mechanism, whose σ² is the number of counts over μ²."""
    whole = mu_squared_for(Fraction(epsilon), Fraction(delta))
    law = GaussianBudget(whole, "add-remove").noise_costing(whole / counts)
    assert isinstance(law, Gaussian)
    assert 1 <= float(law.sigma_squared * whole / counts) < 1.002
