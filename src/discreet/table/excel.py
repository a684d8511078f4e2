"""Sheets of Excel and LibreOffice: names from the first row, and every value as the text that writes it."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qs

import pyarrow as pa

from discreet.errors import TableError
from discreet.table.paths import files_of, kind_of_all, stamp_of
from discreet.table.source import BATCH_ROWS, Source, Told
from discreet.table.written import text_array, written


def open_excel(uri: str) -> Source:
    """Open `people.xlsx?sheet=People`. The sheet may be left out where there is only one."""
    path, _, query = uri.partition("?")
    files = files_of(path)
    kind_of_all(files)
    names = _names(path, next(_sheet(files[0], query).iter_rows(), []))

    def read(wanted: Sequence[str], told: Told) -> Iterator[pa.RecordBatch]:
        sheet, places = _sheet(files[0], query), [names.index(name) for name in wanted]
        held: list[list[bytes | None]] = []
        for number, row in enumerate(sheet.iter_rows()):
            if number and any(cell != "" for cell in row):
                held.append([_said(row[place]) if place < len(row) else None for place in places])
            if len(held) == BATCH_ROWS:
                yield _batch(held, wanted)
                held = []
                told(min(1.0, number / max(1, sheet.height)))
        if held:
            yield _batch(held, wanted)

    return Source(uri, dict.fromkeys(names, pa.string()), read, lambda: stamp_of(path))


def _batch(rows: list[list[bytes | None]], names: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([text_array(column) for column in zip(*rows, strict=True)], list(names))


def _said(cell: object) -> bytes | None:
    """An empty cell is missing."""
    return written(cell) or None


def _names(path: str, row: Sequence[object]) -> list[str]:
    names = [(written(cell) or b"").decode().strip() or f"column{place}" for place, cell in enumerate(row, start=1)]
    if not names or len({name.lower() for name in names}) < len(names):
        raise TableError(f"{path}: the first row must name the columns, each once (upper and lower case are the same)")
    return names


def _sheet(file: str, query: str) -> Any:
    try:
        import python_calamine
    except ImportError:
        raise TableError("an Excel file needs python-calamine: pip install 'discreet[excel]'") from None
    try:
        book = python_calamine.CalamineWorkbook.from_path(file)
    except python_calamine.PasswordError:
        raise TableError(f"{file} is protected by a password; save a copy without one") from None
    except (python_calamine.CalamineError, OSError):
        raise TableError(
            f"{file} cannot be read as a workbook; is it whole, and not protected by a password?"
        ) from None
    sheets = book.sheet_names
    asked = parse_qs(query).get("sheet", sheets if len(sheets) == 1 else [])
    if len(asked) != 1 or asked[0] not in sheets:
        raise TableError(f"{file} has sheets {', '.join(sheets)}; say which: {file}?sheet=NAME")
    return book.get_sheet_by_name(asked[0])
