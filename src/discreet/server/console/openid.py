"""The way in by an office's provider: to it with an attempt that only this browser holds, and back with a code."""

from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import quote, unquote

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from discreet.errors import AccessDenied
from discreet.home import sign_in_settings
from discreet.server.auth import User, end_subject, know_subject
from discreet.server.console.page import page, root_of, with_headers
from discreet.server.openid import Provider, SignIn, SignInAttempt
from discreet.server.pace import Bucket

OPENID, RETURN = "/login/openid", "/login/return"
COOKIE = "discreet_sign_in"
SECONDS = 600
"""Nobody takes longer to sign in."""
ONWARD_BYTES = 1000
PACE = 10.0
"""Sign-ins a second: whoever they are, they keep no thread from others."""


class OpenId:
    """The provider of a vault, where its settings name one."""

    def __init__(self, home: Path, settings: SignIn) -> None:
        self.home, self.provider, self._pace = home, Provider(settings), Bucket(PACE)

    @classmethod
    def of(cls, home: Path) -> "OpenId | None":
        settings = sign_in_settings(home)
        return None if settings is None else cls(home, SignIn.parse(settings))

    @property
    def label(self) -> str:
        return self.provider.settings.label

    async def begin(self, request: Request, onward: str) -> Response:
        """Send a browser to the provider."""
        self._pace.take("")
        attempt = SignInAttempt()
        address = await run_in_threadpool(self.provider.address, attempt, _back(request))
        reply = RedirectResponse(address, 303)
        # Lax: it has to come back with a browser that another site sends here.
        reply.set_cookie(COOKIE, f"{attempt}.{quote(onward[:ONWARD_BYTES], safe='')}", SECONDS,
                         path=f"{root_of(request)}/login", httponly=True, samesite="lax",
                         secure=request.url.scheme == "https")  # fmt: skip
        return with_headers(reply)

    async def finish(self, request: Request) -> tuple[User, str]:
        """Who came back, and where they go on to. Raises AccessDenied unless the provider has signed them in."""
        attempt, onward = _attempt(request)
        said = request.query_params
        if "error" in said:
            code = said["error"] if said["error"].replace("_", "").isalpha() and len(said["error"]) < 40 else "an error"
            raise AccessDenied(f"the provider did not sign you in: {code}")
        self._pace.take("")
        user = await run_in_threadpool(self._user, attempt, said.get("state", ""), said.get("code", ""), _back(request))
        return user, onward

    def _user(self, attempt: SignInAttempt, state: str, code: str, back: str) -> User:
        settings = self.provider.settings
        claims = self.provider.claims(attempt, state, code, back)
        subject, role = f"{settings.issuer} {claims['sub']}", settings.role_of(claims)
        if role is None:
            end_subject(self.home, subject)
            raise AccessDenied("your account has no role here; ask the custodian of the vault")
        return know_subject(self.home, subject, settings.name_of(claims), role, settings.quota)


def entered(request: Request, onward: str) -> Response:
    """A page of this server that leads on: browsers keep a cookie of a session to themselves where another site has
    sent them, and nobody has sent them from here."""
    reply = page(request, "entered.html", next=onward)
    reply.delete_cookie(COOKIE, f"{root_of(request)}/login", httponly=True, samesite="lax")
    return reply


def _attempt(request: Request) -> tuple[SignInAttempt, str]:
    try:
        morsel = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        morsel = None
    text, _, onward = (morsel.value if morsel is not None else "").rpartition(".")
    return SignInAttempt.read(text), unquote(onward)


def _back(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}{root_of(request)}{RETURN}"
