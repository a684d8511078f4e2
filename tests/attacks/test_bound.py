"""What a guarantee implies for a guess: against the exact distance between neighbouring answers."""

from fractions import Fraction
from math import exp, pi, sqrt, tanh

import numpy as np
import pytest

from discreet.attacks.bound import advantage_bound, gaussian_advantage
from discreet.attacks.guesses import Guesses
from discreet.ledger.guarantee import GDP, ZCDP, ApproxDP, DeltaT, PureDP

EPSILONS = ("1/10", "1", "3")
TAIL = np.arange(-4000, 4001)


def laplace_masses(scale: float) -> np.ndarray:
    masses = np.exp(-np.abs(TAIL) / scale)
    return masses / masses.sum()


def distance(masses: np.ndarray, moved: int) -> float:
    """The total variation distance between a law and itself, moved."""
    return float(np.abs(masses - np.roll(masses, moved)).sum() / 2)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_count_with_all_of_epsilon_is_as_far_from_its_neighbour_as_the_bound_says(epsilon):
    bound = advantage_bound(PureDP(Fraction(epsilon), "add-remove"))
    rate = float(Fraction(epsilon))
    assert bound == pytest.approx((exp(rate) - 1) / (exp(rate) + 1))
    assert bound == pytest.approx(distance(laplace_masses(1 / rate), 1), rel=1e-9)


@pytest.mark.parametrize("rows", [2, 5])
def test_people_with_several_rows_are_no_worse_off(rows):
    bound = advantage_bound(PureDP(Fraction(1), "add-remove", rows))
    assert distance(laplace_masses(rows), rows) <= bound + 1e-12


@pytest.mark.parametrize("rho", [0.001, 0.05, 0.5, 2.0, 8.0])
def test_no_gaussian_answer_of_rho_passes_the_bound(rho):
    masses = np.exp(-(TAIL**2) * rho)  # σ² = 1/(2ρ)
    bound = advantage_bound(ZCDP(Fraction(str(rho)), "add-remove"))
    discrete = distance(masses / masses.sum(), 1)
    assert discrete <= bound <= 1
    if rho < 0.1:
        assert gaussian_advantage(rho) == pytest.approx(discrete, rel=0.01)
        assert gaussian_advantage(rho) == pytest.approx(bound * sqrt(2 / pi), rel=0.03)


def test_a_delta_is_added_and_the_better_of_two_bounds_is_taken():
    sulq = DeltaT(100, Fraction(1), Fraction(1, 10**6), Fraction(1, 10), 10_000, 4)
    assert advantage_bound(sulq) == pytest.approx(tanh(1 / 2) + 2 * 0.1 / (exp(1) + 1))
    loose = ApproxDP(Fraction(1), Fraction(1, 10**6), Fraction(1, 50), "replace")
    assert advantage_bound(loose) == advantage_bound(ZCDP(Fraction(1, 50), "replace")) == pytest.approx(0.1)
    assert advantage_bound(GDP(Fraction(1), "replace")) == pytest.approx(0.3829, abs=1e-4)  # Pr[|N(0, 1)| < 1/2]
    tight = ApproxDP(Fraction(1, 10), Fraction(1, 10**6), Fraction(1), "replace")
    assert advantage_bound(tight) == pytest.approx(tanh(0.05) + 2e-6 / (exp(0.1) + 1))


def test_a_bound_is_never_above_one():
    assert advantage_bound(PureDP(Fraction(5000), "replace")) == 1
    assert advantage_bound(ZCDP(Fraction(5000), "replace")) == 1


def test_an_interval_of_an_advantage_is_that_of_the_share_that_is_right():
    # scipy.stats.binomtest(60, 100).proportion_ci(0.95, "exact"): 0.4972, 0.6967
    low, high = Guesses(60, 100).interval(0.95)
    assert (low, high) == (pytest.approx(2 * 0.49721 - 1, abs=1e-4), pytest.approx(2 * 0.69671 - 1, abs=1e-4))
    assert Guesses(60, 100).advantage == pytest.approx(0.2)
    assert Guesses(100, 100).interval(0.95)[1] == 1
    assert Guesses(0, 100).interval(0.95)[0] == -1
