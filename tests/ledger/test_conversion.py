"""ρ and (ε, δ): the stated conversion, against dp-accounting and against the textbook's weaker one."""

import math
from fractions import Fraction

import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.ledger.conversion import epsilon_for, log_delta, rho_for

DELTAS = [Fraction(1, 10**power) for power in (3, 5, 9)]
ORDERS = [1 + step / 100 for step in range(1, 5000)]


@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("rho", [Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(2)], ids=str)
def test_the_conversion_agrees_with_dp_accounting(rho, delta):
    accountant = RdpAccountant(orders=ORDERS)
    accountant.compose(GaussianDpEvent(math.sqrt(1 / (2 * rho))))
    # It tries the given orders only, so it states the same or hardly more.
    assert accountant.get_epsilon(float(delta)) == pytest.approx(epsilon_for(rho, delta), rel=1e-3)


@settings(max_examples=30)
@given(st.fractions(Fraction(1, 100), Fraction(10)), st.sampled_from(DELTAS))
def test_it_is_never_weaker_than_bun_and_steinke_and_comes_back(epsilon, delta):
    rho = rho_for(epsilon, delta)
    assert epsilon_for(rho, delta) <= float(epsilon) * (1 + 1e-6)
    textbook = (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
    assert float(rho) >= textbook * (1 - 1e-6)


@given(st.floats(1e-4, 5), st.floats(0.01, 20), st.floats(1.001, 500))
def test_no_order_gives_a_smaller_delta_than_the_one_found(rho, epsilon, order):
    tried = (order - 1) * (order * rho - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)
    assert log_delta(rho, epsilon) <= tried + 1e-7 * abs(tried) + 1e-7
