"""Certified bounds, against mpmath at a far higher precision."""

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.noise.enclosure import Enclosure, enclose_exp

EXPONENTS = st.fractions(min_value=0, max_value=2000) | st.builds(
    Fraction, st.integers(1, 2**20), st.integers(1, 2**60)
)


def oracle(expression: str, exponent: Fraction, precision: int) -> Fraction:
    """A value of exp(-x), or of a function of it, as mpmath gives it with 200 bits to spare."""
    with mpmath.workprec(precision + 200):
        e = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)
        value = {"exp": e, "square": e * e, "logistic": e / (1 + e), "double logistic": 2 * e / (1 + e)}[expression]
        return Fraction(int(mpmath.floor(mpmath.ldexp(value, precision + 100))), 2**100)


@given(EXPONENTS, st.integers(8, 400))
def test_exp_lies_within_bounds_a_few_units_apart(exponent: Fraction, precision: int) -> None:
    bounds = enclose_exp(exponent, precision)
    assert bounds.precision == precision
    assert bounds.low <= oracle("exp", exponent, precision) <= bounds.high
    assert bounds.high - bounds.low <= 3


@given(EXPONENTS, st.integers(8, 400))
def test_squares_and_logistics_lie_within_their_bounds(exponent: Fraction, precision: int) -> None:
    bounds = enclose_exp(exponent, precision)
    cases = {
        "square": bounds.times(bounds),
        "logistic": bounds.logistic(),
        "double logistic": bounds.logistic().doubled(),
    }
    for expression, result in cases.items():
        assert result.low <= oracle(expression, exponent, precision) <= result.high
        assert result.high - result.low <= 8


@pytest.mark.parametrize(
    ("low", "high", "digits", "expected"),
    [
        (0b1011_0000, 0b1011_1111, 4, 0b1011),
        (0b1011_0000, 0b1100_0000, 4, None),  # a carry is still open
        (0b1011_0000, 0b1100_0000, 1, 0b1),
        (0, 1, 7, 0),
        (0, 1, 8, None),
    ],
)
def test_digits_are_given_only_when_both_bounds_agree(low: int, high: int, digits: int, expected: int | None) -> None:
    assert Enclosure(low, high, 8).digits(digits) == expected


def test_an_exponent_beyond_the_precision_costs_nothing_and_is_still_enclosed() -> None:
    assert enclose_exp(Fraction(10**400), 128) == Enclosure(0, 1, 128)
