"""The HTTP API over one vault: JSON in, JSON out, one shape of error, and a token for everything but health and
readiness."""

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
from discreet.server.door import HEALTH, READY, Door, JsonReply, answer_refusals
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
NOT_READY: dict[int | str, dict[str, Any]] = {503: {"model": replies.ReadyJson, "description": "It is about to end."}}


def create_app(
    vault: Vault,
    *,
    slot: float | Slots = DEFAULT_SLOT,
    rate: float = DEFAULT_RATE,
    bucket: Bucket | None = None,
    deadline: float | None = DEFAULT_DEADLINE,
    shares: Shares | None = None,
    access_log: Path | None = None,
    root: str = "",
) -> FastAPI:
    """The application of one vault. Any number of threads and processes may serve the same one.

    Measured answers are recorded, and leave, after whole slots of `slot` seconds, 0 for at once; a user may send `rate`
    requests a second, 0 for any; or as many as a bucket has that the MySQL port takes from as well, as from the shares.
    What takes longer than `deadline` seconds, and was not charged yet, is given up; None: nothing is. Requests are
    lines of `access_log`, if there is one. `root` is the path that the application stands below, if any: see `Below`.
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
        servers=[{"url": root}] if root else None,
    )
    app.state.desk, app.state.shelf, app.state.root = desk, shelf, root
    app.add_middleware(Door, desk=desk)
    answer_refusals(app, str(vault.path))

    @app.get(HEALTH, response_model=replies.HealthJson, tags=["health"])
    async def health() -> JsonReply:
        """Whether the server is up. It takes no token, and waits for nobody."""
        return JsonReply(replies.HealthJson(status="ok"))

    @app.get(READY, response_model=replies.ReadyJson, tags=["health"], responses=NOT_READY)
    async def ready() -> JsonReply:
        """Whether the server takes requests: not any more when it is about to end. It takes no token."""
        return readiness(desk.slots.ending.is_set())

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
    app.add_middleware(Seen, home=vault.path, metrics=metrics, access_log=access_log, root=root)
    app.add_middleware(Headers)
    app.openapi = lambda: with_tokens(app)  # type: ignore[method-assign]
    return app


def readiness(ending: bool) -> JsonReply:
    """What a route says of whether requests are taken."""
    return JsonReply(replies.ReadyJson(status="ending" if ending else "ready"), 503 if ending else 200)


@asynccontextmanager
async def _until_the_end(app: FastAPI) -> AsyncIterator[None]:
    ending = app.state.desk.slots.ending
    ending.clear()
    yield
    await run_in_threadpool(wait_for_jobs, LAST_SECONDS)
    ending.set()


def with_tokens(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, which says that everything but health and readiness takes a token; made once."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        document["components"]["schemas"].update(_schemas_of(replies.RefusalJson))
        schemes = document["components"].setdefault("securitySchemes", {})
        schemes["token"] = {"type": "http", "scheme": "bearer"}
        for path, methods in document["paths"].items():
            for operation in methods.values():
                operation["security"] = [] if path in (HEALTH, READY) else [{"token": []}]
                operation["responses"].pop("422", None)
    return app.openapi_schema or {}


def _schemas_of(reply: type) -> dict[str, Any]:
    """The schema of a reply, and of what is in it, by their names."""
    schema = TypeAdapter(reply).json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs", {}), reply.__name__: schema}
