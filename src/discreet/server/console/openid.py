"""The way in by an office's provider: to it with an attempt that only this browser holds, and back with a code."""

from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, unquote

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from discreet.errors import AccessDenied
from discreet.server.console.page import page, root_of, with_headers
from discreet.server.openid import Json, Provider, SignInAttempt
from discreet.server.pace import Bucket

OPENID, RETURN = "/login/openid", "/login/return"
COOKIE = "discreet_sign_in"
SECONDS = 600
"""Nobody takes longer to sign in."""
ONWARD_BYTES = 1000
PACE = 10.0
"""Sign-ins a second: whoever they are, they keep no thread from others."""


class OpenId:
    """The way to the providers that there are, by name, and back."""

    def __init__(self, providers: Callable[[], Mapping[str, Provider]]) -> None:
        self._providers, self._pace = providers, Bucket(PACE)

    def labels(self) -> dict[str, str]:
        """What the page to sign in says of each."""
        return {name: provider.settings.label for name, provider in self._providers().items()}

    async def begin(self, request: Request, onward: str) -> Response:
        """Send a browser to a provider: to the one that it names, or to the only one."""
        self._pace.take("")
        providers = await run_in_threadpool(self._providers)
        name = request.query_params.get("at", "") or next(iter(providers), "")
        provider, attempt = _named(providers, name), SignInAttempt()
        address = await run_in_threadpool(provider.address, attempt, _back(request))
        reply = RedirectResponse(address, 303)
        # Lax: it has to come back with a browser that another site sends here.
        reply.set_cookie(COOKIE, f"{name}.{attempt}.{quote(onward[:ONWARD_BYTES], safe='')}", SECONDS,
                         path=f"{root_of(request)}/login", httponly=True, samesite="lax",
                         secure=request.url.scheme == "https")  # fmt: skip
        return with_headers(reply)

    async def finish(self, request: Request) -> tuple[str, Json, str]:
        """The provider that somebody came back from, what it says of them, and where they go on to. Raises AccessDenied
        unless it has signed them in."""
        name, attempt, onward = _attempt(request)
        said = request.query_params
        if "error" in said:
            code = said["error"] if said["error"].replace("_", "").isalpha() and len(said["error"]) < 40 else "an error"
            raise AccessDenied(f"the provider did not sign you in: {code}")
        self._pace.take("")
        providers = await run_in_threadpool(self._providers)
        provider = _named(providers, name)
        # One of several providers may not hand another's codes to itself (RFC 9207): it could send whom it signs in to
        # the other, and have what comes back. Where there is another, an answer has to say whose it is.
        issuer, several = provider.settings.issuer, len({one.settings.issuer for one in providers.values()}) > 1
        if not set(said.getlist("iss")) <= {issuer}:
            raise AccessDenied("the answer is of another provider than the one that was asked; begin again")
        if several and "iss" not in said:
            raise AccessDenied(
                "several providers sign people in here, and the answer does not say that it is this one's"
            )
        code, back = said.get("code", ""), _back(request)
        claims = await run_in_threadpool(provider.claims, attempt, said.get("state", ""), code, back)
        return name, claims, onward


def _named(providers: Mapping[str, Provider], name: str) -> Provider:
    if name not in providers:
        raise AccessDenied("nobody signs in by this provider here, or not any more; begin again")
    return providers[name]


def entered(request: Request, onward: str) -> Response:
    """A page of this server that leads on: browsers keep a cookie of a session to themselves where another site has
    sent them, and nobody has sent them from here."""
    reply = page(request, "entered.html", next=onward)
    reply.delete_cookie(COOKIE, f"{root_of(request)}/login", httponly=True, samesite="lax")
    return reply


def _attempt(request: Request) -> tuple[str, SignInAttempt, str]:
    try:
        morsel = SimpleCookie(request.headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        morsel = None
    name, _, rest = (morsel.value if morsel is not None else "").partition(".")
    text, _, onward = rest.rpartition(".")
    return name, SignInAttempt.read(text), unquote(onward)


def _back(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}{root_of(request)}{RETURN}"
