"""What stands before every route: a token, a pace, a body of bounded size; and the one shape of every refusal."""

import asyncio
import json
import re
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import (
    AccessDenied,
    BudgetExceeded,
    DeadlinePassed,
    DiscreetError,
    DomainError,
    EngineError,
    InvalidBudget,
    InvalidFact,
    InvalidLimits,
    InvalidNoise,
    NotFound,
    PartyError,
    QuotaExceeded,
    TooManyRequests,
    UnsupportedQuery,
    VaultError,
)
from discreet.http_json import API
from discreet.plain import plain
from discreet.replies import RefusalJson
from discreet.server.auth import User
from discreet.server.desk import FrontDesk
from discreet.server.seen import REFUSED

HEALTH, READY = f"{API}/health", f"{API}/ready"
"""The two routes that take no token."""
DEADLINE = b"x-deadline-seconds"
"""The header by which every reply says how long a request may take."""
SIGNED_IN = "discreet.signed_in"
"""Where a request's scope has the user of a session, who needs no token; no client can write there."""
BODY_BYTES = 8 << 20
"""A request with a larger body is refused before it is read."""
STATUS: dict[type[DiscreetError], int] = {
    AccessDenied: 403,
    NotFound: 404,
    UnsupportedQuery: 400,
    DomainError: 400,
    InvalidNoise: 400,
    InvalidBudget: 400,
    InvalidFact: 400,
    InvalidLimits: 400,
    PartyError: 400,
    BudgetExceeded: 409,
    QuotaExceeded: 409,
    TooManyRequests: 429,
    DeadlinePassed: 504,
}
"""Everything else is no fault of who asks: 503."""
REFUSED_BECAUSE = {
    400: "It was not understood, or cannot be answered privately.",
    401: "The token is missing, unknown, expired or revoked.",
    403: "The role does not allow it.",
    404: "Nothing is there.",
    409: "It does not fit the budget, or the quota.",
    413: "The body is too large.",
    429: "Too many requests; Retry-After says when.",
    504: "It took longer than the deadline, and nothing was spent.",
    503: "The vault cannot answer: its disk, its journal or its table.",
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": words,
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{RefusalJson.__name__}"}}},
    }
    for status, words in REFUSED_BECAUSE.items()
}
"""Which refusals there are, as the OpenAPI document has them."""


class JsonReply(Response):
    """A result as JSON: what `--json` prints, in one line."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, default=plain, separators=(",", ":")).encode()


class Door:
    """Stands before everything: no token, no entry; and no body that is larger than it may be."""

    def __init__(self, app: ASGIApp, desk: FrontDesk) -> None:
        self.app, self.desk = app, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._admitted(scope, receive, watched)
        except asyncio.CancelledError:
            if started or scope["type"] != "http":
                raise
            ending = VaultError("the server is ending; ask again when it is back: nothing is charged twice")
            await refusal(ending)(scope, receive, send)

    async def _admitted(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in (HEALTH, READY):
            await self.app(scope, receive, send)
            return
        try:
            signed_in = scope.get(SIGNED_IN)
            scope["user"] = self.desk.admit(token_in(scope)) if signed_in is None else self.desk.let_in(signed_in)
        except AccessDenied as error:
            await denied(scope, error)(scope, receive, send)
            return
        except DiscreetError as error:
            scope[REFUSED] = type(error).__name__
            await refusal(error)(scope, receive, send)
            return
        try:
            body = await _whole(receive)
        except ClientDisconnect:
            return  # what is not whole is not done, and nobody is there to be told
        if body is None:
            too_large = UnsupportedQuery(f"a request has at most {BODY_BYTES >> 20} MB; ask about less at once")
            await _error(413, too_large)(scope, receive, send)
            return
        messages: Iterator[Message] = iter([{"type": "http.request", "body": body, "more_body": False}])
        left = asyncio.Event()

        async def leaving() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            left.set()

        async def replay() -> Message:
            message = next(messages, None)
            if message is None:
                await left.wait()
            return message or {"type": "http.disconnect"}

        try:
            async with self.desk.turns.at_work(scope["user"], leaving):
                await self.app(scope, replay, self._stated(send))
        except (TooManyRequests, DeadlinePassed) as error:  # its turn never came
            scope[REFUSED] = type(error).__name__
            await refusal(error)(scope, receive, self._stated(send))

    def _stated(self, send: Send) -> Send:
        """The same with the deadline in the head of the reply."""
        if self.desk.deadline is None:
            return send
        stated = (DEADLINE, f"{self.desk.deadline:g}".encode())

        async def said(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), stated]
            await send(message)

        return said


def admitted(request: Request) -> User:
    """Whose token a request came with."""
    user = request.scope["user"]
    assert isinstance(user, User)
    return user


async def user_of(request: Request) -> User:
    """The same as what routes depend on. It waits for nothing: a plain function would be called in a thread."""
    return admitted(request)


def without_place(text: str, home: str) -> str:
    """A message without the vault's place on the server's disk."""
    # A name without a folder says nothing of the disk, and may well be what the table is called, too.
    return re.sub(rf"(?<![\w/.]){re.escape(home)}(?!\w)", "VAULT", text) if "/" in home else text


def api_router(tag: str) -> APIRouter:
    """Where routes of the API are put: below its address, each with every refusal in its description."""
    return APIRouter(prefix=API, tags=[tag], responses=REFUSALS)


def answer_refusals(app: FastAPI, home: str) -> None:
    """Give every failure of an application the one shape, without the vault's place on the server's disk."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, DiscreetError)
        request.scope[REFUSED] = type(error).__name__
        return refusal(type(error)(without_place(str(error), home)))

    app.add_exception_handler(DiscreetError, refused)
    app.add_exception_handler(HTTPException, elsewhere)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(Exception, _failed)


def token_in(scope: Scope) -> str:
    """The token that a request came with. Raises AccessDenied where there is none."""
    given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    scheme, _, token = given.partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise AccessDenied(
            "nothing is answered without a token: --token TOKEN, or the header Authorization: Bearer TOKEN"
        )
    return str(token).strip()


async def _whole(receive: Receive) -> bytes | None:
    """The body, None as soon as it is too large. Raises ClientDisconnect where its client has gone before its end."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def denied(scope: Scope, error: AccessDenied) -> Response:
    """What somebody is told who is not known here."""
    scope[REFUSED] = type(error).__name__
    return _error(401, error)


def _error(status: int, error: DiscreetError, headers: dict[str, str] | None = None) -> Response:
    said = RefusalJson(error={"kind": type(error).__name__, "message": str(error)})
    return JsonReply(said, status, headers)


def refusal(error: DiscreetError) -> Response:
    """An error in the one shape of all of them."""
    status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 503)
    later = {"Retry-After": str(error.wait_seconds)} if isinstance(error, TooManyRequests) else None
    return _error(status, error, later)


async def elsewhere(request: Request, error: Exception) -> Response:
    """What is said of an address where nothing is."""
    assert isinstance(error, HTTPException)
    unknown = NotFound(f"nothing answers {request.method} here; see GET {API}/openapi.json")
    return _error(error.status_code, unknown, dict(error.headers or {}))


async def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    places = {".".join(map(str, found["loc"][1:])) or "the body" for found in error.errors()}
    shown = ", ".join(sorted(places))[:200]
    return _error(400, UnsupportedQuery(f"the request was not understood at {shown}; see GET {API}/openapi.json"))


async def _failed(_: Request, __: Exception) -> Response:
    return _error(500, EngineError("the server failed; what was charged stands, see `discreet ledger show`"))
