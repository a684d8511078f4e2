"""Budget: what is left by region, over time and for each user, and how many more questions it is good for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from fastapi.responses import Response

from discreet.answer.policy import noise_within
from discreet.domain.region import Box, Region
from discreet.errors import DiscreetError
from discreet.ledger.books import Books
from discreet.ledger.reserve import FROM
from discreet.ledger.reserve import KIND as RESERVE
from discreet.ledger.spend import Cost
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count
from discreet.server.auth import User, list_users
from discreet.server.console.heat import Heat, heat_map
from discreet.server.console.page import number
from discreet.server.console.sql_help import rows_of
from discreet.server.console.visit import Visit
from discreet.server.names import budget_for, of_each
from discreet.sql.parse import parse
from discreet.sql.where_text import identifier, where_text
from discreet.vault.vault import Vault

WITHINS = (30, 100, 300, 1000, 3000)
LATEST = 2000
"""Charges in the chart of the budget over time: the latest ones."""
MOST_CELLS = 20_000
"""No map has more cells."""


def show(visit: Visit) -> Response:
    """The page, or its part with the map and the questions."""
    report, budget = budget_for(visit.user, visit.vault.budget()), visit.vault.ledger.budget
    shown: dict[str, Any] = {
        "report": report,
        "symbol": budget.symbol,
        "budget": budget,
        "total": budget.total,
        "share": float(report.spent / budget.total) if budget.total else 1.0,
        "users": _users(visit.vault, report.by_user, visit.user),
        "history": spending(visit.vault.ledger.whole) if visit.answers_sql else None,
        "regional": visit.answers_sql,
        "ticks": [(part, budget.amount_of(budget.limit) * part / 4) for part in range(5)],
    }
    if visit.answers_sql:
        shown |= _map(visit) | _questions(visit)
    return visit.page("budget.html", **shown)


def _map(visit: Visit) -> dict[str, Any]:
    """What is left by two attributes: those chosen, or the first two that make a map worth looking at."""
    over = visit.over
    domain = over.domain
    names = [attribute.name for attribute in domain.attributes if attribute.size > 1]
    shown: dict[str, Any] = {"groups": origins_of(over, names), "table": domain.name}
    if len(names) < 2:
        return {**shown, "heat": None, "down": "", "across": ""}
    by_size = sorted(names, key=lambda name: -domain[name].size)
    across = _one_of(visit.first("across"), names, by_size[0])
    others = [name for name in by_size if name != across and domain[name].size * domain[across].size <= MOST_CELLS]
    down = _one_of(visit.first("down"), others, others[0] if others else "")
    return {**shown, "heat": _heat(over, down, across) if down else None, "down": down, "across": across}


def origins_of(over: Vault, names: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Attributes by the table that they come from: its own, and those that its rows have of the tables above."""
    tables = over.linked
    if len(tables) == 1:
        return [("", list(names))]
    here = tables[over.domain.name]
    found = []
    for table in tables.above(here):
        own = [name for name in table.own_domain.names if name in names]
        found.append((f"{table.name}: {rows_of(table)}", own))
    return [(title, own) for title, own in found if own]


def _heat(vault: Vault, down: str, across: str) -> Heat:
    symbol, domain = vault.ledger.budget.symbol, vault.domain
    left = vault.budget_map(down, across)
    limits = (0.0, float(vault.ledger.budget.total))

    def words(amount: float) -> str:
        return f"{symbol} {number(amount, 3)}"

    def said(row: int, column: int) -> str:
        return words(float(left[row, column])) if left[row, column] > 0 else "nothing is left"

    axes = (down, domain[down].labels), (across, domain[across].labels)
    return heat_map(left, *axes, said, words, limits, unsure=left <= 0)


def _one_of(name: str, names: list[str], default: str) -> str:
    return name if name in names else default


@dataclass(frozen=True)
class Kind:
    """Questions of one accuracy: what each costs, and how many more of them fit."""

    within: int
    cost: Fraction | None
    more: int | None


def _questions(visit: Visit) -> dict[str, Any]:
    """How many more counts of one region, by accuracy."""
    vault, where = visit.over, visit.first("where")
    mistake, region = None, vault.domain.everything
    try:
        if where:
            region = parse(f"SELECT COUNT(*) FROM {identifier(vault.domain.name)} WHERE {where}", vault.domain).where
    except DiscreetError as error:
        mistake = visit.public(error)
    return {
        "where": where,
        "mistake": mistake,
        "region": where_text(region, vault.domain),
        "left_there": vault.ledger.budget.amount_of(vault.ledger.left(region)),
        "kinds": [_kind(vault, region, within) for within in WITHINS],
        "confidence": vault.policy.confidence,
    }


def _kind(vault: Vault, region: Region, within: int) -> Kind:
    budget = vault.ledger.budget
    noise = noise_within(Fraction(within), vault.policy.confidence, budget)
    units = Plan((Measurement(Count(region, ()), noise),)).cost(vault.domain, budget).peak
    return Kind(within, budget.amount_of(units), vault.ledger.left(region) // units)


def _users(vault: Vault, spent: dict[str, Fraction], caller: User) -> list[dict[str, Any]]:
    """Everybody who has spent, or may, and whom the caller sees: with their quota, and which part of it is gone."""
    known = of_each(caller, {user.name: user for user in list_users(vault.path)})
    total = vault.ledger.budget.total
    lines = []
    for name in sorted({*spent, *known}):
        user, gone = known.get(name), spent.get(name, Fraction())
        quota = user.quota if user is not None else None
        share = float(gone / (quota or total)) if (quota or total) else 0.0
        role = user.role if user is not None else "revoked"
        lines.append({"name": name, "role": role, "spent": gone, "quota": quota, "share": share})
    return lines


@dataclass(frozen=True)
class History:
    """What the point with the least left has spent, charge after charge, as shares of the limit; oldest first."""

    shares: tuple[float, ...]
    """Before the first charge that is shown, and after each."""
    times: tuple[float, ...]
    """When each charge was, from 0 to 1."""
    first: str
    last: str
    earlier: bool
    """Whether there were charges before the first one shown."""

    @property
    def line(self) -> str:
        """The shares as a stair in a box of 100 × 100, as an SVG path; a little of before and after is in it."""
        steps = zip(self.times, self.shares[1:], strict=True)
        stairs = "".join(f"H{2 + 96 * time:.2f}V{100 - 100 * share:.2f}" for time, share in steps)
        return f"M0 {100 - 100 * self.shares[0]:.2f}{stairs}H100"


def spending(ledger: Books) -> History | None:
    """How the budget went where most of it is spent; None before the first charge of this table."""
    since = max(ledger.refreshed, ledger.head.seq - 2 * LATEST)
    spent = (entry.parsed() for entry in ledger.entries(since) if entry.kind in ("charge", RESERVE))
    charges = [body for body in spent if FROM not in body][-LATEST:]  # what is drawn was spent when it was set aside
    if not charges:
        return None
    point, limit = most_spent(ledger), ledger.budget.limit
    costs = [Cost.from_json(charge["cost"]).at(point) for charge in charges]
    now = ledger.spent_max
    levels = [now - sum(costs)]
    for cost in costs:
        levels.append(levels[-1] + cost)
    shares = tuple(max(level, 0) / limit for level in levels)
    times = _parts([datetime.fromisoformat(charge["at"]).timestamp() for charge in charges])
    return History(shares, times, charges[0]["at"][:16], charges[-1]["at"][:16], levels[0] > 0)


def _parts(times: list[float]) -> tuple[float, ...]:
    """Times as parts of the way from the first to the last; of a clock that was set back none goes back."""
    length = max(times) - times[0]
    found, last = [], 0.0
    for place, time in enumerate(times):
        last = max(last, (time - times[0]) / length if length > 0 else place / len(times))
        found.append(last)
    return tuple(found)


def most_spent(ledger: Books) -> tuple[int, ...]:
    """A point with the least left, found by halving the domain: of two halves one has as little left as the whole."""
    box = ledger.domain.everything.boxes[0]
    least = ledger.left(Region((box,)))
    for axis in range(len(box.low)):
        while box.low[axis] < box.high[axis]:
            middle = (box.low[axis] + box.high[axis]) // 2
            lower = Box(box.low, (*box.high[:axis], middle, *box.high[axis + 1 :]))
            upper = Box((*box.low[:axis], middle + 1, *box.low[axis + 1 :]), box.high)
            box = lower if ledger.left(Region((lower,))) == least else upper
    return box.low
