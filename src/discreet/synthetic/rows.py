"""A table of synthetic rows: drawn from a model of what was released, with what it promises written into the file."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.cube.cube import Cube
from discreet.cube.memory import available_bytes, gigabytes
from discreet.cube.public_model import PublicModel
from discreet.domain.attribute import Bins
from discreet.domain.domain import Domain
from discreet.domain.read_tables import parse_tables
from discreet.errors import ArchiveError, DiscreetError, UnsupportedQuery
from discreet.ledger.guarantee import Guarantee
from discreet.ledger.receipt import Receipt
from discreet.model.mixture import ProductMixture
from discreet.model.model import Model
from discreet.model.rows import draw_rows
from discreet.noise.bits import SeededBits
from discreet.private import FILE, PUBLIC_FILE, is_in_vault
from discreet.progress import Progress, silent
from discreet.release.archive import sync_folder
from discreet.release.folder_beside import folder_beside
from discreet.release.package import require_new_folder
from discreet.synthetic.values import RULE, codes_of, column_of

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
KEY = b"discreet"
OF_TABLE = "domain_table"
"""What rows say of which table they are of, where their domain declares several."""
SUFFIXES = (".parquet", ".csv")
NOBODY = "No row is a person: rows are drawn from a model of released, noisy counts"
LIMITS = (
    "what was never measured together is only what its parts imply, small groups are smoothed, and statistics of these "
    "rows have no intervals of their own"
)
ROW_BYTES = 40
"""Bytes that a value of a row takes while rows are drawn and written."""

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Rows with labels in `table`, and in `about` what they are: guarantee, receipt, model, seed."""

    table: pa.Table
    about: dict[str, Any]

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def to_pandas(self) -> "pd.DataFrame":
        frame: pd.DataFrame = self.table.to_pandas()
        frame.attrs["discreet"] = self.about
        return frame

    def save(self, path: str | Path) -> None:
        """Write a new file: Parquet with what the rows are in its metadata, or CSV with that in a file beside it."""
        place = Path(path)
        require_rows_file(place)
        beside = _beside(place)
        try:
            with folder_beside(place) as aside:
                if place.suffix == ".parquet":
                    pq.write_table(self.table, aside / place.name, compression="zstd")
                else:
                    pcsv.write_csv(_as_written(self.table, _domain_of(self.about)), aside / place.name)
                    (aside / beside.name).write_text(json.dumps(self.about, indent=2, ensure_ascii=False) + "\n")
                written = sorted(aside.iterdir(), key=lambda file: file.name != beside.name)
                for file in written:
                    file.chmod(FILE if is_in_vault(place) else PUBLIC_FILE)
                    sync_folder(file)
                    os.rename(file, place.with_name(file.name))
            sync_folder(place.absolute().parent)
        except (OSError, pa.ArrowException):
            raise ArchiveError(f"{place} could not be written; is there space, and may you write there?") from None

    @staticmethod
    def load(path: str | Path) -> "SyntheticRows":
        """Rows from a file that `save` wrote. Raises ArchiveError where it is something else."""
        place = Path(path)
        if not place.exists():
            raise ArchiveError(f"there is no {place}; name a file of synthetic rows")
        if place.suffix != ".parquet" and not _beside(place).exists():
            raise ArchiveError(
                f"{place} has no {_beside(place).name} beside it, which says what its rows are: copy both"
            )
        wrong = ArchiveError(f"{place} is not a file of synthetic rows that Discreet wrote, or it was changed")
        try:
            if place.suffix == ".parquet":
                table = pq.read_table(place)
                about = json.loads(table.schema.metadata[KEY])
            else:
                about = json.loads(_beside(place).read_text(encoding="utf-8"))
                table = _read_csv(place, _domain_of(about))
            if about["format"] != FORMAT or about["digest"] != _digest(table):
                raise wrong
            return SyntheticRows(table, about)
        except (OSError, ValueError, LookupError, TypeError, pa.ArrowException, DiscreetError):
            raise wrong from None

    def codes(self) -> dict[str, Codes]:
        """The codes of every column, by the domain that the rows were drawn for."""
        domain = _domain_of(self.about)
        try:
            return {name: codes_of(domain[name], self.table.column(name)) for name in self.table.column_names}
        except ValueError as error:
            raise ArchiveError(f"these rows do not suit their domain: {error}") from None


def _read_csv(path: Path, domain: Domain) -> pa.Table:
    kinds = {"category": pa.string(), "date": pa.string(), "integer": pa.int64(), "bins": pa.float64()}
    commas = _with_commas(domain)
    types = {own.name: pa.string() if own.name in commas else kinds[own.kind] for own in domain.attributes}
    options = pcsv.ConvertOptions(column_types=types, strings_can_be_null=True, quoted_strings_can_be_null=False)
    table = pcsv.read_csv(path, convert_options=options)
    for name in commas & {*table.column_names}:
        numbers = pc.cast(pc.replace_substring(table.column(name), ",", "."), pa.float64())
        table = table.set_column(table.schema.get_field_index(name), name, numbers)
    return table


def _as_written(table: pa.Table, domain: Domain) -> pa.Table:
    """The rows as a CSV file has them whose numbers are written as the domain says."""
    for name in _with_commas(domain) & {*table.column_names}:
        texts = pc.replace_substring(pc.cast(table.column(name), pa.string()), ".", ",")
        table = table.set_column(table.schema.get_field_index(name), name, texts)
    return table.replace_schema_metadata(None)


def _with_commas(domain: Domain) -> set[str]:
    """The columns of numbers with decimal commas."""
    return {own.name for own in domain.attributes if isinstance(own, Bins) and own.notation.decimal == ","}


def _domain_of(about: Mapping[str, Any]) -> Domain:
    """The domain that rows were drawn for: of several tables, that of theirs."""
    tables = parse_tables(about["domain"])
    return (tables[about[OF_TABLE]] if OF_TABLE in about else tables.tables[0]).domain


def _beside(path: Path) -> Path:
    return path.with_name(path.name + "-metadata.json")


def _digest(table: pa.Table) -> str:
    """The SHA-256 of the rows, column by column, whatever file they are in."""
    digest = hashlib.sha256(json.dumps(table.column_names).encode())
    for column in table.columns:
        digest.update(json.dumps(column.to_pylist(), ensure_ascii=True).encode())
    return digest.hexdigest()


def require_rows_file(path: Path) -> None:
    """Raise ArchiveError unless rows can be written there."""
    if path.suffix not in SUFFIXES:
        raise ArchiveError(f"{path.name}: a file of rows ends in .parquet or .csv")
    require_new_folder(path, "the rows")
    if path.suffix == ".csv":
        require_new_folder(_beside(path), "what the rows are")


def require_rows(cells: int, columns: int, rows: int, available: int | None = None) -> None:
    """Refuse numbers of rows that are none, or that do not fit in memory."""
    if rows < 1:
        raise UnsupportedQuery("a table of synthetic rows has at least 1 row: give --rows 1000")
    needed = ROW_BYTES * columns * rows + 16 * cells
    there = available_bytes() if available is None else available
    if needed > there:
        fits = max((there - 16 * cells) // (ROW_BYTES * columns), 0)
        raise UnsupportedQuery(
            f"{rows:,} rows of {columns} columns need about {gigabytes(needed)} of memory and {gigabytes(there)} are "
            f"free; ask for at most {fits:,}"
        )


def synthesise(
    of: Cube | PublicModel,
    domain_text: str,
    rows: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
    of_table: str | None = None,
) -> SyntheticRows:
    """Rows drawn from the model of a cube, or of everything public; as many as it expects where no number is given.
    Deterministic by the seed.

    Marginals of up to three attributes are within a few rows of the model's. An attribute of the domain that has one
    value has it in every row; one that the model has not is left out. `domain_text` is the domain as TOML; where it
    declares several tables, `of_table` is the one that the rows are of.
    """
    described = {"domain": domain_text, **({} if of_table is None else {OF_TABLE: of_table})}
    domain = _domain_of(described)
    source = of.with_model(progress) if isinstance(of, Cube) else of
    model, names, origin = _origin(source)
    count = max(round(model.total), 1) if rows is None else rows
    require_rows(0 if isinstance(model, ProductMixture) else model.joint.size, len(domain.attributes), count)
    progress("drawing rows", 0.0)
    bits = SeededBits(seed)
    codes = draw_rows(model, count, bits)
    columns: dict[str, pa.Array] = {}
    for attribute in domain.attributes:
        if attribute.name in names:
            own = codes[:, names.index(attribute.name)].astype(np.int64)
            columns[attribute.name] = column_of(attribute, own, bits)
        elif attribute.size == 1:
            columns[attribute.name] = column_of(attribute, np.zeros(count, np.int64), bits)
    progress("drawing rows", 1.0)
    table = pa.table(columns)
    left_out = [name for name in domain.names if name not in columns]
    about = {**_about(model, origin, table, seed), "left_out": left_out, **described}
    return SyntheticRows(table.replace_schema_metadata({KEY: json.dumps(about, ensure_ascii=False)}), about)


@dataclass(frozen=True)
class _Origin:
    """What a model was made of, as the rows say it."""

    table: str
    measured: list[list[str]]
    guarantee: Guarantee
    charge: int
    earlier: tuple[int, ...]
    receipt: Receipt
    more: dict[str, Any]


def _origin(source: Cube | PublicModel) -> tuple[Model, list[str], _Origin]:
    """A model, its attributes, and what it was made of."""
    if isinstance(source, Cube):
        assert source.model is not None, "it was fitted"
        own, measured = source.origin, [list(map(str, names)) for names in source.plan.sources]
        told = _Origin(own.table, measured, source.guarantee, own.charge, own.earlier, own.receipt, {})
        return source.model, [dimension.name for dimension in source.dimensions], told
    of, said = source.of, source.of.describe()
    more = {key: said[key] for key in ("releases", "facts", "other_numbers")}
    *earlier, last = of.all_releases
    told = _Origin(source.table, said["tables"], source.guarantee, last, tuple(earlier), of.receipt, more)
    return source.model, list(of.names), told


def _about(model: Model, origin: _Origin, table: pa.Table, seed: int) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "what": NOBODY,
        "limits": LIMITS,
        "values": RULE,
        "table": origin.table,
        "rows": table.num_rows,
        "seed": seed,
        "digest": _digest(table),
        "model": {
            "total": model.total,
            "strengths": list(model.strengths),
            "measured": origin.measured,
            **origin.more,
        },
        "guarantee": origin.guarantee.to_json(),
        "guarantee_in_words": str(origin.guarantee),
        "charge": origin.charge,
        "receipt": str(origin.receipt),
        **({"earlier": list(origin.earlier)} if origin.earlier else {}),
    }
