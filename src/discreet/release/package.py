"""Published folders: Parquet with a datapackage.json that has the SHA-256 of every file, and of itself.

A folder is written aside, synced and renamed: what is there is whole, and a changed byte is found when it is read.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from discreet.errors import ArchiveError
from discreet.private import FILE, FOLDER, PUBLIC_FILE, PUBLIC_FOLDER, is_in_vault
from discreet.release.archive import sync_folder
from discreet.release.folder_beside import folder_beside

PACKAGE = "datapackage.json"


def require_new_folder(path: Path, what: str) -> None:
    """Raise ArchiveError unless `what` can be written there."""
    if path.exists():
        raise ArchiveError(f"{path} is already there; choose another place for {what}")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ArchiveError(f"{path.absolute().parent} is not a folder that can be written to; choose another place")


@contextmanager
def written_aside(path: Path, what: str) -> Iterator[Path]:
    """A folder to fill; at the end of the block it is synced and gets its name, after an exception it is gone.

    In a vault it is the owner's alone; elsewhere it is published, and everybody on the machine may read it.
    """
    from pyarrow import ArrowException  # who reads packages, as a service does, writes no tables

    require_new_folder(path, what)
    try:
        with folder_beside(path) as aside:
            yield aside
            file_mode, folder_mode = (FILE, FOLDER) if is_in_vault(path) else (PUBLIC_FILE, PUBLIC_FOLDER)
            for written in aside.iterdir():
                with open(written, "rb") as file:
                    os.fchmod(file.fileno(), file_mode)
                    os.fsync(file.fileno())
            sync_folder(aside)
            aside.chmod(folder_mode)
            aside.rename(path)
        with suppress(OSError):  # it is there, and must not be taken for something that failed
            sync_folder(path.absolute().parent)
    except (OSError, ArrowException):
        raise ArchiveError(f"{what} could not be written to {path}; is there space, and may you write there?") from None


def write_package(folder: Path, package: Mapping[str, Any]) -> str:
    """Write the description of a folder; its SHA-256, which it carries."""
    digest = package_digest(package)
    text = json.dumps({**package, "sha256": digest}, indent=2, ensure_ascii=False)
    (folder / PACKAGE).write_text(text + "\n", encoding="utf-8")
    return digest


def read_package(folder: Path, section: str, form: int, what: str) -> dict[str, Any]:
    """A section of a folder's description, after checking that each byte of it and of its files is what was written.

    Raises ArchiveError where it is not `what`, or of another format; ValueError, or what a description that makes no
    sense leads to (LookupError, TypeError, OSError, …), where it is damaged.
    """
    if not folder.exists():
        raise ArchiveError(f"there is no folder {folder}; name the folder of {what} that was published")
    if not (folder / PACKAGE).is_file():
        inside = min((str(below.parent) for below in folder.glob(f"*/{PACKAGE}")), default=None)
        name = f"; name one that is in it, {inside}" if inside else ""
        raise ArchiveError(f"{folder} is not {what}: it has no {PACKAGE}{name}")
    package = json.loads((folder / PACKAGE).read_text(encoding="utf-8"))
    if package.pop("sha256") != package_digest(package):
        raise ValueError("the description was changed")
    if section not in package:
        raise ArchiveError(f"{folder} is not {what}: its {PACKAGE} describes something else")
    about: dict[str, Any] = package[section]
    if about["format"] != form:
        raise ArchiveError(f"{folder} has format {about['format']!r:.20}; upgrade Discreet to read it")
    if not is_whole(folder, package):
        raise ValueError("a file was changed")
    return about


def package_digest(package: Mapping[str, Any]) -> str:
    text = json.dumps(package, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def is_whole(folder: Path, package: Mapping[str, Any]) -> bool:
    """Whether every file of a folder has the hash that its description says. A name that leads elsewhere is no file of
    it, and is not looked at."""
    return all(
        Path(resource["path"]).name == resource["path"] and resource["hash"] == file_hash(folder / resource["path"])
        for resource in package["resources"]
    )


def parquet_resource(path: Path, what: str, fields: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """A Parquet file as a data package names it: where, what it holds, its fields, its size and its SHA-256."""
    return {
        "name": path.stem,
        "path": path.name,
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "description": what,
        "bytes": path.stat().st_size,
        "hash": file_hash(path),
        "schema": {"fields": list(fields)},
    }


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, as a data package writes it."""
    with open(path, "rb") as stream:
        return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
