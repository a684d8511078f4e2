"""Explain against ask: what is said before is what is spent, on random questions in fresh and in exhausted vaults."""

import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from bench.figure import Figure
from bench.foundation import state_home
from discreet.answer.reply import Explanation
from discreet.demo.census import census_domain_path, write_census
from discreet.errors import DiscreetError
from discreet.vault import Vault

QUESTIONS, ROWS = 10_000, 5_000
A_VAULT = 250
"""Questions to one vault: the later ones find it exhausted where they ask."""
BUDGETS = (
    {"epsilon": 1, "neighbours": "replace"},
    {"rho": "0.5", "neighbours": "add-remove"},
    {"epsilon": 2, "delta": "1e-6", "neighbours": "replace"},
)
AGGREGATES = (
    "COUNT(*)",
    "SUM(income)",
    "AVG(income)",
    "AVG(age)",
    "MEDIAN(age)",
    "COUNT(*) FILTER (WHERE sex = 'F') - COUNT(*) FILTER (WHERE sex = 'M')",
)

TOP = "SELECT region FROM people GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1"
LARGE = "SELECT region FROM people GROUP BY region HAVING COUNT(*) > 500"
IN_STEPS = (
    "SELECT COUNT(*) AS c0 FROM people WHERE age > (SELECT AVG(age) FROM people)",
    f"SELECT sex, AVG(income) AS c0 FROM people WHERE region IN ({TOP}) GROUP BY sex",
    f"SELECT COUNT(*) AS c0 FROM people WHERE region IN ({LARGE})",
    "SELECT AVG(income) / AVG(age) AS c0 FROM people WHERE sex = 'F'",
)
A_STATEMENT = 0.1
"""The part of the questions that are statements, most with sub-queries that are answered first."""


@dataclass
class _Held:
    """How answers came out beside what was said before them."""

    asked: int = 0
    in_steps: int = 0
    different: int = 0
    above: int = 0
    refused_after_spending: int = 0


def figures() -> Iterator[Figure]:
    held, rng = _Held(), random.Random(18)
    with tempfile.TemporaryDirectory() as folder, state_home(folder):
        people = Path(folder, "people.parquet")
        write_census(people, ROWS)
        for number in range(QUESTIONS // A_VAULT):
            budget = BUDGETS[number % len(BUDGETS)]
            vault = Vault.init(Path(folder, f"vault{number}"), table=people, domain=census_domain_path(), **budget)
            limit = vault.ledger.budget.total / 50 if number % 4 == 3 else None
            vault.policy = replace(vault.policy, patches=number % 2 == 1, max_per_query=limit)
            for _ in range(A_VAULT):
                _compare(vault, *_question(rng), held)
            vault.ledger.close()
    note = f"{held.asked:,} questions, {held.in_steps:,} of them in steps, {QUESTIONS // A_VAULT} vaults"
    yield Figure("one step: spent otherwise than explained", held.different, 0, "lower", "answers", note)
    yield Figure("in steps: spent more than explained", held.above, 0, "lower", "answers", note)
    refused = held.refused_after_spending
    yield Figure("refused after spending, in one step or several", refused, 0, "lower", "answers", note)


def _question(rng: random.Random) -> tuple[str, dict[str, object]]:
    aggregates = ", ".join(f"{a} AS c{i}" for i, a in enumerate(rng.sample(AGGREGATES, rng.choice((1, 1, 1, 2)))))
    low = rng.randrange(0, 90, 5)
    where = rng.choice(("", f"WHERE age BETWEEN {low} AND {low + rng.randrange(1, 30)}", "WHERE sex = 'F'"))
    where += rng.choice(("", "", " AND region = 'Arden'")) if where else ""
    by = rng.choice(("", "", "", "sex", "region"))
    sql = f"SELECT {by + ', ' if by else ''}{aggregates} FROM people {where} {'GROUP BY ' + by if by else ''}"
    if rng.random() < A_STATEMENT:
        sql = rng.choice(IN_STEPS)
    wish: dict[str, object] = rng.choice(
        ({}, {"scale": rng.choice((5, 30, 200))}, {"within": rng.choice((1, 3, 50, 400, 2000))})
    )
    return sql.strip(), {**wish, "relax": rng.choice((None, None, False))}


def _compare(vault: Vault, sql: str, wish: dict[str, object], held: _Held) -> None:
    held.asked += 1
    try:
        said: Explanation | None = vault.explain(sql, **wish)  # type: ignore[arg-type]
    except DiscreetError:
        said = None
    before = vault.ledger.charges
    try:
        spent: Fraction | None = vault.ask(sql, **wish).cost  # type: ignore[arg-type]
    except DiscreetError:
        spent = None
    held.refused_after_spending += spent is None and vault.ledger.charges > before
    if said is not None and not said.is_exact:
        held.in_steps += 1
        held.above += spent is not None and spent > said.cost
    elif spent is not None:
        held.different += said is None or spent != said.cost
