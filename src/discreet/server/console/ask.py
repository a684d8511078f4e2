"""Ask: a question in SQL or by clicks, what it would cost before anything is spent, and its answer with intervals."""

from fractions import Fraction
from functools import partial
from typing import Any

from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from discreet.answer.reply import Answer, Explanation
from discreet.errors import DiscreetError
from discreet.exact import number_text
from discreet.server.auth import MAY_ASK
from discreet.server.console.answered import look_at, question_fields, view_of
from discreet.server.console.page import number
from discreet.server.console.pick import offers, picked_sql, summable
from discreet.server.console.reading import free_answer
from discreet.server.console.sql_help import CONSTRUCTS, place_of, schema
from discreet.server.console.visit import Visit
from discreet.server.seen import REFUSED

CONFIDENCES = ("0.9", "0.95", "0.99")
CONFIRMED_FROM = Fraction(1, 10)
"""A question that spends more than this part of the whole budget is asked back for."""


async def show(visit: Visit) -> Response:
    """The page, with a question from the address where there is one, and its answer where that is free."""
    if not visit.answers_sql:
        return await run_in_threadpool(lambda: visit.page("subsets.html", report=visit.vault.budget()))
    told = await run_in_threadpool(_told, visit, False)
    found = None
    if question_fields(visit.fields):
        try:
            found = await free_answer(visit, told["sql"], wish_of(visit), told["explained"])
        except DiscreetError as error:
            return await run_in_threadpool(_refused, visit, error)
    if found is None and told["sql"]:
        await run_in_threadpool(visit.desk.log_explained, visit.user, told["sql"], wish_of(visit))
    if visit.is_part and found is None:
        return await run_in_threadpool(lambda: visit.page("ask_again.html", **told))
    return await run_in_threadpool(lambda: _shown(visit, _outcome(visit, found), told))


async def explain(visit: Visit) -> Response:
    """What the question would cost, and how far off its answer would be."""
    return await run_in_threadpool(lambda: visit.page("ask_forecast.html", **_form(visit), **_told(visit)))


async def answer(visit: Visit) -> Response:
    """Ask, in the user's name."""
    sql, wish = question_of(visit), wish_of(visit)
    large = await run_in_threadpool(_unconfirmed, visit)
    if large is not None:
        return await run_in_threadpool(_shown, visit, {"answer": None, "refusal": None, "confirm": large})
    ask = partial(_ask, sql=sql, wish=wish)
    try:
        found = await visit.desk.answer(visit.user, "ask", {"sql": sql, **wish}, ask)
    except DiscreetError as error:
        return await run_in_threadpool(_refused, visit, error)
    return await run_in_threadpool(_answered, visit, found)


def _unconfirmed(visit: Visit) -> dict[str, Any] | None:
    """What to say of a question that costs much and was not confirmed at this price; None: ask it."""
    if visit.user.role not in MAY_ASK:
        return None
    told = _told(visit, False)["explained"]
    if told is None or told.cost <= CONFIRMED_FROM * told.budget.total:
        return None
    price = number_text(told.cost)
    if visit.first("sure") == price:
        return None
    visit.desk.log_explained(visit.user, question_of(visit), wish_of(visit))
    return {"price": price, "cost": told.budget.in_words(told.cost), "left": told.budget.in_words(told.left),
            "share": CONFIRMED_FROM}  # fmt: skip


def _ask(vault: Any, sql: str, wish: dict[str, Any]) -> Answer:
    found = vault.ask(sql, **wish)
    assert isinstance(found, Answer)
    return found


def _refused(visit: Visit, error: DiscreetError) -> Response:
    visit.request.scope[REFUSED] = type(error).__name__  # the page says it with status 200, and the log says it too
    return _shown(visit, {"answer": None, "refusal": visit.public(error)})


def _answered(visit: Visit, found: Answer) -> Response:
    return _shown(visit, _outcome(visit, found))


def _outcome(visit: Visit, found: Answer | None) -> dict[str, Any]:
    return {"answer": None if found is None else view_of(look_at(found, visit.fields)), "refusal": None}


def _shown(visit: Visit, outcome: dict[str, Any], told: dict[str, Any] | None = None) -> Response:
    """The outcome alone for a script, else on the whole page with the question."""
    if visit.is_part:
        return visit.page("ask_answer.html", **outcome)
    return visit.page("ask.html", **{**_form(visit), **(told or _told(visit, False)), **outcome})


def question_of(visit: Visit) -> str:
    """The SQL that was typed, or that the clicks stand for."""
    typed = visit.first("sql")
    picked = visit.first("mode", "sql" if typed else "pick") == "pick"
    return picked_sql(visit.over.domain, visit.first, visit.all) if picked else typed


def explained(visit: Visit, sql: str) -> Explanation | None:
    """What a question would cost this user; None where there is none."""
    return visit.desk.seen_by(visit.user).explain(sql, **wish_of(visit)) if sql else None


def wish_of(visit: Visit) -> dict[str, Any]:
    """How sharp the answer is to be."""
    given = {"within": visit.first("within").replace(",", ""), "confidence": visit.first("confidence")}
    if visit.first("estimate") == "modelled":
        return {"estimate": "modelled", **({"confidence": given["confidence"]} if given["confidence"] else {})}
    return {key: value for key, value in given.items() if value}


def _form(visit: Visit) -> dict[str, Any]:
    domain = visit.over.domain
    return {
        "table": domain.name,
        "offers": offers(domain),
        "summable": summable(domain),
        "names": domain.names,
        "mode": visit.first("mode", "sql" if visit.first("sql") else "pick"),
        "fields": visit.fields,
        "within": visit.first("within"),
        "confidence": visit.first("confidence", f"{float(visit.vault.policy.confidence):g}"),
        "usual_confidence": f"{float(visit.vault.policy.confidence):g}",
        "confidences": CONFIDENCES,
        "estimate": visit.first("estimate", "unbiased"),
        "refusal": None,
        "schema": schema(visit.vault.linked),
        "constructs": CONSTRUCTS,
    }


def _told(visit: Visit, is_logged: bool = True) -> dict[str, Any]:
    """The question as SQL and what it would cost, or why it cannot be asked. A request has one line in the log: it is
    not logged as explained where it is as asked."""
    sql = ""
    try:
        sql = question_of(visit)
        if sql and is_logged:
            visit.desk.log_explained(visit.user, sql, wish_of(visit))
        told = explained(visit, sql)
        forecast = None if told is None else _forecast(told)
        return {"sql": sql, "forecast": forecast, "explained": told, "mistake": None, "place": None}
    except DiscreetError as error:
        typed = sql or visit.first("sql")
        place = place_of(str(error), typed)
        return {"sql": typed, "forecast": None, "explained": None, "mistake": visit.public(error), "place": place}


def cost_words(told: Explanation) -> str:
    """A price in a few words, for a button."""
    if told.cost:
        most = "" if told.is_exact else "at most "
        return f"{most}{told.budget.symbol} {number(float(told.cost), 3)}"
    kinds = {kind for aggregate in told.forecasts for kind in aggregate.kinds}
    return "no budget left" if kinds == {"unanswered"} else "free, relaxed" if "relaxed" in kinds else "free"


def _forecast(told: Explanation) -> dict[str, Any]:
    whole = told.cost + told.left
    relaxed = any({"relaxed", "unanswered"} & {*aggregate.kinds} for aggregate in told.forecasts)
    return {
        "told": told,
        "share": float(told.cost / whole) if whole else 0.0,
        "free": told.cost == 0 and not relaxed,
        "price": cost_words(told),
    }
