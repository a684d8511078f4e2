"""Microdata in buckets: publish it, in the background; what it promises, its two tables, counts estimated from them."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path
from starlette.responses import FileResponse

from discreet import replies
from discreet.errors import ArchiveError, UnsupportedQuery
from discreet.ledger.budget import require_amounts
from discreet.microdata.outlook import require_possible
from discreet.private import private_folder
from discreet.progress import Progress
from discreet.release.package import PACKAGE
from discreet.server import schema
from discreet.server.auth import User, require_custodian
from discreet.server.desk import FrontDesk
from discreet.server.door import JsonReply, api_router, user_of
from discreet.server.jobs import Job, start_job
from discreet.server.log import log_asked
from discreet.server.shelf import Shelf, require_name
from discreet.vault.vault import Vault

Caller = Annotated[User, Depends(user_of)]
Name = Annotated[str, Path(max_length=64)]
PARQUET = "application/vnd.apache.parquet"


def routes(desk: FrontDesk, shelf: Shelf) -> APIRouter:
    router = api_router("buckets")

    @router.get("/buckets", response_model=replies.BucketsJson)
    def buckets() -> JsonReply:
        """The published buckets. Not differential privacy: each says what it promises."""
        found = [{"name": name, **shelf.buckets(name).describe()} for name in shelf.bucket_names()]
        return JsonReply(replies.BucketsJson(buckets=found))

    @router.post("/buckets/{name}", status_code=202, response_model=replies.JobJson)
    def publish(name: Name, order: schema.BucketsOrder, user: Caller) -> JsonReply:
        """Publish the rows themselves by this name, in the background: GET /jobs/NAME tells how far it is. It spends
        nothing, and is not differential privacy: from then on every guarantee says so. For custodians."""
        return JsonReply(publish_as(desk, shelf, user, name, order), 202)

    @router.get("/buckets/{name}")
    def one(name: Name) -> JsonReply:
        """What was published under a name, and what it promises."""
        return JsonReply({"name": name, **shelf.buckets(name).describe()})

    @router.post("/buckets/{name}/ask")
    def ask(name: Name, asked: schema.BucketsAsked) -> JsonReply:
        """Estimate counts from the two tables. Public, and free."""
        return JsonReply(shelf.buckets(name).ask(asked.sql, asked.pairings))

    @router.get(
        "/buckets/{name}/files/{file}",
        response_class=FileResponse,
        responses={200: {"content": {"application/json": {}, PARQUET: {}}}},
    )
    def files(name: Name, file: Literal["datapackage.json", "qit.parquet", "st.parquet"]) -> FileResponse:
        """One of the two tables, or what is said of them."""
        shelf.buckets(name)
        media = "application/json" if file == PACKAGE else PARQUET
        return FileResponse(shelf.buckets_folder / name / file, media_type=media, filename=file)

    return router


def publish_as(desk: FrontDesk, shelf: Shelf, custodian: User, name: str, order: schema.BucketsOrder) -> Job:
    """Begin a publication in a custodian's name. What makes no sense for the domain is refused now, not by a job."""
    require_custodian(custodian, "publish buckets")
    vault, folder = desk.vault, shelf.buckets_folder / require_name(name)
    if folder.exists():
        raise UnsupportedQuery(f"there are buckets {name!r} already; choose another name")
    wish = sensible(order, vault)
    if vault.ledger.publications and not order.again:
        raise UnsupportedQuery(
            "microdata of this vault was published before, or begun, and limits hold for one publication; publish it "
            "again only if the first never left your hands (again)"
        )
    log_asked(vault.path, custodian.name, "buckets publish", {"name": name, **order.model_dump(exclude_defaults=True)})

    def work(tell: Progress) -> None:
        try:
            private_folder(folder.parent)
        except OSError:
            raise ArchiveError("the buckets' folder cannot be made; is there space on the vault's disk?") from None
        vault.buckets.publish(**wish, out=folder, progress=tell)

    return start_job(vault.path, name, custodian.name, work, "buckets")


def sensible(order: schema.BucketsOrder, vault: Vault) -> dict[str, Any]:
    """An order as `vault.buckets.publish` takes it. Raises where no rows could make sense of it."""
    from discreet.microdata.limits import Limits
    from discreet.microdata.publish import BucketsRequest

    require_amounts(vault.ledger.budget)
    limits = Limits.parse(order.limits)
    for value, limit in (order.own or {}).items():
        limits = limits.with_value(value, limit)
    wish = {**order.model_dump(exclude={"limits", "own"}), "limits": limits, "columns": tuple(order.columns or ())}
    unit = vault.ledger.header.get("unit")
    request = BucketsRequest(**wish).of(vault.domain, unit and unit["id"])
    require_possible(limits, vault.domain[request.sensitive].labels)
    return wish
