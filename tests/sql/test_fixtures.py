"""accepted.sql and refused.sql: statements divided by empty lines, each under comments that say what is expected."""

from pathlib import Path

import pytest

from discreet.domain.domain import Domain
from discreet.errors import DomainError, UnsupportedQuery
from discreet.sql.parse import parse
from discreet.sql.where_text import where_text
from tests.steps import calls_of

FIXTURES = Path(__file__).parents[1] / "fixtures" / "sql"


def statements(name: str) -> list[tuple[str, dict[str, str]]]:
    """Each statement with its expectations: `-- where: TRUE` above it is {"where": "TRUE"}."""
    cases = []
    for block in (FIXTURES / name).read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.split("\n")
        heads = [line.removeprefix("-- ").split(": ", 1) for line in lines if line.startswith("-- ")]
        cases.append(("\n".join(lines[len(heads) :]), dict(heads)))
    return cases


@pytest.mark.parametrize(("text", "expected"), statements("accepted.sql"))
def test_an_accepted_statement_asks_for_the_region_and_columns_it_says(
    text: str, expected: dict[str, str], people: Domain
) -> None:
    question = parse(text, people)
    again = parse(f"SELECT COUNT(*) FROM people WHERE {expected['where']}", people)
    assert question.where == again.where, where_text(question.where, people)
    if "columns" in expected:
        assert ", ".join(column.name for column in question.columns) == expected["columns"]
    if "note" in expected:
        assert expected["note"] in question.notes


@pytest.mark.parametrize(("text", "expected"), statements("refused.sql"))
def test_a_refused_statement_is_refused_at_once_and_in_our_own_words(
    text: str, expected: dict[str, str], people: Domain
) -> None:
    def refused() -> pytest.ExceptionInfo[Exception]:
        with pytest.raises((UnsupportedQuery, DomainError)) as refusal:
            parse(text, people)
        return refusal

    refusal = refused()
    assert calls_of(refused) < 10_000  # the second time: what the first imports is not counted
    assert expected["refused"] in str(refusal.value)
    assert "sqlglot" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None
