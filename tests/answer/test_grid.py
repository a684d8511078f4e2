"""Groups in arrays, compared with the same group by group."""

from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from discreet.answer.decide import decide
from discreet.answer.grid import Cells, Grid, GridNumbers, grid_of
from discreet.answer.grid_rows import GridRows
from discreet.answer.past import groups_of
from discreet.answer.rows import Rows
from discreet.answer.settle import Settled
from discreet.noise.law import Laplace
from discreet.query.query import Count, group_attribute
from discreet.sql.parse import parse

QUESTIONS = [
    "SELECT age, sex, COUNT(*) AS n FROM people GROUP BY age, sex",
    "SELECT sex, age, COUNT(*) AS n, SUM(income) AS total FROM people GROUP BY sex, age ORDER BY total DESC, age",
    "SELECT income, AVG(age) AS mean, COUNT(*) AS n FROM people WHERE age > 2 GROUP BY income ORDER BY mean",
    "SELECT age, sex, COUNT(*) AS n FROM people GROUP BY age, sex ORDER BY n DESC, age LIMIT 7 OFFSET 2",
    "SELECT age, sex, income, COUNT(*) AS n FROM people GROUP BY age, sex, income ORDER BY sex DESC, n, age DESC",
    "SELECT age, COUNT(*) FILTER (WHERE sex = 'F') AS women FROM people GROUP BY age",
    "SELECT age, COUNT(*) FILTER (WHERE sex = 'F') AS women, COUNT(*) AS n FROM people GROUP BY age ORDER BY n",
    "SELECT age, COUNT(*) FILTER (WHERE income < 20) AS poor, COUNT(*) FILTER (WHERE income >= 20) AS rich, "
    "COUNT(income) AS n, AVG(income) AS mean FROM people GROUP BY age ORDER BY n",
    "SELECT FLOOR(age / 3) AS third, COUNT(*) AS n FROM people GROUP BY FLOOR(age / 3)",
    "SELECT CASE WHEN age < 4 THEN sex END AS s, age, COUNT(*) AS n, SUM(income) AS total FROM people "
    "GROUP BY CASE WHEN age < 4 THEN sex END, age ORDER BY total DESC, age",
    "SELECT age % 3 AS rest, sex, AVG(income) AS mean FROM people WHERE age > 1 GROUP BY age % 3, sex ORDER BY mean",
    "SELECT age + LENGTH(sex) AS x, sex, income, COUNT(*) AS n FROM people GROUP BY 1, 2, 3 ORDER BY n DESC LIMIT 7",
    "SELECT age % 2 AS odd, age > 5 AS old, COUNT(*) FILTER (WHERE sex = 'F') AS women, COUNT(*) AS n FROM people "
    "GROUP BY 1, 2",
]


def listed(cells):
    """The same numbers, each by itself."""
    return Cells.of(dict(cells.items()))


@pytest.fixture
def both_ways(monkeypatch):
    """Whenever rows are made in arrays, they are made group by group as well; and which were in arrays."""
    made, at_once = [], Rows.of

    def of(self, question):
        notes = list(self.notes)
        found = at_once(self, question)
        one_by_one = replace(self, settled=Settled(listed(self.settled.numbers)), notes=notes)
        other = at_once(one_by_one, question)
        assert not isinstance(other, GridRows)
        assert list(found) == other
        assert found == other
        assert self.notes == notes
        made.append(isinstance(found, GridRows))
        return found

    monkeypatch.setattr(Rows, "of", of)
    return made


@pytest.mark.parametrize("sql", QUESTIONS)
def test_rows_in_arrays_are_the_rows_made_group_by_group(vault, sql, both_ways):
    for scale in (20, 20, 30):
        assert vault.ask(sql, scale=scale).rows
    assert both_ways == [True] * 3


WITH_PUBLIC_HALVES = [
    "SELECT age, sex, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share, COUNT(*) AS n FROM people GROUP BY age, sex",
    "SELECT age % 3 AS rest, AVG(income) * 2 AS twice FROM people GROUP BY age % 3 HAVING COUNT(*) > 1000",
    "SELECT sex, SUM(n) AS n FROM (SELECT sex, age, COUNT(*) AS n FROM people GROUP BY sex, age) AS t GROUP BY sex",
    "SELECT DISTINCT age FROM people",
    "SELECT '=1+1' AS x, age, SQRT(COUNT(*) - 600) AS n FROM people GROUP BY age",
    "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex UNION ALL SELECT 'all', COUNT(*) FROM people",
]


@pytest.mark.parametrize("sql", [*QUESTIONS, *WITH_PUBLIC_HALVES])
def test_a_file_made_of_columns_is_the_one_made_row_by_row(vault, sql):
    for scale in (20, 40):
        answer = vault.ask(sql, scale=scale)
        by_rows = replace(answer, rows=tuple(answer.rows))
        assert answer.to_csv() == by_rows.to_csv()
        assert answer.to_csv(shrunken=True) == by_rows.to_csv(shrunken=True)
        assert answer.to_arrow().equals(by_rows.to_arrow())


def test_rows_are_looked_at_like_a_tuple(vault):
    rows = vault.ask(QUESTIONS[1], scale=20).rows
    listed = tuple(rows)
    assert len(rows) == len(listed) == 60
    assert (rows[0], rows[-1], rows[3:7]) == (listed[0], listed[-1], listed[3:7])
    assert rows == listed
    assert hash(rows) == hash(listed)
    assert listed[5] in rows
    with pytest.raises(IndexError):
        rows[60]


def test_lines_are_ordered_by_codes_within_and_by_numbers_between(vault):
    """Group columns come in the order of their codes, also where a later key is noisy."""
    answer = vault.ask("SELECT age, sex, COUNT(*) AS n FROM people GROUP BY age, sex ORDER BY age, n DESC", scale=20)
    ages = [int(row.labels[0]) for row in answer.rows]
    assert ages == sorted(ages)
    for age in set(ages):
        own = [row.value for row in answer.rows if int(row.labels[0]) == age]
        assert own == sorted(own, reverse=True)


def test_a_grid_has_the_groups_of_its_box(vault):
    domain = vault.domain
    where = domain.everything
    for by in (("age",), ("income", "age"), ("sex", "income", "age")):
        grid = grid_of(by, where, domain)
        assert [*grid.items()] == [*groups_of(by, where, domain)]
        assert [tuple(codes) for codes in grid.codes.tolist()] == [*grid]
        assert [grid.place(codes) for codes in grid] == [*range(len(grid))]
        assert not {(99,), (0, 0, 0, 0)} & {*grid}
        assert (99,) * len(by) not in grid
    assert grid_of((), where, domain) is None


GROUPED = ["age", "sex", "income", "FLOOR(age / 3)", "CASE WHEN age < 4 THEN sex END", "age + LENGTH(sex)", "age % 2"]
WHERES = ["", "WHERE age > 2", "WHERE age < 8 AND sex = 'F'", "WHERE sex IS NULL AND income < 20", "WHERE age = 3"]


@pytest.mark.parametrize("where", WHERES)
@pytest.mark.parametrize("expressions", [*permutations(GROUPED, 1), *permutations(GROUPED, 2), tuple(GROUPED)])
def test_a_grid_of_expressions_has_the_groups_of_its_box(vault, expressions, where):
    question = parse(f"SELECT COUNT(*) AS n FROM people {where} GROUP BY {', '.join(expressions)}", vault.domain)
    grid = grid_of(question.by, question.where, vault.domain)
    groups = [*groups_of(question.by, question.where, vault.domain)]
    assert [*grid] == [codes for codes, _ in groups]
    assert [grid[codes] for codes in grid] == [region for _, region in groups]
    assert [tuple(codes) for codes in grid.codes.tolist()] == [*grid]
    assert [grid.place(codes) for codes in grid] == [*range(len(grid))]
    size = tuple(group_attribute(group, vault.domain).size for group in question.by)
    every = set(product(*map(range, size))) | {(99,) * len(size), (0,) * (len(size) + 1), (-1,) * len(size)}
    assert {codes for codes in every if codes in grid} == {*grid}
    units = np.arange(np.prod(size)).reshape(size)
    assert grid.of_each(units).tolist() == [int(units[codes]) for codes in grid]


def test_groups_of_expressions_are_repeated_in_any_order_and_what_follows_from_them_is_free(vault):
    by = "age % 3", "sex"
    first = vault.ask(f"SELECT {', '.join(by)}, COUNT(*) AS n FROM people GROUP BY {', '.join(by)}", scale=20)
    turned = vault.ask("SELECT sex, age % 3, COUNT(*) AS n FROM people GROUP BY sex, age % 3", scale=20)
    assert not turned.cost
    assert {row.labels: row.value for row in first.rows} == {row.labels[::-1]: row.value for row in turned.rows}
    one = vault.ask("SELECT COUNT(*) AS n FROM people WHERE age % 3 = 1 AND sex = 'M'", scale=20)
    assert (one.value, one.cost) == (next(row.value for row in first.rows if row.labels == ("1", "M")), 0)
    women = vault.ask("SELECT COUNT(*) AS n FROM people WHERE sex = 'F'", scale=40)
    assert (women.value, women.cost) == (sum(row.value for row in first.rows if row.labels[1] == "F"), 0)
    again = vault.ask("SELECT sex, age % 3, COUNT(*) AS n FROM people GROUP BY sex, age % 3", scale=20)
    assert again.rows == turned.rows


def test_a_decision_in_arrays_has_the_kinds_it_would_have_group_by_group(vault):
    query, noise = Count(vault.domain.everything, ("age", "sex")), Laplace(Fraction(20))
    bought = decide({query: noise}, vault._desk)
    assert isinstance(bought.buy.by_query[query], Grid)
    assert bought.kinds([query]) == replace(bought, buy=listed(bought.buy)).kinds([query]) == {"measured": 30}
    vault.ask(QUESTIONS[0], scale=20)
    free = decide({query: noise}, vault._desk)
    assert isinstance(free.free.by_query[query], GridNumbers)
    assert free.kinds([query]) == replace(free, free=listed(free.free)).kinds([query]) == {"repeated": 30}


def test_what_is_put_beside_numbers_leaves_those_it_was_made_of_as_they_were(vault):
    query = Count(vault.domain.everything, ("age",))
    grid = grid_of(query.by, query.where, vault.domain)
    first = Cells({query: {(0,): 1}})
    second = Cells(first.by_query)
    second[query, (1,)] = 2
    assert dict(first.items()) == {(query, (0,)): 1}
    assert len(second) == 2
    whole = Cells({query: grid})
    changed = Cells(whole.by_query)
    changed[query, (0,)] = None
    assert isinstance(whole.by_query[query], Grid)
    assert changed[query, (0,)] is None
    assert len(changed) == len(whole)
    assert np.array_equal(grid.codes[:, 0], np.arange(len(grid)))


def test_a_long_answer_is_printed_by_its_first_lines_and_the_others_are_not_made(vault, monkeypatch):
    monkeypatch.setattr("discreet.answer.view.MOST_PRINTED", 3)
    answer = vault.ask("SELECT age, sex, COUNT(*) AS n FROM people GROUP BY age, sex", scale=20)
    made = []
    monkeypatch.setattr(
        GridRows, "line", lambda self, number, line=GridRows.line: made.append(number) or line(self, number)
    )
    lines = str(answer).splitlines()
    assert max(made) == 2
    assert len([line for line in lines if line.endswith("measured")]) == 3
    assert f"… and {len(answer.rows) - 3} more lines: .rows has all of them, .save_csv() writes them" in lines
