"""Files on this machine: which ones a path names, and whether they were touched."""

import os
from glob import glob, has_magic
from os.path import isfile

from discreet.errors import TableError

KINDS = {
    "parquet": (".parquet",),
    "csv": (".csv", ".csv.gz", ".tsv", ".tsv.gz"),
    "duckdb": (".duckdb", ".db"),
}


def files_of(path: str) -> list[str]:
    """The files that a path or a pattern names, in order. A file whose name looks like a pattern is that file."""
    files = [path] if isfile(path) else sorted(filter(isfile, glob(path))) if has_magic(path) else []
    if not files:
        raise TableError(f"there is no file {path}; put it there, or name another")
    return files


def _kind(file: str) -> str:
    for kind, ends in KINDS.items():
        if file.lower().endswith(ends):
            return kind
    raise TableError(f"{file}: not a kind of file that is read here; use .parquet, .csv, .csv.gz or .duckdb")


def kind_of_all(files: list[str]) -> str:
    kinds = {_kind(file) for file in files}
    if len(kinds) > 1 or (kinds == {"duckdb"} and len(files) > 1):
        raise TableError(f"{files[0]} and {files[1]} cannot be one table; name files of one kind, Parquet or CSV")
    return kinds.pop()


def stamp_of(path: str) -> list[list[int]]:
    """Size, time and place of each file: cheap to look at, and another where a file was touched.

    A DuckDB file's last changes may be in a log beside it.
    """
    files = files_of(path)
    logs = [log for file in files if _kind(file) == "duckdb" and isfile(log := f"{file}.wal")]
    return [list(_stat(file)) for file in files + logs]


def _stat(file: str) -> tuple[int, int, int]:
    try:
        info = os.stat(file)
    except OSError:
        raise TableError(f"{file} cannot be read; is it still there?") from None
    return info.st_size, info.st_mtime_ns, info.st_ino
