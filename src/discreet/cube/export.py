"""A cube for other tools: NetCDF and Zarr through xarray, SDMX-CSV. Public numbers, with what they promise beside them.

A cube's own folder keeps the raw sources and the plan; an export keeps the published cuboids: a variable for each, with
its labels, the variance of its noise and the half-width of its 95% interval. Every variable carries the SHA-256 of its
numbers and labels, so that a damaged copy is found when it is read.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ArchiveError
from discreet.query.lattice import Label
from discreet.release.archive import sync_folder
from discreet.release.folder_beside import folder_beside
from discreet.release.package import require_new_folder

if TYPE_CHECKING:
    import xarray as xr

    from discreet.cube.cube import Cube

SUFFIXES = {".nc": "h5netcdf", ".zarr": "zarr", ".csv": "sdmx"}
"""What an export is, by its name; and the package that writes it."""

EXTRAS = {"h5netcdf": "formats", "zarr": "formats", "sdmx": "sdmx"}

CONFIDENCE = 0.95

Which = Iterable[tuple[Label, ...]]


def export_cube(cube: "Cube", path: Path, cuboids: Which | None = None) -> None:
    """Write the published cuboids, or some of them, to a new file: `.nc` is NetCDF, `.zarr` Zarr, `.csv` SDMX-CSV."""
    require_format(path)
    require_new_folder(path, "the export")
    chosen = [cube.plan.lattice.names_of(mask) for mask in sorted(cube.cuboids)] if cuboids is None else list(cuboids)
    try:
        with folder_beside(path) as beside:
            aside = beside / path.name
            match path.suffix:
                case ".csv":
                    from discreet.cube.sdmx import place_structure, write_sdmx

                    write_sdmx(cube, chosen, aside)
                    place_structure(aside, path)
                case ".nc":
                    data = dataset(cube, chosen)
                    packed = {name: {"zlib": True, "complevel": 1} for name in data.data_vars if data[name].ndim}
                    # HDF5 does not survive a full disk, nor does the process that it runs in: it writes to memory.
                    aside.write_bytes(data.to_netcdf(engine="h5netcdf", encoding=packed))
                case _:
                    # Version 3 of the format has no text of fixed length yet, which labels are.
                    dataset(cube, chosen).to_zarr(aside, mode="w", zarr_format=2, consolidated=True)
            for written in (aside, *aside.rglob("*")):
                sync_folder(written)  # a file is synced like a folder
            aside.rename(path)
        sync_folder(path.absolute().parent)
    except OSError:
        raise ArchiveError(f"{path} cannot be written; is there space, and may you write there?") from None


def require_format(path: Path) -> None:
    """Raise ArchiveError unless the name says a format whose package is installed."""
    from importlib.util import find_spec

    if path.suffix not in SUFFIXES:
        raise ArchiveError(f"{path.name}: an export ends in .nc (NetCDF), .zarr (Zarr) or .csv (SDMX-CSV)")
    package = SUFFIXES[path.suffix]
    if find_spec(package) is None:
        raise ArchiveError(
            f"{path.suffix} needs a package that is not there: pip install 'discreet[{EXTRAS[package]}]'"
        )


def dataset(cube: "Cube", cuboids: Which) -> "xr.Dataset":
    """The cuboids as one labelled dataset: `count`, `count_by_sex`, `count_by_sex_age`, …, or `sum`, `sum_by_sex`, …"""
    import xarray as xr

    variables: dict[str, xr.DataArray] = {}
    for names in cuboids:
        array = cube[tuple(names)]
        array.attrs = {
            "variance": cube.variance(*names),
            "halfwidth_95": cube.halfwidth(*names, confidence=CONFIDENCE),
            "sha256": _digest(array),
        }
        name = "_".join([str(array.name), *(["by"] if names else []), *map(str, names)])
        while name in variables or name in cube.names:  # "a_b" by itself, and "a" with "b"
            name += "_"
        variables[name] = array
    about = cube.describe()
    told = {key: about[key] for key in ("table", "planner", "guarantee", "receipt")}
    return xr.Dataset(variables, attrs={"title": f"cube of {about['table']}", **told, **cube.unusual()})


def read_export(path: str | Path) -> "xr.Dataset":
    """An exported NetCDF or Zarr, checked number by number. Raises ArchiveError where it is damaged."""
    import xarray as xr

    place = Path(path)
    require_format(place)
    if place.suffix == ".csv":
        raise ArchiveError("SDMX-CSV is read with its structure by tools for SDMX; check_sdmx finds what is damaged")
    try:
        how = {"engine": "h5netcdf"} if place.suffix == ".nc" else {"engine": "zarr", "consolidated": True}
        with xr.open_dataset(place, **how) as opened:
            data = opened.load()
        whole = all(array.attrs["sha256"] == _digest(array) for array in data.data_vars.values())
    except Exception:  # readers raise whatever a damaged byte makes them do
        raise ArchiveError(f"{place} cannot be read as an export; it is damaged, or not there: export again") from None
    if not whole or not data.data_vars:
        raise ArchiveError(f"{place} is damaged: its numbers are not those that were written; export again")
    return data


def _digest(array: "xr.DataArray") -> str:
    labels = json.dumps([[str(name), [str(label) for label in array.coords[name].values]] for name in array.dims])
    numbers = np.ascontiguousarray(array.values, "<f8").tobytes()
    return hashlib.sha256(labels.encode() + numbers).hexdigest()
