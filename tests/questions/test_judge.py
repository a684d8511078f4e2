"""The judge accepts the truth, in whatever spelling, and nothing else."""

from dataclasses import replace

import pytest

from tests.questions.judge import difference
from tests.questions.listed import ListedQuestion, questions
from tests.questions.order import is_ordered, order_of
from tests.questions.tables import SCALE, vault_over
from tests.questions.truth import truth_of

SQL = "SELECT region, COUNT(*) AS n, AVG(age) AS mean_age FROM people GROUP BY region ORDER BY n DESC"
ASKED = ListedQuestion("test", "regions", SQL, "people", SQL, None)


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder))
        vault = vault_over("people", folder / "vault")
        yield vault.ask(SQL, scale=SCALE), truth_of(vault)


def test_a_right_answer_differs_in_nothing(answered):
    assert difference(answered[0], ASKED, answered[1]) == ""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda rows: (replace(rows[0], value=rows[0].value + 1), *rows[1:]), "is not"),
        (lambda rows: (replace(rows[1], value=rows[1].value * 1.0001), rows[0], *rows[2:]), "is not"),
        (lambda rows: rows[2:], "7 lines, not 8"),
        (lambda rows: (*rows[2:], *rows[:2]), "not ordered"),
        (lambda rows: (replace(rows[0], low=None), *rows[1:]), "has no interval"),
        (lambda rows: (replace(rows[0], low=rows[0].value + 1, high=rows[0].value + 2), *rows[1:]), "is not in"),
        (lambda rows: tuple(replace(r, labels=("Esk" if r.labels == ("Holt",) else r.labels[0],)) for r in rows), "7"),
        (lambda rows: tuple(replace(row, labels=(row.labels[0].upper(),)) for row in rows), "is not"),
    ],
    ids=["a count", "an average", "a line less", "order", "no interval", "interval beside", "twice", "labels"],
)
def test_an_answer_with_something_wrong_is_found_out(answered, change, told):
    answer, truth = answered
    assert told in difference(replace(answer, rows=tuple(change(answer.rows))), ASKED, truth)


@pytest.mark.parametrize("question", [one for one in questions() if one.table == "people"], ids=lambda one: one.name)
def test_the_truth_is_in_its_own_order(question, answered):
    """What DuckDB answers passes for ordered, where its ORDER BY is of columns that are shown."""
    relation = answered[1].sql(question.reference)
    lines = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    keys = order_of(question.sql, relation.columns)
    assert keys is None or is_ordered(lines, keys, answered[0].domain)
