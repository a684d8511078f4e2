"""Synthetic rows: drawn in the background from the model of everything public, or of one cube; what they are, how far
they are from what was released, the file itself."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from starlette.responses import FileResponse

from discreet import replies
from discreet.errors import ArchiveError, UnsupportedQuery
from discreet.private import private_folder
from discreet.progress import Progress
from discreet.server import schema
from discreet.server.auth import User, require_custodian
from discreet.server.desk import FrontDesk, over_table
from discreet.server.door import JsonReply, api_router, user_of
from discreet.server.jobs import start_job
from discreet.server.log import log_asked
from discreet.server.shelf import Shelf, require_name

Caller = Annotated[User, Depends(user_of)]
Name = Annotated[str, Path(max_length=64)]
PARQUET = "application/vnd.apache.parquet"


def routes(desk: FrontDesk, shelf: Shelf) -> APIRouter:
    router = api_router("rows")

    @router.get("/rows", response_model=replies.RowsJson)
    def rows() -> JsonReply:
        """The published files of synthetic rows. No row is a person."""
        return JsonReply({"rows": [{"name": name, **shelf.about_rows(name)} for name in shelf.rows_names()]})

    @router.post("/rows/{name}", status_code=202, response_model=replies.JobJson)
    def publish(name: Name, order: schema.RowsOrder, user: Caller) -> JsonReply:
        """Draw rows from the model of everything public, or of one published cube, in the background: GET /jobs/NAME
        tells how far it is. It costs nothing. For custodians."""
        require_custodian(user, "publish synthetic rows")
        path = shelf.rows_folder / f"{require_name(name)}.parquet"
        if path.exists():
            raise UnsupportedQuery(f"there are rows {name!r} already; choose another name")
        cube = None if order.cube is None else shelf.cube(order.cube)
        if cube is not None and cube.model is None:
            raise UnsupportedQuery(f"the cube {order.cube!r} was published without a model; publish one with it")
        if order.rows is not None:
            from discreet.synthetic.rows import require_rows  # Arrow, which takes memory in workers that need none

            require_rows(0, len(over_table(desk.vault, order.table).domain.attributes), order.rows)
        log_asked(desk.vault.path, user.name, "rows publish", {"name": name, **order.model_dump(exclude_defaults=True)})
        asker = desk.asker(user)
        vault = over_table(desk.asked_by(asker), order.table)

        def work(tell: Progress) -> None:
            try:
                private_folder(path.parent)
            except OSError:
                raise ArchiveError("the folder of rows cannot be made; is there space on the vault's disk?") from None
            vault.rows.publish(cube, rows=order.rows, seed=order.seed, progress=tell).save(path)

        return JsonReply(start_job(desk.vault.path, name, user.name, work, "rows", asker.charges), 202)

    @router.get("/rows/{name}")
    def one(name: Name) -> JsonReply:
        """What a file of rows is: its guarantee, its receipt, its model, its limits."""
        return JsonReply({"name": name, **shelf.about_rows(name)})

    @router.get("/rows/{name}/check")
    def check(name: Name) -> JsonReply:
        """How far the rows are from what was released, by cuboid."""
        return JsonReply(shelf.checked_rows(name))

    @router.get("/rows/{name}/file", response_class=FileResponse, responses={200: {"content": {PARQUET: {}}}})
    def file(name: Name) -> FileResponse:
        """The rows as Parquet, with what they are in its metadata."""
        shelf.about_rows(name)
        return FileResponse(shelf.rows_folder / f"{name}.parquet", media_type=PARQUET, filename=f"{name}.parquet")

    return router
