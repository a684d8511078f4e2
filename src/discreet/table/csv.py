"""CSV files as text columns: names from the header, nothing guessed from the rows.

A line that is not CSV or not UTF-8 is left out, one with too few fields is filled with missing values, and fields too
many are ignored: no line makes a query fail. The rows of the population are those that this reader makes of the file.
"""

import csv
import gzip
from pathlib import Path

from discreet.errors import TableError
from discreet.table.literal import quoted, quoted_paths

HEADER_BYTES = 1 << 20
OPTIONS = (
    "header = true, auto_detect = false, quote = '\"', escape = '\"', ignore_errors = true, null_padding = true, "
    "strict_mode = false, parallel = false"  # what a line becomes must not depend on where a thread began to read
)


def read_csv_text(files: list[str]) -> str:
    """DuckDB's reader of files with one and the same header, every value as text."""
    separator, names = _header(files[0])
    for file in files[1:]:
        if _header(file) != (separator, names):
            raise TableError(f"{file} has another first line than {files[0]}; the columns must be in the same order")
    columns = "{" + ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names) + "}"
    return f"read_csv({quoted_paths(files)}, columns = {columns}, delim = {quoted(separator)}, {OPTIONS})"


def _header(file: str) -> tuple[str, list[str]]:
    """The separator and the columns' names. Reads the first line only."""
    unreadable = TableError(f"{file}: the first line cannot be read as a CSV header in UTF-8")
    try:
        with gzip.open(file) if Path(file).suffix.lower() == ".gz" else open(file, "rb") as stream:
            line = stream.readline(HEADER_BYTES)
        header = line.decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, EOFError):
        raise unreadable from None
    first = header[0] if header else ""
    separator = max(",;\t|", key=first.count)
    try:
        names = next(csv.reader([first], delimiter=separator), [])
    except csv.Error:
        raise unreadable from None
    # A table saved with its row numbers has a column without a name.
    names = [name or f"column{position}" for position, name in enumerate(names, start=1)]
    if not names or len({name.lower() for name in names}) < len(names):
        raise TableError(f"{file}: the first line must name the columns, each once (upper and lower case are the same)")
    return separator, names
