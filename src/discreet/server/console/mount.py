"""The console on an application: its pages, and the session that leads to the door."""

import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from discreet.errors import DiscreetError
from discreet.http_json import API
from discreet.server.console import (
    ask,
    buckets,
    budget,
    cube,
    curve,
    download,
    facts,
    glossary,
    history,
    lattice,
    ledger,
    plan,
    publish_buckets,
    rows,
    start,
    users,
)
from discreet.server.console.drafts import Drafts
from discreet.server.console.session import Session
from discreet.server.console.visit import Fields, Visit
from discreet.server.desk import FrontDesk
from discreet.server.door import STATUS, elsewhere
from discreet.server.seen import REFUSED
from discreet.server.shelf import Shelf
from discreet.server.sign_in import sign_in_of
from discreet.sql.where_text import identifier
from discreet.vault.vault import Vault

View = Callable[[Visit], Response]
Deed = Callable[[Visit], Awaitable[Response]]
MOST_FIELDS = 2000
NO_PAGE = "there is no such page here; the menu has those that there are"


def _in_thread(view: View) -> Deed:
    async def shown(visit: Visit) -> Response:
        return await run_in_threadpool(view, visit)

    return shown


async def first_page(visit: Visit) -> Response:
    """What is here; of a SuLQ database, how it is asked."""
    return await (_in_thread(start.show) if visit.answers_sql else ask.show)(visit)


READ: tuple[tuple[str, View], ...] = (
    ("/cube", cube.show),
    ("/cube/{name}", cube.show),
    ("/lattice", lattice.show),
    ("/lattice/{name}", lattice.show),
    ("/rows", rows.show),
    ("/rows/{name}", rows.show),
    ("/ask/curve", curve.show),
    ("/glossary", glossary.show),
    ("/history", history.show),
    ("/budget", budget.show),
    ("/releases", ledger.show_releases),
    ("/releases/{charge}", ledger.show_release),
    ("/ledger", ledger.show_entries),
    ("/buckets", buckets.show),
    ("/buckets/publish", publish_buckets.show),
    ("/plan", plan.show),
    ("/facts", facts.show),
    ("/users", users.show),
)
READ_BY_ASKING: tuple[tuple[str, Deed], ...] = (
    ("/", first_page),
    ("/ask", ask.show),
    ("/ask/download", download.give),
)
"""Pages that answer what is free: through the desk, as whatever is asked."""
WRITE: tuple[tuple[str, Deed], ...] = (
    ("/ask", ask.answer),
    ("/ask/explain", ask.explain),
    ("/history/keep", history.keep),
    ("/history/forget", history.forget),
    ("/buckets/publish", publish_buckets.publish),
    ("/facts", facts.add),
    ("/users", users.add),
    ("/users/edit", users.edit),
    ("/users/rotate", users.rotate),
    ("/users/revoke", users.revoke),
)


def add_console(app: FastAPI, desk: FrontDesk, shelf: Shelf) -> None:
    """Serve the pages of a vault beside its API, through the same door, desk and shelf. Call it when the door is on."""
    drafts = Drafts()
    for path, view in READ:
        app.add_api_route(path, _route(_in_thread(view), desk, shelf, drafts), methods=["GET"], include_in_schema=False)
    for path, deed in READ_BY_ASKING:
        app.add_api_route(path, _route(deed, desk, shelf, drafts), methods=["GET"], include_in_schema=False)
    for path, deed in WRITE:
        app.add_api_route(path, _route(deed, desk, shelf, drafts), methods=["POST"], include_in_schema=False)

    async def no_page(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if request.url.path.startswith(API) or not _wants_page(request):
            return await elsewhere(request, error)
        visit = Visit(request, desk, shelf, drafts, {})
        return await run_in_threadpool(visit.page, "error.html", error.status_code, error=NO_PAGE)

    app.add_exception_handler(HTTPException, no_page)
    app.add_middleware(Session, home=desk.vault.path, api=API, sign_in=sign_in_of(desk.vault.path))
    threading.Thread(target=_warm, args=(desk.vault, shelf), name="console", daemon=True).start()


def _warm(vault: Vault, shelf: Shelf) -> None:
    """Have at hand what the first visitor would wait for: what is known, the newest cube, compiled code."""
    with suppress(DiscreetError):  # who asks for it is told why
        vault.explain(f"SELECT COUNT(*) FROM {identifier(vault.domain.name)}")
    with suppress(DiscreetError):
        for name in shelf.cubes()[-1:]:
            shelf.cube(name).halfwidth()


def _route(deed: Deed, desk: FrontDesk, shelf: Shelf, drafts: Drafts) -> Callable[[Request], Awaitable[Response]]:
    async def shown(request: Request) -> Response:
        text = (await request.body()).decode("utf-8", "replace") if request.method == "POST" else request.url.query
        visit = Visit(request, desk, shelf, drafts, _fields(text))
        try:
            return await deed(visit)
        except DiscreetError as error:
            request.scope[REFUSED] = type(error).__name__
            if _wants_json(request) and not visit.is_part:
                raise  # as the API says it
            status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 503)
            return await run_in_threadpool(visit.page, "error.html", status, error=visit.public(error))

    return shown


def _wants_page(request: Request) -> bool:
    """Whether it says that it is a browser; programs mostly take anything."""
    return "text/html" in request.headers.get("accept", "")


def _wants_json(request: Request) -> bool:
    return "json" in request.headers.get("accept", "") and not _wants_page(request)


def _fields(text: str) -> Fields:
    """The fields of a form or an address; none of one that has more than any page of ours."""
    try:
        return parse_qs(text, max_num_fields=MOST_FIELDS)
    except ValueError:
        return {}
