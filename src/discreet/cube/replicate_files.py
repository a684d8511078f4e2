"""Models in a folder of their own: of everything public, and replicates, which model ranges are made of. They take long
to make.

They follow from what was released and are public as it is. A file for each has its parameters, as `model.parquet` has
those of a cube's model.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.cube.model_files import model_record, parameters_of, read_model
from discreet.errors import ArchiveError
from discreet.model.model import Model
from discreet.query.lattice import Lattice
from discreet.release.package import parquet_resource, read_package, write_package, written_aside

if TYPE_CHECKING:
    from discreet.cube.modelled import ModelledCube

FORMAT = 1
RANGES = "ranges"
"""In a published cube's folder: the simulated releases that its model ranges are made of, once they were asked for."""
SAID = "the parameters of a model of released, or of simulated, numbers"


def write_models(models: Sequence[Model], lattice: Lattice, key: str, path: Path) -> None:
    """Write models to a new folder, with what they are of. What is there is whole."""
    with written_aside(path, "models") as aside:
        files = [aside / f"{place}.parquet" for place in range(len(models))]
        for file, model in zip(files, models, strict=True):
            pq.write_table(parameters_of(model, lattice), file, compression="zstd")
        about = {"format": FORMAT, "receipt": key, "models": [model_record(model, lattice) for model in models]}
        resources = [parquet_resource(file, SAID, []) for file in files]
        write_package(aside, {"profile": "data-package", "resources": resources, "replicates": about})


def read_models(path: Path, lattice: Lattice, key: str) -> tuple[Model, ...]:
    """The models in a folder. Raises ArchiveError where it is damaged, or of something else."""
    damaged = ArchiveError(f"{path} is damaged; remove it: it is made again from what was released")
    try:
        about = read_package(path, "replicates", FORMAT, "a folder of models")
        if about["receipt"] != key:
            raise damaged
        return tuple(read_model(path / f"{place}.parquet", lattice, own) for place, own in enumerate(about["models"]))
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError, pa.ArrowException):
        raise damaged from None


def kept_models(path: Path, lattice: Lattice, key: str, make: Callable[[], Sequence[Model]]) -> tuple[Model, ...]:
    """Models from their copy; else made, and kept where there is room and one may write."""
    if path.exists():
        try:
            return read_models(path, lattice, key)
        except ArchiveError:
            if path.exists():
                raise  # else a process that is further on has just removed it
    made = tuple(make())
    with suppress(ArchiveError, OSError):
        write_models(made, lattice, key, path)
    return made


def ranges_in(folder: Path, modelled: "ModelledCube") -> tuple[Model, ...]:
    """The simulated releases of a published cube, in its own folder."""
    cube = modelled.cube
    return kept_models(folder / RANGES, cube.plan.lattice, str(cube.origin.receipt), modelled.simulated)
