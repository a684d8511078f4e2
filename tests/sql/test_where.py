"""WHERE against a real SQL engine: one row for each point of a small domain, and the rows that DuckDB selects.

DuckDB is the independent oracle for three-valued logic, precedence and exact bounds.
"""

import operator
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.sql.parse import parse

SOURCE = {"source": "made for the tests"}
DOMAIN = Domain(
    "t",
    (
        Integer(name="age", low=0, high=5, null=True, **SOURCE),
        Category(name="sex", values=("F", "M", "it's"), outside="other", null=True, **SOURCE),
        Bins(name="score", edges=(Fraction(0), Fraction(3, 2), Fraction(3), Fraction(10)), null=True, **SOURCE),
        Bins(name="debt", edges=(None, Fraction(-1), Fraction(2), None), **SOURCE),
        Integer(name="born", low=2000, high=2002, outside="other", **SOURCE),
    ),
)
# What a row with each code may hold; a code with several values is several rows.
VALUES: dict[str, list[list[object]]] = {
    "age": [*([age] for age in range(6)), [None]],
    "sex": [["F"], ["M"], ["it's"], ["X", "f"], [None]],
    "score": [["0", "1.49"], ["1.5", "2.99"], ["3", "9.99"], [None]],
    "debt": [["-1000", "-1.01"], ["-1", "1.99"], ["2", "1000"]],
    "born": [[2000], [2001], [2002], [1900, 2100]],
}
OTHER_BORN = 3


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    codes_of = "age_code INT, sex_code INT, score_code INT, debt_code INT, born_code INT"
    connection.execute(
        f"CREATE TABLE t ({codes_of}, age INT, sex TEXT, score DECIMAL(9, 2), debt DECIMAL(9, 2), born INT)"
    )
    rows = [
        (*codes, *values)
        for codes in product(*(range(len(column)) for column in VALUES.values()))
        # One of a code's values at a time in all columns: the first of each, then the last of each.
        for values in {
            tuple(VALUES[name][code][end] for name, code in zip(VALUES, codes, strict=True)) for end in (0, -1)
        }
    ]
    frame = pd.DataFrame(rows, dtype=object)
    connection.register("frame", frame)
    connection.execute("INSERT INTO t SELECT * FROM frame")
    yield connection
    connection.close()


def selected(engine: duckdb.DuckDBPyConnection, condition: str) -> tuple[set[tuple[int, ...]], set[tuple[int, ...]]]:
    """The points all of whose rows DuckDB selects, and those of which it selects some row."""
    counted = engine.execute(
        f"SELECT COLUMNS('.*_code'), COUNT(*) FILTER (WHERE {condition}), COUNT(*) FROM t GROUP BY ALL"
    ).fetchall()
    return (
        {tuple(row[:5]) for row in counted if row[5] == row[6]},
        {tuple(row[:5]) for row in counted if row[5]},
    )


def points(region: Region) -> set[tuple[int, ...]]:
    return {
        p for box in region.boxes for p in product(*(range(a, b + 1) for a, b in zip(box.low, box.high, strict=True)))
    }


def ordered_texts(column: str, signs: list[str], values: list[str]) -> st.SearchStrategy[str]:
    mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
    pair = st.tuples(st.sampled_from(signs), st.sampled_from(values))
    return st.one_of(
        pair.map(lambda one: f"{column} {one[0]} {one[1]}"),
        pair.map(lambda one: f"{one[1]} {mirrored[one[0]]} {column}"),
    )


def listed_texts(column: str, values: list[str]) -> st.SearchStrategy[str]:
    some = st.lists(st.sampled_from(values), min_size=1, max_size=3)
    return st.tuples(st.sampled_from(["IN", "NOT IN"]), some).map(
        lambda one: f"{column} {one[0]} ({', '.join(one[1])})"
    )


def between_texts(column: str, values: list[str]) -> st.SearchStrategy[str]:
    ends = st.tuples(st.sampled_from(["", "NOT "]), st.sampled_from(values), st.sampled_from(values))
    return ends.map(lambda one: f"{column} {one[0]}BETWEEN {one[1]} AND {one[2]}")


AGES = ["-1", "0", "1", "2.5", "3", "4", "5", "7"]
SEXES = ["'F'", "'M'", "'it''s'"]
SIGNS = ["<", "<=", ">", ">=", "=", "<>"]
comparisons = st.one_of(
    ordered_texts("age", SIGNS, AGES),
    listed_texts("age", AGES),
    between_texts("age", AGES),
    ordered_texts("sex", ["=", "<>"], SEXES),
    listed_texts("sex", SEXES),
    # Bins are compared exactly only at their edges, and from below.
    ordered_texts("score", ["<", ">="], ["0", "1.5", "3.00", "1e1"]),
    ordered_texts("debt", ["<", ">="], ["-1", "2"]),
    ordered_texts("born", SIGNS, ["2000", "2001", "2002"]),
    listed_texts("born", ["2000", "2002"]),
    st.sampled_from(["age IS NULL", "age IS NOT NULL", "sex IS NULL", "score IS NOT NULL", "TRUE", "FALSE"]),
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        inner.map(lambda one: f"NOT {one}"),
        inner.map(lambda one: f"NOT ({one})"),
        inner.map(lambda one: f"({one})"),
        # Without parentheses, so that precedence is tested too.
        st.lists(inner, min_size=2, max_size=4).flatmap(
            lambda parts: st.sampled_from([" AND ".join(parts), " OR ".join(parts)])
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=150)
@given(condition=conditions)
def test_a_where_holds_at_the_points_that_duckdb_selects(condition: str, engine: duckdb.DuckDBPyConnection) -> None:
    region = parse(f"SELECT COUNT(*) FROM t WHERE {condition}", DOMAIN).where
    every_row, some_row = selected(engine, condition)
    held = points(region)
    declared = {p for p in held if p[4] != OTHER_BORN}
    assert declared == {p for p in every_row if p[4] != OTHER_BORN} == {p for p in some_row if p[4] != OTHER_BORN}
    # A value outside the declared ones is taken only where the condition holds whatever it is.
    assert held - declared <= every_row


@settings(max_examples=100)
@given(condition=conditions)
def test_a_region_is_disjoint_and_canonical(condition: str) -> None:
    region = parse(f"SELECT COUNT(*) FROM t WHERE {condition}", DOMAIN).where
    assert len(points(region)) == region.volume
    assert region == Region.of(reversed(region.boxes))


@settings(max_examples=100)
@given(condition=conditions, filtered=conditions)
def test_a_filter_is_the_where_and_the_filter_together(condition: str, filtered: str) -> None:
    [column] = parse(f"SELECT COUNT(*) FILTER (WHERE {filtered}) FROM t WHERE {condition}", DOMAIN).aggregates
    both = parse(f"SELECT COUNT(*) FROM t WHERE ({condition}) AND ({filtered})", DOMAIN)
    assert column.query == both.aggregates[0].query


@pytest.mark.parametrize("column", ["score", "debt"])
@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
@settings(max_examples=50)
@given(bound=st.decimals(-3, 12, places=2))
def test_a_relaxed_bound_and_its_opposite_divide_the_known_rows(column: str, sign: str, bound: object) -> None:
    count = "SELECT COUNT(*) FROM t WHERE"
    held = parse(f"{count} {column} {sign} {bound}", DOMAIN).where
    opposite = parse(f"{count} NOT {column} {sign} {bound}", DOMAIN).where
    assert not held.intersect(opposite)
    assert held.union(opposite) == parse(f"{count} {column} IS NOT NULL", DOMAIN).where


@settings(max_examples=100)
@given(
    value=st.sampled_from(["0", "5", "10", "10.5", "15", "15.01", "19.99", "20", "20.01", "30"]),
    sign=st.sampled_from(["<", "<=", ">", ">=", "="]),
)
def test_no_comparison_with_clamped_bins_leaves_out_values_that_are_counted_at_their_end(value: str, sign: str) -> None:
    """A row with 25 is counted at 20, in the last bin: what is true of 20 is never said to be true of no row."""
    cost = Bins(name="cost", source="a test", edges=tuple(map(Fraction, (0, 10, 20))), outside="clamp")
    domain = Domain("t", (cost,))
    truly = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}
    holds = truly[sign](20, Fraction(value))
    sql = f"SELECT COUNT(*) FROM t WHERE cost {sign} {value}"
    if sign in (">", ">=") and holds and Fraction(value) > 15:
        with pytest.raises(UnsupportedQuery, match="cost >= 10; ask for that"):
            parse(sql, domain)
    else:
        assert (1,) in parse(sql, domain).where or not holds


@settings(max_examples=100)
@given(bounds=st.tuples(st.decimals(0, 9, places=2), st.decimals(0, 9, places=2)).map(sorted))
def test_a_range_within_the_bins_never_vanishes(bounds: list[object]) -> None:
    count = "SELECT COUNT(*) FROM t WHERE"
    low, high = bounds
    between = parse(f"{count} score BETWEEN {low} AND {high}", DOMAIN)
    assert between.where
    assert parse(f"{count} {high} >= score AND age = 1 AND score >= {low}", DOMAIN).where == between.where.intersect(
        parse(f"{count} age = 1", DOMAIN).where
    )
    outside = parse(f"{count} score < {low} OR score > {high}", DOMAIN).where
    assert outside == parse(f"{count} NOT score BETWEEN {low} AND {high}", DOMAIN).where
    assert not outside.intersect(between.where)
