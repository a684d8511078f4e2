"""Expressions mean what DuckDB says that they mean: the same SQL over rows, and by the domain alone."""

import random
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import DomainError, UnsupportedQuery
from discreet.query.query import Combination, Count, Distinct, Mean, Sum, answer_shape, grain_of_sum, group_attribute
from discreet.sql.expression import evaluate
from discreet.sql.parse import parse, parse_predicate
from discreet.sql.question import GroupColumn
from discreet.sql.scope import Scope
from discreet.table.coding import coders
from discreet.table.count import CodedRows, count

VISITS = ("2024-01-05", "2024-02-29", "2025-02-01", "2025-12-31")
DOMAIN = Domain(
    "people",
    (
        Integer(name="age", source="a test", low=0, high=90, null=True),
        Category(name="sex", source="a test", values=("F", "M")),
        Category(name="education", source="a test", values=("none", "school", "bachelor", "master"), null=True),
        Bins(name="income", source="a test", edges=(0, 10_000, 25_000, 50_000, 100_000), grain=100),  # type: ignore[arg-type]
        Integer(name="children", source="a test", low=0, high=5),
        Category(name="visit", source="a test", values=VISITS),
        Category(name="diag_1", source="a test", values=("250", "401", "250.1", "V10")),
        Category(name="diag_2", source="a test", values=("250", "401", "428", "E11"), null=True),
        Category(name="married", source="a test", values=("true", "false")),
        Category(
            name="region",
            source="a test",
            values=("Arden", "Brook", "Esk"),
            hierarchy=(("North", ("Arden", "Brook")), ("South", ("Esk",))),
        ),
    ),
)
ROWS = 400


def _rows() -> pa.Table:
    draw = random.Random(7)
    lines = []
    for _ in range(ROWS):
        region = draw.choice(("Arden", "Brook", "Esk"))
        lines.append(
            {
                "age": draw.choice((None, *range(91))),
                "sex": draw.choice("FM"),
                "education": draw.choice((None, "none", "school", "bachelor", "master")),
                "income": 100 * draw.randrange(1000),
                "children": draw.randrange(6),
                "visit": draw.choice(VISITS),
                "diag_1": draw.choice(("250", "401", "250.1", "V10")),
                "diag_2": draw.choice((None, "250", "401", "428", "E11")),
                "married": draw.random() < 0.5,
                "region": region,
                "region_group": "South" if region == "Esk" else "North",
            }
        )
    return pa.Table.from_pylist(lines)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return _rows()


@pytest.fixture(scope="module")
def engine(table: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.register("people", table)
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def rows(table: pa.Table) -> CodedRows:
    """The same rows in codes, as a snapshot keeps them."""
    code = coders(lambda name: table.schema.field(name).type, DOMAIN)
    coded = {name: code[name](table.column(name).combine_chunks()) for name in DOMAIN.names}
    codes = {name: column.codes for name, column in coded.items()}
    units = {name: column.units for name, column in coded.items() if column.units is not None}
    return CodedRows(DOMAIN, ROWS, codes.__getitem__, units.__getitem__)  # type: ignore[arg-type]


CONDITIONS = [
    "age + children > 60",
    "sex LIKE 'F%'",
    "education ILIKE '%O%'",
    "education NOT LIKE '%o%'",
    "diag_1 SIMILAR TO '250.*'",
    "regexp_matches(diag_1, '^(250|V)')",
    "'250' IN (diag_1, diag_2)",
    "NOT '250' IN (diag_1, diag_2)",
    "diag_1 = diag_2",
    "diag_1 <> diag_2",
    "NOT diag_1 = diag_2",
    "1 = 1",
    "1 > 2 OR sex = 'F'",
    "age % 2 = 0 AND sex = 'F'",
    "CASE WHEN age >= 65 THEN TRUE WHEN sex = 'F' THEN children > 2 ELSE FALSE END",
    "COALESCE(age, 0) < 10",
    "NULLIF(children, 0) IS NULL",
    "UPPER(education) = 'SCHOOL'",
    "LENGTH(education) > 5",
    "age IS NOT DISTINCT FROM 3",
    "education IS DISTINCT FROM 'school'",
    "(age, sex) IN ((1, 'F'), (2, 'M'))",
    "age BETWEEN children * 10 AND 80",
    "NOT age BETWEEN children * 10 AND 80",
    "NOT married AND age > 50",
    "income * 2 >= 50000",
    "income / 1000 < 25",
    "NOT income / 1000 < 25",
    "FLOOR(income / 25000) = 0",
    "EXTRACT(YEAR FROM CAST(visit AS DATE)) = 2024",
    "CAST(visit AS DATE) > DATE '2024-12-31'",
    "visit >= '2025-01-01'",
    "visit BETWEEN '2024-02-01' AND '2025-03-01'",
    "ABS(age - 40) <= 5",
    "TRY_CAST(diag_1 AS DOUBLE) > 300",
    "GREATEST(children, 2) = 2",
    "CONCAT(sex, diag_1) = 'F250'",
    "sex || diag_1 IN ('F250', 'M401')",
    "region_group = 'North'",
    "region_group <> 'North' OR region = 'Brook'",
    "age > 30 AND children * 10 > age",
    "age IS NULL OR age / 10 > children",
    "(age > 30) = (children > 2)",
    "(age > 30 AND sex = 'F') IS NOT TRUE",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_holds_for_the_rows_that_it_holds_for(
    condition: str, rows: CodedRows, engine: duckdb.DuckDBPyConnection
) -> None:
    region, _ = parse_predicate(condition, DOMAIN)
    [found] = count([Count(region)], rows)
    assert found == engine.sql(f"SELECT COUNT(*) FROM people WHERE {condition}").fetchall()[0][0]


ATOMS = st.sampled_from(CONDITIONS)


@st.composite
def combined(draw: st.DrawFn) -> str:
    parts = draw(st.lists(ATOMS, min_size=2, max_size=3))
    signed = [f"NOT ({part})" if draw(st.booleans()) else f"({part})" for part in parts]
    return f" {draw(st.sampled_from(('AND', 'OR')))} ".join(signed)


@given(condition=combined())
def test_any_combination_of_conditions_keeps_to_three_valued_logic(condition: str) -> None:
    table = _rows()
    with duckdb.connect() as engine:
        engine.register("people", table)
        true, false = (
            engine.sql(f"SELECT COUNT(*) FROM people WHERE {sign} ({condition})").fetchall()[0][0]
            for sign in ("", "NOT")
        )
    code = coders(lambda name: table.schema.field(name).type, DOMAIN)
    coded = {name: code[name](table.column(name).combine_chunks()) for name in DOMAIN.names}
    coded_rows = CodedRows(DOMAIN, ROWS, lambda name: coded[name].codes, lambda name: coded[name].units)  # type: ignore[arg-type, return-value]
    try:
        where, _ = parse_predicate(condition, DOMAIN)
        against, _ = parse_predicate(f"NOT ({condition})", DOMAIN)
    except UnsupportedQuery as refusal:
        if "boxes" in str(refusal) or "cells" in str(refusal):
            return  # too many of them, and said so
        raise
    assert [int(found) for found in count([Count(where), Count(against)], coded_rows)] == [true, false]


STATEMENTS = [
    "SELECT FLOOR(age/10)*10 AS decade, COUNT(*) AS n FROM people GROUP BY FLOOR(age/10)*10",
    "SELECT FLOOR(age/10)*10 AS decade, COUNT(*) AS n FROM people GROUP BY decade",
    "SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' WHEN age >= 65 THEN 'old' ELSE '?' END AS g, "
    "COUNT(*) AS n FROM people GROUP BY g",
    "SELECT age >= 65 AS old, COUNT(*) AS n FROM people GROUP BY 1",
    "SELECT sex, CASE WHEN children > 0 THEN 'yes' ELSE 'no' END AS p, COUNT(*) AS n FROM people GROUP BY sex, p",
    "SELECT YEAR(CAST(visit AS DATE)) AS y, COUNT(*) AS n FROM people GROUP BY y",
    "SELECT SUBSTR(visit, 1, 7) AS m, COUNT(*) AS n FROM people WHERE sex = 'F' GROUP BY m",
    "SELECT age + children AS s, COUNT(*) AS n FROM people WHERE age < 20 GROUP BY s",
    "SELECT COALESCE(education, 'unknown') AS e, COUNT(*) AS n FROM people GROUP BY e",
    "SELECT CASE WHEN income < 25000 THEN 'low' ELSE 'high' END AS i, COUNT(*) AS n FROM people GROUP BY i",
    "SELECT region_group, COUNT(*) AS n FROM people GROUP BY region_group",
    "SELECT region_group, sex, AVG(children) AS c FROM people GROUP BY region_group, sex",
    "SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS n FROM people",
    "SELECT COUNT(CASE WHEN sex = 'F' THEN 1 END) AS n FROM people",
    "SELECT sex, SUM(CASE WHEN age >= 65 THEN 1 ELSE 0 END) AS s, COUNT(*) AS n FROM people GROUP BY sex",
    "SELECT SUM(CASE WHEN sex = 'F' THEN age ELSE 0 END) AS s FROM people",
    "SELECT SUM(CASE WHEN sex = 'F' THEN 3 WHEN married THEN -2 END) AS s FROM people",
    "SELECT SUM(age * 2 + children) AS s FROM people",
    "SELECT SUM(age * children) AS s FROM people WHERE sex = 'F'",
    "SELECT AVG(age * children) AS a FROM people",
    "SELECT AVG(CASE WHEN age > 40 THEN 1.0 ELSE 0.0 END) AS a FROM people",
    "SELECT sex, AVG(CASE WHEN married THEN 100 ELSE 0 END) AS a FROM people GROUP BY sex",
    "SELECT AVG(CAST(married AS INT)) AS a FROM people",
    "SELECT SUM(children * 0.25) AS s FROM people",
    "SELECT SUM(age / 3) AS s FROM people",
    "SELECT AVG(age - 40) AS a FROM people",
    "SELECT COUNT(NULLIF(children, 0)) AS n FROM people",
    "SELECT COUNT_IF(age > 40) AS n FROM people",
    "SELECT COUNT(*) FILTER (WHERE age + children > 50) AS n FROM people",
    "SELECT SUM(age) FILTER (WHERE diag_1 LIKE '250%') AS s FROM people",
    "SELECT ROUND(age / 10.0) AS r, sex, SUM(children) AS c FROM people GROUP BY r, sex",
    "SELECT CASE diag_1 WHEN '250' THEN 'a' WHEN '401' THEN 'b' END AS k, SUM(children) AS c FROM people GROUP BY k",
    "SELECT SUM(income * 2) AS s FROM people",
    "SELECT SUM(income * children) AS s FROM people",
    "SELECT SUM(income * income) AS s FROM people WHERE sex = 'F'",
    "SELECT AVG((income - 50000) * (income - 50000)) AS a FROM people",
    "SELECT SUM(CASE WHEN sex = 'F' THEN income ELSE 0 END) AS s FROM people",
    "SELECT SUM(CASE WHEN sex = 'F' THEN income ELSE 2 * income END) AS s FROM people",
    "SELECT AVG(CASE WHEN income >= 25000 THEN income END) AS a FROM people",
    "SELECT sex, SUM(income * (1 - 0.1)) AS s FROM people GROUP BY sex",
    "SELECT SUM(income + age) AS s FROM people",
    "SELECT SUM(income * age * children) AS s FROM people",
    "SELECT SUM((age - 40) * (income - 30000)) AS s FROM people",
    "SELECT SUM(-income) AS s FROM people",
    "SELECT SUM(income * 0) AS s FROM people",
    "SELECT SUM(age + NULL) AS s, COUNT(NULL) AS n FROM people",
    "SELECT age + NULL AS x, COUNT(*) AS n FROM people GROUP BY x",
    "SELECT COUNT(DISTINCT education) AS d FROM people",
    "SELECT sex, COUNT(DISTINCT education) AS d, COUNT(DISTINCT age) AS a FROM people WHERE age < 40 GROUP BY sex",
    "SELECT COUNT(DISTINCT LEFT(diag_1, 1)) AS d FROM people",
    "SELECT COUNT(DISTINCT (sex, children)) AS d FROM people",
    "SELECT sex, COUNT(DISTINCT sex) AS d FROM people GROUP BY sex",
    "SELECT FLOOR(age/10) AS d, COUNT(DISTINCT diag_1) AS x FROM people GROUP BY d",
]


def _exactly(query: Any, rows: CodedRows) -> Any:
    """The answer without noise, in the unit of the question."""
    match query:
        case Distinct():
            [read] = count([Count(query.where, (*query.by, *query.of))], rows)
            return np.count_nonzero(read, axis=tuple(range(len(query.by), read.ndim)))
        case Count():
            return count([query], rows)[0]
        case Sum():
            return count([query], rows)[0] * float(grain_of_sum(query.of, DOMAIN))
        case Combination(terms=terms):
            return sum(times * _exactly(term, rows) for times, term in terms)
        case Mean():
            total, people = Sum(query.of, query.where, query.by), Count(query.where, query.by)
            with np.errstate(invalid="ignore", divide="ignore"):
                return _exactly(total, rows) / _exactly(people, rows)
    raise AssertionError(query)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_groups_and_aggregates_are_those_of_the_same_statement_over_rows(
    statement: str, rows: CodedRows, engine: duckdb.DuckDBPyConnection
) -> None:
    question = parse(statement, DOMAIN)
    answers = [_exactly(column.query, rows) for column in question.aggregates]
    attributes = [group_attribute(group, DOMAIN) for group in question.by]
    shape = answer_shape(Count(question.where, question.by), DOMAIN)
    found = {}
    for codes in np.ndindex(shape):
        labels = tuple(attribute.label(code) for attribute, code in zip(attributes, codes, strict=True))
        found[labels] = [float(answer[codes] if shape else answer) for answer in answers]
    names = [column.name for column in question.columns]
    groups = [names.index(column.name) for column in question.columns if isinstance(column, GroupColumn)]
    expected = engine.sql(statement).fetchall()
    for line in expected:
        labels = tuple(_label(line[place]) for place in groups)
        numbers = [float(value or 0) for place, value in enumerate(line) if place not in groups]
        assert found.pop(labels) == pytest.approx(numbers, rel=1e-6, abs=1e-9)
    assert all(not np.nan_to_num(value) for values in found.values() for value in values)


def _label(value: Any) -> str:
    if value is None:
        return "(missing)"
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def test_an_old_question_is_read_as_it_was_without_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.sql.sandbox.run", lambda *_: pytest.fail("the sandbox was asked"))
    statement = (
        "SELECT sex, COUNT(*), AVG(age), SUM(income) FILTER (WHERE children = 2) FROM people "
        "WHERE age BETWEEN 20 AND 40 AND (income < 25000 OR education IN ('none', 'school')) AND married GROUP BY sex"
    )
    assert parse(statement, DOMAIN).by == ("sex",)


def test_a_sum_of_ones_is_a_count_and_one_of_a_column_its_sum() -> None:
    women, _ = parse_predicate("sex = 'F'", DOMAIN)
    queries = {
        "SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END)": Count(women),
        "SUM(CASE WHEN sex = 'F' THEN children ELSE 0 END)": Sum("children", women.intersect(_not_zero())),
        "SUM(CASE WHEN sex = 'F' THEN income END)": Sum("income", women),
        "SUM(3)": Combination(((3, Count(DOMAIN.everything)),)),
        "COUNT(CASE WHEN sex = 'F' THEN 'yes' END)": Count(women),
    }
    for text, query in queries.items():
        assert parse(f"SELECT {text} FROM people", DOMAIN).aggregates[0].query == query


def _not_zero() -> Any:
    return DOMAIN.slab("children", 1, 5)


def test_two_texts_of_one_function_ask_for_the_same() -> None:
    pairs = [
        ("FLOOR(age / 10)", "age // 10"),
        ("CASE WHEN sex = 'F' THEN 'F' ELSE 'M' END", "sex || ''"),
        ("age >= 65", "NOT age < 65"),
    ]
    for one, other in pairs:
        first, second = (
            parse(f"SELECT COUNT(*) FROM people GROUP BY {text}", DOMAIN).aggregates[0].query for text in (one, other)
        )
        assert first == second
        assert hash(first) == hash(second)


def test_attributes_are_evaluated_by_their_classes_and_not_by_all_their_codes() -> None:
    domain = Domain("t", tuple(Integer(name=f"x{i}", source="a test", low=0, high=999) for i in range(8)))
    condition = " OR ".join(f"(x{i} > 500 AND CASE WHEN x{i + 1} > 300 THEN TRUE ELSE FALSE END)" for i in range(2))
    region, _ = parse_predicate(f"({condition}) AND x7 < 3", domain)
    assert region
    labelled = "CASE " + " ".join(f"WHEN x{i} % 7 = 3 THEN {i}" for i in range(8)) + " END"
    question = parse(f"SELECT {labelled} AS first, COUNT(*) FROM t GROUP BY first", domain)
    [group] = question.by
    assert not isinstance(group, str)
    assert group.table.table.shape == (2,) * 8


REFUSED = [
    ("SELECT COUNT(*) FROM people WHERE income % 7 = 3", "income is known in bins only"),
    ("SELECT COUNT(*) FROM people WHERE income > age * 1000", "income is known in bins only"),
    ("SELECT SUM(FLOOR(income / 7)) FROM people", "of columns in bins sums take"),
    (
        "SELECT COUNT(*) FROM people WHERE age * 100 + children * LENGTH(visit || diag_1 || diag_2 || education) > age",
        "",
    ),
    ("SELECT COUNT(*) FROM people WHERE age + 1", "this is not a condition, line 1, column 35"),
    ("SELECT SUM(sex || 'x') FROM people", "only numbers can be summed, line 1, column 12"),
    ("SELECT COUNT(*) FROM people WHERE regexp_matches(diag_1, '(')", "a pattern cannot be read"),
    ("SELECT COUNT(*) FROM people WHERE " + "ABS(" * 15 + "age" + ")" * 15 + " > (((1)))", ""),
]


@pytest.mark.parametrize(("statement", "words"), REFUSED)
def test_what_cannot_be_told_is_refused_in_words_or_answered(statement: str, words: str) -> None:
    if not words:
        parse(statement, DOMAIN)
        return
    with pytest.raises(UnsupportedQuery) as refusal:
        parse(statement, DOMAIN)
    assert words in str(refusal.value)
    assert "raw" not in str(refusal.value)


def test_a_product_that_is_too_large_is_refused_before_it_is_made() -> None:
    domain = Domain("t", tuple(Integer(name=f"x{i}", source="a test", low=0, high=999) for i in range(3)))
    with pytest.raises(UnsupportedQuery, match=r"an expression over x0, x1, x2 has 1,000,000,000 combinations"):
        parse("SELECT COUNT(*) FROM t WHERE x0 + x1 + x2 = 7", domain)


HOSTILE = [
    "SELECT COUNT(*) FROM people WHERE " + "+".join(["age"] * 3000) + " > 3",
    "SELECT SUM(" + "+".join(["income"] * 3000) + ") FROM people",
    "SELECT SUM(" + "*".join(["(income + 1)"] * 30) + ") FROM people",
    "SELECT COUNT(*) FROM people WHERE " + "CASE WHEN age > 1 THEN TRUE ELSE " * 200 + "FALSE" + " END" * 200,
    "SELECT COUNT(*) FROM people WHERE LENGTH(REPEAT(visit, 1000000000)) > 3",
    "SELECT COUNT(*) FROM people WHERE LPAD(visit, 1000000000, 'x') > 'a'",
    "SELECT COUNT(*) FROM people WHERE age IN (" + ", ".join(f"children + {i}" for i in range(1500)) + ")",
    "SELECT COUNT(*) FROM people WHERE " + " AND ".join(f"(age + children) % {i} = 1" for i in range(2, 400)),
    "SELECT COUNT(*) FROM people GROUP BY age + children, age * children, age - children, age // (children + 1)",
    "SELECT SUM(EXP(age * 10)) FROM people",
    "SELECT COUNT(*) FROM people WHERE current_date > DATE '2020-01-01'",
    "SELECT COUNT(*) FROM people WHERE list_sum([age]) = 1",
    "SELECT COUNT(*) FROM people WHERE leaf_0 > 1",
    "SELECT COUNT(*) FROM people WHERE raw > age + 1",
]


@pytest.mark.parametrize("statement", HOSTILE, ids=lambda text: text[:60])
def test_an_explosive_expression_is_refused_by_what_it_says_alone(statement: str) -> None:
    with pytest.raises((UnsupportedQuery, DomainError)) as refusal:
        parse(statement, DOMAIN)
    assert "sqlglot" not in str(refusal.value)


def test_what_fails_for_some_values_is_null_for_those() -> None:
    region, _ = parse_predicate("100 / children > 30", DOMAIN)
    assert region == parse_predicate("children BETWEEN 1 AND 3", DOMAIN)[0]
    [column] = parse("SELECT SUM(income / 0) AS s FROM people", DOMAIN).aggregates
    assert isinstance(column.query, Sum)
    assert not column.query.where  # it is NULL for everybody
    region, _ = parse_predicate("CAST(diag_2 AS INT) > 0 ", DOMAIN)
    assert region == parse_predicate("diag_2 IN ('250', '401', '428')", DOMAIN)[0]


def test_values_outside_the_declared_ones_are_told_apart_and_said() -> None:
    domain = Domain(
        "t",
        (
            Category(name="job", source="a test", values=("cook", "nurse"), outside="other", null=True),
            Integer(name="n", source="a test", low=0, high=3, outside="other"),
        ),
    )
    question = parse("SELECT UPPER(job) AS j, COUNT(*) FROM t GROUP BY j", domain)
    assert group_attribute(question.by[0], domain).labels == ("(OTHER)", "COOK", "NURSE", "(missing)")
    assert "values of job outside the declared ones are the text '(other)' within expressions" in question.notes
    # A comparison with a value means what it means after WHERE: other values differ from all declared ones.
    question = parse("SELECT CASE WHEN job <> 'cook' THEN 1 ELSE 0 END AS c, SUM(n * n) FROM t GROUP BY c", domain)
    assert not isinstance(question.by[0], str)
    assert question.by[0].table.at(lambda _: np.arange(4)).tolist() == [0, 1, 1, 0]
    assert question.aggregates[0].query.where == domain.slab("n", 0, 3)  # type: ignore[union-attr]


def test_a_monotone_expression_of_bins_is_taken_at_their_middles_and_says_so() -> None:
    question = parse("SELECT FLOOR(income / 20000) AS f, COUNT(*) FROM people GROUP BY f", DOMAIN)
    assert group_attribute(question.by[0], DOMAIN).labels == ("0", "1", "3")
    assert "income is known in bins: for 3 of them the expression is taken at the middle of the bin" in question.notes
    exact = parse("SELECT FLOOR(income / 50000) AS f, COUNT(*) FROM people GROUP BY f", DOMAIN)
    assert exact.notes == ()


def test_evaluation_refuses_what_is_no_scalar() -> None:
    from discreet.sql.syntax import read_select

    select = read_select("SELECT COUNT(*) FROM people WHERE age > 3")
    with pytest.raises(UnsupportedQuery, match="the function COUNT is not supported here"):
        evaluate(select.expressions[0], Scope.over(DOMAIN), lambda _: None)
