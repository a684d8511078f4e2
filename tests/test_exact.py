"""Exact numbers: as people and files write them, and read back."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.exact import count_text, number_text, parse_exact


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(25000), "25000"),
        (Fraction(0), "0"),
        (Fraction(-3), "-3"),
        (Fraction(1, 2), "0.5"),
        (Fraction(-1, 2), "-0.5"),
        (Fraction(-1, 100), "-0.01"),
        (Fraction(1, 8), "0.125"),
        (Fraction(12345, 100), "123.45"),
        (Fraction(1, 3), "1/3"),
        (Fraction(-7, 30), "-7/30"),
        (Fraction(1, 10**12), "0.000000000001"),
    ],
)
def test_numbers_are_written_as_people_write_them(value: Fraction, text: str) -> None:
    assert number_text(value) == text


@given(st.fractions())
def test_a_written_number_reads_back_exactly(value: Fraction) -> None:
    assert Fraction(number_text(value)) == value
    if abs(value) < 10**50:
        assert parse_exact(number_text(value)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=9))
def test_a_decimal_is_written_without_a_fraction_bar(value: Decimal) -> None:
    assert "/" not in number_text(Fraction(value))


@pytest.mark.parametrize(
    "text",
    ["", "x", "1/0", "nan", "inf", "-Infinity", "1e999999999", "-1e-999999999", "1e30918446744073709551616", "1/2/3"],
)
def test_what_is_no_finite_number_of_a_size_that_is_meant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no number"):
        parse_exact(text)


def test_a_number_of_points_is_read_or_only_its_size() -> None:
    shown = [count_text(count) for count in (0, 316_800, 10**15 - 1, 10**15, 5**198, 10**5000)]
    assert shown == ["0", "316,800", "999,999,999,999,999", "about 10^15", "about 10^138", "about 10^5000"]
