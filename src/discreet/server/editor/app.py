"""A page that edits a domain: its text, what is wrong with it at which line, its attributes; and how it fits a table.

It serves one file to one person, on the machine on which they started it. How the domain fits is exact: it is shown to
them alone, when they ask for it, and kept nowhere.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from discreet.domain.attribute import Attribute
from discreet.domain.inspect import Inspection, inspect_domain
from discreet.errors import DiscreetError, DomainError
from discreet.exact import count_text
from discreet.fit import Fit, in_order
from discreet.server.console.page import page, plain_error
from discreet.server.editor.door import EditorDoor
from discreet.server.editor.file import DomainFile
from discreet.server.headers import Headers
from discreet.vault import fit_domain

MOST_BYTES = 8 << 20
"""Of a domain's text, as a form sends it."""
SHOWN_LABELS = 8
"""Of an attribute, in the table of all."""


@dataclass(frozen=True)
class Said:
    """What the page says besides the text: what was asked for, and what came of it."""

    saved: bool = False
    refusal: str = ""
    fit: Fit | None = None


def create_editor(file: DomainFile, token: str) -> FastAPI:
    """The application that edits a file, for whoever has the token."""
    app = FastAPI(title="Discreet", openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)

    @app.get("/")
    def show(request: Request) -> Response:
        try:
            text, state = file.read()
        except DiscreetError as error:
            return plain_error(503, error)
        return _shown(request, file, text, state, Said())

    @app.post("/")
    async def act(request: Request) -> Response:
        body = await request.body()
        if len(body) > MOST_BYTES:
            return plain_error(413, DomainError(f"a domain has at most {MOST_BYTES >> 20} MB"))
        form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=10)
        text, state, deed = (form.get(key, [""])[0] for key in ("text", "state", "deed"))
        return await run_in_threadpool(_act, request, file, text.replace("\r\n", "\n"), state, deed)

    app.add_middleware(EditorDoor, token=token)
    app.add_middleware(Headers)
    return app


def _act(request: Request, file: DomainFile, text: str, state: str, deed: str) -> Response:
    said = Said()
    try:
        match deed:
            case "save":
                state, said = file.write(text, state), Said(saved=True)
            case "fit":
                said = Said(fit=_fit(file, text))
    except DiscreetError as error:
        said = Said(refusal=str(error))
    return _shown(request, file, text, state, said)


def _fit(file: DomainFile, text: str) -> Fit:
    domain = inspect_domain(text, file.path.parent).domain
    if file.table is None:
        raise DomainError("no table was named: start with --table")
    if domain is None:
        raise DomainError("mend what is wrong first")
    return fit_domain(file.table, domain)


def _shown(request: Request, file: DomainFile, text: str, state: str, said: Said) -> Response:
    found = inspect_domain(text, file.path.parent)
    return page(
        request,
        "editor.html",
        name=file.path.name,
        file=file,
        text=text,
        state=state,
        said=said,
        found=found,
        rows=[_row(line, attribute) for line, attribute in found.attributes],
        points=_points(found),
        worst=list(in_order(said.fit)) if said.fit else [],
    )


def _points(found: Inspection) -> str:
    return count_text(0 if found.domain is None else found.domain.points)


def _row(line: int, attribute: Attribute) -> dict[str, Any]:
    many = min(attribute.size, SHOWN_LABELS)
    labels = [attribute.label(code) for code in range(many)]
    return {
        "line": line,
        "attribute": attribute,
        "labels": ", ".join(labels) + (", …" if attribute.size > many else ""),
    }
