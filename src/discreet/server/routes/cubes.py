"""Cubes: plan, publish in the background, browse, download."""

import io
import json
from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path as File
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import FileResponse, Response

from discreet import replies
from discreet.errors import ArchiveError, BudgetExceeded, InvalidBudget, NotFound, UnsupportedQuery
from discreet.ledger.receipt import Receipt
from discreet.plain import cells_of_text
from discreet.private import private_folder
from discreet.progress import Progress
from discreet.release.package import PACKAGE
from discreet.server import schema
from discreet.server.auth import User, require_custodian
from discreet.server.desk import FrontDesk, over_table
from discreet.server.door import JsonReply, api_router, user_of
from discreet.server.jobs import find_job, list_jobs, start_job
from discreet.server.log import log_asked
from discreet.server.shelf import Shelf, require_name
from discreet.vault.vault import Vault

if TYPE_CHECKING:
    import xarray as xr

    from discreet.cube.cube import Cube
    from discreet.cube.modelled import ModelledCube
    from discreet.cube.plan import CubePlan

MOST_CELLS = 50_000
"""A cuboid with more cells is sliced, or downloaded: nobody looks at so many."""
MOST_LISTED = 4096
Caller = Annotated[User, Depends(user_of)]
Name = Annotated[str, Path(max_length=64)]
By = Annotated[list[str] | None, Query(description="the cuboid's dimensions; none: the total", max_length=64)]
Sliced = Annotated[list[str] | None, Query(alias="slice", description="only these people: region=Arden", max_length=64)]
Confidence = Annotated[float, Query(gt=0, lt=1)]
PARQUET = "application/vnd.apache.parquet"
Estimate = Literal["least-squares", "modelled"]
LEAST_SQUARES: Estimate = "least-squares"
CubeFile = Literal["datapackage.json", "sources.parquet", "cuboids.parquet", "model.parquet", "modelled.parquet"]
MODEL_FILES = ("model.parquet", "modelled.parquet")


def routes(desk: FrontDesk, shelf: Shelf) -> APIRouter:
    router = api_router("cubes")

    @router.post("/cubes/plan", response_model=replies.OfferedCubeJson)
    def plan(wish: schema.CubeWish, user: Caller) -> JsonReply:
        """Which cuboids would be measured, how exact each would be, and whether the budget can pay. Spends nothing."""
        over = over_table(desk.asked_by(desk.asker(user)), wish.table)
        planned = _planned(over, wish)
        affordable = over.cubes.affordable(planned)
        return JsonReply(
            replies.OfferedCubeJson(**planned.to_json(), **affordable.to_json(), cuboids=_lattice(planned))
        )

    @router.post("/cubes/{name}", status_code=202, response_model=replies.JobJson)
    def publish(name: Name, order: schema.CubeOrder, user: Caller) -> JsonReply:
        """Publish a cube by this name, in the background: GET /jobs/NAME tells how far it is. For custodians."""
        require_custodian(user, "publish cubes")
        if name == "plan" or (shelf.cubes_folder / require_name(name)).exists():
            raise UnsupportedQuery(f"there is a cube {name!r} already; choose another name")
        amounts = (order.epsilon, order.rho, order.mu_squared)
        if all(amount is None for amount in amounts) == (order.charge is None):
            raise InvalidBudget("say what the cube may spend, epsilon, rho or mu_squared; or the charge to go on from")
        asker = desk.asker(user)
        over = _over(desk.asked_by(asker), order)
        if order.charge is None:
            planned = _planned(over, order)  # what makes no sense is refused now, not by a job
            _require_model(planned, order.estimate)
            if not (affordable := over.cubes.affordable(planned)).fits:
                raise BudgetExceeded(f"the budget cannot pay for this cube: {affordable.words}")
        log_asked(desk.vault.path, user.name, "cube publish", {"name": name, **order.model_dump(exclude_defaults=True)})
        work = _publishing(over, order, shelf.cubes_folder / name)
        return JsonReply(start_job(desk.vault.path, name, user.name, work, "cube", asker.charges), 202)

    @router.get("/jobs", response_model=replies.JobsJson)
    def jobs(user: Caller) -> JsonReply:
        """What is being published, or was."""
        return JsonReply(replies.JobsJson(jobs=[job.seen_by(user).to_json() for job in list_jobs(desk.vault.path)]))

    @router.get("/jobs/{name}", response_model=replies.JobJson)
    def job(name: Name, user: Caller) -> JsonReply:
        """How far a publish is."""
        return JsonReply(find_job(desk.vault.path, name).seen_by(user))

    @router.get("/cubes", response_model=replies.CubesJson)
    def cubes() -> JsonReply:
        """The published cubes."""
        return JsonReply(replies.CubesJson(cubes=[_summary(shelf, name) for name in shelf.cubes()]))

    @router.get("/cubes/{name}", response_model=replies.CubeAboutJson)
    def cube(name: Name) -> JsonReply:
        """A cube: its dimensions with their labels, its cuboids with their errors and where they come from."""
        found = shelf.cube(name)
        labels = {dimension.name: dimension.labels for dimension in found.dimensions}
        return JsonReply(
            {"name": name, **found.describe(), "labels": labels, "lattice": _lattice(found.plan, found.consistent)}
        )

    _browsing(router, desk, shelf)
    return router


def _browsing(router: APIRouter, desk: FrontDesk, shelf: Shelf) -> None:
    @router.get("/cubes/{name}/cuboid", response_model=replies.CuboidJson | replies.ModelledCuboidJson)
    def cuboid(
        name: Name,
        by: By = None,
        sliced: Sliced = None,
        confidence: Confidence = 0.95,
        estimate: Estimate = LEAST_SQUARES,
    ) -> JsonReply:
        """A cuboid, or a slice of one, with its interval: `count` is nested lists in the order of `by`. With
        `estimate=modelled` it is read from the cube's model, has `modelled`, `low` and `high` instead, and may be one
        that was not published."""
        cube, names, chosen = _view(shelf.cube(name), by, sliced)
        _require_few(prod(len(_labels(cube, one)) for one in names))
        seen = {"dimensions": names, "labels": {one: _labels(cube, one) for one in names}, "slice": chosen}
        if estimate == "modelled":
            return JsonReply({**seen, **_modelled(_read_by_model(cube, desk.vault), names, confidence)})
        return JsonReply(
            replies.CuboidJson(
                **_cells(cube, cube[tuple(names)], chosen, confidence),
                variance=cube.variance(*names),
                halfwidth=cube.halfwidth(*names, confidence=confidence),
            )
        )

    @router.get("/cubes/{name}/groups", response_model=replies.GroupsJson)
    def groups(name: Name, by: By = None, sliced: Sliced = None, confidence: Confidence = 0.95) -> JsonReply:
        """A cuboid rolled up by hierarchies, `by=occupation_group` say, each sum with an interval of its own."""
        cube, names, chosen = _view(shelf.cube(name), by, sliced)
        runs = cube.runs(*names)
        _require_few(prod(len(lines) for _, lines in runs), prod(len(_labels(cube, one)) for one, _ in runs))
        found = cube.grouped(*names, confidence=confidence)
        return JsonReply(
            replies.GroupsJson(
                **_cells(cube, found.sums, chosen, confidence),
                low=found.low.values,
                high=found.high.values,
                variance=found.variance.values,
            )
        )

    @router.get(
        "/cubes/{name}/download",
        response_class=Response,
        responses={200: {"content": {"text/csv": {}, PARQUET: {}}}},
    )
    def download(
        name: Name,
        by: By = None,
        sliced: Sliced = None,
        form: Annotated[Literal["csv", "parquet"], Query(alias="format")] = "csv",
        confidence: Confidence = 0.95,
        estimate: Estimate = LEAST_SQUARES,
    ) -> Response:
        """A cuboid, by groups too, or a slice of one, as a table: its labels, count (or modelled), low and high."""
        cube, names, _ = _view(shelf.cube(name), by, sliced)
        if estimate == "modelled":
            found = _read_by_model(cube, desk.vault)
            low, high = found.range(*names, confidence=confidence)
            numbers = {"modelled": found[tuple(names)], "low": low, "high": high}
        else:
            grouped = cube.grouped(*names, confidence=confidence)
            numbers = {"count": grouped.sums, "low": grouped.low, "high": grouped.high}
        media = "text/csv; charset=utf-8" if form == "csv" else PARQUET
        file = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
        return Response(_table(names, numbers, form), media_type=media, headers=file)

    @router.get(
        "/cubes/{name}/files/{file}",
        response_class=FileResponse,
        responses={200: {"content": {"application/json": {}, PARQUET: {}}}},
    )
    def files(name: Name, file: CubeFile) -> FileResponse:
        """A cube's own file, whole; together they are the folder that `discreet cube show` reads. The last two are
        there where it has a model."""
        if shelf.cube(name).model is None and file in MODEL_FILES:
            raise NotFound(f"the cube {name!r} was published without a model")
        media = "application/json" if file == PACKAGE else PARQUET
        return FileResponse(shelf.cubes_folder / name / file, media_type=media, filename=file)


def _view(cube: "Cube", by: list[str] | None, sliced: list[str] | None) -> "tuple[Cube, list[str], dict[str, str]]":
    """The cube as it is sliced, and the names asked for."""
    chosen = {}
    for text in sliced or ():
        name, equals, value = text.partition("=")
        if not equals or name in chosen:
            raise UnsupportedQuery("a slice is one value of a dimension, as in slice=region=Arden")
        _labels(cube, name)
        chosen[name] = value
    names = list(by or ())
    if len(set(names)) != len(names):
        raise UnsupportedQuery("a cuboid has each dimension once")
    return cube.slice(**chosen), names, chosen


def _cells(cube: "Cube", cells: "xr.DataArray", sliced: dict[str, str], confidence: float) -> replies.LabelledCellsJson:
    names = [str(name) for name in cells.dims]
    return {
        "dimensions": names,
        "labels": {name: cells.coords[name].values.tolist() for name in names},
        "slice": sliced,
        "count": cells.values,
        "confidence": confidence,
        "guarantee": str(cube.guarantee),
        "receipt": str(cube.origin.receipt),
    }


def _require_few(shown: int, read: int = 0) -> None:
    """Nobody looks at very many cells, and what is added up is held at once."""
    if max(shown, read) > MOST_CELLS:
        raise UnsupportedQuery(
            f"this cuboid has {max(shown, read):,} cells, and at most {MOST_CELLS:,} are shown; slice it, roll a "
            "dimension up, or download it"
        )


def _labels(cube: "Cube", name: str) -> tuple[str, ...]:
    for dimension in cube.dimensions:
        if dimension.name == name:
            return dimension.labels
    raise UnsupportedQuery(f"the cube has no dimension {name!r}; there are {', '.join(cube.names) or 'none'}")


def _require_model(planned: "CubePlan", estimate: Estimate) -> None:
    from discreet.cube.adaptive import require_run
    from discreet.cube.modelled import require_model

    if planned.candidates:
        require_run(planned)
    if estimate == "modelled":
        require_model(planned)


def _read_by_model(cube: "Cube", vault: Vault) -> "ModelledCube":
    """A cube, or a slice of one, as its model has it."""
    from discreet.vault.models import modelled_cube

    return modelled_cube(cube, vault)


def _modelled(cube: "ModelledCube", names: list[str], confidence: float) -> dict[str, Any]:
    low, high = cube.range(*names, confidence=confidence)
    return {
        "modelled": cube[tuple(names)].values,
        "low": low.values,
        "high": high.values,
        "confidence": confidence,
        "measured_together": cube.is_measured(*names),
        "note": cube.describe()["note"],
        "guarantee": str(cube.cube.guarantee),
        "receipt": str(cube.cube.origin.receipt),
    }


def _table(names: list[str], numbers: "Mapping[str, xr.DataArray]", form: str) -> bytes:
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    first = next(iter(numbers.values()))
    codes = np.indices(first.shape).reshape(first.ndim, first.size)
    columns: dict[str, Any] = {
        name: pa.DictionaryArray.from_arrays(pa.array(code, pa.int32()), pa.array(first[name].values, pa.string()))
        for name, code in zip(names, codes, strict=True)
    }
    taken = [*columns]
    for column, own in numbers.items():
        columns[f"{column}_" if column in taken else column] = pa.array(own.values.reshape(-1), pa.float64())
    table, out = pa.table(columns), io.BytesIO()
    if form == "parquet":
        pq.write_table(table, out)
    else:
        titles = cells_of_text(table.column_names)
        pa.csv.write_csv(pa.table([_decoded(column) for column in table.columns], titles), out)
    return out.getvalue()


def _decoded(column: Any) -> Any:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        return column
    whole = column.combine_chunks()
    return pa.DictionaryArray.from_arrays(whole.indices, pa.array(cells_of_text(whole.dictionary.to_pylist()))).cast(
        pa.string()
    )


def _over(vault: Vault, order: schema.CubeOrder) -> Vault:
    """The vault over the table that a cube is to be of: the one that is named, or that of the charge to go on from."""
    charge = None if order.charge is None else vault.ledger.charge_at(order.charge)
    return over_table(vault, order.table) if charge is None else vault.of_charge(charge)


def _planned(vault: Vault, wish: schema.CubeWish) -> "CubePlan":
    from discreet.query.lattice import OTHERS

    def by_cuboid(numbers: Mapping[str, Any] | None) -> dict[Any, Any]:
        return {OTHERS if text == OTHERS else _cuboid(text): number for text, number in (numbers or {}).items()}

    objective: Any = wish.objective  # checked where it is used
    return vault.cubes.plan(
        epsilon=wish.epsilon,
        rho=wish.rho,
        mu_squared=wish.mu_squared,
        cuboids=[tuple(one) for one in wish.cuboids] if isinstance(wish.cuboids, list) else wish.cuboids,
        planner=wish.planner,
        objective=objective,
        dimensions=wish.dimensions,
        weights=by_cuboid(wish.weights),
        bound=wish.bound,
        expected=by_cuboid(wish.expected),
        facts="vault" if wish.facts else None,
    )


def _cuboid(text: str) -> tuple[str, ...]:
    return () if text.strip() == "total" else tuple(name.strip() for name in text.split(","))


def _publishing(vault: Vault, order: schema.CubeOrder, folder: File) -> Callable[[Progress], object]:
    def work(tell: Progress) -> None:
        tell("planning", 0.0)
        what = _planned(vault, order) if order.charge is None else order.charge
        try:
            private_folder(folder.parent)
        except OSError:
            raise ArchiveError("the cube's folder cannot be made; is there space on the vault's disk?") from None
        cube = vault.cubes.publish(
            what, consistent=order.consistent, estimate=order.estimate, again=order.again, progress=tell
        )
        cube.save(folder, tell)
        if cube.model is not None:
            tell("simulating releases for model ranges", 0.0)
            _read_by_model(cube, vault)

    return work


def _lattice(plan: "CubePlan", consistent: bool = True) -> list[replies.CuboidLineJson]:
    """Every published or measured cuboid, with its share of the budget and its error; the first ones of very many."""
    from discreet.cube.interval import halfwidth

    shares = dict(zip(plan.source_masks, plan.shares, strict=True))
    masks = sorted({*plan.published, *shares}, key=lambda mask: (mask.bit_count(), plan.lattice.axes(mask)))
    return [
        {
            "dimensions": list(map(str, plan.lattice.names_of(mask))),
            "cells": plan.lattice.cells(mask),
            "share": float(shares[mask]) if mask in shares else None,
            "published": mask in plan.published,
            "variance": plan.variance(*plan.lattice.names_of(mask), consistent=consistent),
            "halfwidth": halfwidth(plan, mask, consistent, 0.95),
        }
        for mask in masks[:MOST_LISTED]
    ]


def _summary(shelf: Shelf, name: str) -> replies.CubeLineJson:
    """A cube by its description alone: the numbers stay on disk."""
    from discreet.ledger.guarantee import guarantee_from_json

    folder = shelf.cubes_folder / name
    try:
        about = json.loads((folder / PACKAGE).read_text(encoding="utf-8"))["cube"]
        return {
            "name": folder.name,
            "table": about["table"],
            "dimensions": {one["name"]: len(one["codes"]) for one in about["dimensions"]},
            "consistent": about["consistent"],
            "guarantee": str(
                shelf.promise(
                    about["charge"],
                    Receipt.parse(about["receipt"]),
                    guarantee_from_json(about["guarantee"]),
                    tuple(map(int, about.get("earlier", ()))),
                )
            ),
            "charge": about["charge"],
            "receipt": about["receipt"],
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise ArchiveError(f"the cube {folder.name} is damaged; restore it from a copy") from None
