"""A cube on disk: two Parquet files and a datapackage.json, readable by anything that reads Parquet.

`sources.parquet` holds what was measured, raw; `cuboids.parquet` what was made of it. Both look like the result of
GROUP BY CUBE: a column for each dimension, null where a cuboid does not have it, then the count and the variance of
its noise. With more dimensions than a table should have columns, there is a column for each value of a cuboid instead.
The folder is written aside, synced and renamed: what is there is whole.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.cube.dimension import Dimension, Origin
from discreet.cube.model_files import MODEL, model_record, model_resources, read_model, write_model
from discreet.cube.parquet import columns_of, is_wide_file, read_cells, write_cells
from discreet.cube.parquet_wide import value_columns
from discreet.cube.record import plan_of, plan_record
from discreet.errors import ArchiveError
from discreet.ledger.guarantee import guarantee_from_json
from discreet.ledger.receipt import Receipt
from discreet.progress import Progress, silent
from discreet.release.package import parquet_resource, read_package, write_package, written_aside

if TYPE_CHECKING:
    from discreet.cube.cube import Cube

FORMAT = 1
SOURCES, CUBOIDS = "sources.parquet", "cuboids.parquet"
Json = dict[str, Any]

CONSTRAINTS = [
    {
        "kind": "roll-up",
        "holds_in": CUBOIDS,
        "meaning": "each cell of a cuboid is the sum of those cells of any finer cuboid that agree with it",
    }
]


def write_cube(cube: "Cube", path: Path, progress: Progress = silent) -> None:
    """Write the folder aside, sync it, and give it its name."""
    with written_aside(path, "the cube") as aside:
        sources = {mask: cube.sources[mask] for mask in sorted(cube.sources)}
        cuboids = {mask: cube.cuboids[mask] for mask in sorted(cube.cuboids)}
        variances = dict(zip(cube.plan.published, cube.plan.variances(cube.consistent).tolist(), strict=True))
        square = float(cube.plan.noise.measure.grain) ** 2
        in_grains = {mask: variance / square for mask, variance in cube.plan.source_variances.items()}
        write_cells(aside / SOURCES, cube, sources, in_grains)
        write_cells(aside / CUBOIDS, cube, cuboids, variances, progress)
        if cube.model is not None:
            write_model(cube, cube.model, aside)
        write_package(aside, _package(cube, aside))


def cube_parts(path: Path) -> dict[str, Any]:
    """What the cube in a folder is made of, after checking that each of its bytes is what was written."""
    damaged = ArchiveError(
        f"the cube in {path} is damaged; restore it from a copy, or publish it again from its charge"
    )
    try:
        about = read_package(path, "cube", FORMAT, "a cube")
        plan = plan_of(about["plan"])
        return {
            "plan": plan,
            "dimensions": tuple(map(_dimension, about["dimensions"])),
            "sources": read_cells(path / SOURCES, plan, tuple(sorted(plan.source_masks)), np.int64),
            "cuboids": read_cells(path / CUBOIDS, plan, tuple(sorted(plan.published)), np.float64),
            "consistent": about["consistent"],
            "norm": about.get("norm", "l2"),
            "counts": about.get("counts", "real"),
            "model": read_model(path / MODEL, plan.lattice, about["model"]) if "model" in about else None,
            "origin": Origin(
                about["table"],
                guarantee_from_json(about["guarantee"]),
                about["charge"],
                Receipt.parse(about["receipt"]),
                tuple(map(int, about.get("earlier", ()))),
            ),
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, pa.ArrowException):
        raise damaged from None


def _dimension(said: Json) -> Dimension:
    groups = tuple(map(tuple, said.get("groups", ())))
    return Dimension(said["name"], tuple(said["codes"]), said["source"], groups)


def _package(cube: "Cube", folder: Path) -> Json:
    plan = cube.plan
    measured = "the residuals of cuboids" if plan.basis == "residuals" else "the measured cuboids"
    noisy, made = f"{measured}, each cell with independent noise", "the published cuboids, computed from these"
    note = cube.unusual().get("note")
    return {
        "profile": "data-package",
        "name": f"{cube.origin.table}-cube".lower().replace("_", "-").replace(" ", "-"),
        "title": f"{_held(cube)} of {cube.origin.table} by {', '.join(d.name for d in cube.dimensions)}, with noise",
        "description": f"{cube.guarantee}. Null: all values together.",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "resources": [
            _resource(folder / SOURCES, cube, "integer", noisy + _unit(cube)),
            _resource(folder / CUBOIDS, cube, "number", f"{made}; {note}" if note else made),
            *([] if cube.model is None else model_resources(cube, folder)),
        ],
        "cube": {
            "format": FORMAT,
            "table": cube.origin.table,
            "dimensions": [
                {"name": d.name, "codes": d.labels, "source": d.source, **({"groups": d.groups} if d.groups else {})}
                for d in cube.dimensions
            ],
            "plan": plan_record(plan),
            "consistent": cube.consistent,
            "norm": cube.norm,
            "counts": cube.counts,
            "constraints": CONSTRAINTS if cube.consistent else [],
            **({} if cube.model is None else {"model": model_record(cube.model, plan.lattice)}),
            "guarantee": cube.guarantee.to_json(),
            "charge": cube.origin.charge,
            "receipt": str(cube.origin.receipt),
            **({"earlier": list(cube.origin.earlier)} if cube.origin.earlier else {}),
        },
    }


def _held(cube: "Cube") -> str:
    of = cube.plan.noise.measure.of
    return "Counts" if of is None else f"Sums of {of}"


def _unit(cube: "Cube") -> str:
    grain = cube.plan.noise.measure.grain
    return "" if grain == 1 else f", in units of {grain}"


def _resource(path: Path, cube: "Cube", kind: str, what: str) -> Json:
    own = columns_of(cube.plan)
    fields = [
        {"name": own.cuboid, "type": "string", "description": "its dimensions, by comma; empty for the total"},
        *_value_fields(cube),
        {"name": own.measure, "type": kind},
        {"name": own.variance, "type": "number", "description": "the exact variance of the noise in it"},
    ]
    return parquet_resource(path, what, fields)


def _value_fields(cube: "Cube") -> list[Json]:
    if not is_wide_file(cube.plan):
        return [{"name": d.name, "type": "string", "description": d.source} for d in cube.dimensions]
    return [
        {"name": name, "type": "string", "description": f"a value of the cuboid's dimension {place}"}
        for place, name in enumerate(value_columns(cube.plan.lattice, cube.cuboids), 1)
    ]
