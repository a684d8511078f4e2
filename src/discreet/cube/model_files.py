"""A cube's model on disk, beside its least squares: its parameters, which are the model, and the cuboids read from it.

`model.parquet` has a row for each potential, in the order of the cuboids' masks and of their cells; or, of a mixture, a
row for each group with its share and its distributions. `modelled.parquet` has the published cuboids as the model has
them, a row a cell. A number in it is called `modelled`, never `count`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.model.log_linear import LogLinear
from discreet.model.mixture import ProductMixture
from discreet.model.model import Model
from discreet.query.lattice import Lattice
from discreet.release.package import parquet_resource

if TYPE_CHECKING:
    from discreet.cube.cube import Cube

MODEL, MODELLED = "model.parquet", "modelled.parquet"
ESTIMATE = "modelled"
BIASED = "modelled: biased towards an even spread, and sharper; least squares in the same folder is not biased"
PARAMETERS = [("cuboid", "string"), ("potential", "number")]
LOG_LINEAR_SAID = "the model: the logarithm of a cell's probability is, up to a constant, the sum of its potentials"
MIXTURE_SAID = (
    "the model: groups of people with their shares, and each group's distribution of every dimension, one after the "
    "other; within a group dimensions are independent"
)
Json = dict[str, Any]


def model_record(model: Model, lattice: Lattice) -> Json:
    """The model as a cube's folder describes it."""
    if isinstance(model, ProductMixture):
        own: Json = {"groups": model.shares.size, "steps": list(model.steps)}
    else:
        own = {"cuboids": [list(lattice.names_of(mask)) for mask in sorted(model.potentials)]}
    return {"total": model.total, "strengths": list(model.strengths), **own, "note": BIASED}


def write_model(cube: "Cube", model: Model, folder: Path) -> None:
    """Write the parameters, and the published cuboids as the model has them."""
    pq.write_table(parameters_of(model, cube.plan.lattice), folder / MODEL, compression="zstd")
    pq.write_table(_cuboids(cube, model.cuboids(cube.plan.published)), folder / MODELLED, compression="zstd")


def parameters_of(model: Model, lattice: Lattice) -> pa.Table:
    """The parameters of a model, as its file has them."""
    return _groups(model) if isinstance(model, ProductMixture) else _potentials(model, lattice)


def _groups(model: ProductMixture) -> pa.Table:
    flat = pa.array(model.tables.reshape(-1))
    return pa.table(
        {"share": model.shares, "distributions": pa.FixedSizeListArray.from_arrays(flat, model.tables.shape[1])}
    )


def _potentials(model: LogLinear, lattice: Lattice) -> pa.Table:
    potentials = {mask: model.potentials[mask] for mask in sorted(model.potentials)}
    names = [",".join(map(str, lattice.names_of(mask))) for mask in potentials]
    sizes = [table.size for table in potentials.values()]
    return pa.table(
        {
            "cuboid": pa.DictionaryArray.from_arrays(np.repeat(np.arange(len(names), dtype=np.int32), sizes), names),
            "potential": np.concatenate([table.reshape(-1) for table in potentials.values()]),
        }
    )


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


def read_model(path: Path, lattice: Lattice, about: Json) -> Model:
    """The model in a file. Raises ValueError, or what the like leads to, where it makes no sense."""
    if "groups" in about:
        return _read_groups(path, lattice, about)
    masks = [lattice.mask(*names) for names in about["cuboids"]]
    sizes = [lattice.cells(mask) for mask in masks]
    numbers = pq.read_table(path, columns=["potential"]).column(0).to_numpy()
    if numbers.size != sum(sizes):
        raise ValueError("the file does not hold these potentials")
    ends = np.cumsum(sizes).tolist()
    potentials = {
        mask: numbers[end - size : end].reshape(lattice.shape(mask))
        for mask, size, end in zip(masks, sizes, ends, strict=True)
    }
    return LogLinear(lattice, float(about["total"]), potentials, tuple(map(float, about["strengths"])))


def _read_groups(path: Path, lattice: Lattice, about: Json) -> ProductMixture:
    table = pq.read_table(path, columns=["share", "distributions"])
    shares = table["share"].to_numpy()
    tables = table["distributions"].combine_chunks().flatten().to_numpy().reshape(shares.size, -1)
    if tables.shape[1] != sum(lattice.sizes):
        raise ValueError("the file does not hold these distributions")
    strengths, steps = tuple(map(float, about["strengths"])), tuple(map(int, about["steps"]))
    return ProductMixture(lattice, float(about["total"]), shares, tables, strengths, steps)


def model_resources(cube: "Cube", folder: Path) -> list[Json]:
    """What the two files are, for the folder's description."""
    cuboid, modelled = value_column(cube)
    dimensions = [{"name": d.name, "type": "string", "description": d.source} for d in cube.dimensions]
    mixture = isinstance(cube.model, ProductMixture)
    parameters = [("share", "number"), ("distributions", "array")] if mixture else PARAMETERS
    fields = {
        MODEL: [{"name": name, "type": kind} for name, kind in parameters],
        MODELLED: [{"name": cuboid, "type": "string"}, *dimensions, {"name": modelled, "type": "number"}],
    }
    said = {
        MODEL: MIXTURE_SAID if mixture else LOG_LINEAR_SAID,
        MODELLED: f"the published cuboids as the model has them; {BIASED}",
    }
    return [parquet_resource(folder / name, said[name], own) for name, own in fields.items()]
