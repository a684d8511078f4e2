"""Statements that would take long, or much memory, to read: refused before they do."""

import pytest
from sqlglot import exp

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.sql import expression
from discreet.sql.scope import MOST_VALUES
from discreet.sql.split import read

SIZE = 700
"""Two such attributes have nearly as many combinations as are evaluated at all."""
DOMAIN = Domain("people", tuple(Integer(name=name, source="a test", low=0, high=SIZE - 1) for name in "ab"))
MANY_PARTS = " + ".join(f"a * {i} * b" for i in range(2, 40))


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT COUNT(*) FROM people WHERE {MANY_PARTS} > 3",
        f"SELECT SUM({MANY_PARTS}) FROM people",
        "SELECT COUNT(*) FROM people WHERE CASE "
        + " ".join(f"WHEN a * b = {i} THEN a + {i}" for i in range(60))
        + " END > 3",
    ],
)
def test_expressions_over_more_values_than_memory_has_room_for_are_refused_before_they_are_run(text, monkeypatch):
    """What is run before is over one attribute alone."""
    rows, run = [], expression._run
    monkeypatch.setattr(
        expression, "_run", lambda node, columns, count: rows.append(count) or run(node, columns, count)
    )
    with pytest.raises(UnsupportedQuery, match=f"at most {MOST_VALUES:,} are looked at"):
        read(text, DOMAIN)
    assert set(rows) <= {SIZE}


def test_an_expression_over_as_many_combinations_as_are_evaluated_is_read():
    assert read("SELECT COUNT(*) FROM people WHERE a * 2 + b * 3 > 100", DOMAIN).where.volume < SIZE**2


@pytest.mark.parametrize("terms", [400, 3000])
def test_reading_a_long_sum_takes_a_number_of_steps_that_grows_with_its_terms_alone(terms, monkeypatch):
    made = []
    monkeypatch.setattr(exp.Add, "__init__", _counted(exp.Add.__init__, made))
    with pytest.raises(UnsupportedQuery, match="too deeply"):
        read(
            f"SELECT COUNT(*) FROM people WHERE {' + '.join(['a'] * terms)} > 3 GROUP BY a HAVING COUNT(*) > 1", DOMAIN
        )
    assert len(made) <= 20 * terms


def test_columns_that_stand_for_more_and_more_are_refused():
    steps = ", ".join(f"t{i} AS (SELECT a + a AS a FROM {f't{i - 1}' if i else 'people'})" for i in range(40))
    with pytest.raises(UnsupportedQuery, match=r"stand for more than 4,000 names.*ask in parts"):
        read(f"WITH {steps} SELECT COUNT(*) FROM t39 WHERE a > 3", DOMAIN)


@pytest.mark.parametrize("levels", [4, 5, 15])
def test_sub_queries_that_wait_for_each_other_are_refused_beyond_four(levels):
    steps = ["t0 AS (SELECT AVG(a) AS x FROM people)"]
    steps += [
        f"t{i} AS (SELECT AVG(a) AS x FROM people WHERE a > (SELECT x FROM t{i - 1}))" for i in range(1, levels + 1)
    ]
    text = f"WITH {', '.join(steps)} SELECT x FROM t{levels}"
    if levels <= 4:
        read(text, DOMAIN)
        return
    with pytest.raises(UnsupportedQuery, match=r"more than 4 deep; ask the innermost by itself"):
        read(text, DOMAIN)


def _counted(make, made):
    def counting(self, **parts):
        made.append(None)
        make(self, **parts)

    return counting
