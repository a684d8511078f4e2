"""Files on this machine: which ones a path names, what their folders say, and whether they were touched."""

import os
from collections.abc import Mapping, Sequence
from glob import glob, has_magic
from os.path import isdir, isfile
from pathlib import Path
from urllib.parse import unquote

from discreet.errors import TableError

KINDS = {
    "parquet": (".parquet", ".pq"),
    "csv": tuple(
        f"{ending}{packed}"
        for ending in (".csv", ".tsv", ".psv", ".txt", ".data", ".dat")
        for packed in ("", ".gz", ".zst")
    ),
    "arrow": (".arrow", ".feather", ".ipc"),
    "duckdb": (".duckdb", ".db"),
    "sqlite": (".sqlite", ".sqlite3"),
    "excel": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    "statistics": (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt"),
}
SQLITE = b"SQLite format 3\0"
"""How every file of SQLite begins."""
MANY = ("parquet", "csv", "arrow")
"""Kinds of which several files can be one table."""
READ = (
    ".parquet, .csv (.tsv, .txt, .data; .gz, .zst), .arrow, .feather, .duckdb, .sqlite, .xlsx, .sav, .dta or .sas7bdat"
)
NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What a folder is called whose rows have no value."""


def files_of(path: str) -> list[str]:
    """The files that a path, a pattern or a folder names, in order. A file whose name looks like a pattern is that
    file; of a folder it is all in it that can be read, but for those whose names begin with a dot or underscore."""
    if isfile(path):
        return [path]
    if isdir(path):
        found = [str(file) for file in Path(path).rglob("*") if file.is_file() and not _is_hidden(file, path)]
        files = sorted(file for file in found if _kind_or_none(file))
        if not files:
            raise TableError(f"the folder {path} has no file that is read here; use {READ}")
        return files
    files = sorted(filter(isfile, glob(path, recursive=True))) if has_magic(path) else []
    if not files:
        raise TableError(f"there is no file {path or '(the name is empty)'}; put it there, or name another")
    return files


def _is_hidden(file: Path, folder: str) -> bool:
    return any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)


def partitions_of(path: str, files: Sequence[str]) -> list[Mapping[str, str | None]]:
    """What the folders of each file say about its rows: `year=2026/month=01` below the one that was named."""
    parts = Path(path).parts
    plain = next((place for place, part in enumerate(parts) if has_magic(part)), len(parts))
    above = len(parts) if isdir(path) else 0 if isfile(path) else plain
    found: list[Mapping[str, str | None]] = []
    for file in files:
        folders = [] if isfile(path) else [part for part in Path(file).parts[above:-1] if "=" in part]
        pairs = [part.partition("=") for part in folders]
        found.append({name: None if value == NOTHING else unquote(value) for name, _, value in pairs})
    for file, said in zip(files, found, strict=True):
        if list(said) != list(found[0]):
            raise TableError(
                f"{file} lies in other folders than {files[0]}: each file needs the same NAME=VALUE folders"
            )
    return found


def _kind_or_none(file: str) -> str | None:
    """The kind of a file by its ending. Two databases share one: it is their first bytes that tell them apart."""
    kind = next((kind for kind, ends in KINDS.items() if file.lower().endswith(ends)), None)
    return "sqlite" if kind == "duckdb" and _begins_with(file, SQLITE) else kind


def _begins_with(file: str, mark: bytes) -> bool:
    try:
        with open(file, "rb") as stream:
            return stream.read(len(mark)) == mark
    except OSError:
        return False


def _kind(file: str) -> str:
    kind = _kind_or_none(file)
    if kind is None:
        raise TableError(f"{file}: not a kind of file that is read here; use {READ}")
    return kind


def kind_of_all(files: list[str]) -> str:
    kind = _kind(files[0])
    other = next((file for file in files[1:] if _kind(file) != kind or kind not in MANY), None)
    if other is not None:
        raise TableError(f"{files[0]} and {other} cannot be one table; name files of one kind, Parquet or CSV")
    return kind


def stamp_of(path: str) -> list[list[int]]:
    """Size, time and place of each file: cheap to look at, and another where a file was touched.

    A database file's last changes may be in a log beside it.
    """
    files = files_of(path)
    logs = [log for file in files for end in (".wal", "-wal") if isfile(log := f"{file}{end}")]
    return [list(_stat(file)) for file in files + logs]


def _stat(file: str) -> tuple[int, int, int]:
    try:
        info = os.stat(file)
    except OSError:
        raise TableError(f"{file} cannot be read; is it still there?") from None
    return info.st_size, info.st_mtime_ns, info.st_ino
