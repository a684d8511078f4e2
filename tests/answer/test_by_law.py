"""Groups of several laws in arrays: answers with a WHERE tell other things of groups inside of them than of those
outside. All that is made of such arrays is compared with the same made group by group."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from discreet.answer import settle as settling
from discreet.answer.decide import decide
from discreet.answer.grid import Cells, GridNumbers, NumbersByLaw
from discreet.answer.settle import Settled
from discreet.noise.law import Laplace
from discreet.query.query import Count
from discreet.sql.parse import parse
from tests.answer.test_alike import one_by_one

PARTS = [
    "SELECT COUNT(*) AS n, SUM(age) AS s FROM people WHERE age < 5",
    "SELECT age, COUNT(*) AS n FROM people WHERE age < 4 GROUP BY age",
    "SELECT COUNT(*) AS n, SUM(age) AS s FROM people WHERE sex = 'F' AND age > 6",
    "SELECT COUNT(*) AS n FROM people WHERE age = 3 AND sex = 'M'",
    "SELECT sex, SUM(age) AS s FROM people WHERE age BETWEEN 2 AND 7 GROUP BY sex",
    "SELECT COUNT(*) AS n FROM people WHERE age = 1 OR sex = 'F'",
]
ASKED = [
    "SELECT age, sex, COUNT(*) AS n FROM people GROUP BY age, sex ORDER BY n DESC, age",
    "SELECT sex, age, COUNT(*) AS n FROM people GROUP BY sex, age ORDER BY n LIMIT 7",
    "SELECT age, COUNT(*) AS n, AVG(age) AS mean FROM people GROUP BY age",
    "SELECT age, sex, AVG(age) AS mean, SUM(age) AS s, COUNT(*) AS n FROM people GROUP BY age, sex ORDER BY s DESC",
    "SELECT age, COUNT(*) FILTER (WHERE sex = 'F') AS women, COUNT(*) AS n FROM people GROUP BY age",
    "SELECT age, sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share, 2 * COUNT(*) AS n FROM people GROUP BY 1, 2",
    "SELECT sex, AVG(age) * 2 AS twice FROM people GROUP BY sex HAVING COUNT(*) > 1000",
]


def near(number):
    """But for the order in which numbers were added up."""
    return pytest.approx(number, rel=1e-11, abs=1e-9)


def assert_same_rows(rows, others):
    for row, other in zip(rows, others, strict=True):
        assert (row.labels, row.column, row.kind, row.asked, row.answered) == (
            other.labels,
            other.column,
            other.kind,
            other.asked,
            other.answered,
        )
        assert (row.may_be_zero, row.chosen, row.value) == (other.may_be_zero, other.chosen, near(other.value))
        assert (row.low, row.high, row.shrunken) == (near(other.low), near(other.high), near(other.shrunken))
        assert type(row.value) is type(other.value)


def assert_same_files(answer):
    by_rows = replace(answer, rows=tuple(answer.rows))
    assert answer.to_csv(shrunken=True) == by_rows.to_csv(shrunken=True)
    assert answer.to_arrow().equals(by_rows.to_arrow())
    assert answer.to_json() == by_rows.to_json()


@pytest.fixture
def improved_both_ways(monkeypatch):
    """Whenever fresh numbers are made the best that is public, it is done group by group as well."""
    made, at_once = [], settling._improve

    def improve(settled, desk):
        other = Settled(Cells({query: dict(found.items()) for query, found in settled.numbers.by_query.items()}))
        at_once(settled, desk)
        with pytest.MonkeyPatch.context() as context:
            one_by_one(context)
            at_once(other, desk)
        for query, numbers in settled.numbers.by_query.items():
            made.append(type(numbers))
            for codes, one in other.numbers.by_query[query].items():
                mine = numbers[codes]
                assert (mine.kind, mine.answered, mine.sources, mine.facts, mine.grain) == (
                    one.kind,
                    one.answered,
                    one.sources,
                    one.facts,
                    one.grain,
                )
                assert (mine.value, mine.variance) == (near(one.value), near(one.variance))
                assert mine.halfwidth(Fraction(19, 20)) == near(one.halfwidth(Fraction(19, 20)))

    monkeypatch.setattr(settling, "_improve", improve)
    return made


@pytest.mark.parametrize("sql", ASKED)
@pytest.mark.parametrize("seed", range(6))
def test_groups_beside_other_answers_are_had_in_arrays_as_one_by_one(vault, sql, seed, improved_both_ways):
    draw = Random(f"{seed} {sql}")
    for part in draw.sample(PARTS, draw.choice((0, 1, 2))):
        vault.ask(part, scale=draw.choice((3, 15)))
    assert_same_files(vault.ask(sql, scale=30))
    for part in draw.sample(PARTS, draw.choice((0, 1, 2))):
        vault.ask(part, scale=draw.choice((2, 10)))
    for wish in ({"scale": 30}, {"scale": 12}, {"scale": 60}, {"within": 200}):
        explained = vault.explain(sql, **wish)
        with pytest.MonkeyPatch.context() as context:
            one_by_one(context)
            other = vault.explain(sql, **wish)
        assert (explained.cost, explained.notes) == (other.cost, other.notes)
        for one, its in zip(explained.forecasts, other.forecasts, strict=True):
            assert replace(one, halfwidth=None, relative=None) == replace(its, halfwidth=None, relative=None)
            assert [*one.kinds] == [*its.kinds]
            assert (one.halfwidth, one.relative) == (near(its.halfwidth), near(its.relative))
    again = vault.ask(sql, scale=30)
    assert again.cost == 0
    with pytest.MonkeyPatch.context() as context:
        one_by_one(context)
        other = vault.ask(sql, scale=30)
    assert (again.notes, again.guarantee, again.kind) == (other.notes, other.guarantee, other.kind)
    assert_same_rows(again.rows, other.rows)
    assert_same_files(again)
    assert improved_both_ways


def laws_of(vault, sql, scale=30):
    question = parse(sql, vault.domain)
    [numbers] = decide(
        {Count(question.where, question.by): Laplace(Fraction(scale))}, vault._desk
    ).free.by_query.values()
    return numbers


def test_groups_inside_and_outside_have_laws_of_their_own(vault):
    sql = "SELECT age, COUNT(*) AS n FROM people GROUP BY age"
    vault.ask(sql, scale=30)
    assert isinstance(laws_of(vault, sql), GridNumbers)
    vault.ask("SELECT COUNT(*) AS n FROM people WHERE age < 2", scale=2)
    numbers = laws_of(vault, sql)
    assert isinstance(numbers, NumbersByLaw)
    assert Counter(one.kind for one in numbers.values()) == {"derived": 2, "repeated": 8}
    assert len(numbers.laws) == 2
    assert vault.ask(sql, scale=30).kind == "mixed"
    assert vault.explain(sql, scale=30).forecasts[0].kinds == {"derived": 2, "repeated": 8}


def test_some_groups_that_are_sharp_enough_are_free_and_the_others_are_bought(vault):
    sql = "SELECT age, COUNT(*) AS n FROM people GROUP BY age"
    vault.ask(sql, scale=30)
    vault.ask("SELECT COUNT(*) AS n FROM people WHERE age < 2", scale=2)
    assert vault.explain(sql, scale=25).forecasts[0].kinds == {"derived": 2, "measured": 8}
