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
from mpmath.ctx_iv import MPIntervalContext

from discreet.ledger import little_noise
from discreet.ledger.gaussian_price import (
    LITTLE,
    MOST_SMOOTH,
    PER_SQUARED_RANGE,
    SMOOTH,
    STEEP,
    exponential_price,
    gaussian_at_price,
    gaussian_price,
    pure_price,
)
from discreet.ledger.little_noise import SCORES, is_enough, little_noise_price
from discreet.ledger.normal_tail import density, quotient, tail
from discreet.ledger.spend import UNITS

NORMAL = NormalDist()
SIGMAS_SQUARED = [
    "1/200",
    "1/100",
    "1/20",
    "1/7",
    "1/5",
    "1/3",
    "2/5",
    "1/2",
    "13/25",
    "25/48",
    "3/4",
    "1",
    "2",
    "5",
    "30",
]


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
def test_the_price_is_above_what_every_threshold_shows_and_hardly(sigma_squared: Fraction) -> None:
    """The best tests of X against X + m are thresholds, by Neyman and Pearson: for whole k the pair of errors
    (Pr[X ≥ k], Pr[X + m < k]) lies on G_μ with μ = z(k) − z(k − m)."""
    with mp.workprec(200):
        upward = standard_scores(sigma_squared)
        scores = [-z for z in upward[::-1]] + upward  # z(1 − k) = −z(k)
        price = gaussian_price(sigma_squared)
        shown = {m: max(b - a for a, b in zip(scores, scores[m:], strict=False)) for m in (1, 2, 3, 7)}
        for m, mu in shown.items():
            assert mu**2 <= m**2 * mp.mpf(price.numerator) / price.denominator
        exactly = STEEP <= sigma_squared <= LITTLE
        tight = 1 - mp.mpf(10) ** -30 if exactly else mp.mpf("0.99") if sigma_squared >= 1 else mp.mpf("0.9")
        assert shown[1] ** 2 * price.denominator / price.numerator > tight


@pytest.mark.parametrize(("sigma", "factor"), [(1, 1.0493), (2, 1.0108), (10, 1.00042)])
def test_what_discrete_noise_costs_more_than_continuous_noise(sigma: int, factor: float) -> None:
    assert math.sqrt(gaussian_price(Fraction(sigma**2)) * sigma**2) == pytest.approx(factor, abs=5e-5)


@given(st.fractions(SMOOTH, Fraction(2**100)))
def test_the_price_is_the_least_that_the_theorem_allows(sigma_squared: Fraction) -> None:
    price = gaussian_price(sigma_squared)
    assert price - price**2 / 12 >= 1 / sigma_squared
    less = price * (1 - Fraction(1, 2**200))
    assert less - less**2 / 12 < 1 / sigma_squared
    assert price <= MOST_SMOOTH


@given(st.fractions(Fraction(1, 10**9), Fraction(600)))
def test_noise_at_a_price_costs_it_to_the_last_unit_but_where_no_noise_does(price: Fraction) -> None:
    cost = gaussian_price(gaussian_at_price(price).sigma_squared)
    if price <= MOST_SMOOTH or price >= 4 / STEEP * (1 + Fraction(1, 10**9)):
        assert cost == price
    elif gaussian_price(LITTLE) <= price <= gaussian_price(STEEP):
        assert 0 <= (price - cost) * UNITS < 1
    else:
        assert cost == (MOST_SMOOTH if price < 3 else gaussian_price(STEEP))


@given(st.lists(st.fractions(Fraction(1, 200), Fraction(2)), min_size=2, max_size=2))
def test_more_noise_never_costs_more(variances: list[Fraction]) -> None:
    low, high = sorted(variances)
    assert gaussian_price(low) >= gaussian_price(high)


@pytest.mark.parametrize("border", [STEEP, LITTLE, SMOOTH], ids=str)
def test_where_one_price_follows_another_more_noise_costs_no_more(border: Fraction) -> None:
    prices = [gaussian_price(border * Fraction(1000 + step, 1000)) for step in range(-30, 31)]
    assert prices == sorted(prices, reverse=True)


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


@pytest.mark.parametrize("sigma_squared", [STEEP, Fraction(1, 7), Fraction(1, 3), LITTLE], ids=str)
def test_the_price_of_little_noise_is_certified_and_the_next_below_it_is_not(sigma_squared: Fraction) -> None:
    score = exact_root(little_noise_price(sigma_squared)) / 2
    assert is_enough(score, sigma_squared)
    assert not is_enough(score - Fraction(1, SCORES), sigma_squared)


def test_a_score_that_is_solved_too_low_is_raised_until_it_is_certified(monkeypatch) -> None:
    third, score = Fraction(1, 3), little_noise._score
    price = little_noise_price(third)
    monkeypatch.setattr(little_noise, "_score", lambda mp, beyond: score(mp, beyond) - mp.mpf(5) / SCORES)
    assert little_noise_price.__wrapped__(third) == price


def test_a_variance_of_more_digits_than_the_arithmetic_has_is_priced_no_lower() -> None:
    """A hair below 1/7, by 2^-900, is less noise: never cheaper."""
    less = Fraction(1, 7) - Fraction(1, 2**900)
    assert little_noise_price(less) >= little_noise_price(Fraction(1, 7))
    score = exact_root(little_noise_price(less)) / 2
    assert is_enough(score, less)


def exact_root(square: Fraction) -> Fraction:
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    assert root**2 == square
    return root


class TestTheMiddleStep:
    """What Theorem 2′ of docs/explain/gaussian-privacy.md leaves to arithmetic."""

    def test_no_step_is_longer_than_the_middle_one_where_noise_is_little(self) -> None:
        """T(m₁)·d ≥ 1/σ² for 1/7 ≤ σ² ≤ 25/48, by intervals of 1/σ² that are halved until it is certain."""
        iv, open_ends = MPIntervalContext(), [(Fraction(48, 25), Fraction(7))]
        iv.prec, cells = 80, 0
        while open_ends:
            low, high = open_ends.pop()
            cells += 1
            assert cells < 5000
            if not _certain(iv, low, high):
                open_ends += [(low, (low + high) / 2), ((low + high) / 2, high)]

    def test_very_little_noise_has_scores_close_to_its_multiples(self) -> None:
        """The quotient of the proof for 1/σ² ≥ 7, which falls as j and 1/σ² grow, is below 1 where both are least."""
        b = math.sqrt(7)
        z = 2 / 3 * b
        assert math.sqrt(2 * math.pi) * (z + 1 / z) * math.exp(-5 / 18 * b * b) / (1 - math.exp(-b * b)) < 0.84

    @pytest.mark.parametrize(("half", "middle"), [(0.4, 0.3), (1.1, 0.2), (1.1, 4.0), (2.5, 1.0), (4.0, 9.0)])
    def test_a_truncated_law_strays_less_the_further_out_it_is(self, half: float, middle: float) -> None:
        assert _truncated_variance(middle + 0.1, half) < _truncated_variance(middle, half)


def _certain(iv: MPIntervalContext, low: Fraction, high: Fraction) -> bool:
    """Whether T(m₁)·d ≥ 1/σ² wherever 1/σ² is between the two. d grows with 1/σ²; T grows with m, and falls with d."""

    def score(rate: Fraction, up: int) -> Fraction:
        """A z below or above the one with Φ(−z) = Pr[X ≥ 1] at this 1/σ², certainly."""
        z = Fraction(NORMAL.inv_cdf(1 - float(above_0(rate).mid))) + Fraction(up, 10**9)
        found, wanted = tail(iv, quotient(iv, z)), above_0(rate)
        assert found.b <= wanted.a if up > 0 else found.a >= wanted.b
        return z

    def above_0(rate: Fraction):
        s = sum(iv.exp(-k * k * quotient(iv, rate) / 2) for k in range(1, 12)) + iv.mpf([0, 2**-80])
        return s / (1 + 2 * s)

    def inside(m: Fraction, half: Fraction):
        return tail(iv, quotient(iv, m - half)) - tail(iv, quotient(iv, m + half))

    least, most = score(low, -1), score(high, 1)
    likely = (1 - 2 * above_0(high)) * iv.exp(-quotient(iv, low) / 2)  # p₁, or more
    m = Fraction(_middle(float(likely.mid), float(least))) - Fraction(1, 10**9)
    assert inside(m, least).a >= likely.b
    mean = (density(iv, quotient(iv, m - most)) - density(iv, quotient(iv, m + most))) / inside(m, most)
    return bool(mean.a * 2 * quotient(iv, least).a >= quotient(iv, high).b)


def _middle(likely: float, half: float) -> float:
    """The middle of the interval within which N(0, 1) lies with this probability, about."""
    low, high = 0.0, 9.0
    while low < (low + high) / 2 < high:
        middle = (low + high) / 2
        found = NORMAL.cdf(half - middle) - NORMAL.cdf(-half - middle)
        low, high = (middle, high) if found >= likely else (low, middle)
    return low


def _truncated_variance(middle: float, half: float) -> float:
    points = [middle + half * (step + 0.5) / 1000 for step in range(-1000, 1000)]
    weights = [math.exp(-point * point / 2 + (middle - half) ** 2 / 2) for point in points]
    whole = math.fsum(weights)
    mean = math.fsum(map(math.prod, zip(weights, points, strict=True))) / whole
    return math.fsum(weight * (point - mean) ** 2 for weight, point in zip(weights, points, strict=True)) / whole


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


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 4), LITTLE])
def test_little_noise_is_what_its_own_price_buys(sigma_squared):
    assert gaussian_at_price(gaussian_price(sigma_squared)).sigma_squared == sigma_squared
