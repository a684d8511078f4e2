"""Periods by their names, and groups of every depth, against counts that Python makes."""

from datetime import date, timedelta

import pytest

from discreet.domain.attribute import Category
from discreet.domain.date import Date, days_named
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.sql.parse import parse

YEAR = {"source": "s", "low": date(2024, 1, 1), "high": date(2024, 12, 31)}
TREE = (("A", ("a",)), ("B", ("b", ("C", ("c", "d")))), "e")
DOMAIN = Domain(
    "t",
    (
        Date(name="m", period="month", **YEAR),
        Category(name="c", source="s", values=("a", "b", "c", "d", "e"), hierarchy=TREE, null=True),
    ),
)


def codes_where(condition, axis):
    """The codes along an axis for which a condition holds."""
    region = parse(f"SELECT COUNT(*) FROM t WHERE {condition}", DOMAIN).where
    return sorted(code for box in region.boxes for code in range(box.low[axis], box.high[axis] + 1))


MONTHS = {
    "m = '2024-02'": [1],
    "m = '2024-Q2'": [3, 4, 5],
    "m <> '2024-Q2'": [0, 1, 2, *range(6, 12)],
    "m IN ('2024-Q1', '2024-12', DATE '2024-11-01')": [0, 1, 2, 10, 11],
    "m < '2024-02'": [0],
    "m <= '2024-02'": [0, 1],
    "m > '2024-02'": list(range(2, 12)),
    "NOT m > '2024-02'": [0, 1],
    "'2024-Q1' < m": list(range(3, 12)),
    "m >= '2024-Q4'": [9, 10, 11],
    "m BETWEEN '2024-02' AND '2024-Q2'": [1, 2, 3, 4, 5],
    "m NOT BETWEEN '2024-02' AND '2024-Q2'": [0, *range(6, 12)],
    "m >= '2024-02' AND m < '2024-04'": [1, 2],
    "m <= '2024'": list(range(12)),
}


@pytest.mark.parametrize("condition", MONTHS)
def test_a_period_is_compared_by_its_name(condition):
    assert codes_where(condition, 0) == MONTHS[condition]


def test_names_of_periods_are_their_days():
    day = date(1970, 1, 1)
    for name, first, last in (
        ("2024", date(2024, 1, 1), date(2024, 12, 31)),
        ("2024-Q4", date(2024, 10, 1), date(2024, 12, 31)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
        ("2020-W53", date(2020, 12, 28), date(2021, 1, 3)),
    ):
        assert [day + timedelta(days=one) for one in days_named(name)] == [first, last]
    for name in ("2024-13", "2024-00", "2024-W54", "2021-W53", "2024-Q5", "0000", "24", "2024-1", "2024-02-01", "²024"):
        assert days_named(name) is None, name
    with pytest.raises(UnsupportedQuery, match="compare it with '2024-01-01' say, not with '2024-13'"):
        codes_where("m < '2024-13'", 0)


GROUPS = {
    "c_group1 = 'B'": [1, 2, 3],
    "c_group2 = 'C'": [2, 3],
    "c_group2 = 'B'": [1],
    "c_group = 'C'": [2, 3],
    "c_group IS NULL": [4, 5],
    "c_group1 IN ('A', 'B')": [0, 1, 2, 3],
}


@pytest.mark.parametrize("condition", GROUPS)
def test_groups_of_every_depth_are_columns(condition):
    assert codes_where(condition, 1) == GROUPS[condition]


def test_a_group_that_is_asked_for_as_a_value_is_named_with_its_column():
    for group, column in (("B", "c_group1"), ("C", "c_group2")):
        with pytest.raises(
            UnsupportedQuery, match=f"'{group}' is a group of c and no value; ask for {column} = '{group}'"
        ):
            codes_where(f"c = '{group}'", 1)
