"""Buckets on disk: qit.parquet, st.parquet and a datapackage.json, written aside, synced and renamed: what is there is
whole."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from discreet.domain.domain import Domain
from discreet.errors import ArchiveError
from discreet.release.archive import sync_folder

FORMAT = 1
PACKAGE, QIT, ST = "datapackage.json", "qit.parquet", "st.parquet"
Json = dict[str, Any]


def require_new_place(path: Path) -> None:
    """Raise ArchiveError unless a folder can be written there."""
    if path.exists():
        raise ArchiveError(f"{path} is already there; choose another place for the buckets")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ArchiveError(f"{path.absolute().parent} is not a folder that can be written to; choose another place")


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A folder to fill; at the end of the block it is synced and gets its name, after an exception it is gone."""
    require_new_place(path)
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        aside.mkdir(mode=0o700)
        yield aside
        for name in (QIT, ST, PACKAGE):
            with open(aside / name, "rb") as file:
                os.fsync(file.fileno())
        sync_folder(aside)
        aside.chmod(0o755)
        aside.rename(path)
        with suppress(OSError):  # it is there, and must not be taken for something that failed
            sync_folder(path.absolute().parent)
    except (OSError, pa.ArrowException):
        raise ArchiveError(
            f"the buckets could not be written to {path}; is there space, and may you write there?"
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def write_package(folder: Path, about: Json, domain: Domain) -> str:
    """Describe the two tables that are in a folder; the SHA-256 of the description, which has theirs."""
    sensitive, number, columns = about["sensitive"], about["number"], about["columns"]
    package = {
        "profile": "data-package",
        "name": f"{about['table']}-buckets".lower().replace("_", "-"),
        "title": f"{about['table']} in buckets: {', '.join(columns)}; {sensitive} apart",
        "description": f"{about['guarantee']}. {' '.join(about['public'])}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "resources": [
            _resource(folder / QIT, (*columns, number), domain, "a line for each person, with the number of a bucket"),
            _resource(folder / ST, (number, sensitive), domain, "a line for each value that is listed for a bucket"),
        ],
        "buckets": {"format": FORMAT, **about},
    }
    digest = package_digest(package)
    text = json.dumps({**package, "sha256": digest}, indent=2, ensure_ascii=False)
    (folder / PACKAGE).write_text(text + "\n", encoding="utf-8")
    return digest


def package_digest(package: Json) -> str:
    text = json.dumps(package, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def sha256_of(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _resource(path: Path, names: Sequence[str], domain: Domain, what: str) -> Json:
    return {
        "name": path.stem,
        "path": path.name,
        "format": "parquet",
        "mediatype": "application/vnd.apache.parquet",
        "description": what,
        "bytes": path.stat().st_size,
        "hash": f"sha256:{sha256_of(path)}",
        "schema": {
            "fields": [
                {"name": name, "description": domain[name].source if name in domain.names else "the bucket's number"}
                for name in names
            ]
        },
    }
