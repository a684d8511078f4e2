"""Operators bind in our syntax trees as they do in the engine: a tree in full parentheses means what was written."""

from random import Random

import duckdb
import pytest
from sqlglot import exp

from discreet.sql.syntax import read_query

NUMBERS = ["1", "2", "3", "5", "7", "-2", "- 3"]
ARITHMETIC = ["+", "-", "*", "/", "//", "%", "%"]
COMPARISONS = ["=", "<>", "<", ">=", "IS DISTINCT FROM"]
LOGIC = ["AND", "OR"]


def in_parentheses(node: exp.Expression) -> exp.Expression:
    """The same tree, each of its operators in parentheses."""

    def wrapped(inner: exp.Expression) -> exp.Expression:
        is_operator = isinstance(inner, exp.Binary | exp.Not | exp.Neg | exp.Between | exp.In | exp.Is)
        return exp.Paren(this=inner) if is_operator else inner

    for inner in reversed(list(node.bfs())):
        if inner is not node and not isinstance(inner.parent, exp.Paren):
            made = wrapped(inner.copy())
            if isinstance(made, exp.Paren):
                inner.replace(made)
    return wrapped(node)


def written(draw: Random) -> str:
    """Operators in a row, with no parentheses but a few."""

    def numbers() -> str:
        text = draw.choice(NUMBERS)
        for _ in range(draw.randrange(1, 5)):
            part = draw.choice(NUMBERS) if draw.random() < 0.8 else f"({draw.choice(NUMBERS)} + {draw.choice(NUMBERS)})"
            text += f" {draw.choice(ARITHMETIC)} {part}"
        return text

    if draw.random() < 0.5:
        return numbers()
    text = ""
    for place in range(draw.randrange(1, 4)):
        text += f" {draw.choice(LOGIC)} " if place else ""
        text += draw.choice(["", "", "NOT "])
        text += draw.choice(
            [
                f"{numbers()} {draw.choice(COMPARISONS)} {numbers()}",
                f"{numbers()} BETWEEN {numbers()} AND {numbers()}",
                f"{numbers()} IN ({numbers()}, {numbers()})",
                f"{numbers()} IS NOT NULL",
            ]
        )
    return text


@pytest.mark.parametrize("seed", range(10))
def test_a_tree_in_parentheses_means_what_was_written(seed):
    draw, engine = Random(seed), duckdb.connect()
    engine.execute("SET error_on_division_by_zero = false")
    for _ in range(60):
        text = written(draw)
        select = read_query(f"SELECT {text} AS x FROM people")
        ours = in_parentheses(select.expressions[0].this.copy()).sql("duckdb")
        [[expected]], [[found]] = (engine.execute(f"SELECT {sql}").fetchall() for sql in (text, ours))
        assert repr(found) == repr(expected), f"{text} was read as {ours}"


@pytest.mark.parametrize(
    ("text", "value"), [("1 + 5 % 2", 2), ("7 % 4 * 3", 9), ("2 * 7 % 4", 2), ("-7 % 4", -3), ("9 - 7 % 4 - 1", 5)]
)
def test_a_remainder_binds_as_a_product_does(text, value):
    select = read_query(f"SELECT {text} AS x FROM people")
    [[found]] = duckdb.sql(f"SELECT {in_parentheses(select.expressions[0].this.copy()).sql('duckdb')}").fetchall()
    assert found == value
