"""History: what a user has asked, what it cost and what became of it; and the questions they keep. For them alone."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, urlencode

from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from discreet.errors import DiscreetError, UnsupportedQuery
from discreet.ledger.spend import Cost
from discreet.server.console.answered import question_fields
from discreet.server.console.page import with_headers
from discreet.server.console.visit import Visit
from discreet.server.log import last_asked
from discreet.server.saved import SavedQuestion, forget_question, save_question, saved_questions

LINES_READ = 1000
"""Lines of the log that are looked through, the latest of this user."""
MOST_SHOWN = 100
IN_WORDS = {"within": "within ± ", "scale": "scale ", "confidence": "confidence ", "estimate": ""}


@dataclass(frozen=True)
class AskedBefore:
    """A question of the log: when it was last asked and how often, what was charged for it, and how it ended."""

    sql: str
    query: str
    at: str
    times: int
    spent: Fraction
    charges: tuple[int, ...]
    outcome: str

    @property
    def wish(self) -> str:
        """How sharp it was to be, in words."""
        said = dict(parse_qsl(self.query))
        found = [f"{word}{said[key]}" for key, word in IN_WORDS.items() if key in said]
        return ", ".join(found)

    @property
    def is_answered(self) -> bool:
        return self.outcome == "answered"


def show(visit: Visit) -> Response:
    return _page(visit, {})


async def keep(visit: Visit) -> Response:
    """Keep a question under a name, with a note."""
    return await run_in_threadpool(_kept, visit)


def _kept(visit: Visit) -> Response:
    query = urlencode(question_fields(_parsed(visit.first("query"))))
    question = SavedQuestion(visit.first("name"), visit.first("note"), query)
    try:
        if not query:
            raise UnsupportedQuery("there is no question to keep; ask one first")
        save_question(visit.vault.path, visit.user.name, question)
    except DiscreetError as error:
        return _page(visit, {"mistake": visit.public(error), "form": question})
    return with_headers(RedirectResponse("/history", 303))


def _parsed(query: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    try:
        for key, value in parse_qsl(query, max_num_fields=2000):
            found.setdefault(key, []).append(value)
    except ValueError:
        return {}
    return found


async def forget(visit: Visit) -> Response:
    """Keep a question no longer."""
    await run_in_threadpool(forget_question, visit.vault.path, visit.user.name, visit.first("name"))
    return with_headers(RedirectResponse("/history", 303))


def _page(visit: Visit, done: dict[str, Any]) -> Response:
    home, name = visit.vault.path, visit.user.name
    shown: dict[str, Any] = {
        "asked": asked_before(visit)[:MOST_SHOWN],
        "kept": saved_questions(home, name),
        "budget": visit.vault.ledger.budget,
        "mistake": None,
        "form": SavedQuestion("", "", visit.first("query")),
    }
    return visit.page("history.html", **{**shown, **done})


def asked_before(visit: Visit) -> list[AskedBefore]:
    """The questions that this user asked last, each once, the latest first."""
    found: dict[str, AskedBefore] = {}
    usual = f"{float(visit.vault.policy.confidence):g}"
    for line in reversed(last_asked(visit.vault.path, LINES_READ, visit.user.name)):
        if line.get("verb") != "ask" or not isinstance(line.get("sql"), str):
            continue
        query = _query(line, usual)
        charges = tuple(int(charge) for charge in line.get("charges", ()))
        latest = found.get(query)
        if latest is None:
            at, outcome = str(line.get("at", ""))[:16].replace("T", " "), str(line.get("outcome", "unfinished"))
            found[query] = AskedBefore(line["sql"], query, at, 1, Fraction(), charges, outcome)
        else:
            times, charges = latest.times + 1, (*charges, *latest.charges)
            found[query] = AskedBefore(latest.sql, query, latest.at, times, Fraction(), charges, latest.outcome)
    return [_with_cost(visit, asked) for asked in islice(found.values(), MOST_SHOWN)]


def _query(line: Mapping[str, Any], usual: str) -> str:
    """The question of a line as an address says it; what is usual is left out."""
    said = {key: _plain(str(line[key])) for key in IN_WORDS if line.get(key) not in (None, "", "unbiased")}
    wishes = [(key, value) for key, value in said.items() if (key, value) != ("confidence", usual)]
    return urlencode([("sql", line["sql"]), *wishes])


def _plain(text: str) -> str:
    """A number by its one text, however a client wrote it: 1000 for 1000.0."""
    with suppress(ValueError):
        return f"{float(text):.12g}"
    return text


def _with_cost(visit: Visit, asked: AskedBefore) -> AskedBefore:
    """With what the journal says of its charges: a question spends where most is spent."""
    spent = Cost()
    for number in asked.charges:
        for entry in islice(visit.vault.ledger.entries(number - 1), 1):
            spent += Cost.from_json(entry.parsed()["cost"])
    amount = visit.vault.ledger.budget.amount_of(spent.peak) if asked.charges else Fraction()
    return AskedBefore(asked.sql, asked.query, asked.at, asked.times, amount, asked.charges, asked.outcome)
