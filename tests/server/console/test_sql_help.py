"""Beside the SQL editor: the declared schema, constructs that are understood, and mistakes at their place."""

import pytest

from discreet.errors import DiscreetError
from discreet.server.console.sql_help import CONSTRUCTS, MOST_VALUES, place_of, schema


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("SELECT COUNT(* FROM people", "FROM"),
        ("SELECT sex,\n COUNT(* FROM people", "FROM"),
        ("SELECT COUNT(*) FROM people WHERE aeg > 5", "aeg"),
        ("SELECT COUNT(*) FROM people\nWHERE sex = 'Fe'", "Fe"),
        ("SELECT COUNT(*) FROM persons", "persons"),
        ("SELEC COUNT(*) FROM people", "SELEC"),
        ("SELECT COUNT(*) FROM people WHERE", "WHERE"),
    ],
)
def test_a_mistake_is_at_the_word_that_the_message_names(people, sql, word):
    with pytest.raises(DiscreetError) as told:
        people.explain(sql)
    start, end = place_of(str(told.value), sql)
    assert sql[start:end] == word


@pytest.mark.parametrize("message", ["no place", "line 9, column 3", "it's 'nowhere'", "line 999999, column 999999"])
def test_a_message_without_a_place_marks_nothing(message):
    assert place_of(message, "SELECT 1") is None


def test_the_schema_is_the_declared_domain_and_no_more(vault_of_people):
    domain = vault_of_people.domain
    [table] = schema(vault_of_people.linked)["tables"]
    assert [column["name"] for column in table["columns"]] == list(domain.names)
    assert all(len(column["values"]) <= MOST_VALUES for column in table["columns"])
    assert (table["name"], table["above"], table["join"]) == ("people", [], None)


def test_every_construct_that_is_offered_is_understood(people):
    holes = {"COUNT(DISTINCT …)": "sex", "COUNT_IF(…)": "age > 5"}
    conditions = {"W": "> 5", "B": "BETWEEN 1 AND 5", "I": "IN (1, 2)"}
    for text, _ in CONSTRUCTS:
        whole = text.replace("…", holes.get(text, "age"))
        if text.startswith("CASE"):
            sql = "SELECT SUM(CASE WHEN age > 5 THEN 1 ELSE 0 END) FROM people"
        elif text.startswith("FLOOR"):
            sql = f"SELECT {whole}, COUNT(*) FROM people GROUP BY 1"
        elif text.startswith("FILTER"):
            sql = "SELECT COUNT(*) FILTER (WHERE age > 5) FROM people"
        elif text.startswith(("WHERE", "BETWEEN", "IN", "IS")):
            sql = f"SELECT COUNT(*) FROM people WHERE age {conditions[text[0]]}"
        elif text.startswith(("GROUP", "HAVING", "ORDER")):
            rest = {"G": "", "H": "HAVING COUNT(*) > 5", "O": "ORDER BY COUNT(*) DESC LIMIT 5"}[text[0]]
            sql = f"SELECT sex, COUNT(*) FROM people GROUP BY sex {rest}"
        elif "OVER" in text:
            sql = f"SELECT sex, COUNT(*) / {whole} AS part FROM people GROUP BY sex"
        elif text.startswith("WITH"):
            sql = "WITH t AS (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) SELECT sex, n FROM t"
        else:
            sql = f"SELECT {whole} FROM people"
        assert people.explain(sql).text, text
