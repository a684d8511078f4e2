"""Files of SPSS, Stata and SAS. Numbers are doubles there, codes too: every value is read by its text."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from discreet.errors import TableError
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

    return Source(path, dict.fromkeys(names, pa.string()), rows, lambda: stamp_of(path))


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
