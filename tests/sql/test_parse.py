from fractions import Fraction

import pytest

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.query.query import Combination, Count, Mean, Quantile, Sum
from discreet.sql.parse import parse
from discreet.sql.question import AggregateColumn, GroupColumn, Measure, OrderKey


def where(people: Domain, condition: str) -> Region:
    return parse(f"SELECT COUNT(*) FROM people WHERE {condition}", people).where


AGGREGATES = [
    ("COUNT(*)", "TRUE", Count, "count"),
    ("COUNT(age)", "age IS NOT NULL", Count, "count_age"),
    ("COUNT(sex)", "TRUE", Count, "count_sex"),
    ("COUNT(education)", "education IS NOT NULL", Count, "count_education"),
    ("COUNT(*) FILTER (WHERE sex = 'F')", "sex = 'F'", Count, "count"),
    ("COUNT(age) FILTER (WHERE sex = 'F')", "sex = 'F' AND age IS NOT NULL", Count, "count_age"),
    ("SUM(age)", "age IS NOT NULL", lambda region: Sum("age", region), "sum_age"),
    ("SUM(income)", "TRUE", lambda region: Sum("income", region), "sum_income"),
    ("AVG(age)", "age IS NOT NULL", lambda region: Mean("age", region), "avg_age"),
    ("MIN(age)", "age IS NOT NULL", lambda region: Quantile("age", Fraction(0), region), "min_age"),
    ("MAX(wealth)", "wealth IS NOT NULL", lambda region: Quantile("wealth", Fraction(1), region), "max_wealth"),
    ("MEDIAN(children)", "TRUE", lambda region: Quantile("children", Fraction(1, 2), region), "median_children"),
    ("AVG(born)", "born BETWEEN 1900 AND 2026", lambda region: Mean("born", region), "avg_born"),
    (
        "QUANTILE(income, 0.9)",
        "TRUE",
        lambda region: Quantile("income", Fraction(9, 10), region),
        "quantile_income_0.9",
    ),
    ("PERCENTILE_CONT(income, 0.9)", "TRUE", lambda r: Quantile("income", Fraction(9, 10), r), "quantile_income_0.9"),
    ("2 * COUNT(*)", "TRUE", lambda region: Combination(((2, Count(region)),)), "total"),
    ("COUNT(*) * 3 - (COUNT(*) - COUNT(*))", "TRUE", lambda region: Combination(((3, Count(region)),)), "total"),
    ("-(-COUNT(*))", "TRUE", Count, "count"),
]


@pytest.mark.parametrize(("written", "condition", "query", "name"), AGGREGATES)
def test_an_aggregate_looks_at_the_rows_that_sql_looks_at(
    written: str, condition: str, query: type[Count], name: str, people: Domain
) -> None:
    question = parse(f"SELECT {written} FROM people", people)
    assert question.columns == (AggregateColumn(name, query(where(people, condition))),)
    assert question.where == people.everything


def test_a_difference_of_filtered_counts_keeps_each_region_and_the_groups(people: Domain) -> None:
    text = "SELECT COUNT(*) FILTER (WHERE sex = 'F') - 2 * COUNT(*) FILTER (WHERE sex = 'M') AS gap FROM people "
    [column] = parse(text + "WHERE age < 30 GROUP BY education", people).aggregates
    women = Count(where(people, "age < 30 AND sex = 'F'"), ("education",))
    men = Count(where(people, "age < 30 AND sex = 'M'"), ("education",))
    assert column == AggregateColumn("gap", Combination(((1, women), (-2, men))))


def test_what_an_average_leaves_out_of_the_other_values_is_noted(people: Domain) -> None:
    assert parse("SELECT AVG(born) FROM people", people).notes == (
        "values of born outside the declared ones are left out of AVG",
    )


@pytest.mark.parametrize("grouping", ["sex, age", "1, 3", "s, a", "people.sex, AGE", "sex, s, age, 1"])
def test_group_by_takes_columns_aliases_and_places(grouping: str, people: Domain) -> None:
    question = parse(f"SELECT sex AS s, COUNT(*), age AS a FROM people GROUP BY {grouping}", people)
    assert question.by == ("sex", "age")
    assert question.columns == (
        GroupColumn("s", "sex"),
        AggregateColumn("count", Count(people.everything, ("sex", "age"))),
        GroupColumn("a", "age"),
    )


def test_a_group_need_not_be_shown(people: Domain) -> None:
    assert parse("SELECT COUNT(*) FROM people GROUP BY sex", people).by == ("sex",)


@pytest.mark.parametrize(
    ("ordering", "keys"),
    [
        ("2 DESC", [(1, True)]),
        ("n", [(1, False)]),
        ("COUNT(*) DESC, gender ASC", [(1, True), (0, False)]),
        ("sex", [(0, False)]),
        ("people.sex DESC", [(0, True)]),
        ("COUNT(*) FILTER (WHERE age < 30)", [(2, False)]),
    ],
)
def test_order_by_takes_output_columns(ordering: str, keys: list[tuple[int, bool]], people: Domain) -> None:
    text = "SELECT sex AS gender, COUNT(*) AS n, COUNT(*) FILTER (WHERE age < 30) FROM people GROUP BY sex ORDER BY "
    assert parse(text + ordering, people).order_by == tuple(OrderKey(*key) for key in keys)


@pytest.mark.parametrize(
    ("clause", "limit", "offset"), [("", None, 0), ("LIMIT 5", 5, 0), ("LIMIT 0 OFFSET 7", 0, 7), ("OFFSET 2", None, 2)]
)
def test_limit_and_offset_are_whole_numbers(clause: str, limit: int | None, offset: int, people: Domain) -> None:
    question = parse(f"SELECT sex, COUNT(*) FROM people GROUP BY sex {clause}", people)
    assert (question.limit, question.offset) == (limit, offset)


def test_unnamed_columns_get_names_unlike_the_given_ones(people: Domain) -> None:
    question = parse(
        "SELECT COUNT(*), COUNT(*), SUM(age) AS Count, sex AS sum_age, SUM(age) FROM people GROUP BY sex", people
    )
    assert [column.name for column in question.columns] == ["count_2", "count_3", "Count", "sum_age", "sum_age_2"]


def test_an_empty_region_is_a_question_not_an_error(people: Domain) -> None:
    queries: list[Measure] = [
        column.query
        for column in parse("SELECT COUNT(*), AVG(age) FROM people WHERE age > 5 AND age < 3", people).aggregates
    ]
    assert queries == [Count(Region(())), Mean("age", Region(()))]


def test_equal_questions_have_equal_queries_however_they_are_written(people: Domain) -> None:
    texts = ["NOT (age < 20 OR age > 29)", "age IN (25, 26, 27, 28, 29, 20, 21, 22, 23, 24)", "30 > age AND 20 <= age"]
    assert len({parse(f"SELECT COUNT(*) FROM people WHERE {text}", people).columns for text in texts}) == 1
