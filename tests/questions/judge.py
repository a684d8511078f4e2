"""Whether a question is answered, and rightly: the vault's answer beside DuckDB's, line by line.

At this scale the noise of counts, and of sums of up to 1,000 grains a person, is 0 but for a chance below 10⁻⁴⁰. Only
sums of products (a variance, a correlation, an income times a weight) have noise left: some 10⁻⁶ of what is asked about
here. So a number is right within CLOSE of itself, less than what dividing by n instead of n − 1 would change; it has
its interval beside it, and the truth is in there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb

from discreet.answer.reply import Answer
from discreet.errors import DiscreetError
from discreet.vault import Vault
from tests.questions.listed import ListedQuestion
from tests.questions.order import Cell, is_ordered, order_of
from tests.questions.tables import SCALE, vault_over
from tests.questions.truth import truth_of

CLOSE, CLOSE_TO_ZERO = 2e-5, 1e-6
CONFIDENCE = "0.999999"
NULLS = {"(missing)", "(all)", "NULL", "null", "None", ""}
"""How a label may say that there is none."""
LIBRARIES = ("Traceback", "duckdb.", "sqlglot", "site-packages", "Catalog Error", "Binder Error", "Parser Error")
"""What shows that a library speaks, and not Discreet."""


class Verdict(Enum):
    RIGHT = "answered and right"
    REFUSED = "refused in words"
    WRONG = "wrong"


@dataclass(frozen=True)
class Judged:
    """What became of a question, and why."""

    question: ListedQuestion
    verdict: Verdict
    why: str = ""


def judge(question: ListedQuestion, vault: Vault, truth: duckdb.DuckDBPyConnection) -> Judged:
    """Ask a question of a new vault. It has to spend what explain said, or nothing where it is refused."""
    before = vault.ledger.charges
    try:
        explained = vault.explain(question.sql, scale=SCALE, confidence=CONFIDENCE)
        answer = vault.ask(question.sql, scale=SCALE, confidence=CONFIDENCE)
    except DiscreetError as refusal:
        words = str(refusal)
        if vault.ledger.charges > before:
            return Judged(question, Verdict.WRONG, f"refused after spending: {words}")
        if not words or any(word in words for word in LIBRARIES):
            return Judged(question, Verdict.WRONG, f"not in our own words: {words}")
        return Judged(question, Verdict.REFUSED, words)
    except Exception as error:  # whatever it is: it is the verdict
        return Judged(question, Verdict.WRONG, f"{type(error).__name__}: {error}")
    said: Fraction = explained.cost
    if answer.cost > said or (explained.is_exact and answer.cost != said):
        return Judged(question, Verdict.WRONG, f"spent {answer.cost}, and explain said {said}")
    differs = difference(answer, question, truth)
    return Judged(question, Verdict.WRONG if differs else Verdict.RIGHT, differs)


def judge_anew(question: ListedQuestion, folder: Path) -> Judged:
    """The same, of a vault that is made for it in a folder."""
    vault = vault_over(question.table, folder)
    with truth_of(vault) as truth:
        return judge(question, vault, truth)


def difference(answer: Answer, question: ListedQuestion, truth: duckdb.DuckDBPyConnection) -> str:
    """How an answer differs from the truth, in a line; empty where it does not."""
    relation = truth.sql(question.reference)
    expected = relation.fetchall()
    table = answer.to_arrow()
    names = [*answer.by, *answer.columns]
    if len(names) != len(relation.columns):
        return f"has columns {names}, not {relation.columns}"
    places = _places(names, relation.columns)
    found = [{name: line[name] for name in table.column_names} for line in table.to_pylist()]
    if len(found) != len(expected):
        return f"has {len(found)} lines, not {len(expected)}"
    left = list(expected)
    for line in found:
        told = [_mismatch(line, other, places, relation.columns) for other in left]
        if "" not in told:
            nearest = min(told, key=lambda why: why.count(";"))
            return f"a line that is not there: {line}; {nearest}"
        left.pop(told.index(""))
    return _disorder(found, expected, question, places, relation.columns, answer)


def _disorder(
    found: Sequence[Mapping[str, Any]],
    expected: Sequence[tuple[Any, ...]],
    question: ListedQuestion,
    places: Sequence[str],
    columns: Sequence[str],
    answer: Answer,
) -> str:
    keys = order_of(question.sql, columns)
    if keys is None:
        in_place = all(not _mismatch(line, other, places, columns) for line, other in zip(found, expected, strict=True))
        return "" if in_place else "lines are in another order"
    cells = [_sortable([line[place] for line in found]) for place in places]
    shown = [dict(zip(columns, line, strict=True)) for line in zip(*cells, strict=True)]
    return "" if is_ordered(shown, keys, answer.domain) else f"lines are not ordered by {keys}"


def _places(names: Sequence[str], columns: Sequence[str]) -> list[str]:
    """The answer's column for each of the truth's: by name, the others in their order."""
    by_name = {name.lower(): name for name in names}
    matched = {column: by_name[column.lower()] for column in columns if column.lower() in by_name}
    rest = iter([name for name in names if name not in matched.values()])
    return [matched[column] if column in matched else next(rest) for column in columns]


def _mismatch(line: Mapping[str, Any], other: tuple[Any, ...], places: Sequence[str], columns: Sequence[str]) -> str:
    """What differs between a line of the answer and one of the truth."""
    wrong = []
    for place, column, true in zip(places, columns, other, strict=True):
        value = line[place]
        if isinstance(value, int | float) and f"{place}_low" in line:
            why = _off(value, line[f"{place}_low"], line[f"{place}_high"], true)
            wrong += [f"{column}: {why}"] if why else []
        elif canonical(value) != canonical(true):
            wrong.append(f"{column}: {value!r} is not {true!r}")
    return "; ".join(wrong)


def _off(value: float, low: float | None, high: float | None, true: Any) -> str:
    if true is None or isinstance(true, str | date):
        return f"{value} is not {true!r}"
    slack = CLOSE * abs(float(true)) + CLOSE_TO_ZERO
    if not abs(value - float(true)) <= slack:
        return f"{value} is not {true}"
    if low is None or high is None:
        return f"{value} has no interval"
    if not low - slack <= float(true) <= high + slack:
        return f"{true} is not in {low} … {high}"
    return ""


def canonical(value: Any) -> str | float | None:
    """A label, whatever it was written as."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date):
        return str(value).removesuffix(" 00:00:00")
    text = str(value)
    if value is None or text in NULLS:
        return None
    try:
        return round(float(text), 9)
    except ValueError:
        shown = text.replace("T00:00:00", "").removesuffix(" 00:00:00")
        return shown.lower() if shown.lower() in ("true", "false") else shown


def _sortable(values: Sequence[Any]) -> list[Cell]:
    """A column's cells as they sort: numbers where all of them are, else texts."""
    cells = [canonical(value) for value in values]
    if all(cell is None or isinstance(cell, float) for cell in cells):
        return cells
    return [None if cell is None else str(value) for cell, value in zip(cells, values, strict=True)]
