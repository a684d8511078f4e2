"""μ² of discrete Gaussian noise, and of mechanisms with a bounded loss, against what their laws alone show."""

import math
from fractions import Fraction
from itertools import product
from statistics import NormalDist

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from discreet.ledger.gaussian_price import (
    PER_SQUARED_RANGE,
    exponential_price,
    gaussian_at_price,
    gaussian_price,
    pure_price,
)

NORMAL = NormalDist()
SIGMAS_SQUARED = ["1/20", "0.09", "1/5", "333/1000", "1/3", "2/5", "1/2", "3/4", "1", "2", "5", "30"]


def standard_scores(sigma_squared: Fraction) -> list[mpmath.mpf]:
    """z(k) with Pr[X ≥ k] = Φ(−z(k)), for k = 1 … 20σ and a little more."""
    s = mp.mpf(sigma_squared.numerator) / sigma_squared.denominator
    furthest = math.ceil(20 * math.sqrt(sigma_squared)) + 3
    weights = [mp.exp(-(mp.mpf(k) ** 2) / (2 * s)) for k in range(furthest + 40)]
    whole, tail, scores = weights[0] + 2 * mp.fsum(weights[1:]), mp.fsum(weights[furthest:]), []
    for k in range(furthest - 1, 0, -1):
        tail += weights[k]
        scores.append(_score(tail / whole))
    return scores[::-1]


def _score(tail: mpmath.mpf) -> mpmath.mpf:
    """z with Φ(−z) = tail, by Newton's method on the logarithm, which is concave."""
    z = mp.sqrt(-2 * mp.log(2 * tail))
    for _ in range(60):
        found = mp.erfc(z / mp.sqrt(2)) / 2
        step = mp.log(found / tail) * found / mp.npdf(z)
        z += step
        if abs(step) < mp.mpf(10) ** -30:
            return z
    raise AssertionError("it converges")


@pytest.mark.parametrize("sigma_squared", [*map(Fraction, SIGMAS_SQUARED)], ids=SIGMAS_SQUARED)
def test_the_price_is_above_what_every_threshold_shows_and_hardly_from_one_on(sigma_squared: Fraction) -> None:
    """The best tests of X against X + m are thresholds, by Neyman and Pearson: for whole k the pair of errors
    (Pr[X ≥ k], Pr[X + m < k]) lies on G_μ with μ = z(k) − z(k − m)."""
    with mp.workprec(200):
        upward = standard_scores(sigma_squared)
        scores = [-z for z in upward[::-1]] + upward  # z(1 − k) = −z(k)
        price = gaussian_price(sigma_squared)
        shown = {m: max(b - a for a, b in zip(scores, scores[m:], strict=False)) for m in (1, 2, 3, 7)}
        for m, mu in shown.items():
            assert mu**2 <= m**2 * mp.mpf(price.numerator) / price.denominator
        if sigma_squared >= 1:
            assert shown[1] ** 2 * price.denominator / price.numerator > 0.99


@pytest.mark.parametrize(("sigma", "factor"), [(1, 1.0493), (2, 1.0108), (10, 1.00042)])
def test_what_discrete_noise_costs_more_than_continuous_noise(sigma: int, factor: float) -> None:
    assert math.sqrt(gaussian_price(Fraction(sigma**2)) * sigma**2) == pytest.approx(factor, abs=5e-5)


@given(st.fractions(Fraction(1, 3), Fraction(2**100)))
def test_the_price_is_the_least_that_the_theorem_allows(sigma_squared: Fraction) -> None:
    price = gaussian_price(sigma_squared)
    assert price - price**2 / 12 >= 1 / sigma_squared
    less = price * (1 - Fraction(1, 2**200))
    assert less - less**2 / 12 < 1 / sigma_squared
    assert price <= 6


@given(st.fractions(Fraction(1, 10**9), Fraction(100)))
def test_noise_at_a_price_costs_it_exactly_but_where_no_noise_does(price: Fraction) -> None:
    cost = gaussian_price(gaussian_at_price(price).sigma_squared)
    assert cost == price if price <= 6 or price >= 12 else cost == 6


@given(st.lists(st.fractions(Fraction(1, 100), Fraction(50)), min_size=2, max_size=2))
def test_more_noise_never_costs_more(variances: list[Fraction]) -> None:
    low, high = sorted(variances)
    assert gaussian_price(low) >= gaussian_price(high)


@given(st.floats(-37, 37), st.floats(0.01, 40))
def test_no_truncated_normal_law_strays_further_than_an_even_one(start: float, length: float) -> None:
    """The lemma that the price rests on: Var ≤ length²/12 on every interval; here by a sum over many points."""
    points = [start + length * (step + 0.5) / 2000 for step in range(2000)]
    least = min(point * point for point in points)
    weights = [math.exp((least - point * point) / 2) for point in points]
    whole = math.fsum(weights)
    mean = math.fsum(map(math.prod, zip(weights, points, strict=True))) / whole
    variance = math.fsum(weight * (point - mean) ** 2 for weight, point in zip(weights, points, strict=True)) / whole
    assert variance <= length**2 / 12 * (1 + 1e-9)


EPSILONS = ["1/1000", "1/10", "1", "3", "10"]


@pytest.mark.parametrize("epsilon", [*map(Fraction, EPSILONS)], ids=EPSILONS)
def test_a_pure_loss_is_priced_above_randomised_response_and_hardly_where_it_is_small(epsilon: Fraction) -> None:
    """Every ε-private mechanism is a function of randomised response with ε, whose μ is 2·Φ⁻¹(e^ε/(1 + e^ε))."""
    with mp.workdps(50):
        e = mp.mpf(epsilon.numerator) / epsilon.denominator
        exact = 2 * _score(1 / (1 + mp.exp(e)))
        price = pure_price(epsilon)
        assert exact**2 <= mp.mpf(price.numerator) / price.denominator
        if epsilon <= Fraction(1, 10):
            assert exact**2 > mp.mpf(price.numerator) / price.denominator * mp.mpf("0.999")


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 6.0])
def test_no_test_of_an_exponential_mechanism_shows_more_than_its_price(epsilon: float) -> None:
    """All utilities of four candidates that a row moves by −1, 0 or 1, and all sets of candidates as tests."""
    price, most = float(exponential_price(Fraction(epsilon))), 0.0
    for before, move in product(product(range(3), repeat=3), product((-1, 0, 1), repeat=4)):
        utilities = (0, *before)
        one = [math.exp(epsilon * u / 2) for u in utilities]
        other = [math.exp(epsilon * (u + m) / 2) for u, m in zip(utilities, move, strict=True)]
        for chosen in product((False, True), repeat=4):
            if any(chosen) and not all(chosen):
                p, q = (
                    math.fsum(w for w, c in zip(ws, chosen, strict=True) if c) / math.fsum(ws) for ws in (one, other)
                )
                most = max(most, NORMAL.inv_cdf(p) - NORMAL.inv_cdf(q))
    assert most**2 <= price * (1 + 1e-9)
    assert most**2 > price * 0.6 or epsilon > 3


def test_the_price_of_a_range_is_above_an_eighth_of_pi_and_hardly() -> None:
    assert math.pi / 8 < PER_SQUARED_RANGE < math.pi / 8 * 1.0005
