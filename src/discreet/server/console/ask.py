"""Ask: a question in SQL or by clicks, what it would cost before anything is spent, and its answer with intervals."""

from functools import partial
from typing import Any

from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from discreet.answer.reply import Answer, Explanation, Row
from discreet.errors import DiscreetError
from discreet.server.console.overlap import overlap_picture
from discreet.server.console.pick import offers, picked_sql, summable
from discreet.server.console.table import BarLine, table_of
from discreet.server.console.visit import Visit
from discreet.sql.question import NULL
from discreet.sql.where_text import where_text

KINDS = {
    "measured": "Noise was drawn for it now, and the budget of its region paid.",
    "repeated": "The same was measured before: the same answer again, for nothing.",
    "derived": "It follows from facts and answers that were released before, for nothing.",
    "relaxed": "Too little budget is left there, so this is the nearest that released answers come to it, for nothing.",
    "unanswered": "Too little budget is left there, and nothing that was released answers it.",
    "modelled": "Read from a published model, for nothing: sharper than unbiased numbers, and biased.",
    "mixed": "Some numbers are new and some follow from what was released before; each line says which.",
}
CONFIDENCES = ("0.9", "0.95", "0.99")
MOST_LINES = 500
"""Lines of an answer on one page; the rest is in the download."""


def show(visit: Visit) -> Response:
    """The page, with a question from the address where there is one. A link spends nothing."""
    if not visit.answers_sql:
        return visit.page("subsets.html", report=visit.vault.budget())
    return visit.page("ask.html", **_form(visit), **_told(visit), answer=None)


async def explain(visit: Visit) -> Response:
    """What the question would cost, and how far off its answer would be."""
    return await run_in_threadpool(lambda: visit.page("ask_forecast.html", **_form(visit), **_told(visit)))


async def answer(visit: Visit) -> Response:
    """Ask, in the user's name."""
    sql, wish = question(visit), _wish(visit)
    ask = partial(_ask, sql=sql, wish=wish)
    try:
        found = await visit.desk.answer(visit.user, "ask", {"sql": sql, **wish}, ask)
    except DiscreetError as error:
        return await run_in_threadpool(_refused, visit, error)
    return await run_in_threadpool(_answered, visit, found)


def _ask(vault: Any, sql: str, wish: dict[str, str]) -> Answer:
    found = vault.ask(sql, **wish)
    assert isinstance(found, Answer)
    return found


def _refused(visit: Visit, error: DiscreetError) -> Response:
    return _shown(visit, {"answer": None, "refusal": visit.public(error)})


def _answered(visit: Visit, found: Answer) -> Response:
    return _shown(visit, {"answer": _view(found), "refusal": None})


def _shown(visit: Visit, outcome: dict[str, Any]) -> Response:
    """The outcome alone for a script, else on the whole page with the question."""
    if visit.is_part:
        return visit.page("ask_answer.html", **outcome)
    return visit.page("ask.html", **{**_form(visit), **_told(visit), **outcome})


def question(visit: Visit) -> str:
    """The SQL that was typed, or that the clicks stand for."""
    typed = visit.first("sql")
    picked = visit.first("mode", "sql" if typed else "pick") == "pick"
    return picked_sql(visit.vault.domain, visit.first, visit.all) if picked else typed


def _wish(visit: Visit) -> dict[str, str]:
    """How sharp the answer is to be."""
    given = {"within": visit.first("within").replace(",", ""), "confidence": visit.first("confidence")}
    if visit.first("estimate") == "modelled":
        return {"estimate": "modelled", **({"confidence": given["confidence"]} if given["confidence"] else {})}
    return {key: value for key, value in given.items() if value}


def _form(visit: Visit) -> dict[str, Any]:
    domain = visit.vault.domain
    return {
        "offers": offers(domain),
        "summable": summable(domain),
        "names": domain.names,
        "mode": visit.first("mode", "sql" if visit.first("sql") else "pick"),
        "fields": visit.fields,
        "within": visit.first("within"),
        "confidence": visit.first("confidence", f"{float(visit.vault.policy.confidence):g}"),
        "confidences": CONFIDENCES,
        "estimate": visit.first("estimate", "unbiased"),
        "refusal": None,
    }


def _told(visit: Visit) -> dict[str, Any]:
    """The question as SQL and what it would cost, or why it cannot be asked."""
    sql = ""
    try:
        sql = question(visit)
        told = visit.desk.explain(visit.user, sql, _wish(visit)) if sql else None
        return {"sql": sql, "forecast": None if told is None else _forecast(told), "mistake": None}
    except DiscreetError as error:
        return {"sql": sql or visit.first("sql"), "forecast": None, "mistake": visit.public(error)}


def _forecast(told: Explanation) -> dict[str, Any]:
    whole = told.cost + told.left
    relaxed = any({"relaxed", "unanswered"} & {*aggregate.kinds} for aggregate in told.forecasts)
    return {"told": told, "share": float(told.cost / whole) if whole else 0.0, "free": told.cost == 0 and not relaxed}


def _line(row: Row, found: Answer) -> BarLine:
    about = where_text(row.answered, found.domain) if row.is_near else ""
    return BarLine(
        tuple(NULL if label is None else label for label in row.labels),
        row.value,
        row.low,
        row.high,
        row.kind,
        about=about,
        offer=row.offer,
        may_be_zero=row.may_be_zero,
        too_noisy=row.is_too_noisy,
        shrunken=row.shrunken,
    )


def _view(found: Answer) -> dict[str, Any]:
    """An answer as its template takes it: one big number, or a table with bars."""
    single = found.only if len(found.rows) == 1 else None
    relaxed = [row for row in found.rows if row.is_near]
    tables = [
        table_of(
            found.by,
            column,
            [_line(row, found) for row in found.rows if row.column == column],
            MOST_LINES,
        )
        for column in found.columns
        if single is None
    ]
    return {
        "found": found,
        "single": single,
        "tables": tables,
        "why": KINDS[found.kind],
        "overlaps": [(row, overlap_picture(row.asked, row.answered, found.domain)) for row in relaxed[:4]],
        "more_relaxed": max(len(relaxed) - 4, 0),
        "notes": found.notes,
    }
