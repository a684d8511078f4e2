"""Files of SPSS, Stata and SAS. Numbers are doubles there, codes too: every value is read by its text."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.domain.attribute import Kind
from discreet.domain.codebook import CATALOGUE, LABELLED, catalogue_text, labels_of
from discreet.errors import TableError
from discreet.table.declared import Declared
from discreet.table.paths import files_of, kind_of_all, stamp_of
from discreet.table.source import BATCH_ROWS, Source, Told, unreadable
from discreet.table.written import text_array, written

READERS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
SAS = (".sas7bdat", ".xpt")
DATES = re.compile(r"%-?t[dcC]|%-?d|[AEJS]?DATE|YMDHMS|YYMMDD|MMDDYY|DDMMYY|[BE]8601D", re.I)
"""How formats of days and times begin, in Stata, SPSS and SAS."""
WHOLE = re.compile(r"F\d+(\.0)?|%-?0?\d+\.0f|\d+\.?|(BEST|COMMA)\d+\.?", re.I)
"""Formats without decimals."""


def open_statistics(path: str) -> Source:
    """Open a file of SPSS, Stata or SAS; what it declares is read, and no row."""
    files = files_of(path)
    kind_of_all(files)
    read = _reader(files[0])
    try:
        _, about = read(files[0], metadataonly=True)
    except Exception:  # its own exceptions are of many kinds, and may quote the file
        raise TableError(f"{path} cannot be read as a table; is it a whole file of SPSS, Stata or SAS?") from None
    names = list(about.column_names)
    if len({name.lower() for name in names}) < len(names):
        raise TableError(f"{path} has two columns of one name; give each column a name of its own")

    def rows(wanted: Sequence[str], told: Told) -> Iterator[pa.RecordBatch]:
        done, size = 0, about.number_rows or 0
        while True:
            try:
                found, _ = read(
                    files[0], usecols=list(wanted), row_offset=done, row_limit=BATCH_ROWS, output_format="dict"
                )
            except Exception:
                raise unreadable(path) from None
            columns = [text_array(map(_said, found[name])) for name in wanted]
            if not columns or not len(columns[0]):
                return
            yield pa.RecordBatch.from_arrays(columns, list(wanted))
            done += len(columns[0])
            told(min(1.0, done / size) if size else 0.0)
            if len(columns[0]) < BATCH_ROWS:
                return

    columns = dict.fromkeys(names, pa.string())
    return Source(path, columns, rows, lambda: stamp_of(path), declared=lambda: _declared(path, files[0], read))


def _declared(path: str, file: str, read: Callable[..., Any]) -> Mapping[str, Declared]:
    """What the file's dictionary says: labels of variables and of their values, formats, values that are missing."""
    try:
        _, about = read(file, metadataonly=True, **({} if file.lower().endswith(".xpt") else {"user_missing": True}))
    except Exception:
        raise unreadable(path) from None
    if file.lower().endswith(SAS):
        return _declared_to_sas(about, _catalogue(file))
    has_labels = labels_of(about) if file.lower().endswith(LABELLED) else {}
    labelled = {name for name in has_labels if about.variable_measure.get(name) != "scale"}
    return {
        name: Declared(
            kind="category" if name in labelled else _kind(about, name),
            words=_words(about, name),
            title=about.column_names_to_labels.get(name) or "",
            null=name in about.missing_ranges or name in about.missing_user_values,
            book=path if name in labelled else "",
            by=f"value labels in {path}" if name in labelled else "",
        )
        for name in about.column_names
    }


def _declared_to_sas(about: Any, catalogue: Path | None) -> Mapping[str, Declared]:
    """Labels of variables, and formats: those of a catalogue beside the table declare labels of values."""
    listed = json.loads(catalogue_text(catalogue)) if catalogue else {}
    formats = {name: _format(about, name) for name in about.column_names}
    return {
        name: Declared(
            kind="category" if format in listed else _kind(about, name),
            words=_words(about, name),
            title=about.column_names_to_labels.get(name) or "",
            book=str(catalogue) if format in listed else "",
            book_list=format if format in listed else "",
            by=f"the format {format} in {catalogue}" if format in listed else "",
        )
        for name, format in formats.items()
    }


def _format(about: Any, name: str) -> str:
    """A variable's format without its width: no name of a format ends with a digit."""
    return (about.original_variable_types.get(name) or "").upper().rstrip(".0123456789")


def _catalogue(file: str) -> Path | None:
    """The catalogue beside a table of SAS: one of its name, or the one that SAS calls FORMATS by itself."""
    beside = [Path(file).with_suffix(CATALOGUE), Path(file).with_name(f"formats{CATALOGUE}")]
    return next((one for one in beside if one.exists()), None)


def _kind(about: Any, name: str) -> Kind:
    if about.readstat_variable_types.get(name) == "string":
        return "category"
    written = about.original_variable_types.get(name) or ""
    if DATES.match(written):
        return "date"
    stored = about.readstat_variable_types.get(name) or ""
    return "integer" if stored.startswith("int") or WHOLE.fullmatch(written) else "bins"


def _words(about: Any, name: str) -> str:
    stored = "text" if about.readstat_variable_types.get(name) == "string" else "a number"
    written = about.original_variable_types.get(name)
    return f"{stored} with the format {written}" if written else stored


def _said(value: object) -> bytes | None:
    """These formats have no text that is missing but an empty one."""
    return written(value) or None


def _reader(file: str) -> Callable[..., Any]:
    try:
        import pyreadstat
    except ImportError:
        raise TableError("a file of SPSS, Stata or SAS needs pyreadstat: pip install 'discreet[statistics]'") from None
    name = next(name for ending, name in READERS.items() if file.lower().endswith(ending))
    reader: Callable[..., Any] = getattr(pyreadstat, name)
    return reader
