"""Between μ and (ε, δ): against dp-accounting, against the normal law integrated, and certified."""

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import cycle, islice

import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import iv, mp

from discreet.ledger import gaussian_conversion, normal_tail
from discreet.ledger.conversion import rho_for
from discreet.ledger.gaussian_conversion import epsilon_for_mu, mu_keeps, mu_squared_for
from discreet.ledger.normal_tail import quotient

PROMISES = [("1", "1e-5"), ("1", "1e-9"), ("0.1", "1e-5"), ("3", "1e-5"), ("8", "1e-5"), ("1/100", "1e-12")]


def lost(mu_squared: Fraction, epsilon: Fraction) -> mp.mpf:
    """δ as the integral of what N(μ, 1) has above e^ε times N(0, 1)."""
    mu, e = (
        mp.sqrt(mp.mpf(mu_squared.numerator) / mu_squared.denominator),
        mp.mpf(epsilon.numerator) / epsilon.denominator,
    )
    start = e / mu + mu / 2
    return mp.quad(lambda x: mp.npdf(x - mu) - mp.exp(e) * mp.npdf(x), [start, start + 2, start + 6, start + 30])


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES)
def test_the_solved_mu_keeps_the_promise_and_a_little_more_would_not(epsilon: str, delta: str) -> None:
    e, d = Fraction(epsilon), Fraction(delta)
    solved = mu_squared_for(e, d)
    with mp.workdps(40):
        assert lost(solved, e) <= mp.mpf(d.numerator) / d.denominator
        assert lost(solved + Fraction(2, 10**12), e) > mp.mpf(d.numerator) / d.denominator


@pytest.mark.parametrize(
    ("epsilon", "delta", "ratio"),
    [
        ("0.1", "1e-5", 1.221),
        ("1", "1e-5", 1.176),
        ("1", "1e-6", 1.150),
        ("1", "1e-9", 1.106),
        ("3", "1e-5", 1.153),
        ("8", "1e-5", 1.129),
    ],
)
def test_the_variance_that_zcdp_needs_more(epsilon: str, delta: str, ratio: float) -> None:
    mu_squared = mu_squared_for(Fraction(epsilon), Fraction(delta))
    assert float(mu_squared / (2 * rho_for(Fraction(epsilon), Fraction(delta)))) == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize(("epsilon", "delta"), PROMISES[:5])
def test_dp_accounting_finds_the_same_epsilon_of_a_gaussian_mechanism(epsilon: str, delta: str) -> None:
    mu = math.sqrt(mu_squared_for(Fraction(epsilon), Fraction(delta)))
    accountant = PLDAccountant().compose(GaussianDpEvent(1 / mu))
    assert accountant.get_epsilon(float(Fraction(delta))) == pytest.approx(float(Fraction(epsilon)), rel=2e-3)


@settings(max_examples=20)
@given(st.fractions(Fraction(1, 1000), Fraction(200)), st.integers(1, 60))
def test_epsilon_and_mu_are_each_others_inverse_up_to_rounding(epsilon: Fraction, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    mu_squared = mu_squared_for(epsilon, delta)
    assert mu_squared > 0
    assert mu_keeps(mu_squared, epsilon, delta)
    found = epsilon_for_mu(mu_squared, delta, 10**4)
    assert found <= math.ceil(epsilon * 10**4) * Fraction(1, 10**4)
    assert mu_keeps(mu_squared, found, delta)


@settings(max_examples=30)
@given(st.fractions(Fraction(-30), Fraction(60)))
def test_enclosures_of_the_normal_law_hold_what_mpmath_finds(z: Fraction) -> None:
    bits, iv.prec = iv.prec, 3000
    try:
        point = iv.mpf(z.numerator) / z.denominator
        with mp.workprec(200):
            exact = mp.erfc(mp.mpf(z.numerator) / z.denominator / mp.sqrt(2)) / 2
            tail = normal_tail.tail(iv, point)
            assert abs(mp.mpf(tail.mid) / exact - 1) < mp.mpf(10) ** -50
            if z > 0:
                mills = mp.mpf(gaussian_conversion._mills_from_below(iv, point).a)
                found = exact / mp.npdf(mp.mpf(z.numerator) / z.denominator)
                assert found * (1 - mp.mpf(10) ** -11) <= mills <= found * (1 + mp.mpf(10) ** -50)
    finally:
        iv.prec = bits


@pytest.mark.parametrize(
    ("mu_squared", "epsilon", "delta", "kept"),
    [
        ("1/10000", "100", "1e-300", True),  # far below: by the crude bound of the tail
        ("1000000", "1", "1/2", False),
        ("18701", "10000", "1e-6", True),
        ("18702", "10000", "1e-6", False),
    ],
)
def test_extreme_promises_are_decided_too(mu_squared: str, epsilon: str, delta: str, kept: bool) -> None:
    assert mu_keeps(Fraction(mu_squared), Fraction(epsilon), Fraction(delta)) == kept


LONG = st.builds(Fraction, st.integers(1, 10**80), st.integers(1, 10**80))


@given(LONG, LONG, st.builds(lambda share: share / (share + 1), LONG))
@settings(max_examples=30)
def test_numbers_of_any_length_lie_in_their_intervals(mu_squared: Fraction, epsilon: Fraction, delta: Fraction) -> None:
    mu_keeps(mu_squared, epsilon, delta)
    _, own = gaussian_conversion._contexts()
    for number in (mu_squared, epsilon, delta):
        found = quotient(own, number)
        low, high = (Fraction((-1) ** sign * man) * Fraction(2) ** power for sign, man, power, _ in found._mpi_)
        assert low <= number <= high


def test_threads_that_solve_at_once_find_what_one_finds_alone() -> None:
    asked = [(Fraction(epsilon), Fraction(delta)) for epsilon, delta in PROMISES]
    solve, state = mu_squared_for.__wrapped__, epsilon_for_mu.__wrapped__
    alone = [(mu := solve(*one), state(mu * 3 / 2, one[1], 10**4)) for one in asked]
    before, switch = (mp.prec, iv.prec), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            found = threads.map(lambda one: (mu := solve(*one), state(mu * 3 / 2, one[1], 10**4)), asked * 4)
            assert list(found) == list(islice(cycle(alone), 4 * len(alone)))
    finally:
        sys.setswitchinterval(switch)
    assert (mp.prec, iv.prec) == before  # the process's own precision is nobody's to change
