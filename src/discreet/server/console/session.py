"""The way in for browsers: a token is shown once, and from then on a cookie holds a session of its own.

The cookie is out of reach of scripts (HttpOnly) and of other sites (SameSite=Strict); what changes something has to
come from a page of this server besides. See `server/sessions.py` for when a session ends.
"""

from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import AccessDenied, DiscreetError, VaultError
from discreet.server.auth import authenticate
from discreet.server.console.openid import OPENID, RETURN, OpenId, entered
from discreet.server.console.page import ASSETS, asset, page, plain_error, root_of, with_headers
from discreet.server.door import SIGNED_IN
from discreet.server.openid import Provider, SignIn
from discreet.server.seen import REFUSED
from discreet.server.sessions import begin_session, end_session, user_in
from discreet.server.sign_in import client_name, user_by

COOKIE = "discreet"
SAFE = ("GET", "HEAD", "OPTIONS")
LOGIN, LOGOUT = "/login", "/logout"
FORM_BYTES = 4096
"""A token and its name: no login form is longer."""
UNREADABLE = VaultError("the vault's users and sessions cannot be read or written now; its custodian can tell why")


class Session:
    """Stands before the door. Who has no session is shown in by the login page; it tells nothing of the vault."""

    def __init__(self, app: ASGIApp, home: Path, api: str, sign_in: SignIn | None = None) -> None:
        self.app, self.home, self.api, self.sign_in = app, home, api, sign_in
        providers = {} if sign_in is None else {client_name(sign_in): Provider(sign_in)}
        self.openid = OpenId(lambda: providers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        path = scope["path"]
        if path.startswith(f"{ASSETS}/"):
            await asset(path.removeprefix(f"{ASSETS}/"))(scope, receive, send)
        elif path in (LOGIN, LOGOUT):
            await (await self._entrance(request))(scope, receive, send)
        elif path in (OPENID, RETURN) and self.sign_in is not None and request.method == "GET":
            await (await self._by_provider(request, self.sign_in))(scope, receive, send)
        elif b"authorization" in dict(scope["headers"]) or (path.startswith(self.api) and not session_of(request)):
            await self.app(scope, receive, send)
        elif scope["method"] not in SAFE and not same_origin(request):
            refusal = AccessDenied("this was sent by a page of another server, and nothing was done")
            await plain_error(403, refusal)(scope, receive, send)
        else:
            await self._shown_in(request, receive, send)

    async def _shown_in(self, request: Request, receive: Receive, send: Send) -> None:
        """Go on as whoever's session it is; where it has ended, a page becomes the way to the login."""
        scope = request.scope
        try:
            scope[SIGNED_IN] = user_in(self.home, session_of(request))
        except AccessDenied:
            if not scope["path"].startswith(self.api):  # the API says itself what is missing
                await _to_login(request)(scope, receive, send)
                return
        except DiscreetError:
            await plain_error(503, UNREADABLE)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    async def _entrance(self, request: Request) -> Response:
        if request.url.path == LOGOUT:
            end_session(self.home, session_of(request))
            return with_headers(without_cookie(request, RedirectResponse(LOGIN, 303)))
        if request.method == "GET":
            return self._login(request, inside(request.query_params.get("next", "")))
        if request.method != "POST" or not same_origin(request):
            return plain_error(403, AccessDenied("log in on this server's own page"))
        form = parse_qs((await login_form(request)).decode("latin-1"))
        token, onward = (form.get(name, [""])[0].strip() for name in ("token", "next"))
        try:
            session = begin_session(self.home, authenticate(self.home, token))
        except AccessDenied as error:
            return self._login(request, inside(onward), error)
        except DiscreetError:
            return plain_error(503, UNREADABLE)
        entered = RedirectResponse(inside(onward), 303)
        return with_headers(with_cookie(request, entered, session))

    def _login(self, request: Request, onward: str, error: DiscreetError | None = None) -> Response:
        return login_page(request, self.openid.labels(), onward, error)

    async def _by_provider(self, request: Request, sign_in: SignIn) -> Response:
        """To the provider, or back from it into a session like that of a token."""
        try:
            if request.url.path == OPENID:
                return await self.openid.begin(request, inside(request.query_params.get("next", "")))
            _, claims, onward = await self.openid.finish(request)
            session = begin_session(self.home, await run_in_threadpool(user_by, self.home, sign_in, claims))
        except DiscreetError as error:
            return self._login(request, "/", error)
        return with_cookie(request, entered(request, inside(onward)), session)


def login_page(
    request: Request,
    providers: Mapping[str, str],
    onward: str,
    error: DiscreetError | None = None,
    hint: str = "",
) -> Response:
    """The way in: by one of the providers, each with what its button says, or by a token."""
    said = {} if error is None else {"error": str(error)}
    if error is not None:
        request.scope[REFUSED] = type(error).__name__
    status = 200 if error is None else 401 if isinstance(error, AccessDenied) else 503
    return page(request, "login.html", status=status, next=onward, providers=providers, hint=hint, **said)


def with_cookie(request: Request, reply: Response, session: str) -> Response:
    """A reply from which on a browser is in a session, below the path of this service alone."""
    secure, path = request.url.scheme == "https", f"{root_of(request)}/"
    reply.set_cookie(COOKIE, session, path=path, httponly=True, samesite="strict", secure=secure)
    return reply


def without_cookie(request: Request, reply: Response) -> Response:
    """A reply from which on it is in none."""
    reply.delete_cookie(COOKIE, f"{root_of(request)}/", httponly=True, samesite="strict")
    return reply


def session_of(request: Request) -> str:
    """The cookie's session; "" where there is none, or one that is no session's text."""
    try:
        morsel = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel is not None and morsel.value.isascii() and morsel.value.isalnum() else ""


def same_origin(request: Request) -> bool:
    """Whether a page of this server sent it. Browsers say where from; one that does not is not let through."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site == "same-origin"
    return origin is not None and urlsplit(origin).netloc == request.headers.get("host", "")


def _to_login(request: Request) -> Response:
    path = request.url.path
    query = f"?{request.url.query}" if request.url.query else ""
    onward = f"?next={quote(path + query)}" if request.method == "GET" and path + query != "/" else ""
    return with_headers(RedirectResponse(f"{LOGIN}{onward}", 303))


def inside(path: str) -> str:
    """A path of this server, and of no other."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() else "/"


async def login_form(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > FORM_BYTES:
            return b""
    return body
