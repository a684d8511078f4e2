"""Taking a snapshot: a source, or the snapshot before, is read once, into the vault, and has a number and a digest from
then on."""

import errno
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.domain.domain import Domain
from discreet.domain.tables import LinkedTables
from discreet.errors import UnsupportedQuery
from discreet.fit import Fitted
from discreet.ledger.snapshot import SNAPSHOTS, SnapshotId, snapshot_folder
from discreet.private import private_folder
from discreet.progress import Progress, silent
from discreet.release.archive import sync_folder
from discreet.release.folder_beside import folder_beside

if TYPE_CHECKING:
    from discreet.table.roster import Roster
    from discreet.table.snapshot import Snapshot
    from discreet.table.source import Source
    from discreet.table.unit import Keys, Unit


@dataclass(frozen=True)
class Taking:
    """What a source becomes: whose rows, how many of each, coded how, and where they are kept."""

    domain: Domain
    unit: "Unit | None"
    roster: "Roster | None"
    key: bytes = field(repr=False)
    home: Path
    progress: Progress = silent
    fitted: Fitted | None = None
    """Told how the domain fits the table, for the custodian alone; what it raises leaves nothing behind."""
    erased: "Keys | None" = field(default=None, repr=False)
    """The keys of those who are left out, and marked so, whatever the source says of them; None where nobody was ever
    erased, or all may come back."""
    closed: str | None = None
    """Of a table that grows: the last period that is closed."""
    tables: LinkedTables | None = None
    """Where there are several: then each has its source."""

    def take(
        self,
        source: "Source | Mapping[str, Source]",
        number: int,
        live: bool = False,
        before: "Sequence[Snapshot]" = (),
        onto: "Sequence[Snapshot]" = (),
        elsewhere: Collection[str] = (),
    ) -> SnapshotId:
        """Write the snapshot with this number, whole or not at all; or, live, look at the rows where they are. Where
        `before` is given, each table of it, and has the very same rows, nothing is written, and it is that one. What is
        appended is written behind the rows that are there, of the snapshot `onto`, each table of it; those of some
        tables come from `elsewhere` than they did.

        Raises OSError where it cannot be written.
        """
        if live:
            return self._looked_at(source, number)
        return self._written(lambda folder: self._take(source, folder, onto, elsewhere), number, before)

    def _take(
        self,
        source: "Source | Mapping[str, Source]",
        folder: Path,
        onto: "Sequence[Snapshot]",
        elsewhere: Collection[str],
    ) -> str:
        from discreet.table.periods import Periods
        from discreet.table.take import take_snapshot
        from discreet.table.take_tables import take_tables

        if isinstance(source, Mapping):
            assert self.tables is not None, "each table has its source"
            growing = [table for table in self.tables if self.closed is not None and table.domain.growing is not None]
            of = {one.folder.name: one for one in onto}
            periods = {
                table.name: Periods(table.domain, str(self.closed), of.get(table.name), table.name in elsewhere)
                for table in growing
            }
            how = self.key, folder, self.progress, self.fitted, self.erased, periods, of
            return take_tables(source, self.tables, *how)
        before = onto[0] if onto else None
        periods_of = None if self.closed is None else Periods(self.domain, self.closed, before, bool(elsewhere))
        whose = self.unit, self.roster, self.key
        return take_snapshot(source, self.domain, *whose, folder, self.progress, self.fitted, self.erased, periods_of)

    def without(self, gone: "Keys", snapshots: "Sequence[Snapshot]") -> SnapshotId:
        """Write the snapshot after this one, each table of it, whole or not at all: the same without the people with
        these keys, who are marked as erased. Raises OSError where it cannot be written."""
        from discreet.table.erase import write_tables_without, write_without

        def write(folder: Path) -> str:
            if self.tables is not None:
                return write_tables_without(snapshots, gone, folder)
            return write_without(snapshots[0], gone, folder)

        return self._written(write, snapshots[0].id.number + 1)

    def _written(self, write: Callable[[Path], str], number: int, before: "Sequence[Snapshot]" = ()) -> SnapshotId:
        """What is written beside gets its name when it is whole; nothing does where it has the rows of `before`."""
        from discreet.table.snapshot import have_rows_of, snapshot_digest

        snapshots = self.home / SNAPSHOTS
        private_folder(snapshots)
        with folder_beside(snapshots / "taking") as beside:
            folder = beside / "snapshot"
            manifest = write(folder)
            if before and have_rows_of(before, manifest):
                return before[0].id
            id = SnapshotId(number, snapshot_digest(self.key, number, manifest))
            for part in (*filter(Path.is_dir, folder.iterdir()), folder):
                sync_folder(part)
            _rename(folder, snapshot_folder(self.home, id))
        sync_folder(snapshots)
        sync_folder(self.home)
        return id

    def _looked_at(self, source: "Source | Mapping[str, Source]", number: int) -> SnapshotId:
        from discreet.table.live import live_digest, require_live

        if isinstance(source, Mapping):
            raise UnsupportedQuery("several tables are read into a snapshot: leave out live")
        require_live(source, self.domain, self.unit, self.roster)
        return SnapshotId(number, live_digest(source, self.domain, self.key, number, self.progress))


def _rename(folder: Path, place: Path) -> None:
    """One that is there already is the same, by its digest: of somebody who has yet to journal it, or was killed."""
    try:
        folder.rename(place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
