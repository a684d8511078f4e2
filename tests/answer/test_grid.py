"""Groups in arrays, compared with the same group by group."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.answer import Settled, decide
from discreet.answer.grid import Cells, Grid, GridNumbers, grid_of
from discreet.answer.grid_rows import GridRows
from discreet.answer.past import groups_of
from discreet.answer.rows import Rows
from discreet.noise.law import Laplace
from discreet.query.query import Count

QUESTIONS = [
    "SELECT age, sex, COUNT(*) AS n FROM people GROUP BY age, sex",
    "SELECT sex, age, COUNT(*) AS n, SUM(income) AS total FROM people GROUP BY sex, age ORDER BY total DESC, age",
    "SELECT income, AVG(age) AS mean, COUNT(*) AS n FROM people WHERE age > 2 GROUP BY income ORDER BY mean",
    "SELECT age, sex, COUNT(*) AS n FROM people GROUP BY age, sex ORDER BY n DESC, age LIMIT 7 OFFSET 2",
    "SELECT age, sex, income, COUNT(*) AS n FROM people GROUP BY age, sex, income ORDER BY sex DESC, n, age DESC",
    "SELECT age, COUNT(*) FILTER (WHERE sex = 'F') AS women FROM people GROUP BY age",
    "SELECT age, COUNT(*) FILTER (WHERE sex = 'F') AS women, COUNT(*) AS n FROM people GROUP BY age ORDER BY n",
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
