"""The list of questions: tests/fixtures/sql/questions/THEME.sql, statements divided by empty lines.

Above each statement: `-- asks:` what it asks, which is its name; and, where needed, `-- refused:` what kind of thing it
is that must never be answered; `-- reference:` the SQL that DuckDB is asked instead, where the domain makes another
question of it.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.questions.tables import QUESTIONS, TABLES, VISITS

THEMES = {
    "official": "official statistics",
    "hospital": "hospital quality reports",
    "superset": "Superset's charts",
    "metabase": "Metabase's questions",
    "survey": "weighted surveys",
    "warehouse": "TPC-H and SSB shapes",
    "adhoc": "everyday SQL",
}
LATER, LATER_TITLE = ("later", "further"), "written after the code"
NEVER = "never"
UNANSWERED = QUESTIONS / "unanswered.txt"
_KEYS = ("asks", "refused", "reference")


@dataclass(frozen=True)
class ListedQuestion:
    """One question of the list, and what it is compared with."""

    theme: str
    asks: str
    sql: str
    table: str
    reference: str
    refused: str | None

    @property
    def name(self) -> str:
        return f"{self.theme}: {self.asks}"


@cache
def questions() -> tuple[ListedQuestion, ...]:
    """Those that are to be answered, written before the code."""
    return tuple(question for theme in THEMES for question in _read(QUESTIONS / f"{theme}.sql"))


@cache
def later_questions() -> tuple[ListedQuestion, ...]:
    """Those that were written after the code, most of them of another table, to see how far it goes."""
    return tuple(question for theme in LATER for question in _read(QUESTIONS / f"{theme}.sql"))


@cache
def never_answered() -> tuple[ListedQuestion, ...]:
    """Those that are to be refused."""
    return tuple(_read(QUESTIONS / f"{NEVER}.sql"))


def unanswered() -> list[str]:
    """Names of questions that are known not to be answered yet."""
    return UNANSWERED.read_text(encoding="utf-8").splitlines()


def _read(path: Path) -> list[ListedQuestion]:
    found = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        lines, said = block.split("\n"), {}
        while lines[0].startswith(tuple(f"-- {key}: " for key in _KEYS)):
            key, _, text = lines.pop(0).removeprefix("-- ").partition(": ")
            said[key] = text
        sql = "\n".join(lines)
        tables = (*TABLES[::-1], VISITS) if path.stem in LATER else TABLES[::-1]
        table = next((table for table in tables if re.search(rf'FROM ["`]?{table}\b', sql)), tables[-1])
        reference = said.get("reference", sql.replace("`", '"'))
        found.append(ListedQuestion(path.stem, said["asks"], sql, table, reference, said.get("refused")))
    return found
