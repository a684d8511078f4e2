"""Released arrays on disk. Small ones are in the journal itself; the journal keeps the SHA-256 of the large ones."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArchiveError

JOURNAL_CELLS = 4096
"""A release of at most this many numbers is written into the journal, as JSON."""

Array = NDArray[np.int64]


@dataclass(frozen=True)
class Archive:
    """A folder of released arrays, one file a release, named by charge and content."""

    folder: Path

    def save(self, charge: int, values: Sequence[Array]) -> dict[str, Any]:
        """Make the values durable and return what the journal keeps of them."""
        if sum(array.size for array in values) <= JOURNAL_CELLS:
            return {"values": [array.ravel().tolist() for array in values]}
        try:
            return self._write(charge, values)
        except OSError:
            raise ArchiveError(
                f"the released values could not be written to {self.folder}; "
                "free some space, then `discreet ledger complete`: the charge stands"
            ) from None

    def load(self, record: dict[str, Any], shapes: Sequence[tuple[int, ...]]) -> list[Array]:
        """The values of a journalled record; a file that is damaged or gone raises."""
        if "values" in record:
            return [np.array(v, np.int64).reshape(s) for v, s in zip(record["values"], shapes, strict=True)]
        path = self.folder / record["file"]
        damaged = ArchiveError(f"{path} is missing or damaged; restore it from a copy: it is public")
        try:
            if _sha256(path) != record["sha256"]:
                raise damaged
            with open(path, "rb") as stream:
                kinds = [np.dtype(kind) for kind in record["types"]]
                return [
                    np.fromfile(stream, kind, prod(shape)).astype(np.int64, copy=False).reshape(shape)
                    for kind, shape in zip(kinds, shapes, strict=True)
                ]
        except OSError:
            raise damaged from None

    def discard(self, record: dict[str, Any]) -> None:
        """Remove the file of a draw that lost to another: it was never released, and must not be seen."""
        if "file" in record:
            (self.folder / record["file"]).unlink(missing_ok=True)

    def _write(self, charge: int, values: Sequence[Array]) -> dict[str, Any]:
        """Write aside, sync, rename, sync the folder: a file that is there is whole."""
        self.folder.mkdir(exist_ok=True)
        aside = self.folder / f".{charge}-{os.getpid()}.part"
        types, digest = [], hashlib.sha256()
        with open(aside, "wb") as stream:
            for array in values:
                narrow = np.ascontiguousarray(array.astype(_narrowest(array), copy=False))
                types.append(narrow.dtype.str)
                digest.update(narrow.data)
                narrow.tofile(stream)
            stream.flush()
            os.fsync(stream.fileno())
        name = f"{charge}-{digest.hexdigest()[:16]}.bin"
        aside.rename(self.folder / name)
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return {"file": name, "sha256": digest.hexdigest(), "types": types}


def _narrowest(array: Array) -> type[np.signedinteger[Any]]:
    """A type that holds a released array in as few bytes as may be."""
    largest = max(abs(int(array.min())), abs(int(array.max()))) if array.size else 0
    return np.int16 if largest < 2**15 else np.int32 if largest < 2**31 else np.int64


def _sha256(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
