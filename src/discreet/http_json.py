"""JSON over HTTP, as `discreet serve` speaks it: a token, one JSON object out and one back, one shape of error.

`Authorization: Bearer <token>`; an error is {"error": {"kind": "BudgetExceeded", "message": …}}.
"""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from discreet.errors import DiscreetError

TIMEOUT_SECONDS = 300
API = "/api/v1"
UNREACHABLE = "cannot be reached, or does not answer as `discreet serve` does; is it running?"
STRANGER = "answers, but not as `discreet serve` does"

Json = dict[str, Any]


class NoRedirect(HTTPRedirectHandler):
    """A token, or a code, is for the place that it was given for: it follows nobody elsewhere."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


_opener = build_opener(NoRedirect)


def base_of(url: str, unreachable: type[DiscreetError]) -> str:
    """An address without what is to be added to it. Raises where it is none."""
    base = url.rstrip("/")
    if urlsplit(base).scheme not in ("http", "https") or not urlsplit(base).hostname:
        raise unreachable(f"{url} is no address of a server; it looks like http://localhost:8801")
    return base


def call(
    base: str, path: str, body: Json | None, token: str | None, unreachable: type[DiscreetError], method: str = ""
) -> Json:
    """What a server answers: POST where there is a body, else GET. Its errors are raised as what they are there."""
    text = fetch(base, path, body, token, unreachable, method)
    try:
        answer = json.loads(text)
    except ValueError:
        raise unreachable(f"{base} {UNREACHABLE}") from None
    if not isinstance(answer, dict):
        raise unreachable(f"{base} {STRANGER}")
    return answer


def fetch(
    base: str, path: str, body: Json | None, token: str | None, unreachable: type[DiscreetError], method: str = ""
) -> bytes:
    """The same, as it came."""
    headers = {"Accept": "*/*", "Content-Type": "application/json"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = Request(base + API + path, data, headers, method=method or ("GET" if data is None else "POST"))
    try:
        with _opener.open(request, timeout=TIMEOUT_SECONDS) as reply:
            answer: bytes = reply.read()
    except HTTPError as refusal:
        raise _error_of(base, refusal, unreachable) from None
    except (OSError, ValueError):
        raise unreachable(f"{base} {UNREACHABLE}") from None
    return answer


def _error_of(base: str, refusal: HTTPError, unreachable: type[DiscreetError]) -> DiscreetError:
    """The server's own error, in its words; those of a stranger are not repeated."""
    try:
        error = json.load(refusal)["error"]
        kind, message = _kinds(DiscreetError).get(str(error["kind"])), str(error["message"])
    except (ValueError, KeyError, TypeError, OSError):
        kind, message = None, ""
    if kind is not None:
        return kind(f"{base}: {message}")
    if refusal.code in (401, 403):
        return unreachable(f"{base} does not accept this token; give one with --token, or ask whoever runs it")
    return unreachable(f"{base} answers with {refusal.code}, and not as `discreet serve` does")


def _kinds(root: type[DiscreetError]) -> dict[str, type[DiscreetError]]:
    """Every kind of error by its name."""
    kinds = {root.__name__: root}
    for kind in root.__subclasses__():
        kinds |= _kinds(kind)
    return kinds
