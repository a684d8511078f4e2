"""Pages: templates filled in on the server, small enough for one answer, with headers that let nothing else in."""

import gzip
import hashlib
import mimetypes
import re
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse

from discreet.errors import DiscreetError, UnsupportedQuery
from discreet.exact import equals_text, number_text
from discreet.ledger.guarantee import Guarantee, PureDP
from discreet.server.console.words import WORDS

HERE = Path(__file__).parent
ASSETS = "/assets"
PART = "x-part"
"""The header by which a script of the console asks for a part of a page."""
BY = "*"
"""What a dimension's field says where its values are told apart, and with a level behind it where groups of its
hierarchy are; a code where it is sliced, nothing if rolled up."""
ADDRESS = re.compile(r'((?:href|src|action|formaction|data-root|data-explain|data-onward|data-curve)=")/')
"""An address of this server in a page. No text of anybody's looks so: its quotes are escaped."""
IMPORT = re.compile(rb'from "\./(\w+\.js)"')
SMALL = 1400
"""Bytes that fit one packet anyway: they are not compressed."""
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
}
"""Nothing from elsewhere, nothing inline, no frame around it. `server/headers.py` has those of every reply."""


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A template as a page; a part of one where a script of the console asks for the part alone."""
    text = (
        _templates()
        .get_template(template)
        .render(
            part=PART in request.headers,
            user=request.scope.get("user"),
            path=request.url.path,
            is_one_of_many=getattr(request.app.state, "is_one_of_many", False),
            **values,
        )
    )
    if root := root_of(request):
        text = ADDRESS.sub(rf"\1{root}/", text)
    return with_headers(_compressed(request, HTMLResponse(text, status)))


def root_of(request: Request) -> str:
    """The path that the application stands below; "" where that is the server's root."""
    return str(getattr(request.app.state, "root", ""))


def with_headers(response: Response) -> Response:
    response.headers.update(HEADERS)
    response.headers["Vary"] = "X-Part, Accept-Encoding, Cookie"
    return response


def plain_error(status: int, error: DiscreetError) -> Response:
    """A refusal for which there is no page."""
    return with_headers(Response(f"{type(error).__name__}: {error}\n", status, media_type="text/plain"))


def asset(name: str) -> Response:
    """A stylesheet or script of the console, by a name that is one of those there are."""
    found = _assets().get(name)
    if found is None:
        return plain_error(404, UnsupportedQuery("there is no such file"))
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {**HEADERS, "Cache-Control": "public, max-age=31536000, immutable", "Content-Encoding": "gzip"}
    return Response(found, headers=headers, media_type="text/javascript" if name.endswith(".js") else kind)


@cache
def _assets() -> dict[str, bytes]:
    """What the package ships, compressed. A name carries the content's hash, so that browsers may keep it for ever."""
    return {_versioned(file): gzip.compress(_content(file), mtime=0) for file in (HERE / "assets").iterdir()}


def _versioned(file: Path) -> str:
    return f"{file.stem}.{hashlib.sha256(_content(file)).hexdigest()[:12]}{file.suffix}"


def _content(file: Path) -> bytes:
    """What is sent of a file: a script imports others by the names that they are served under."""

    def served(found: re.Match[bytes]) -> bytes:
        return b'from "./' + _versioned(file.with_name(found[1].decode())).encode() + b'"'

    return IMPORT.sub(served, file.read_bytes()) if file.suffix == ".js" else file.read_bytes()


@cache
def _asset_path(name: str) -> str:
    return f"{ASSETS}/{_versioned(HERE / 'assets' / name)}"


def _compressed(request: Request, response: Response) -> Response:
    if len(response.body) > SMALL and "gzip" in request.headers.get("accept-encoding", ""):
        response.body = gzip.compress(bytes(response.body), 5, mtime=0)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Length"] = str(len(response.body))
    return response


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": number, "exact": number_text, "equals": equals_text}
    made.filters |= {"plural": plural, "promise": promise}
    made.filters |= {"anchor": anchor}
    made.globals |= {"asset": _asset_path, "words": WORDS}
    return made


def number(value: float | None, digits: int = 4) -> str:
    """A number with its thousands apart, a true minus, and no decimals that say nothing."""
    if value is None:
        return "–"
    whole = abs(value) >= 1000 or float(value).is_integer()
    text = f"{value:,.0f}" if whole else f"{value:,.{digits}g}"
    return "0" if text == "-0" else text.replace("-", "−")


def promise(guarantee: Guarantee) -> str:
    """A guarantee in words, with an amount that is read at a glance."""
    if isinstance(guarantee, PureDP):
        return str(guarantee).replace(f"ε = {guarantee.epsilon}", f"ε {equals_text(guarantee.epsilon)}")
    return str(guarantee)


def anchor(term: str) -> str:
    """Where a word stands in the glossary."""
    return re.sub(r"\W+", "-", term).strip("-") or "word"


def plural(many: int, one: str) -> str:
    return f"{many:,} {one}{'' if many == 1 else 's'}"
