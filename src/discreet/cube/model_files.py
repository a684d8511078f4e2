"""A cube's model on disk, beside its least squares: the potentials, which are the model, and the cuboids read from it.

`model.parquet` has a row for each potential, in the order of the cuboids' masks and of their cells; `modelled.parquet`
the published cuboids as the model has them, a row a cell. A number in it is called `modelled`, never `count`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.model.model import Model
from discreet.query.lattice import Lattice
from discreet.release.package import file_hash

if TYPE_CHECKING:
    from discreet.cube.cube import Cube

MODEL, MODELLED = "model.parquet", "modelled.parquet"
ESTIMATE = "modelled"
BIASED = "modelled: biased towards an even spread, and sharper; least squares in the same folder is not biased"
Json = dict[str, Any]


def model_record(model: Model, lattice: Lattice) -> Json:
    """The model as a cube's folder describes it."""
    return {
        "total": model.total,
        "strengths": list(model.strengths),
        "cuboids": [list(lattice.names_of(mask)) for mask in sorted(model.potentials)],
        "note": BIASED,
    }


def write_model(cube: "Cube", model: Model, folder: Path) -> None:
    """Write the potentials, and the published cuboids as the model has them."""
    lattice = cube.plan.lattice
    potentials = {mask: model.potentials[mask] for mask in sorted(model.potentials)}
    names = [",".join(map(str, lattice.names_of(mask))) for mask in potentials]
    sizes = [table.size for table in potentials.values()]
    table = pa.table(
        {
            "cuboid": pa.DictionaryArray.from_arrays(np.repeat(np.arange(len(names), dtype=np.int32), sizes), names),
            "potential": np.concatenate([table.reshape(-1) for table in potentials.values()]),
        }
    )
    pq.write_table(table, folder / MODEL, compression="zstd")
    pq.write_table(_cuboids(cube, model.cuboids(cube.plan.published)), folder / MODELLED, compression="zstd")


def _cuboids(cube: "Cube", cuboids: Mapping[int, Any]) -> pa.Table:
    from discreet.cube.parquet import label_columns

    lattice, own = cube.plan.lattice, value_column(cube)
    parts = []
    for mask in sorted(cuboids):
        cells = cuboids[mask].reshape(-1)
        cuboid = ",".join(map(str, lattice.names_of(mask)))
        columns = label_columns(cube, mask, cells.size)
        parts.append(pa.table({own[0]: pa.array([cuboid] * cells.size), **columns, own[1]: cells}))
    return pa.concat_tables(parts).unify_dictionaries()


def value_column(cube: "Cube") -> tuple[str, str]:
    """The names of the columns beside the dimensions: cuboid and modelled; with underscores where those are taken."""
    taken, own = {dimension.name for dimension in cube.dimensions}, ["cuboid", ESTIMATE]
    for place in range(2):
        while own[place] in taken:
            own[place] += "_"
    return own[0], own[1]


def read_model(folder: Path, lattice: Lattice, about: Json) -> Model:
    """The model in a folder. Raises ValueError, or what the like leads to, where it makes no sense."""
    masks = [lattice.mask(*names) for names in about["cuboids"]]
    sizes = [lattice.cells(mask) for mask in masks]
    numbers = pq.read_table(folder / MODEL, columns=["potential"]).column(0).to_numpy()
    if numbers.size != sum(sizes):
        raise ValueError("the file does not hold these potentials")
    ends = np.cumsum(sizes).tolist()
    potentials = {
        mask: numbers[end - size : end].reshape(lattice.shape(mask))
        for mask, size, end in zip(masks, sizes, ends, strict=True)
    }
    return Model(lattice, float(about["total"]), potentials, tuple(map(float, about["strengths"])))


def model_resources(cube: "Cube", folder: Path) -> list[Json]:
    """What the two files are, for the folder's description."""
    cuboid, modelled = value_column(cube)
    dimensions = [{"name": d.name, "type": "string", "description": d.source} for d in cube.dimensions]
    fields = {
        MODEL: [{"name": "cuboid", "type": "string"}, {"name": "potential", "type": "number"}],
        MODELLED: [{"name": cuboid, "type": "string"}, *dimensions, {"name": modelled, "type": "number"}],
    }
    said = {
        MODEL: "the model: the logarithm of a cell's probability is, up to a constant, the sum of its potentials",
        MODELLED: f"the published cuboids as the model has them; {BIASED}",
    }
    return [
        {
            "name": (folder / name).stem,
            "path": name,
            "format": "parquet",
            "mediatype": "application/vnd.apache.parquet",
            "description": said[name],
            "bytes": (folder / name).stat().st_size,
            "hash": file_hash(folder / name),
            "schema": {"fields": own},
        }
        for name, own in fields.items()
    ]
