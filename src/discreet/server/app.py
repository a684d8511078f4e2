"""The HTTP API over one vault: JSON in, JSON out, one shape of error, and a token for everything but health."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from pydantic import TypeAdapter
from starlette.concurrency import run_in_threadpool

from discreet import replies
from discreet.http_json import API
from discreet.release.slots import Slots
from discreet.server.console.mount import add_console
from discreet.server.desk import DEFAULT_DEADLINE, DEFAULT_RATE, DEFAULT_SLOT, FrontDesk
from discreet.server.door import HEALTH, Door, JsonReply, answer_refusals
from discreet.server.headers import Headers
from discreet.server.jobs import wait_for_jobs
from discreet.server.metrics import Metrics
from discreet.server.pace import Bucket
from discreet.server.routes import account, ask, buckets, cubes, numbers, rows, users
from discreet.server.seen import Seen
from discreet.server.shares import Shares
from discreet.server.shelf import Shelf
from discreet.vault.vault import Vault

LAST_SECONDS = 1.0
"""A job has so long to finish when the server ends."""


def create_app(
    vault: Vault,
    *,
    slot: float | Slots = DEFAULT_SLOT,
    rate: float = DEFAULT_RATE,
    bucket: Bucket | None = None,
    deadline: float | None = DEFAULT_DEADLINE,
    shares: Shares | None = None,
    access_log: Path | None = None,
) -> FastAPI:
    """The application of one vault. Any number of threads and processes may serve the same one.

    Measured answers are recorded, and leave, after whole slots of `slot` seconds, 0 for at once; a user may send `rate`
    requests a second, 0 for any; or as many as a bucket has that the MySQL port takes from as well, as from the shares.
    What takes longer than `deadline` seconds, and was not charged yet, is given up; None: nothing is. Requests are
    lines of `access_log`, if there is one.
    """
    slots = slot if isinstance(slot, Slots) else Slots(slot)
    desk = FrontDesk(vault, bucket or Bucket(rate), slots, deadline, shares or Shares())
    shelf, metrics = Shelf(vault.path, vault.ledger), Metrics()
    app = FastAPI(
        title="Discreet",
        version="1",
        description="A private statistical database. Every answer is public knowledge to all its users.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_until_the_end,
    )
    app.state.desk, app.state.shelf = desk, shelf
    app.add_middleware(Door, desk=desk)
    answer_refusals(app, str(vault.path))

    @app.get(HEALTH, response_model=replies.HealthJson, tags=["health"])
    def health() -> JsonReply:
        """Whether the server is up. The one route that takes no token."""
        return JsonReply(replies.HealthJson(status="ok"))

    for routes in (
        ask.routes(desk),
        account.routes(desk),
        users.routes(desk),
        cubes.routes(desk, shelf),
        rows.routes(desk, shelf),
        buckets.routes(desk, shelf),
        numbers.routes(desk, metrics),
    ):
        app.routes.extend(routes.routes)  # as they are: a router that is included is built again by its first request
    add_console(app, desk, shelf)
    app.add_middleware(Seen, home=vault.path, metrics=metrics, access_log=access_log)
    app.add_middleware(Headers)
    app.openapi = lambda: _with_tokens(app)  # type: ignore[method-assign]
    return app


@asynccontextmanager
async def _until_the_end(app: FastAPI) -> AsyncIterator[None]:
    ending = app.state.desk.slots.ending
    ending.clear()
    yield
    await run_in_threadpool(wait_for_jobs, LAST_SECONDS)
    ending.set()


def _with_tokens(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, which says that everything but health takes a token; made once."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        document["components"]["schemas"].update(_schemas_of(replies.RefusalJson))
        schemes = document["components"].setdefault("securitySchemes", {})
        schemes["token"] = {"type": "http", "scheme": "bearer"}
        for path, methods in document["paths"].items():
            for operation in methods.values():
                operation["security"] = [] if path == HEALTH else [{"token": []}]
                operation["responses"].pop("422", None)
    return app.openapi_schema or {}


def _schemas_of(reply: type) -> dict[str, Any]:
    """The schema of a reply, and of what is in it, by their names."""
    schema = TypeAdapter(reply).json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs", {}), reply.__name__: schema}
