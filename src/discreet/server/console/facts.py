"""Facts: the exact statistics that are public anyway, what each does to privacy, and adding one."""

from typing import Any

from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from discreet.errors import DiscreetError, InvalidFact
from discreet.server.auth import require_custodian
from discreet.server.console.visit import Visit

MOST_LINES = 300


def show(visit: Visit) -> Response:
    return _page(visit, {})


async def add(visit: Visit) -> Response:
    """Show what a fact would do; or account for it, in a custodian's name, who said that they know that it stays."""
    require_custodian(visit.user, "add facts")
    sql, given = visit.first("sql"), visit.first("value")
    form: dict[str, Any] = {"sql": sql, "value": given}
    try:
        value = _whole(given)
        what = {"sql": sql, "value": value}
        if visit.first("look"):
            would = await visit.desk.answer(
                visit.user, "fact preview", what, lambda vault: vault.facts.preview(sql, value)
            )
            return await run_in_threadpool(_page, visit, {**form, "would": would})
        if not visit.first("sure"):
            raise InvalidFact("a fact cannot be taken back: tick that you know it")
        accept = bool(visit.first("accept"))
        added = await visit.desk.answer(
            visit.user, "fact add", what, lambda vault: vault.facts.add(sql, value, accept=accept)
        )
    except DiscreetError as error:
        return await run_in_threadpool(_page, visit, {**form, "mistake": visit.public(error)})
    return await run_in_threadpool(_page, visit, {"added": added})


def _whole(text: str) -> int:
    digits = text.replace(",", "").replace("−", "-")
    if not digits.removeprefix("-").isascii() or not digits.removeprefix("-").isdigit() or len(digits) > 16:
        raise InvalidFact("the value of a fact is a whole number")
    return int(digits)


def _page(visit: Visit, done: dict[str, Any]) -> Response:
    lines = [
        {**line.to_json(), "table": name}
        for name in visit.vault.tables
        for line in visit.vault.table(name).facts.report().facts
    ]
    shown: dict[str, Any] = {
        "report": visit.vault.facts.report(),
        "lines": lines[:MOST_LINES],
        "hidden": max(len(lines) - MOST_LINES, 0),
        "symbol": visit.vault.ledger.budget.symbol,
        "is_custodian": visit.user.role == "custodian",
        "sql": "",
        "value": "",
        "mistake": None,
        "added": None,
        "would": None,
    }
    return visit.page("facts.html", **{**shown, **done})
