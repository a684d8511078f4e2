"""Released arrays on disk. Small ones are in the journal itself; the journal keeps the SHA-256 of the large ones."""

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArchiveError
from discreet.private import private_folder

JOURNAL_CELLS = 4096
"""A release of at most this many numbers is written into the journal, as JSON."""

Array = NDArray[np.int64]


@dataclass(frozen=True)
class Archive:
    """A folder of released arrays, one file a release, named by charge and content."""

    folder: Path

    def save(self, charge: int | str, values: Sequence[Array]) -> dict[str, Any]:
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

    def settle(self, charge: int, record: dict[str, Any]) -> None:
        """Remove every other draw of a charge, once its record is durable: they were never released."""
        if "file" in record:
            self._remove(charge, but=record["file"])

    def discard(self, charge: int) -> None:
        """Remove every draw of a charge that was closed unanswered."""
        self._remove(charge, but=None)

    def _remove(self, charge: int, but: str | None) -> None:
        for draw in (*self.folder.glob(f"{charge}-*.bin"), *self.folder.glob(f".{charge}-*.part")):
            if draw.name != but:
                draw.unlink(missing_ok=True)

    def unsettled(self) -> list[int]:
        """Charges with more than one file: a process ended between a record and its settling."""
        names = Counter(path.name.lstrip(".").partition("-")[0] for path in self.folder.glob("*"))
        return [int(charge) for charge, files in names.items() if files > 1 and charge.isdecimal()]

    def _write(self, charge: int | str, values: Sequence[Array]) -> dict[str, Any]:
        """Write aside, sync, rename, sync the folder: a file that is there is whole."""
        if not self.folder.is_dir():
            private_folder(self.folder)
            sync_folder(self.folder.parent)
        types, digest = [], hashlib.sha256()
        # A name of its own, and its owner's alone: until it is recorded, a draw is nobody's to see.
        file, aside = tempfile.mkstemp(dir=self.folder, prefix=f".{charge}-", suffix=".part")
        try:
            with os.fdopen(file, "wb") as stream:
                for array in values:
                    narrow = np.ascontiguousarray(array.astype(_narrowest(array), copy=False))
                    types.append(narrow.dtype.str)
                    digest.update(narrow.data)
                    narrow.tofile(stream)
                stream.flush()
                os.fsync(stream.fileno())
            name = f"{charge}-{digest.hexdigest()[:16]}.bin"
            os.rename(aside, self.folder / name)
        finally:
            Path(aside).unlink(missing_ok=True)
        sync_folder(self.folder)
        return {"file": name, "sha256": digest.hexdigest(), "types": types}


def sync_folder(folder: Path) -> None:
    """Make the names in a folder as durable as the files."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _narrowest(array: Array) -> type[np.signedinteger[Any]]:
    """A type that holds a released array in as few bytes as may be."""
    largest = max(abs(int(array.min())), abs(int(array.max()))) if array.size else 0
    return np.int16 if largest < 2**15 else np.int32 if largest < 2**31 else np.int64


def _sha256(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
