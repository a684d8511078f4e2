"""Microdata in buckets, as it was published: what it promises, its two tables, and counts estimated from them."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from starlette.responses import FileResponse

from discreet.release.package import PACKAGE
from discreet.server import schema
from discreet.server.door import Told
from discreet.server.shelf import Shelf

Name = Annotated[str, Path(max_length=64)]
PARQUET = "application/vnd.apache.parquet"


def routes(shelf: Shelf) -> APIRouter:
    router = APIRouter(tags=["buckets"])

    @router.get("/buckets", response_model=schema.BucketsLines)
    def buckets() -> Told:
        """The published buckets. Not differential privacy: each says what it promises."""
        return Told({"buckets": [{"name": name, **shelf.buckets(name).describe()} for name in shelf.bucket_names()]})

    @router.get("/buckets/{name}")
    def one(name: Name) -> Told:
        """What was published under a name, and what it promises."""
        return Told({"name": name, **shelf.buckets(name).describe()})

    @router.post("/buckets/{name}/ask")
    def ask(name: Name, asked: schema.BucketsAsked) -> Told:
        """Estimate counts from the two tables. Public, and free."""
        return Told(shelf.buckets(name).ask(asked.sql, asked.confidence))

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
