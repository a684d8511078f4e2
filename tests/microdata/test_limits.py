"""Limits: what is written, what it means exactly, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidLimits
from discreet.microdata.demand import Demand
from discreet.microdata.limits import Limits, limits_from_json

VALUES = ("HIV", "flu", "cold")


@pytest.mark.parametrize(
    ("text", "slope", "offset", "written"),
    [
        ("min(1, 8*f + 0.02)", 8, "1/50", "min(1, 8*f + 0.02)"),
        ("min(8*f + 0.02, 1)", 8, "1/50", "min(1, 8*f + 0.02)"),
        ("0.02+f*8", 8, "1/50", "min(1, 8*f + 0.02)"),
        ("8*F", 8, 0, "min(1, 8*f)"),
        ("f", 1, 0, "min(1, 1*f)"),
        ("1/3*f + 1/7", "1/3", "1/7", "min(1, 1/3*f + 1/7)"),
        ("f + f + .1 + 0.1", 2, "1/5", "min(1, 2*f + 0.2)"),
        ("0.29", 0, "29/100", "0.29"),
        ("1", 0, 1, "1"),
    ],
)
def test_limits_are_read_exactly_and_written_so_that_they_read_the_same(text, slope, offset, written):
    limits = Limits.parse(text)
    assert (limits.slope, limits.offset) == (Fraction(slope), Fraction(offset))
    assert str(limits) == written
    assert Limits.parse(str(limits)) == limits


@pytest.mark.parametrize(
    "text",
    ["", "8f", "f*f", "min(2, f)", "-f", "8*f - 0.1", "max(1, f)", "f.real", "exit()", "8**f", "1e3", "0", "0*f"],
)
def test_anything_else_is_refused(text):
    with pytest.raises(InvalidLimits, match="a limit"):
        Limits.parse(text)


def test_a_value_may_have_its_own_limit():
    limits = Limits.parse("min(1, 2*f)", ["HIV=0.05", "flu = 1"])
    assert limits == Limits.linear(2).with_value("HIV", 0.05).with_value("flu", 1)
    assert limits.of(VALUES, (1, 50, 49)) == (Fraction(1, 20), Fraction(1), Fraction(98, 100))
    assert limits.with_value("HIV", "1/3").of(VALUES, (1, 50, 49))[0] == Fraction(1, 3)


def test_a_value_with_an_equals_sign_in_its_name_can_be_limited():
    assert Limits.parse("1", ["a=b=0.5"]).own == (("a=b", Fraction(1, 2)),)


@pytest.mark.parametrize("limits", [Limits.constant("1/3"), Limits.linear(8, 0.02).with_value("HIV", 0.02)])
def test_limits_survive_json(limits):
    assert limits_from_json(limits.to_json()) == limits


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Limits.linear(-1, 0.5), "does not fall"),
        (lambda: Limits.linear(2, -0.1), "does not fall"),
        (lambda: Limits.linear(0), "above 0"),
        (lambda: Limits.constant(float("nan")), "no finite number"),
        (lambda: Limits.constant("many"), "no finite number"),
        (lambda: Limits.constant("1/0"), "no finite number"),
        (lambda: Limits.constant(1).with_value("HIV", 0), "above 0 and at most 1"),
        (lambda: Limits.constant(1).with_value("HIV", 1.5), "above 0 and at most 1"),
        (lambda: Limits.parse("1", ["HIV"]), 'written "HIV=0.02"'),
        (lambda: Limits.constant(1).with_value("HVI", 0.1).of(VALUES, (1, 1, 1)), "did you mean HIV"),
        (lambda: Limits.constant(1).with_value("measles", 0.1).of(VALUES, (1, 1, 1)), "name a value"),
    ],
)
def test_limits_that_make_no_sense_are_refused(make, message):
    with pytest.raises(InvalidLimits, match=message):
        make()


# buckets, Lemma 1: f' ≥ f for every value, or nothing will do
def test_a_limit_below_the_frequency_is_refused_and_every_offender_named():
    limits = Limits.constant(0.3).with_value("HIV", 0.01)
    with pytest.raises(
        InvalidLimits, match=r"HIV \(limit 0\.01, frequency 2/100\), flu \(limit 0\.3, frequency 68/100\)"
    ):
        limits.of(VALUES, (2, 68, 30))


def test_a_limit_equal_to_the_frequency_is_enough():
    assert Limits.linear(1).of(VALUES, (2, 68, 30)) == (Fraction(2, 100), Fraction(68, 100), Fraction(30, 100))


def test_counts_of_numpy_do_not_overflow():
    counts = np.array([2**30, 2**30 + 1])
    assert Limits.linear("1.0000000001", "1e-12").of(VALUES[:2], counts) == Limits.linear("1.0000000001", "1e-12").of(
        VALUES[:2], counts.tolist()
    )


def test_insensitive_values_have_the_limit_1():
    assert Limits.constant(1).with_value("HIV", 0.02).of(VALUES, (2, 68, 30)) == (Fraction(1, 50), 1, 1)


# floor(0.29 * 100) is 28 in floating point
def test_caps_are_exact_floors():
    demand = Demand.of((29, 57, 14), (0.29, 0.57, 0.14))
    assert demand.caps(100)[100].tolist() == [29, 57, 14]
    assert 0.29 * 100 < 29


@given(
    st.lists(st.fractions(min_value="1/10", max_value=1, max_denominator=10**30), min_size=1, max_size=4),
    st.integers(1, 300),
)
def test_caps_are_the_floors_of_fractions_of_any_length(limits, size):
    demand = Demand(("x",) * len(limits), (1,) * len(limits), tuple(limits))
    assert demand.caps(size)[size].tolist() == [limit * size // 1 for limit in limits]


def test_the_smallest_size_overlooks_values_without_records():
    demand = Demand.of((0, 5, 5), Limits.linear("1.5"))
    assert demand.limits[0] == 0
    assert demand.smallest_size == 2  # ⌈1/0.75⌉
