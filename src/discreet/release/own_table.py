"""The one table that a vault reads: the snapshot that its journal names."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from discreet.domain.domain import Domain
from discreet.errors import TableError, UnsupportedQuery, VaultError
from discreet.ledger.ledger import Ledger
from discreet.ledger.snapshot import SnapshotId, snapshot_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy import int64
    from numpy.typing import NDArray

    from discreet.query.query import Count, People, ProfileSum, SubsetCount, Sum
    from discreet.table.roster import Roster
    from discreet.table.snapshot import Snapshot


class Table(Protocol):
    """What the gate reads: a snapshot, or rows that stay where they are."""

    @property
    def id(self) -> SnapshotId: ...

    def until(self, domain: Domain) -> "Table":
        """The same as it was when only this could be asked about: without the rows that were appended since."""

    def require(self, queries: "Sequence[Count | Sum | People | ProfileSum | SubsetCount]") -> None:
        """Raise unless these can be read, and are of what the journal names. Called before anything is charged."""

    def evaluate(self, queries: "Sequence[Count | Sum | People | ProfileSum | SubsetCount]") -> "list[NDArray[int64]]":
        """The exact answers."""


@dataclass
class OwnTable:
    """Opens what the journal names, and again after a refresh, whoever made it."""

    home: Path
    ledger: Ledger
    key: Callable[[], bytes]
    locate: Callable[[], object]
    """Where the source is; asked for rows that are read live."""
    roster: "Callable[[], Roster] | None" = None
    """Where the vault answers about a roster."""
    _opened: Table | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def current(self) -> Table:
        """The table that a charge pays for now."""
        while True:
            id = self.ledger.snapshot
            if id is None:
                raise VaultError(
                    "this vault was made by an earlier version, and has no snapshot of its table yet; nothing was "
                    "spent: `discreet refresh` takes one, and keeps all spending"
                )
            try:
                return self._open(id)
            except TableError:
                # A refresh removes what it takes the place of: then it is the next one's turn.
                if self.ledger.snapshot == id:
                    raise

    def _open(self, id: SnapshotId) -> Table:
        with self._lock:
            if self._opened is None or self._opened.id != id:
                self._opened = self._live(id) if self.ledger.is_live else self._snapshot(id)
            return self._opened

    def snapshot(self) -> "Snapshot":
        """The same, for what needs the rows themselves."""
        from discreet.table.snapshot import Snapshot

        table = self.current()
        if not isinstance(table, Snapshot):
            raise UnsupportedQuery(
                "this vault's rows are read live, where they are; take a snapshot: `discreet refresh`"
            )
        return table

    def _snapshot(self, id: SnapshotId) -> Table:
        from discreet.table.snapshot import open_snapshot

        domain, folder = self.ledger.domain_of(id), snapshot_folder(self.home, id)
        return open_snapshot(folder, domain, id, self.key(), self.roster, self.ledger.table)

    def _live(self, id: SnapshotId) -> Table:
        from discreet.table.live import LiveTable
        from discreet.table.open import open_source

        source = open_source(self.locate())
        if source.live is None:
            raise TableError("this vault's rows are read live, and its source is no plain table any more; `refresh` it")
        return LiveTable(id, self.ledger.domain, source, source.live, self.key())
