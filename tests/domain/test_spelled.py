"""Labels are text: one way to look them up, whatever is handed over for one."""

from datetime import date
from fractions import Fraction

import numpy as np
import pytest

from discreet.cube.dimension import Dimension
from discreet.domain.conditions import region_where
from discreet.domain.read import parse_domain
from discreet.domain.spelled import spelled, whole
from discreet.errors import DomainError, UnsupportedQuery

DOMAIN = """
name = "people"
[attributes.insurance]
kind = "category"
values = ["1", "2", "true"]
null = true
source = "a test"
[attributes.age]
kind = "integer"
low = 0
high = 9
source = "a test"
"""


@pytest.mark.parametrize(
    ("value", "text"),
    [(1, "1"), ("1", "1"), (1.0, "1"), (np.int64(1), "1"), (np.float32(1), "1"), (np.str_("F"), "F"), (True, "true"),
     (np.bool_(False), "false"), (Fraction(1, 2), "0.5"), (0.5, "0.5"), (date(2026, 1, 31), "2026-01-31")],
)  # fmt: skip
def test_a_value_is_spelled_as_its_label(value, text):
    assert spelled(value) == text


def test_whole_numbers_are_told_from_other_texts():
    assert [whole(one) for one in ("18", 18, 18.0, np.int8(-3), "1.5", "x", None, "9" * 30)] == [
        18, 18, 18, -3, None, None, None, None,
    ]  # fmt: skip


@pytest.mark.parametrize("value", [1, "1", 1.0, np.int64(1)])
def test_a_number_finds_a_text_in_cubes_and_in_conditions(value):
    domain = parse_domain(DOMAIN)
    assert Dimension.of(domain["insurance"]).code(value) == 0
    assert region_where(domain, {"insurance": value}) == region_where(domain, {"insurance": "1"})


@pytest.mark.parametrize("value", [7, "7", 7.0, np.int64(7)])
def test_a_text_finds_a_number(value):
    domain = parse_domain(DOMAIN)
    assert Dimension.of(domain["age"]).code(value) == 7
    assert region_where(domain, {"age": value}) == region_where(domain, {"age": 7})
    assert region_where(domain, {"age": (str(value)[0], 9)}) == region_where(domain, {"age": (7, 9)})


def test_none_is_the_missing_value():
    assert Dimension.of(parse_domain(DOMAIN)["insurance"]).code(None) == 3


def test_what_there_is_not_is_refused_with_what_there_is():
    domain = parse_domain(DOMAIN)
    with pytest.raises(UnsupportedQuery, match=r"insurance has no value '3'; there are 1, 2, true"):
        Dimension.of(domain["insurance"]).code(3)
    with pytest.raises(DomainError, match="insurance has no value '3'"):
        region_where(domain, {"insurance": 3})
