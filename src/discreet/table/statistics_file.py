"""Files of SPSS, Stata and SAS. Numbers are doubles there, codes too: they are read by their text, and days and moments
as what their formats say."""

import json
import re
from codecs import lookup
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.domain.attribute import Kind
from discreet.domain.codebook import CATALOGUE, LABELLED, catalogue_text, labels_of
from discreet.errors import TableError
from discreet.table.declared import Declared
from discreet.table.paths import files_of, kind_of_all, stamp_of
from discreet.table.settings import settings_of
from discreet.table.source import BATCH_ROWS, Source, Told, unreadable
from discreet.table.statistics_dates import CountedDays, counted, is_time, time_text
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
NO_MARKS = (".xpt", ".por")
"""Files of which it is not read which values their users take for missing."""
TOLD_ENCODINGS = (".sav", ".zsav", ".dta", ".sas7bdat", ".xpt")
"""Files whose texts can be read in another encoding than they declare."""
WHOLE = re.compile(r"F\d+(\.0)?|%-?0?\d+\.0f|\d+\.?|(BEST|COMMA)\d+\.?", re.I)
"""Formats without decimals."""
Read = Callable[..., Any]


def open_statistics(location: str) -> Source:
    """Open a file of SPSS, Stata or SAS; what it declares is read, and no row."""
    path, said = settings_of(location, "a file of SPSS, Stata or SAS", {"encoding": "latin-1 | cp1252 | …"})
    files = files_of(path)
    kind_of_all(files)
    read = partial(_reader(files[0]), **_encoding(path, files[0], said))
    try:
        _, about = read(files[0], metadataonly=True)
    except Exception:  # its own exceptions are of many kinds, and may quote the file
        raise TableError(f"{path} cannot be read as a table; is it a whole file of SPSS, Stata or SAS?") from None
    names = list(about.column_names)
    if len({name.lower() for name in names}) < len(names):
        raise TableError(f"{path} has two columns of one name; give each column a name of its own")
    dated = {name: found for name in names if (found := _counted(files[0], about, name))}

    def rows(wanted: Sequence[str], told: Told) -> Iterator[pa.RecordBatch]:
        done, size = 0, about.number_rows or 0
        while True:
            found = _batch(path, files[0], read, wanted, done)
            columns = [_column(files[0], about, name, found[name], dated.get(name)) for name in wanted]
            if not columns or not len(columns[0]):
                return
            yield pa.RecordBatch.from_arrays(columns, list(wanted))
            done += len(columns[0])
            told(min(1.0, done / size) if size else 0.0)
            if len(columns[0]) < BATCH_ROWS:
                return

    columns = {name: dated[name].kind if name in dated else pa.string() for name in names}
    return Source(location, columns, rows, lambda: stamp_of(path), declared=lambda: _declared(path, files[0], read))


def _batch(path: str, file: str, read: Read, wanted: Sequence[str], done: int) -> Any:
    try:
        return read(
            file,
            usecols=list(wanted),
            row_offset=done,
            row_limit=BATCH_ROWS,
            output_format="dict",
            disable_datetime_conversion=True,
        )[0]
    except Exception as error:
        if isinstance(error, UnicodeDecodeError) or "encoding" in str(error):
            raise TableError(
                f"{path} holds text in another encoding than it declares; say which: {path}?encoding=latin-1"
            ) from None
        raise unreadable(path) from None


def _encoding(path: str, file: str, said: Mapping[str, str]) -> dict[str, str]:
    """The encoding of texts, where the file itself does not say it rightly."""
    if "encoding" not in said:
        return {}
    if not file.lower().endswith(TOLD_ENCODINGS):
        raise TableError(f"{path}: the encoding of such a file is its own; save it as .sav, .dta or .sas7bdat")
    try:
        return {"encoding": lookup(said["encoding"]).name}
    except LookupError:
        raise TableError(f"{path}: no encoding is called {said['encoding']!r}; say latin-1 or cp1252") from None


def _counted(file: str, about: Any, name: str) -> CountedDays | None:
    is_number = about.readstat_variable_types.get(name) != "string"
    return counted(Path(file).suffix.lower(), about.original_variable_types.get(name) or "") if is_number else None


def _column(file: str, about: Any, name: str, values: Any, dated: CountedDays | None) -> pa.Array:
    if dated is not None:
        return dated.column(np.array([np.nan if value is None else value for value in values], np.float64))
    if is_time(Path(file).suffix.lower(), about.original_variable_types.get(name) or ""):
        return text_array(None if value is None or value != value else time_text(value).encode() for value in values)
    return text_array(map(_said, values))


def _declared(path: str, file: str, read: Read) -> Mapping[str, Declared]:
    """What the file's dictionary says: labels of variables and of their values, formats, values that are missing."""
    try:
        _, about = read(file, metadataonly=True, **({} if file.lower().endswith(NO_MARKS) else {"user_missing": True}))
    except Exception:
        raise unreadable(path) from None
    if file.lower().endswith(SAS):
        return _declared_to_sas(file, about, _catalogue(file))
    has_labels = labels_of(about) if file.lower().endswith(LABELLED) else {}
    labelled = {name for name in has_labels if about.variable_measure.get(name) != "scale"}
    return {
        name: Declared(
            kind="category" if name in labelled else _kind(file, about, name),
            words=_words(about, name),
            title=about.column_names_to_labels.get(name) or "",
            null=name in about.missing_ranges or name in about.missing_user_values,
            book=path if name in labelled else "",
            by=f"value labels in {path}" if name in labelled else "",
        )
        for name in about.column_names
    }


def _declared_to_sas(file: str, about: Any, catalogue: Path | None) -> Mapping[str, Declared]:
    """Labels of variables, and formats: those of a catalogue beside the table declare labels of values."""
    listed = json.loads(catalogue_text(catalogue)) if catalogue else {}
    formats = {name: _format(about, name) for name in about.column_names}
    return {
        name: Declared(
            kind="category" if format in listed else _kind(file, about, name),
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


def _kind(file: str, about: Any, name: str) -> Kind:
    if about.readstat_variable_types.get(name) == "string":
        return "category"
    if _counted(file, about, name):
        return "date"
    written = about.original_variable_types.get(name) or ""
    stored = about.readstat_variable_types.get(name) or ""
    return "integer" if stored.startswith("int") or WHOLE.fullmatch(written) else "bins"


def _words(about: Any, name: str) -> str:
    stored = "text" if about.readstat_variable_types.get(name) == "string" else "a number"
    written = about.original_variable_types.get(name)
    return f"{stored} with the format {written}" if written else stored


def _said(value: object) -> bytes | None:
    """These formats have no text that is missing but an empty one."""
    return written(value) or None


def _reader(file: str) -> Read:
    try:
        import pyreadstat
    except ImportError:
        raise TableError("a file of SPSS, Stata or SAS needs pyreadstat: pip install 'discreet[statistics]'") from None
    name = next(name for ending, name in READERS.items() if file.lower().endswith(ending))
    reader: Read = getattr(pyreadstat, name)
    return reader
