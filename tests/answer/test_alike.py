"""Groups that public tables tell of alike, compared with the best of each group by itself."""

from fractions import Fraction
from itertools import combinations
from random import Random

import pytest

from discreet.answer.alike import best_of_groups, is_untold
from discreet.answer.best import best
from discreet.answer.decide import decide
from discreet.answer.grid import GridNumbers, grid_of
from discreet.answer.joint_noise import JointNoise
from discreet.answer.public import public
from discreet.noise.law import Laplace
from discreet.noise.spread import Mixture
from discreet.query.query import Count
from discreet.sql.parse import parse

TABLES = ["", "GROUP BY age", "GROUP BY sex", "GROUP BY age, sex", "GROUP BY income, age", "GROUP BY age, sex, income"]
BESIDE = [
    "age < 3",
    "sex = 'F'",
    "age = 4 AND sex = 'M'",
    "income >= 20",
    "age = 1 OR sex = 'F'",
    "age < 5 AND income < 9",
]
WHERES = ["TRUE", "age > 2", "sex = 'F'", "income BETWEEN 10 AND 29", "age < 8 AND sex = 'M'"]
AXES = ("age", "sex", "income")
GROUPED = [by for count in (1, 2, 3) for by in combinations(AXES, count)] + [("sex", "age"), ("income", "sex", "age")]


def history(vault, draw):
    """A few tables of everything, and sometimes something beside them."""
    for table in draw.sample(TABLES, draw.randrange(4)):
        vault.ask(f"SELECT COUNT(*) AS n FROM people {table}", scale=draw.choice((20, 50, 90)))
    if draw.random() < 0.3:
        vault.cubes.publish(vault.cubes.plan(epsilon="0.1", dimensions=["age", "sex"]))
    for where in draw.sample(BESIDE, draw.choice((0, 0, 1, 2))):
        by = draw.choice(("", "", "GROUP BY age", "GROUP BY sex", "GROUP BY age, income"))
        vault.ask(f"SELECT COUNT(*) AS n FROM people WHERE {where} {by}", scale=draw.choice((5, 30)))


@pytest.mark.parametrize("seed", range(30))
def test_what_is_best_of_all_groups_at_once_is_best_of_each(vault, seed):
    history(vault, Random(seed))
    desk = vault._desk
    desk.known.refresh()
    past, laws = desk.known.of(Count(vault.domain.everything)), desk.known.noise
    for by in GROUPED:
        for where in WHERES:
            region = parse(f"SELECT COUNT(*) FROM people WHERE {where}", vault.domain).where
            grid = grid_of(by, region, vault.domain)
            each = best([((1, group.boxes[0]),) for group in grid.values()], past, laws)
            if is_untold(grid, past):
                assert not any(each)
            found = best_of_groups(grid, past, laws)
            if found is not None:
                assert found.values.tolist() == pytest.approx([one.value for one in each], rel=1e-12, abs=1e-9)
                for one, number in zip(each, found.law.tolist(), strict=True):
                    assert_same_law(one, found.laws[number])


def assert_same_law(one, other):
    """But for the order in which numbers were added up."""
    assert (one.sources, one.facts, one.is_one_draw) == (other.sources, other.facts, other.is_one_draw)
    assert one.variance == pytest.approx(other.variance, rel=1e-12)
    assert len(one.draws) == len(other.draws)
    for draw, its in zip(one.draws, other.draws, strict=True):
        assert (draw.count, type(draw.law)) == (its.count, type(its.law))
        assert draw.variance == pytest.approx(its.variance, rel=1e-12)
        if isinstance(draw.law, Mixture):
            assert (draw.law.least, draw.law.evenly) == (its.law.least, pytest.approx(its.law.evenly, rel=1e-9))


def test_most_tables_are_told_at_once_or_not_at_all(vault):
    """Nothing was compared above if it never came to it."""
    for table in ("", "GROUP BY age, sex", "GROUP BY sex, income"):
        vault.ask(f"SELECT COUNT(*) AS n FROM people {table}", scale=50)
    vault.ask("SELECT COUNT(*) AS n FROM people WHERE age = 4 AND income >= 20", scale=50)
    desk, whole = vault._desk, vault.domain.everything
    desk.known.refresh()
    past = desk.known.of(Count(whole))
    told = [by for by in GROUPED if best_of_groups(grid_of(by, whole, vault.domain), past, desk.known.noise)]
    untold = [by for by in GROUPED if is_untold(grid_of(by, whole, vault.domain), past)]
    assert told == [("age",), ("sex",), ("income",), ("age", "sex"), ("sex", "income"), ("sex", "age")]
    assert untold == [("age", "sex", "income"), ("income", "sex", "age")]  # a part has its corners in age and income


AFTERWARDS = [
    "SELECT sex, age, COUNT(*) AS n FROM people GROUP BY sex, age",
    "SELECT sex, AVG(age) AS m FROM people GROUP BY sex",
    "SELECT age, sex, COUNT(*) FILTER (WHERE income < 20) AS poor, COUNT(*) AS n FROM people GROUP BY age, sex",
]


@pytest.mark.parametrize("sql", AFTERWARDS)
def test_a_question_after_others_is_answered_in_arrays_as_group_by_group(vault, sql, monkeypatch):
    vault.ask("SELECT COUNT(*) AS n, SUM(age) AS s FROM people", scale=20)
    first = vault.ask(sql, scale=30)
    assert any(isinstance(one, GridNumbers) for one in numbers_of(vault, sql))
    explained = vault.explain(sql, scale=30)
    one_by_one(monkeypatch)
    again = vault.ask(sql, scale=30)
    assert not any(isinstance(one, GridNumbers) for one in numbers_of(vault, sql))
    shown = [(row.labels, row.column, row.value, row.low, row.high) for row in again.rows]
    assert [(row.labels, row.column, row.value, row.low, row.high) for row in first.rows] == shown
    assert vault.explain(sql, scale=30) == explained


def one_by_one(context):
    """From here on every group is had by itself."""
    for module in ("public", "settle"):
        context.setattr(f"discreet.answer.{module}.best_of_groups", lambda *_: None)
    context.setattr("discreet.answer.public.is_untold", lambda *_: False)


def numbers_of(vault, sql):
    question = parse(sql, vault.domain)
    query = Count(question.where, question.by)
    return decide({query: Laplace(Fraction(30))}, vault._desk).free.by_query.values()


@pytest.mark.parametrize("most", [512, 5])
def test_numbers_made_of_several_tables_have_the_noise_that_they_have_one_by_one(vault, most, monkeypatch):
    monkeypatch.setattr("discreet.answer.joint_noise.MOST_TOGETHER", most)
    vault.ask("SELECT COUNT(*) AS n FROM people", scale=20)
    vault.ask("SELECT age, sex, COUNT(*) AS n FROM people GROUP BY age, sex", scale=30)
    desk = vault._desk
    query = Count(vault.domain.everything, ("sex", "age"))
    grid = grid_of(query.by, query.where, vault.domain)
    found = best_of_groups(grid, desk.known.of(query), desk.known.noise)
    one = public(query, query.where, found.laws[0], desk)
    numbers = GridNumbers(grid, found.values, one)
    together, apart = JointNoise(desk), JointNoise(desk)
    places = together.add_grid(numbers)
    turned = together.add_grid(GridNumbers(grid_of(("age", "sex"), query.where, vault.domain), found.values, one))
    for estimate in numbers.values():
        apart.add(estimate)
    errors = together.drawn(200, 7)
    order = [list(grid).index((sex, age)) for age in range(10) for sex in range(3)]
    assert (errors[turned] == errors[places][order]).all()  # the same cells have the same noise
    assert errors[places].std() == pytest.approx(apart.drawn(200, 7).std(), rel=0.1)
