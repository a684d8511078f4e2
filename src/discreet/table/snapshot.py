"""The snapshot: what a vault is over. Every row of the population in codes, one memory-mapped array an attribute.

`take_snapshot` reads a source once, codes it in the one way that `coding.py` says, bounds each person's rows, and
writes a folder; from then on nothing stands between a row and its code: no engine, no file that may change. A snapshot
has a number and a digest, keyed by the vault and salted by the number, so that it tells snapshots apart and tests no
guess of what is in one. It is the only place on disk that holds anything exact; folder and files are the owner's alone.
"""

import hashlib
import json
import mmap
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.errors import EngineError, TableError, UnsupportedQuery
from discreet.ledger.snapshot import SnapshotId
from discreet.query.query import Count, People, ProfileSum, SubsetCount, Sum
from discreet.table.count import CodedRows, attributes_read, count, count_people, summed_in_grains
from discreet.table.layout import ERASED, MANIFEST, PEOPLE, PERSON, PLACE, codes_file, units_file
from discreet.table.profiles import add_profiles

if TYPE_CHECKING:
    from discreet.table.roster import Roster
    from discreet.table.roster_bits import RosterBits

Array = NDArray[np.int64]


@dataclass
class Snapshot:
    """An opened snapshot. Every answer is exact: whoever holds one holds the data."""

    folder: Path
    domain: Domain
    id: SnapshotId
    manifest: Mapping[str, Any] = field(repr=False)
    key: bytes = field(repr=False)
    roster: "Callable[[], Roster] | None" = None
    """Where there is one: counts over subsets of it are answered."""
    _columns: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def size(self) -> int:
        """How many rows there are: of a table that grows, up to its last period here. They stand first."""
        growing, rows = self.domain.growing, self.manifest["rows"]
        return int(rows if growing is None else self.manifest["grown"].get(growing.label(growing.cells - 1), rows))

    def until(self, domain: Domain) -> "Snapshot":
        """The same as it was when the table went no further than this domain: rows are only ever added behind."""
        return self if domain is self.domain else replace(self, domain=domain, _columns={}, _lock=threading.Lock())

    @property
    def rows(self) -> CodedRows:
        axis = self.domain.axis
        return CodedRows(
            self.domain,
            self.size,
            lambda name: self.column(codes_file(axis(name))),
            lambda name: self.column(units_file(axis(name))),
        )

    def require(self, queries: Sequence[Count | Sum | People | ProfileSum | SubsetCount]) -> None:
        """Raise TableError unless every column that these queries read is there as it was written.

        Called before anything is charged; a column is looked at once.
        """
        for query in queries:
            for name in attributes_read(query, self.domain):
                self.column(codes_file(self.domain.axis(name)))
            for name in summed_in_grains(query, self.domain):
                self.column(units_file(self.domain.axis(name)))
            if isinstance(query, SubsetCount):
                self.column(PLACE)
            if isinstance(query, People | ProfileSum):
                if PERSON not in self.manifest["columns"]:
                    raise UnsupportedQuery("this vault does not tell people apart: a row is a person; ask for COUNT(*)")
                self.column(PERSON)

    def evaluate(self, queries: Sequence[Count | Sum | People | ProfileSum | SubsetCount]) -> list[Array]:
        """The exact answers."""
        measured = [query for query in queries if isinstance(query, Count | Sum)]
        answers = iter(count(measured, self.rows) if measured else [])
        return [
            self._special(q) if isinstance(q, SubsetCount | People | ProfileSum) else next(answers) for q in queries
        ]

    def _special(self, query: SubsetCount | People | ProfileSum) -> Array:
        if isinstance(query, People):
            return count_people(query, self.rows, self.column(PERSON))
        if isinstance(query, ProfileSum):
            return add_profiles(query, self.rows, self.column(PERSON))
        return self._over_roster(query)

    def _over_roster(self, query: SubsetCount) -> Array:
        if self._bits is None:
            raise EngineError("this table has no roster")
        return self._bits.count(query)

    @cached_property
    def _bits(self) -> "RosterBits | None":
        if self.roster is None:
            return None
        from discreet.table.roster_bits import RosterBits  # compiled code that few vaults need

        return RosterBits(self.roster(), self.rows, self.column(PLACE))

    def column(self, name: str) -> NDArray[Any]:
        """A column's array, mapped into memory; its bytes are hashed when it is first asked for."""
        with self._lock:
            if name not in self._columns:
                self._columns[name] = self._mapped(name)
            return self._columns[name]

    def has_rows_of(self, other: Mapping[str, Any]) -> bool:
        """Whether this snapshot has the same rows, in the same order, as one whose manifest is given, and is whole. It
        tells about the data: for the custodian alone."""
        if any(other[key] != self.manifest[key] for key in ("rows", "columns")):
            return False
        try:
            for name in self.manifest["columns"]:
                self.column(name)
        except TableError:
            return False
        return True

    def _mapped(self, name: str) -> NDArray[Any]:
        about = self.manifest["columns"][name]
        try:
            with open(self.folder / name, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        except (OSError, ValueError):
            raise _touched(self.folder) from None
        digest = column_digest(self.key)
        digest.update(data)
        if digest.hexdigest() != about["digest"]:
            raise _touched(self.folder)
        whole = np.frombuffer(data, np.dtype(about["type"]))
        return whole if name in (PEOPLE, ERASED) else whole[: self.size]


def open_snapshot(
    folder: Path,
    domain: Domain,
    id: SnapshotId,
    key: bytes,
    roster: "Callable[[], Roster] | None",
    table: str | None = None,
) -> Snapshot:
    """The snapshot that a journal names, or one of the tables in it. Raises TableError where it is not there, or was
    touched."""
    try:
        text = (folder / MANIFEST).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise TableError(
            f"the snapshot {folder} is not there; copy it from the host that took it, restore it from a backup, or "
            "take a new one with `discreet refresh`, which keeps all spending"
        ) from None
    if snapshot_digest(key, id.number, text) != id.digest:
        raise _touched(folder)
    manifest = json.loads(text)
    if table is None:
        return Snapshot(folder, domain, id, manifest, key, roster)
    return Snapshot(folder / table, domain, id, manifest["tables"][table], key)


def have_rows_of(tables: Sequence[Snapshot], manifest: str) -> bool:
    """Whether a snapshot, all its tables, has the same rows as one whose manifest is given."""
    other = json.loads(manifest)
    parts = other.get("tables")
    return all(one.has_rows_of(other if parts is None else parts[one.folder.name]) for one in tables)


def snapshot_digest(key: bytes, number: int, manifest: str) -> str:
    """What the journal knows a snapshot by: it covers the manifest, and by that every column."""
    salt = number.to_bytes(16, "big")
    return hashlib.blake2b(manifest.encode(), key=key, salt=salt, person=b"discreet snap", digest_size=32).hexdigest()


def column_digest(key: bytes) -> Any:
    """A hash to be fed a column's bytes."""
    return hashlib.blake2b(key=key, person=b"discreet column", digest_size=32)


def _touched(folder: Path) -> TableError:
    return TableError(
        f"the snapshot {folder} was touched: it is not what the journal says; nothing was spent: restore it from "
        "a backup, or take a new one with `discreet refresh`, which keeps all spending"
    )
