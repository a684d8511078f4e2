"""The HTTP API and the console over a folder of vaults: a catalogue at /, and each vault below /v/NAME as if it were
served alone.

A token opens the vaults that have a user with it, in the role and with the quota that they have there. Who has none for
a vault is told the same whether or not there is one of that name, and opens nothing by asking.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet import replies
from discreet.errors import AccessDenied, DiscreetError
from discreet.exact import number_text
from discreet.home import declared_tables
from discreet.http_json import API
from discreet.release.slots import Slots
from discreet.server.app import LAST_SECONDS, NOT_READY, readiness, with_tokens
from discreet.server.auth import User, authenticate
from discreet.server.below import Below
from discreet.server.console.openid import OPENID, RETURN, OpenId, entered
from discreet.server.console.page import ASSETS, asset, page, plain_error, with_headers
from discreet.server.console.session import (
    LOGIN,
    LOGOUT,
    UNREADABLE,
    inside,
    login_form,
    login_page,
    same_origin,
    session_of,
    with_cookie,
    without_cookie,
)
from discreet.server.door import (
    HEALTH,
    READY,
    REFUSALS,
    JsonReply,
    answer_refusals,
    denied,
    elsewhere,
    refusal,
    token_in,
)
from discreet.server.folder import VAULTS, VAULTS_ROUTE, VaultFolder
from discreet.server.headers import Headers
from discreet.server.jobs import wait_for_jobs
from discreet.server.metrics import Metrics
from discreet.server.pace import Bucket
from discreet.server.seen import REFUSED, Seen
from discreet.server.sessions import begin_session, end_session, new_session, user_in
from discreet.server.sign_in import FolderSignIn

WAYS_IN = (LOGIN, OPENID, RETURN)
"""Somebody signs in to all vaults at once, at the folder's own address."""
HINT = "A token opens the vaults whose custodians gave it: discreet user add"


class FolderApp:
    """Hands each request to the vault that it names, or to the catalogue."""

    def __init__(self, folder: VaultFolder, bucket: Bucket, slots: Slots, access_log: Path | None, root: str) -> None:
        self.folder = folder
        self.front = _front(folder, bucket, slots, access_log, root)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        named = _named(scope) if scope["type"] == "http" else None
        if named is None:
            await self.front(scope, receive, send)
            return
        name, path = named
        if path.startswith(f"{ASSETS}/"):
            scope["path"] = path  # the same files for all
            await self.front(scope, receive, send)
        elif path in (HEALTH, READY, LOGOUT):
            scope["path"] = path  # of the server as a whole
            await self.front(scope, receive, send)
        elif path in WAYS_IN or not await run_in_threadpool(self._is_known, name, Request(scope)):
            await self.front(scope, receive, send)
        else:
            await self._to_vault(name, scope, receive, send)

    async def _to_vault(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        using = self.folder.using(name)
        try:
            vault = await run_in_threadpool(using.__enter__)
        except DiscreetError as error:
            scope[CANNOT] = error
            await self.front(scope, receive, send)
            return
        try:
            app: ASGIApp = await run_in_threadpool(lambda: vault.app)
        except DiscreetError as error:
            scope[CANNOT], app = self.folder.cannot_open(name, error), self.front
        else:
            app = Below(app, f"{VAULTS}/{name}")
        try:
            await app(scope, receive, send)
        finally:
            using.__exit__(None, None, None)

    def _is_known(self, name: str, request: Request) -> bool:
        """Whether a request has a token, or a session, of this vault; only then it is opened."""
        try:
            home = self.folder.home(name)
            if "authorization" in request.headers:
                authenticate(home, token_in(request.scope))
            else:
                user_in(home, session_of(request))
        except DiscreetError:
            return False
        return True


CANNOT = "discreet.cannot"
"""Where a request's scope has why its vault cannot be opened."""


def _named(scope: Scope) -> tuple[str, str] | None:
    """The vault that a path names, and what it says behind that; None where it names none."""
    path = scope["path"]
    if not path.startswith(f"{VAULTS}/"):
        return None
    name, slash, rest = path.removeprefix(f"{VAULTS}/").partition("/")
    return (name, f"{slash}{rest}") if name else None


def _front(folder: VaultFolder, bucket: Bucket, slots: Slots, access_log: Path | None, root: str) -> FastAPI:
    """What stands before the vaults: the catalogue, the way in, and what is said where no vault answers."""

    @asynccontextmanager
    async def until_the_end(_: FastAPI) -> AsyncIterator[None]:
        slots.ending.clear()
        yield
        await run_in_threadpool(wait_for_jobs, LAST_SECONDS)
        slots.ending.set()

    app = FastAPI(
        title="Discreet: a folder of vaults",
        version="1",
        description=f"Which vaults a token opens. Each has an API of its own: see {VAULTS}/NAME{API}/openapi.json.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=until_the_end,
        servers=[{"url": root}] if root else None,
    )
    app.state.root = root
    answer_refusals(app, str(folder.path))
    _api(app, folder, bucket, slots)
    _pages(app, folder)

    async def nothing(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return await _nothing(request, error, folder)

    app.add_exception_handler(HTTPException, nothing)
    app.add_middleware(Seen, home=folder.path, metrics=Metrics(), access_log=access_log, root=root)
    app.add_middleware(Headers)
    app.openapi = lambda: with_tokens(app)  # type: ignore[method-assign]
    return app


def _api(app: FastAPI, folder: VaultFolder, bucket: Bucket, slots: Slots) -> None:
    @app.get(HEALTH, response_model=replies.HealthJson, tags=["health"])
    async def health() -> JsonReply:
        """Whether the server is up. It takes no token, and waits for nobody."""
        return JsonReply(replies.HealthJson(status="ok"))

    @app.get(READY, response_model=replies.ReadyJson, tags=["health"], responses=NOT_READY)
    async def ready() -> JsonReply:
        """Whether the server takes requests: not any more when it is about to end. It takes no token."""
        return readiness(slots.ending.is_set())

    @app.get(VAULTS_ROUTE, response_model=replies.VaultsJson, tags=["vaults"], responses=REFUSALS)
    def vaults(request: Request) -> Response:
        """The vaults that this token opens, as whom, and which of them cannot be opened now."""
        try:
            found = folder.opened_by(token_in(request.scope)) if _has_token(request) else _signed_in(folder, request)
            if not found:
                raise AccessDenied("this token opens no vault here; ask a custodian for one: `discreet user add`")
        except AccessDenied as error:
            return denied(request.scope, error)
        bucket.take(next(iter(found.values())).name)
        return JsonReply(replies.VaultsJson(vaults=[_line(folder, name, user) for name, user in found.items()]))


def _has_token(request: Request) -> bool:
    return "authorization" in request.headers or not session_of(request)


def _signed_in(folder: VaultFolder, request: Request) -> dict[str, User]:
    """The vaults that a browser is signed in to, and as whom: by the same session in each."""
    found, session = {}, session_of(request)
    for name in folder.names() if session else ():
        try:
            found[name] = user_in(folder.home(name), session)
        except DiscreetError:
            continue
    return found


def _line(folder: VaultFolder, name: str, user: User) -> replies.ServedVaultJson:
    """What the catalogue says of a vault: nothing that changes when somebody asks it."""
    error, tables = folder.why_not(name), list[str]()
    if error is None:
        try:
            tables = list(declared_tables(folder.home(name)).names)
        except DiscreetError as unreadable:
            error = folder.cannot_open(name, unreadable)
    return {
        "name": name,
        "address": f"{VAULTS}/{name}",
        "tables": tables,
        "user": user.name,
        "role": user.role,
        "quota": None if user.quota is None else number_text(user.quota),
        "error": None if error is None else {"kind": type(error).__name__, "message": str(error)},
    }


def _pages(app: FastAPI, folder: VaultFolder) -> None:
    def route(path: str, methods: list[str], shown: Any) -> None:
        app.add_api_route(path, shown, methods=methods, include_in_schema=False)

    def catalogue(request: Request) -> Response:
        found = _signed_in(folder, request)
        if not found:
            return with_headers(RedirectResponse(LOGIN, 303))
        lines = [_line(folder, name, user) for name, user in found.items()]
        return page(request, "vaults.html", vaults=lines)

    def leave(request: Request) -> Response:
        if not same_origin(request):
            return plain_error(403, AccessDenied("sign out on this server's own page"))
        _end(folder, session_of(request))
        return with_headers(without_cookie(request, RedirectResponse(LOGIN, 303)))

    def file(name: str) -> Response:
        return asset(name)

    route("/", ["GET"], catalogue)
    _ways_in(route, folder)
    route(LOGOUT, ["POST"], leave)
    route(f"{ASSETS}/{{name}}", ["GET"], file)


def _ways_in(route: Callable[[str, list[str], Any], None], folder: VaultFolder) -> None:
    """By a token, or by one of the providers that the vaults name."""
    sign_in = FolderSignIn(folder)
    openid = OpenId(sign_in.providers)

    def login(request: Request) -> Response:
        return login_page(request, openid.labels(), inside(request.query_params.get("next", "")), hint=HINT)

    async def enter(request: Request) -> Response:
        if not same_origin(request):
            return plain_error(403, AccessDenied("log in on this server's own page"))
        form = parse_qs((await login_form(request)).decode("latin-1"))
        token, onward = (form.get(name, [""])[0].strip() for name in ("token", "next"))
        found, onward = await run_in_threadpool(folder.opened_by, token), inside(onward)
        if not found:
            unknown = AccessDenied("this token opens no vault here; ask a custodian for one: `discreet user add`")
            return await run_in_threadpool(refused, request, unknown, onward)
        return await run_in_threadpool(_entered, request, folder, found, RedirectResponse(onward, 303))

    def refused(request: Request, error: DiscreetError, onward: str) -> Response:
        return login_page(request, openid.labels(), onward, error, HINT)

    async def to_provider(request: Request) -> Response:
        try:
            return await openid.begin(request, inside(request.query_params.get("next", "")))
        except DiscreetError as error:
            return await run_in_threadpool(refused, request, error, "/")

    async def from_provider(request: Request) -> Response:
        try:
            provider, claims, onward = await openid.finish(request)
            found = await run_in_threadpool(sign_in.users, provider, claims)
        except DiscreetError as error:
            return await run_in_threadpool(refused, request, error, "/")
        return await run_in_threadpool(_entered, request, folder, found, entered(request, inside(onward)))

    route(LOGIN, ["GET"], login)
    route(LOGIN, ["POST"], enter)
    route(OPENID, ["GET"], to_provider)
    route(RETURN, ["GET"], from_provider)


def _entered(request: Request, folder: VaultFolder, found: Mapping[str, User], onward: Response) -> Response:
    """Sign in to every vault that somebody has shown to be theirs, by one session; one from before ends."""
    session = new_session()
    try:
        for name, user in found.items():
            begin_session(folder.home(name), user, session)
    except DiscreetError:
        return plain_error(503, UNREADABLE)
    _end(folder, session_of(request))
    return with_headers(with_cookie(request, onward, session))


def _end(folder: VaultFolder, session: str) -> None:
    for name in folder.names():
        end_session(folder.home(name), session)


async def _nothing(request: Request, error: HTTPException, folder: VaultFolder) -> Response:
    """What is said where no vault answers: the way in, why a vault cannot be opened, or that nothing is there."""
    named, why = _named(request.scope), request.scope.get(CANNOT)
    if named is None:
        return await elsewhere(request, error)
    name, path = named
    if not path and request.method == "GET":
        return with_headers(RedirectResponse(f"{VAULTS}/{quote(name)}/", 307))
    is_api = path.startswith(f"{API}/") or "authorization" in request.headers
    if why is not None:
        request.scope[REFUSED] = type(why).__name__
        if is_api:
            return refusal(why)
        lines = await run_in_threadpool(
            lambda: [_line(folder, one, user) for one, user in _signed_in(folder, request).items()]
        )
        return page(request, "vaults.html", 503, vaults=lines, error=str(why))
    if is_api:
        try:
            token_in(request.scope)
            raise AccessDenied("this token is not known here; ask the custodian for one: `discreet user add`")
        except AccessDenied as unknown:
            return denied(request.scope, unknown)
    onward = request.url.path.removesuffix(path) if path in WAYS_IN else request.url.path
    return with_headers(RedirectResponse(f"{LOGIN}?next={quote(onward)}", 303))
