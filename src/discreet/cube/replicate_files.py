"""Replicates of a cube's model in a folder of their own: model ranges are made of them, and they take long to make.

They follow from the cube and are public as it is. A file for each has its parameters, as `model.parquet` has the
model's.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.cube.model_files import model_record, parameters_of, read_model
from discreet.cube.modelled import ModelledCube
from discreet.errors import ArchiveError
from discreet.model.model import Model
from discreet.release.package import parquet_resource, read_package, write_package, written_aside

FORMAT = 1
SAID = "the parameters of a model of a simulated release"


def write_replicates(cube: ModelledCube, path: Path) -> None:
    """Write the replicates to a new folder. What is there is whole."""
    lattice = cube.cube.plan.lattice
    with written_aside(path, "the replicates of a model") as aside:
        files = [aside / f"{place}.parquet" for place in range(len(cube.replicates))]
        for file, model in zip(files, cube.replicates, strict=True):
            pq.write_table(parameters_of(model, lattice), file, compression="zstd")
        about = {
            "format": FORMAT,
            "receipt": str(cube.cube.origin.receipt),
            "models": [model_record(model, lattice) for model in cube.replicates],
        }
        resources = [parquet_resource(file, SAID, []) for file in files]
        write_package(aside, {"profile": "data-package", "resources": resources, "replicates": about})


def read_replicates(cube: ModelledCube, path: Path) -> tuple[Model, ...]:
    """The replicates of a cube's model in a folder. Raises ArchiveError where it is damaged, or another cube's."""
    damaged = ArchiveError(f"{path} is damaged; remove it: it is made again from what was released")
    lattice = cube.cube.plan.lattice
    try:
        about = read_package(path, "replicates", FORMAT, "a folder of replicates")
        if about["receipt"] != str(cube.cube.origin.receipt):
            raise damaged
        return tuple(read_model(path / f"{place}.parquet", lattice, own) for place, own in enumerate(about["models"]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, pa.ArrowException):
        raise damaged from None
