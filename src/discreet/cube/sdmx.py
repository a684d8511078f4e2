"""SDMX-CSV 2.0: a row for each cell, `_T` where a cuboid does not have a dimension, and the structure beside it.

The structure (dataflow, codelists, concepts) is SDMX-ML, by sdmx1; it carries the promise of the release and the
SHA-256 of the rows as annotations. Rows are written column by column: a cube has millions.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from discreet.cube.dimension import Dimension
from discreet.errors import ArchiveError
from discreet.query.lattice import Label
from discreet.release.archive import sync_folder

if TYPE_CHECKING:
    from discreet.cube.cube import Cube

AGENCY, VERSION, TOTAL = "DISCREET", "1.0", "_T"
CODE = re.compile(r"[A-Za-z0-9@$\-][A-Za-z0-9_@$\-]*")
MEASURES = ("OBS_VALUE", "VARIANCE", "HALFWIDTH_95")


def structure_path(path: Path) -> Path:
    """Where the structure of some rows is: beside them."""
    return path.with_name(f"{path.stem}.structure.xml")


def write_sdmx(cube: "Cube", cuboids: Sequence[tuple[Label, ...]], path: Path) -> None:
    """Write the rows, and their structure beside them."""
    columns = ["STRUCTURE", "STRUCTURE_ID", "ACTION", *cube.names, *MEASURES]
    if len(set(columns)) < len(columns):
        raise ArchiveError(f"SDMX-CSV keeps {', '.join({*columns[:3], *MEASURES})} for itself; rename that dimension")
    schema = pa.schema([(name, pa.float64() if name in MEASURES else pa.string()) for name in columns])
    with csv.CSVWriter(path, schema, write_options=csv.WriteOptions(quoting_style="needed")) as writer:
        for names in cuboids:
            writer.write_table(_rows(cube, names, schema))
    structure_path(path).write_bytes(_structure(cube, _digest(path)))


def place_structure(aside: Path, path: Path) -> None:
    """Give the structure of rows that were written aside its name, before the rows get theirs: rows that are there have
    one. A structure of ours without rows was left by an export that was cut off, and is replaced; no other file is."""
    placed = structure_path(path)
    if placed.exists() and f'agencyID="{AGENCY}"'.encode() not in placed.read_bytes():
        raise ArchiveError(f"{placed} is already there; choose another place for the export")
    sync_folder(structure_path(aside))
    structure_path(aside).rename(placed)


def check_sdmx(path: str | Path) -> None:
    """Raise ArchiveError unless the rows are those that were written with their structure."""
    import sdmx

    rows = Path(path)
    try:
        flows = sdmx.read_sdmx(structure_path(rows)).dataflow.values()
        written = {str(note.text) for flow in flows for note in flow.annotations if note.id == "sha256"}
        whole = written == {_digest(rows)}
    except Exception:  # readers raise whatever a damaged byte makes them do
        raise ArchiveError(f"{rows} or its structure cannot be read; export again") from None
    if not whole:
        raise ArchiveError(f"{rows} is damaged: its rows are not those that were written; export again")


def code_ids(dimension: Dimension) -> list[str]:
    """The label itself where SDMX allows it as an id, else _ and a number; the codelist has the label as its name.

    No label that is its own id starts with _: so none is mistaken for a number, or for the total.
    """
    return [label if CODE.fullmatch(label) else f"_{code}" for code, label in enumerate(dimension.labels)]


def _rows(cube: "Cube", names: tuple[Label, ...], schema: pa.Schema) -> pa.Table:
    cuboid = cube[names]
    count = cuboid.size
    index = np.indices(cuboid.shape).reshape(cuboid.ndim, -1) if names else np.zeros((0, 1), np.int64)
    constants = {
        "STRUCTURE": "dataflow",
        "STRUCTURE_ID": f"{AGENCY}:{cube.origin.table}({VERSION})",
        "ACTION": "I",
        "VARIANCE": cube.variance(*names),
        "HALFWIDTH_95": cube.halfwidth(*names),
    }
    arrays = {name: pa.repeat(pa.scalar(value), count) for name, value in constants.items()}
    for dimension in (dimension for dimension in cube.dimensions if dimension.name in cube.names):
        if dimension.name in names:
            codes = pa.array(code_ids(dimension)).take(pa.array(index[names.index(dimension.name)]))
        else:
            codes = pa.repeat(pa.scalar(TOTAL), count)
        arrays[dimension.name] = codes
    arrays["OBS_VALUE"] = pa.array(cuboid.values.reshape(-1))
    return pa.table([arrays[field.name] for field in schema], schema=schema)


def _structure(cube: "Cube", digest: str) -> bytes:
    """The dataflow with all that it refers to, in one message."""
    import sdmx
    from sdmx import message
    from sdmx.model import common
    from sdmx.model import v21 as model

    table = cube.origin.table
    kept: dict[str, Any] = {"maintainer": common.Agency(id=AGENCY), "version": VERSION}
    kept |= {"is_final": True, "is_external_reference": False}
    lists = [_codelist(dimension, kept) for dimension in cube.dimensions if dimension.name in cube.names]
    concepts = common.ConceptScheme(id=f"CS_{table}", name=table, **kept)
    for name in (*cube.names, *MEASURES):
        concepts.append(common.Concept(id=name, name=name))
    structure = model.DataStructureDefinition(id=f"DSD_{table}", name=table, **kept)
    for order, (name, codes) in enumerate(zip(cube.names, lists, strict=True), 1):
        coded = common.Representation(enumerated=codes)
        structure.dimensions.append(
            model.Dimension(id=name, concept_identity=concepts[name], local_representation=coded, order=order)
        )
    value, *noise = MEASURES
    structure.measures.append(model.PrimaryMeasure(id=value, concept_identity=concepts[value]))
    for name in noise:
        of_each_cell = model.PrimaryMeasureRelationship()
        structure.attributes.append(
            model.DataAttribute(id=name, concept_identity=concepts[name], related_to=of_each_cell)
        )
    flow = model.DataflowDefinition(id=table, name=f"cube of {table}", structure=structure, **kept)
    told = {"guarantee": str(cube.guarantee), "receipt": str(cube.origin.receipt), **cube.unusual()}
    for key, text in {**told, "sha256": digest}.items():
        flow.annotations.append(model.Annotation(id=key, text=text))
    whole = message.StructureMessage(
        codelist={codes.id: codes for codes in lists},
        concept_scheme={concepts.id: concepts},
        structure={structure.id: structure},
        dataflow={flow.id: flow},
    )
    return bytes(sdmx.to_xml(whole, pretty_print=True))


def _codelist(dimension: Dimension, kept: dict[str, Any]) -> Any:
    from sdmx.model import common

    codes = common.Codelist(id=f"CL_{dimension.name}", name=dimension.name, description=dimension.source, **kept)
    for code, label in zip((TOTAL, *code_ids(dimension)), ("all", *dimension.labels), strict=True):
        codes.append(common.Code(id=code, name=label))
    return codes


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
