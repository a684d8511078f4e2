"""Sums of any expression are those of the same expression over rows, whatever kinds of columns are in it.

Expressions are made up, read, and evaluated exactly, without noise, on coded rows; DuckDB evaluates the same text over
the rows decoded. A refusal in words is right as well; a number that differs is not.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import isnan, nan
from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.query.query import Combination, Count, Mean, Sum, grain_of, grain_of_sum
from discreet.query.sensitivity import largest_in_sum
from discreet.sql.parse import parse
from discreet.sql.scope import Scope
from discreet.sql.split import read
from discreet.sql.statistics import as_sums
from discreet.table.count import CodedRows, count
from tests.questions.truth import decoded


def _edges(*numbers: int) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, numbers))


DOMAIN = Domain(
    "t",
    (
        Integer(name="age", source="a test", low=0, high=20, null=True),
        Integer(name="beds", source="a test", low=-3, high=9, outside="other"),
        Integer(name="score", source="a test", low=-5, high=5, outside="clamp", null=True),
        Category(name="sex", source="a test", values=("f", "m")),
        Category(name="city", source="a test", values=("a", "b"), outside="other", null=True),
        Bins(name="income", source="a test", edges=_edges(0, 10, 50, 100), grain=Fraction(1, 100), null=True),
        Bins(name="rate", source="a test", edges=_edges(-2, 0, 2), grain=Fraction(1, 10**4)),
        Bins(name="debt", source="a test", edges=_edges(-100, 0, 50), grain=Fraction(5), outside="other", null=True),
        Bins(name="cost", source="a test", edges=_edges(0, 20, 30), grain=Fraction(1, 10), outside="clamp"),
    ),
)
SIZE = 400
ROUNDED = 1e-6
"""How far a row's amount may be from its own where a note says that it was rounded, as a share of the largest."""
CLOSE = 1e-10
"""… and where none does: what doubles lose."""


@cache
def rows() -> CodedRows:
    """Rows with every code of every column, and grains anywhere in their bins."""
    draw = Random(5)
    codes, units = {}, {}
    for attribute in DOMAIN.attributes:
        own = [draw.randrange(attribute.size) for _ in range(SIZE)]
        codes[attribute.name] = np.array(own)
        if isinstance(attribute, Bins):
            ends = [round(edge / grain_of(attribute)) for edge in attribute.edges if edge is not None]
            inside = [draw.randrange(*ends[code : code + 2]) if code < attribute.cells else 0 for code in own]
            units[attribute.name] = np.array(inside)
    return CodedRows(DOMAIN, SIZE, codes.__getitem__, units.__getitem__)


@cache
def truth() -> duckdb.DuckDBPyConnection:
    columns: dict[str, Any] = {}
    for attribute in DOMAIN.attributes:
        columns |= decoded(attribute, rows())
    engine = duckdb.connect()
    engine.register("rows_of_it", pa.table(columns))
    engine.execute("CREATE TABLE t AS FROM rows_of_it")
    return engine


def exactly(query: Any) -> float:
    """The answer without noise, in the unit of the question."""
    match query:
        case Count():
            return float(count([query], rows())[0])
        case Sum():
            return float(int(count([query], rows())[0]) * grain_of_sum(query.of, DOMAIN))
        case Combination(terms=terms):
            return sum(times * exactly(term) for times, term in terms)
        case Mean():
            people = exactly(Count(query.where))
            return exactly(Sum(query.of, query.where)) / people if people else nan
    raise AssertionError(query)


def number(call: str, where: str) -> tuple[float, tuple[str, ...], float]:
    """An aggregate by our own reading, its notes, and the most that a row adds to it."""
    question = parse(f"SELECT {call} AS x FROM t WHERE {where}", DOMAIN)
    [column] = question.aggregates
    most = largest_in_sum(column.query.of, DOMAIN) if isinstance(column.query, Sum | Mean) else 1
    return exactly(column.query), question.notes, float(most)


def over_rows(what: str, where: str) -> Any:
    """The same by DuckDB, where what is divided by 0 is NULL. What no number can hold is for nobody to say."""
    tree = parse_one(f"SELECT {what} FROM t WHERE {where}", dialect="duckdb")
    for division in tree.find_all(exp.Div):
        division.set("expression", exp.Nullif(this=division.expression, expression=exp.Literal.number(0)))
    try:
        [found] = truth().sql(tree.sql("duckdb")).fetchall()
    except (duckdb.OutOfRangeException, duckdb.ConversionException):
        assume(False)
    return [nan if value is None else float(value) for value in found]


def check(text: str, where: str = "TRUE") -> str:
    """SUM, AVG and COUNT of an expression are right, or refused: in the words that are returned."""
    finite = f"FILTER (WHERE isfinite(({text})::DOUBLE))"
    total, mean, people, size = over_rows(
        f"SUM({text}) {finite}, AVG({text}) {finite}, COUNT({text}) {finite}, MAX(ABS({text})) {finite}", where
    )
    words = ""
    try:
        found, notes, most = number(f"SUM({text})", where)
        off = ROUNDED * most if any("rounded" in note for note in notes) else CLOSE * max(most, np.nan_to_num(size))
        assert found == pytest.approx(np.nan_to_num(total), rel=CLOSE, abs=off * max(people, 1))
        found, _, _ = number(f"AVG({text})", where)
        assert (isnan(found) and isnan(mean)) or found == pytest.approx(mean, rel=CLOSE, abs=off)
    except UnsupportedQuery as refusal:
        words = str(refusal)
    try:
        found, _, _ = number(f"COUNT({text} + 0)", where)  # a column alone counts values outside the declared ones too
    except UnsupportedQuery as refusal:
        return words or str(refusal)
    assert found == people
    return words


def check_statistic(call: str, where: str = "TRUE") -> str:
    """A statistic made of sums is DuckDB's own, or refused: in the words that are returned."""
    [expected] = over_rows(call, where)
    made = as_sums(parse_one(call, dialect="duckdb"), Scope.over(DOMAIN))
    assert made is not None
    off = 1e-6
    try:
        for part in list(made.find_all(exp.Sum, exp.Count)):
            whole = part.parent if isinstance(part.parent, exp.Filter) else part
            found, notes, most = number(whole.sql("duckdb"), where)
            off = max(off, 4 * ROUNDED * most) if any("rounded" in note for note in notes) else off
            whole.replace(parse_one(f"CAST({found!r} AS DOUBLE)", dialect="duckdb"))
    except UnsupportedQuery as refusal:
        return str(refusal)
    [found] = over_rows(made.sql("duckdb"), "TRUE LIMIT 1")
    off = off**0.5 if call.startswith("STDDEV") else off  # off is what the variance may be
    assert (isnan(found) and isnan(expected)) or found == pytest.approx(expected, rel=1e-6, abs=off)
    return ""


CODED = ("age", "beds", "score")
BINNED = ("income", "rate", "debt", "cost")
LITERALS = ("0", "1", "2", "-3", "7", "12", "0.5", "-0.25", "1.1", "1e-9", "100000")
CONDITIONS = (
    "age > 5",
    "age IS NULL",
    "beds < 3",
    "NOT beds < 3",
    "score <= -5",
    "score <> 5",
    "score IS NOT NULL",
    "sex = 'm'",
    "city = 'a'",
    "city <> 'a'",
    "city IS NULL",
    "income >= 50",
    "NOT income < 10",
    "income IS NULL",
    "rate < 0",
    "debt >= 0",
    "cost < 20",
)


DEPTH = 3


@st.composite
def expressions(draw: st.DrawFn, bins: bool, depth: int = DEPTH) -> str:
    """A number made of columns by what SQL has for them; with `bins`, mostly by what is read of those."""

    def inner() -> str:
        return draw(expressions(bins, depth - 1))

    def coded() -> str:
        return draw(expressions(False, depth - 1))

    def condition() -> str:
        return draw(conditions(depth - 1))

    columns = (*CODED, *BINNED) if bins else CODED
    if depth == 0 or not draw(st.integers(0, 3)):
        return draw(st.sampled_from(columns) if draw(st.booleans()) else st.sampled_from((*columns, *LITERALS)))
    made: list[Callable[[], str]] = [
        lambda: f"({inner()} {draw(st.sampled_from('+-*'))} {inner()})",
        lambda: f"({inner()} {draw(st.sampled_from('+-*'))} {inner()})",
        lambda: f"({inner()} / {coded()})",
        lambda: f"CASE WHEN {condition()} THEN {inner()} ELSE {inner()} END",
        lambda: f"CASE WHEN {condition()} THEN {inner()} WHEN {condition()} THEN {inner()} END",
        lambda: f"CASE {coded()} WHEN {coded()} THEN {inner()} ELSE {inner()} END",
        lambda: f"POWER({inner()}, {draw(st.sampled_from('23'))})",
        lambda: f"(-({inner()}))",
        lambda: f"COALESCE({coded()}, {coded()})",
        lambda: f"NULLIF({coded()}, {coded()})",
        lambda: f"ABS({coded()})",
    ]
    return draw(st.sampled_from(made))()


@st.composite
def conditions(draw: st.DrawFn, depth: int = DEPTH) -> str:
    if depth > 0 and draw(st.booleans()):
        sign = draw(st.sampled_from(("AND", "OR", "AND NOT")))
        return f"(({draw(conditions(depth - 1))}) {sign} ({draw(conditions(depth - 1))}))"
    if depth > 0 and draw(st.booleans()):
        # Not a column and a value alone: of values outside the declared ones, = and <> say more than SQL does.
        sides = [f"({draw(expressions(False, depth - 1))} + 0)" for _ in range(2)]
        return f" {draw(st.sampled_from(('<', '<=', '>', '>=', '=', '<>')))} ".join(sides)
    return draw(st.sampled_from(CONDITIONS))


WHERE = st.just("TRUE") | st.sampled_from(CONDITIONS)


def tell(words: str) -> None:
    event(f"refused: {words[:40]}" if words else "answered")


@given(text=expressions(bins=False), where=WHERE)
def test_a_sum_of_any_expression_is_that_of_the_same_over_rows(text: str, where: str) -> None:
    tell(check(text, where))


@given(text=expressions(bins=True), where=WHERE)
def test_a_sum_of_any_polynomial_of_bins_is_that_of_the_same_over_rows(text: str, where: str) -> None:
    tell(check(text, where))


@given(
    name=st.sampled_from(("VAR_POP", "VAR_SAMP", "STDDEV_POP", "STDDEV")),
    text=st.sampled_from((*CODED, *BINNED)) | expressions(bins=True, depth=1),
    where=WHERE,
)
def test_a_variance_of_any_expression_is_that_of_the_same_over_rows(name: str, text: str, where: str) -> None:
    tell(check_statistic(f"{name}({text})", where))


@given(
    name=st.sampled_from(("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_R2", "REGR_COUNT", "REGR_AVGX")),
    pair=st.tuples(st.sampled_from((*CODED, *BINNED)), st.sampled_from((*CODED, *BINNED))),
    where=WHERE,
)
def test_a_statistic_of_any_two_columns_is_that_of_the_same_over_rows(
    name: str, pair: tuple[str, str], where: str
) -> None:
    tell(check_statistic(f"{name}({pair[0]}, {pair[1]})", where))


ANSWERED = [
    "CASE WHEN sex = 'm' THEN income ELSE 0 END",
    "CASE WHEN sex = 'm' THEN income ELSE 1000 END",
    "CASE WHEN income IS NULL THEN 0 ELSE income END",
    "CASE WHEN age > 5 THEN income WHEN age <= 5 THEN score END",
    "CASE WHEN sex = 'm' THEN debt * age ELSE cost END",
    "income * 0 + 1",
    "(income - 50) / 3",
    "income / 12 - 40",
    "(income - 50) * (income - 50) / 7",
    "income * age / 7",
    "income * income / 7 + 100000",
    "income * SQRT(2)",
    "rate * rate",
    "(rate - 1) * (rate - 1)",
    "rate * 0.123456789",
    "age * 1e-12",
    "age * 1e-300",
    "score / CASE WHEN sex = 'm' THEN 1 / age ELSE 2 END",
    "age / 7.0 + 1e6",
    "CASE WHEN sex = 'm' THEN 1e-6 ELSE 1e9 END",
    "CASE WHEN sex = 'm' THEN income * 1e-6 ELSE 1e9 END",
]


@pytest.mark.parametrize("text", ANSWERED)
def test_an_expression_of_this_list_is_answered_and_right(text: str) -> None:
    assert check(text) == ""


@pytest.mark.parametrize(
    "call", ["VAR_POP(beds)", "STDDEV(debt)", "VAR_POP(rate)", "CORR(beds, debt)", "REGR_COUNT(debt, beds)"]
)
def test_values_outside_the_declared_ones_are_in_no_sum_of_a_statistic_and_not_in_its_n(call: str) -> None:
    assert check_statistic(call) == ""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("SUM(income * income * income * income)", "the values of this expression are too large to be summed, line 1"),
        ("SUM(POWER(income, 4))", "the values of this expression are too large to be summed, line 1"),
        ("SUM(income * age * 4000000000 * 4000000000)", "too large to be summed"),
        ("SUM(income * income * income * SQRT(2))", "factors of columns in bins have too many digits"),
        ("SUM(age * 1e-320)", "too small to be summed"),
    ],
)
def test_amounts_that_sums_cannot_hold_are_refused_in_words(call: str, words: str) -> None:
    with pytest.raises(UnsupportedQuery, match=words):
        number(call, "TRUE")


def test_where_factors_of_bins_are_rounded_the_note_bounds_what_a_row_is_off() -> None:
    _, notes, most = number("SUM(income * SQRT(2))", "TRUE")
    assert notes == ("income * SQRT(2) is rounded: the value that a row adds is within 0.00005 of its own",)
    assert most == pytest.approx(100 * 2**0.5)


def test_several_columns_in_parentheses_are_no_single_group() -> None:
    with pytest.raises(UnsupportedQuery, match=r"group by a, b instead of \(a, b\)"):
        parse("SELECT COUNT(*) AS n FROM t GROUP BY (age, sex)", DOMAIN)
    [block] = read("SELECT age, sex, COUNT(*) AS n FROM t GROUP BY (age, sex)", DOMAIN, dict).blocks
    assert block.question.by == ("age", "sex")
