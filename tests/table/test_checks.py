"""What CHECK constraints declare, in the words of three databases."""

import datetime as dt
from decimal import Decimal

import pytest

from discreet.table.checks import limits_in, limits_in_table
from discreet.table.declared import Allowed, RangeEnd


def between(low, high, low_in=True, high_in=True):
    return Allowed(None, RangeEnd(Decimal(low), low_in), RangeEnd(Decimal(high), high_in))


@pytest.mark.parametrize(
    ("condition", "dialect", "declared"),
    [
        ("((age >= 0) AND (age <= 120))", "postgres", {"age": between(0, 120)}),
        ("age BETWEEN 0 AND 120", "duckdb", {"age": between(0, 120)}),
        ("(0 <= age) AND (121 > age)", "sqlite", {"age": between(0, 121, high_in=False)}),
        (
            "((age IS NULL) OR ((age > '-1'::integer) AND (age < 12)))",
            "postgres",
            {"age": between(-1, 12, False, False)},
        ),
        ("age >= -5 AND age <= 5 AND age >= 0 AND age < 5", "duckdb", {"age": between(0, 5, high_in=False)}),
        ('x >= 0.5 AND "X" <= 1.5', "duckdb", {"x": between("0.5", "1.5")}),
        ("sex IN ('F', 'M', 'F')", "sqlite", {"sex": Allowed(("F", "M"))}),
        ("(sex = ANY (ARRAY['F'::text, 'M'::text]))", "postgres", {"sex": Allowed(("F", "M"))}),
        (
            "((sex)::text = ANY ((ARRAY['F'::character varying, 'M'::character varying])::text[]))",
            "postgres",
            {"sex": Allowed(("F", "M"))},
        ),
        ("sex = 'F' OR sex = 'M' OR sex IS NULL", "duckdb", {"sex": Allowed(("F", "M"))}),
        ("a IN (1, 2, 3) AND a IN (3, 2)", "duckdb", {"a": Allowed(("2", "3"))}),
        ("(born >= '1900-01-01'::date)", "postgres", {"born": Allowed(low=RangeEnd(dt.date(1900, 1, 1)))}),
        (
            "a >= 1 AND b IN (true, false)",
            "duckdb",
            {"a": Allowed(low=RangeEnd(Decimal(1))), "b": Allowed(("true", "false"))},
        ),
        # What says nothing of one column by itself, or is not understood, declares nothing.
        ("a < b", "duckdb", {}),
        ("a = 1 OR b = 2", "duckdb", {}),
        ("a = 1 OR a > 5", "duckdb", {}),
        ("NOT (a > 5)", "duckdb", {}),
        ("length(name) < 10", "duckdb", {}),
        ("a IN (1, b)", "duckdb", {}),
        ("a <> 5", "duckdb", {}),
        ("a > 'x'", "duckdb", {}),
        ("a <= 'Infinity'::numeric", "postgres", {}),
        ("a >= (", "duckdb", {}),
    ],
)
def test_a_check_declares_lists_and_ranges_and_else_nothing(condition, dialect, declared):
    assert limits_in(condition, dialect) == declared


def test_the_checks_of_a_table_hold_together():
    made = "CREATE TABLE p (age INT CHECK (age >= 0), sex TEXT CHECK (sex IN ('F', 'M')), CHECK (age < 120))"
    assert limits_in_table(made, "sqlite") == {"age": between(0, 120, high_in=False), "sex": Allowed(("F", "M"))}
    assert limits_in_table("CREATE nonsense (", "sqlite") == {}


def test_ends_of_two_kinds_are_not_compared():
    by_day = Allowed(low=RangeEnd(dt.date(2020, 1, 1)))
    assert by_day.within(Allowed(low=RangeEnd(Decimal(5)))) == by_day
