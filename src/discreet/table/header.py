"""The names of a table's columns, as its first line has them; and what a file is that has no such line."""

from collections.abc import Sequence

from discreet.errors import TableError

SHOWN = 60
MARKS = (
    (b"PAR1", "a Parquet file", ".parquet"),
    (b"ARROW1", "an Arrow file", ".arrow"),
    (b"SQLite format 3\0", "an SQLite file", ".sqlite"),
    (b"$FL2", "a file of SPSS", ".sav"),
    (b"$FL3", "a file of SPSS", ".zsav"),
    (b"<stata_dta>", "a file of Stata", ".dta"),
    (b"PK\x03\x04", "a workbook", ".xlsx"),
    (b"\xd0\xcf\x11\xe0", "a workbook", ".xls"),
    (b"\x1f\x8b", "packed by gzip", ".csv.gz"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", ".csv.zst"),
)
"""How files begin, what they are then, and how they should be called."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def column_names(file: str, line: str, names: Sequence[str]) -> list[str]:
    """The names that a line says, each once; a column without one is called by its place."""
    if not any(names):
        raise TableError(f"{file}: the {line} must name the columns, and there is nothing on it")
    named = [name or f"column{place}" for place, name in enumerate(names, start=1)]
    places: dict[str, int] = {}
    for place, name in enumerate(named, start=1):
        before = places.setdefault(name.lower(), place)
        if before != place:
            raise TableError(
                f"{file}: the {line} must name the columns, each once (upper and lower case are the same): "
                f"{_short(name)} is the name of columns {before} and {place}"
            )
    return named


def what_it_is(file: str) -> str:
    """What a file is by its first bytes, and what to do about it; nothing where that is not known."""
    try:
        with open(file, "rb") as stream:
            begins = stream.read(512)
    except OSError:
        return ""
    for mark, kind, ending in MARKS:
        if begins.startswith(mark) and not file.lower().endswith(ending):
            return f"by its first bytes it is {kind}: call it {ending}"
    if begins.startswith(UTF_16) or b"\0" in begins[:64]:
        return "it seems to be text in UTF-16: save it in UTF-8"
    if begins.lstrip().lower().startswith((b"<html", b"<!doctype html", b"<table")):
        return "by its first bytes it is a web page: save the table as CSV"
    if begins.isascii() and b"\n" in begins:
        return "by its first bytes it is text: if it is a CSV file, call it .csv"
    return ""


def _short(name: str) -> str:
    shown = "".join(letter if letter.isprintable() else "�" for letter in name)
    return repr(shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}…")
