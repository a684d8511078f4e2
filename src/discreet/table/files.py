"""Files on this machine: which ones a path names, and how to recognise them."""

import hashlib
import os
from collections.abc import Iterator
from glob import glob, has_magic
from os.path import isfile

from discreet.errors import TableError
from discreet.table.watch import Told

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


def contents_of(path: str) -> list[str]:
    """Every file that decides what the table holds: a DuckDB file's last changes may be in a log beside it."""
    files = files_of(path)
    return files + [log for file in files if _kind(file) == "duckdb" and isfile(log := f"{file}.wal")]


def stamp_of(path: str) -> object:
    """Size, time and place of each file: cheap to look at, and another where a file was touched."""
    return [(file, *_stat(file)) for file in contents_of(path)]


def _stat(file: str) -> tuple[int, int, int]:
    try:
        info = os.stat(file)
    except OSError:
        raise TableError(f"{file} cannot be read; is it still there?") from None
    return info.st_size, info.st_mtime_ns, info.st_ino


def hash_files(files: list[str], key: bytes, told: Told | None = None) -> str:
    digest = hashlib.blake2b(key=key, digest_size=32)
    total, read = max(1, sum(_stat(file)[0] for file in files)), 0
    for file in files:
        length = 0
        for chunk in _chunks(file):
            digest.update(chunk)
            length += len(chunk)
            if told is not None:
                told(min(1.0, (read + length) / total))
        read += length
        digest.update(length.to_bytes(8, "big"))  # where one file ends matters, not its name
    return digest.hexdigest()


def _chunks(file: str) -> Iterator[bytes]:
    try:
        with open(file, "rb") as stream:
            while chunk := stream.read(1 << 22):
                yield chunk
    except OSError:
        raise TableError(f"{file} cannot be read; is it still there?") from None
