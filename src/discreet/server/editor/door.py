"""Who may edit: whoever holds the token that was printed on the terminal, in a browser on this machine."""

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import AccessDenied
from discreet.server.auth import new_token
from discreet.server.console.page import ASSETS, asset, plain_error, with_headers
from discreet.server.console.session import LOGIN, SAFE, login_form, login_page, same_origin

COOKIE = "discreet-editor"
HINT = "It was printed where `discreet domain edit` was started."


class EditorDoor:
    """Stands before the editor. The token is shown once and becomes a cookie, out of reach of scripts and of other
    sites; what is sent has to come from a page of this server besides. Both end with the process."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token, self.session = app, token, new_token()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        path, method = scope["path"], scope["method"]
        if path.startswith(f"{ASSETS}/"):
            await asset(path.removeprefix(f"{ASSETS}/"))(scope, receive, send)
        elif path == LOGIN:
            await (await self._entrance(request))(scope, receive, send)
        elif not hmac.compare_digest(_cookie(request), self.session):
            await with_headers(RedirectResponse(LOGIN, 303))(scope, receive, send)
        elif method not in SAFE and not same_origin(request):
            refusal = AccessDenied("this was sent by a page of another server, and nothing was done")
            await plain_error(403, refusal)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _entrance(self, request: Request) -> Response:
        if request.method == "GET":
            return login_page(request, {}, "/", hint=HINT)
        if request.method != "POST" or not same_origin(request):
            return plain_error(403, AccessDenied("log in on this server's own page"))
        form = parse_qs((await login_form(request)).decode("latin-1"))
        given = form.get("token", [""])[0].strip()
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return login_page(request, {}, "/", AccessDenied("that is not the token"), HINT)
        entered = RedirectResponse("/", 303)
        entered.set_cookie(COOKIE, self.session, httponly=True, samesite="strict")
        return with_headers(entered)


def _cookie(request: Request) -> str:
    try:
        morsel = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return morsel.value if morsel is not None and morsel.value.isascii() else ""
