"""Facts as nouns, as SQL and CSV, and what no table can have."""

import json

import numpy as np
import pytest

from discreet.domain.attribute import Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import DomainError, InvalidFact, UnsupportedQuery
from discreet.facts.atoms import atoms_of
from discreet.facts.contradiction import _culprits, require_possible
from discreet.facts.facts import count_fact, cuboid_fact, fact_from_json, numbered
from discreet.facts.read import fact_given, fact_of_csv, fact_of_sql
from discreet.query.query import Count
from tests.facts.small import count, cuboid, small_domain

PEOPLE = Domain(
    "people",
    (
        Category(name="sex", source="form", values=("F", "M")),
        Integer(name="age", source="form", low=0, high=9),
        Category(name="grade", source="form", values=("A", "B", "C"), null=True),
    ),
)
WOMEN = "SELECT COUNT(*) FROM people WHERE sex = 'F'"


def test_facts_are_the_same_from_json():
    for fact in (
        fact_of_sql(
            "SELECT COUNT(*) FILTER (WHERE grade = 'A') + 2 * COUNT(*) FILTER (WHERE age < 3) FROM people", 80, PEOPLE
        ),
        cuboid_fact(("age", "sex"), np.arange(20).reshape(10, 2), PEOPLE, "cuboid age, sex"),
        cuboid_fact((), 17, PEOPLE),
    ):
        same = fact_from_json(json.loads(json.dumps(fact.to_json())), 4, 2)
        assert same == numbered(fact, 4, 2)
        assert same != fact


@pytest.mark.parametrize("bad", [10**30, -(10**30), 1.5, True, "3", None])
def test_a_fact_with_a_number_that_no_fact_has_is_not_read(bad):
    whole = [[0, 0], [9, 1]]
    for terms, value in (([[bad, [whole]]], 3), ([[1, [whole]]], bad)):
        with pytest.raises(InvalidFact):
            fact_from_json({"kind": "count", "terms": terms, "value": value, "text": ""})


def test_a_cuboid_is_kept_in_the_order_of_the_domain():
    fact = cuboid_fact(("age", "sex"), np.arange(20).reshape(10, 2), PEOPLE)
    assert fact.by == ("sex", "age")
    assert fact.values.tolist() == np.arange(20).reshape(10, 2).T.tolist()
    rows = list(fact.rows(PEOPLE))
    assert len(rows) == 20
    (((times, region),), value) = rows[11]
    assert (times, value) == (1, 3)
    assert region.boxes[0].low == (1, 1, 0)
    assert region.boxes[0].high == (1, 1, 3)


def test_sums_of_filtered_counts_are_one_fact():
    fact = fact_of_sql(
        "SELECT COUNT(*) FILTER (WHERE grade = 'A') + COUNT(*) FILTER (WHERE grade = 'B') FROM people", 80, PEOPLE
    )
    assert [times for times, _ in fact.terms] == [1, 1]
    assert fact.value == 80
    assert fact.text.startswith("SELECT COUNT(*) FILTER")


@pytest.mark.parametrize(
    ("sql", "value", "error", "message"),
    [
        (WOMEN, -1, InvalidFact, "cannot be -1: counts are never negative"),
        (WOMEN, 1.5, InvalidFact, "whole number, not 1.5"),
        (WOMEN, True, InvalidFact, "whole number"),
        (WOMEN, 2**60, InvalidFact, "beyond 9007199254740992"),
        (f"{WOMEN} AND sex = 'M'", 0, InvalidFact, "the region is empty"),
        ("SELECT -COUNT(*) FROM people", 3, InvalidFact, "cannot be 3"),
        ("SELECT sex, COUNT(*) FROM people GROUP BY sex", 3, InvalidFact, "a whole table is given with --cuboid"),
        ("SELECT SUM(age) FROM people", 3, InvalidFact, "a fact is one number"),
        ("SELECT COUNT(*), COUNT(*) FROM people", 3, InvalidFact, "a fact is one number"),
        ("SELECT COUNT(*) FROM people WHERE height > 2", 3, DomainError, "no attribute 'height'"),
        ("SELECT COUNT(*) FROM people WHERE sex = 'X'", 3, UnsupportedQuery, "no declared value 'X'"),
        ("DROP TABLE people", 3, UnsupportedQuery, "SELECT"),
    ],
)
def test_bad_counts_are_refused_by_name(sql, value, error, message):
    with pytest.raises(error, match=message):
        fact_of_sql(sql, value, PEOPLE)


@pytest.mark.parametrize(
    ("by", "values", "error", "message"),
    [
        (("sex",), [1, -2], InvalidFact, "cuboid sex has -2 at sex M; counts are never negative"),
        (("sex",), [1, float("nan")], InvalidFact, "a count is a whole number"),
        (("sex",), [1, 0.5], InvalidFact, "a count is a whole number"),
        (("sex",), ["1", "2"], InvalidFact, "a count is a whole number"),
        (("sex",), [1, 2, 3], InvalidFact, r"has the shape \(3,\); the domain's codes make it \(2,\)"),
        (("sex", "sex"), [[1, 2], [3, 4]], InvalidFact, "given twice"),
        (("height",), [1], DomainError, "no attribute 'height'"),
        (("sex",), [1, 2**60], InvalidFact, "counts are below"),
        (("sex",), [1e19, 2], InvalidFact, "counts are below"),
        (("sex",), [[1, 2], [3]], InvalidFact, "rows differ in length"),
    ],
)
def test_bad_cuboids_are_refused_by_name(by, values, error, message):
    with pytest.raises(error, match=message):
        cuboid_fact(by, values, PEOPLE)


def test_whatever_counts_nobody_is_no_fact():
    nowhere = PEOPLE.everything.subtract(PEOPLE.everything)
    with pytest.raises(InvalidFact, match="is 0 on every table"):
        count_fact(Count(nowhere), 0, PEOPLE)
    other = small_domain(50, 50, 50)
    with pytest.raises(InvalidFact, match="reaches out of the domain"):
        count_fact(Count(other.everything), 0, PEOPLE)


def written(tmp_path, text):
    path = tmp_path / "published.csv"
    path.write_text(text)
    return path


def test_a_published_table_is_read_in_any_order(tmp_path):
    path = written(
        tmp_path, "people,grade,sex\n5,A,F\n1,B,F\n2,C,F\n0,(missing),F\n7,C,M\n3,A,M\n4,B,M\n9,(missing),M\n\n"
    )
    fact = fact_of_csv(("sex", "grade"), path, PEOPLE)
    assert fact.by == ("sex", "grade")
    assert fact.values.tolist() == [[5, 1, 2, 0], [3, 4, 7, 9]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sex,count\nF,1\n", "no line for M"),
        ("sex,count\nF,1\nF,2\nM,3\n", "line 3: F is there twice"),
        ("sex,count\nF,1\nX,3\n", "line 3: sex has no value 'X'"),
        ("sex,count\nF,-1\nM,3\n", "line 2: '-1' is not a count"),
        ("sex,count\nF,1.5\nM,3\n", "line 2: '1.5' is not a count"),
        ("sex,count\nF,²\nM,3\n", "line 2: '²' is not a count"),
        ("sex,count\nF\nM,3\n", "line 2 has 1 columns"),
        ("sex,n,m\nF,1,2\nM,3,4\n", "needs the columns sex and one with the counts"),
        ("count\n1\n", "needs the columns sex"),
        ("", "needs the columns sex"),
    ],
)
def test_bad_tables_are_refused_with_the_line(tmp_path, text, message):
    with pytest.raises(InvalidFact, match=message):
        fact_of_csv(("sex",), written(tmp_path, text), PEOPLE)


def test_a_fact_is_given_in_one_way(tmp_path):
    with pytest.raises(InvalidFact, match="is not there"):
        fact_given(None, None, ("sex",), tmp_path / "none.csv", PEOPLE)
    for sql, value, names, values in [(None, 3, None, None), (WOMEN, None, None, None), (WOMEN, 3, ("sex",), [1, 2])]:
        with pytest.raises(InvalidFact):
            fact_given(sql, value, names, values, PEOPLE)


SMALL = small_domain(2, 3)
ROW, COLUMN, CELL, ALL = ((0, 0), (0, 2)), ((0, 1), (0, 0)), ((0, 0), (0, 0)), ((0, 1), (0, 2))


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ([cuboid(SMALL, "a", [5, 4]), cuboid(SMALL, "b", [1, 2, 5])], "9 people and 8 at all|8 people and 9 at all"),
        ([cuboid(SMALL, "ab", 1), cuboid(SMALL, "b", [2, 2, 3])], "3 people and 2 at b"),
        ([cuboid(SMALL, "a", [5, 4]), count(SMALL, (1, ROW), value=6)], "the cuboid makes the count 5, not 6"),
        ([cuboid(SMALL, "a", [5, 4]), count(SMALL, (1, CELL), value=6)], "the cuboid makes the count 0 to 5, not 6"),
        ([count(SMALL, (1, CELL), value=6), cuboid(SMALL, "a", [5, 4])], "the cuboid makes the count 0 to 5, not 6"),
        ([count(SMALL, (1, ROW), value=6), count(SMALL, (1, CELL), value=7)], "no table of people has all of them"),
        ([count(SMALL, (1, ALL), value=6), count(SMALL, (1, ROW), (1, COLUMN), value=13)], "no table of people"),
        ([count(SMALL, (2, ROW), value=7), count(SMALL, (1, ROW), value=3)], "no table of people has all of them"),
        (
            [
                count(SMALL, (1, ALL), value=9),
                count(SMALL, (1, ROW), value=5),
                count(SMALL, (1, ((1, 1), (0, 2))), value=5),
            ],
            "contradicts .* and ",
        ),
        ([count(SMALL, (1, ROW), (1, ((1, 1), (0, 2))), (-1, ALL))], "is 0 on every table: it tells nothing"),
    ],
)
def test_contradictions_are_found_and_named(facts, message):
    *old, new = facts
    for place, fact in enumerate(old):
        require_possible(fact, old[:place], SMALL)
    with pytest.raises(InvalidFact, match=message):
        require_possible(new, old, SMALL)


def test_only_the_culprits_are_named():
    old = [numbered(count(SMALL, (1, ((1, 1), (place, place))), value=3), place + 7, 0) for place in range(3)]
    new = count(SMALL, (1, ((1, 1), (0, 1))), value=99)
    with pytest.raises(InvalidFact, match=r"a count contradicts fact 7 \(a count\) and fact 8 \(a count\): no table"):
        require_possible(new, old, SMALL)


def test_facts_of_another_table_contradict_nothing():
    require_possible(cuboid(SMALL, "a", [5, 4], table=9), [cuboid(SMALL, "a", [1, 1])], SMALL)


def test_facts_that_a_random_table_has_never_contradict():
    rng = np.random.default_rng(5)
    domain = small_domain(2, 3, 2)
    for _ in range(20):
        table = rng.integers(0, 1000, domain.shape)
        facts = [
            cuboid(domain, "ab", table.sum(axis=2)),
            cuboid(domain, "bc", table.sum(axis=0)),
            count(
                domain,
                (2, [(0, 0), (0, 2), (1, 1)]),
                (3, [(0, 1), (1, 1), (0, 0)]),
                value=int(2 * table[0, :, 1].sum() + 3 * table[:, 1, 0].sum()),
            ),
            count(domain, (1, [(0, 0), (0, 0), (0, 0)]), value=int(table[0, 0, 0])),
        ]
        for place, fact in enumerate(facts):
            require_possible(fact, facts[:place], domain)


def test_a_certificate_counts_only_in_whole_numbers(monkeypatch):
    class Wrong:
        status, x = 0, np.array([1.0, 0.0])

    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: Wrong)
    assert _culprits(atoms_of([count(SMALL, (1, ROW), value=6)], SMALL)) == []


def test_a_fact_does_not_change_with_the_array_that_it_was_made_of():
    given = np.arange(6).reshape(2, 3)
    fact = cuboid_fact(("a", "b"), given, small_domain(2, 3))
    given[0, 0] = 99
    assert fact.values.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="read-only"):
        fact.values[0, 0] = 99
