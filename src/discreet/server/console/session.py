"""Sessions: a cookie that holds a user's token, and is shown to the door as if the browser had sent it itself.

Nothing is kept on the server, so any worker serves any page, and a token that is revoked opens nothing from the next
request on. The cookie is out of reach of scripts (HttpOnly) and of other sites (SameSite=Strict); what changes
something has to come from a page of this server besides.
"""

from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import AccessDenied, DiscreetError, VaultError
from discreet.server.auth import authenticate
from discreet.server.console.page import ASSETS, asset, page, plain_error, with_headers

COOKIE = "discreet"
SAFE = ("GET", "HEAD", "OPTIONS")
LOGIN, LOGOUT = "/login", "/logout"
FORM_BYTES = 4096
"""A token and its name: no login form is longer."""


class Session:
    """Stands before the door. Who has no session is shown in by the login page; it tells nothing of the vault."""

    def __init__(self, app: ASGIApp, home: Path, api: str) -> None:
        self.app, self.home, self.api = app, home, api

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
        elif b"authorization" in dict(scope["headers"]) or (path.startswith(self.api) and not _token(request)):
            await self.app(scope, receive, send)
        elif scope["method"] not in SAFE and not _same_origin(request):
            refusal = AccessDenied("this was sent by a page of another server, and nothing was done")
            await plain_error(403, refusal)(scope, receive, send)
        else:
            await self._shown_in(request, receive, send)

    async def _shown_in(self, request: Request, receive: Receive, send: Send) -> None:
        """Go on with the cookie's token; where the door does not know it, a page becomes the way to the login."""
        scope, token = request.scope, _token(request)
        if not token:
            await _to_login(request)(scope, receive, send)
            return
        scope["headers"] = [*scope["headers"], (b"authorization", f"Bearer {token}".encode())]
        turned_away = False

        async def watched(message: Message) -> None:
            nonlocal turned_away
            if message["type"] == "http.response.start" and message["status"] == 401:
                turned_away = not scope["path"].startswith(self.api)
            if not turned_away:
                await send(message)

        await self.app(scope, receive, watched)
        if turned_away:
            await _to_login(request)(scope, receive, send)

    async def _entrance(self, request: Request) -> Response:
        if request.url.path == LOGOUT:
            leaving = RedirectResponse(LOGIN, 303)
            leaving.delete_cookie(COOKIE, httponly=True, samesite="strict")
            return with_headers(leaving)
        if request.method == "GET":
            return page(request, "login.html", next=_inside(request.query_params.get("next", "")))
        if request.method != "POST" or not _same_origin(request):
            return plain_error(403, AccessDenied("log in on this server's own page"))
        form = parse_qs((await _form(request)).decode("latin-1"))
        token, onward = (form.get(name, [""])[0].strip() for name in ("token", "next"))
        try:
            authenticate(self.home, token)
        except AccessDenied as error:
            return page(request, "login.html", status=401, error=str(error), next=_inside(onward))
        except DiscreetError:
            return plain_error(503, VaultError("the vault's users cannot be read now; its custodian can tell why"))
        entered = RedirectResponse(_inside(onward), 303)
        secure = request.url.scheme == "https"
        entered.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=secure)
        return with_headers(entered)


def _token(request: Request) -> str:
    """The cookie's token; "" where there is none, or one that is no token's text."""
    try:
        morsel = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel is not None and morsel.value.isascii() and morsel.value.isalnum() else ""


def _same_origin(request: Request) -> bool:
    """Whether a page of this server sent it. Browsers say where from; one that does not is not let through."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        return site == "same-origin"
    return origin is not None and urlsplit(origin).netloc == request.headers.get("host", "")


def _to_login(request: Request) -> Response:
    path = request.url.path
    onward = f"?next={path}" if request.method == "GET" and path != "/" else ""
    return with_headers(RedirectResponse(f"{LOGIN}{onward}", 303))


def _inside(path: str) -> str:
    """A path of this server, and of no other."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable() else "/"


async def _form(request: Request) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > FORM_BYTES:
            return b""
    return body
