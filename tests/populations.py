"""Snapshots of small tables, for tests that count: taken into a folder that is gone before the test begins."""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.domain.domain import Domain
from discreet.ledger.snapshot import SnapshotId
from discreet.progress import Progress, silent
from discreet.table.live import LiveTable, live_digest, require_live
from discreet.table.open import open_source
from discreet.table.roster import Roster
from discreet.table.snapshot import Snapshot, open_snapshot, snapshot_digest
from discreet.table.take import take_snapshot
from discreet.table.unit import Unit

KEY = bytes(range(32))

Point = tuple[int, ...]


def snapshot_in(
    folder: Path,
    table: object,
    domain: Domain,
    unit: Unit | None = None,
    key: bytes = KEY,
    roster: Roster | None = None,
    progress: Progress = silent,
) -> Snapshot:
    """The population of a table, taken into a new folder and opened there, as number 1."""
    manifest = take_snapshot(open_source(table), domain, unit, roster, key, folder, progress)
    id = SnapshotId(1, snapshot_digest(key, 1, manifest))
    return open_snapshot(folder, domain, id, key, None if roster is None else lambda: roster)


def population(
    table: object, domain: Domain, unit: Unit | None = None, key: bytes = KEY, roster: Roster | None = None
) -> Snapshot:
    """The same, in memory: its columns are mapped, and its files are gone."""
    with TemporaryDirectory() as folder:
        snapshot = snapshot_in(Path(folder) / "snapshot", table, domain, unit, key, roster)
        for name in snapshot.manifest["columns"]:
            snapshot.column(name)
    return snapshot


def points(snapshot: Snapshot) -> list[Point]:
    """The codes of every row, in the order in which they were read."""
    columns = [snapshot.rows.codes(name).tolist() for name in snapshot.domain.names]
    return list(zip(*columns, strict=True))


def bag(snapshot: Snapshot) -> Counter[Point]:
    """The same in no order."""
    return Counter(points(snapshot))


def live_table(table: object, domain: Domain, key: bytes = KEY) -> LiveTable:
    """A table whose rows stay where they are, as they are now."""
    source = open_source(table)
    require_live(source, domain, None, None)
    assert source.live is not None
    return LiveTable(SnapshotId(1, live_digest(source, domain, key, 1)), domain, source, source.live, key)
