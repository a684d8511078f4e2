"""Sheets of Excel and LibreOffice: names from the first row, and every value as the text that writes it."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from discreet.errors import TableError
from discreet.table.header import column_names, what_it_is
from discreet.table.paths import files_of, kind_of_all, stamp_of
from discreet.table.settings import lines_above, settings_of
from discreet.table.source import BATCH_ROWS, Source, Told
from discreet.table.written import text_array, written


def open_excel(uri: str) -> Source:
    """Open `people.xlsx?sheet=People&skip=2`. The sheet may be left out where there is only one. The names are in the
    first row that is not empty, below as many as are skipped."""
    path, said = settings_of(uri, "a workbook", {"sheet": "NAME", "skip": "how many rows stand above the names"})
    files, skip = files_of(path), lines_above(path, said)
    kind_of_all(files)
    rows = _rows(_sheet(files[0], said.get("sheet")), skip)
    above, first = next(rows, (0, []))
    names = _names(path, skip, first)

    def read(wanted: Sequence[str], told: Told) -> Iterator[pa.RecordBatch]:
        sheet, places = _sheet(files[0], said.get("sheet")), [names.index(name) for name in wanted]
        below = _rows(sheet, skip)
        next(below, None)
        held: list[list[bytes | None]] = []
        for number, row in below:
            held.append([_said(row[place]) if place < len(row) else None for place in places])
            if len(held) == BATCH_ROWS:
                yield _batch(held, wanted)
                held = []
                told(min(1.0, number / max(1, sheet.height)))
        if held:
            yield _batch(held, wanted)

    lower = "&".join(f"{key}={value}" for key, value in {**said, "skip": str(above + 1)}.items())
    advice = f"row {above + 1} was read as the names: if it is a title, say how many rows are, with '{path}?{lower}'"
    return Source(uri, dict.fromkeys(names, pa.string()), read, lambda: stamp_of(path), advice=advice)


def _rows(sheet: Any, skip: int) -> Iterator[tuple[int, Sequence[object]]]:
    """The rows below some, each with its number; one without any value is none."""
    for number, row in enumerate(sheet.iter_rows()):
        if number >= skip and any(cell != "" for cell in row):
            yield number, row


def _batch(rows: list[list[bytes | None]], names: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([text_array(column) for column in zip(*rows, strict=True)], list(names))


def _said(cell: object) -> bytes | None:
    """An empty cell is missing."""
    return written(cell) or None


def _names(path: str, skip: int, row: Sequence[object]) -> list[str]:
    about = f"first row below {skip}" if skip else "first row"
    return column_names(path, about, [(written(cell) or b"").decode(errors="replace").strip() for cell in row])


def _sheet(file: str, asked: str | None) -> Any:
    try:
        import python_calamine
    except ImportError:
        raise TableError("an Excel file needs python-calamine: pip install 'discreet[excel]'") from None
    try:
        book = python_calamine.CalamineWorkbook.from_path(file)
    except python_calamine.PasswordError:
        raise TableError(f"{file} is protected by a password; save a copy without one") from None
    except (python_calamine.CalamineError, OSError):
        seems = what_it_is(file)
        raise TableError(
            f"{file} cannot be read as a workbook; {seems or 'is it whole, and not protected by a password?'}"
        ) from None
    sheets = book.sheet_names
    asked = sheets[0] if asked is None and len(sheets) == 1 else asked
    if asked not in sheets:
        raise TableError(f"{file} has sheets {', '.join(sheets)}; say which: {file}?sheet=NAME")
    return book.get_sheet_by_name(asked)
