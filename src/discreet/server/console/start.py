"""Start: what is published here, who may ask, what it has cost, and what to do first."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi.responses import Response

from discreet.domain.attribute import Integer
from discreet.domain.tables import LinkedTable
from discreet.errors import DiscreetError
from discreet.server.auth import list_users
from discreet.server.console.ask import cost_words
from discreet.server.console.pick import summable
from discreet.server.console.sql_help import rows_of
from discreet.server.console.visit import Visit
from discreet.server.names import budget_for
from discreet.sql.where_text import identifier

MOST_CELLS = 40
"""An example is grouped by an attribute of no more values, where there is one."""


@dataclass(frozen=True)
class Example:
    """A question to begin with, and what it would cost now."""

    words: str
    sql: str
    cost: str

    @property
    def address(self) -> str:
        return f"/ask?{urlencode({'sql': self.sql})}"


def show(visit: Visit) -> Response:
    vault = visit.vault
    report = budget_for(visit.user, vault.budget())
    roles = Counter(user.role for user in list_users(vault.path))
    shown: dict[str, Any] = {
        "report": report,
        "budget": vault.ledger.budget,
        "share": float(report.spent / vault.ledger.budget.total) if vault.ledger.budget.total else 1.0,
        "cubes": [(name, visit.shelf.cube(name).dimensions) for name in visit.shelf.cubes()],
        "rows": visit.shelf.rows_names(),
        "buckets": visit.shelf.bucket_names(),
        "facts": len(vault.ledger.all_facts),
        "columns": [(one.name, rows_of(one), one.own_domain.names) for one in vault.linked],
        "roles": sorted(roles.items()),
        "own": report.by_user.get(visit.user.name),
        "quota": visit.user.quota,
        "examples": examples(visit),
    }
    return visit.page("start.html", **shown)


def examples(visit: Visit) -> list[Example]:
    """Questions that the tables can be asked, with what each would cost this user; none that cannot be priced."""
    questions = [question for table in visit.vault.linked for question in _questions(table, visit.vault.tables)]
    found = []
    for words, sql in questions:
        try:
            told = visit.desk.seen_by(visit.user).explain(sql)
        except DiscreetError:
            continue
        found.append(Example(words, sql, cost_words(told)))
    return found


def _questions(of_table: LinkedTable, tables: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Questions in words and as SQL; of several tables, few of each, and one by what the table above it has."""
    domain, alone = of_table.domain, len(tables) == 1
    table, what = identifier(domain.name), "" if alone else f" {domain.name}"
    yield f"How many{what or ' are there'}?", f"SELECT COUNT(*) FROM {table}"
    grouping = [a for a in domain.attributes if 1 < a.size <= MOST_CELLS and not isinstance(a, Integer)]
    for by in grouping[:1] if of_table.parent is None else grouping[-1:]:
        name = identifier(by.name)
        yield f"How many{what} by {by.name}?", f"SELECT {name}, COUNT(*) FROM {table} GROUP BY {name}"
        for of in summable(domain)[-1:] if alone else ():
            asked = f"SELECT {name}, AVG({identifier(of)}) FROM {table} GROUP BY {name}"
            yield f"The average {of} by {by.name}?", asked
