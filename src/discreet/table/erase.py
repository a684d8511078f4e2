"""Leaving people out of a snapshot: its columns once more, without their rows; and the mark that they leave. Of several
tables, each without their rows of it.

The new snapshot is made of the old one, so that the source need not be there any more. Everybody else has the same rows
in the same order: docs/explain/privacy.md (After an erasure) says why nothing is levelled then. Whom the file names is
remembered by the keys of their ids, whether they had a row or not, in a column of the snapshot: it is covered by the
snapshot's digest, there as soon as it is and gone with it, and later snapshots take it over.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DomainError, TableError
from discreet.private import private_folder
from discreet.table.layout import ERASED, PEOPLE, PERSON
from discreet.table.roster import canonical_id
from discreet.table.snapshot import Snapshot
from discreet.table.source import Source, nobody
from discreet.table.take import ColumnFiles, manifest_of, write_manifest
from discreet.table.unit import Keys, id_texts, person_keys, require_id


def keys_named_in(source: Source, id_column: str, key: bytes, *, on_roster: bool) -> Keys:
    """The keys of everybody whom a source names in the column of ids, each once, as they were made when the snapshot
    was taken. Raises DomainError where that column is not there, or is of no type that an id has, and TableError where
    a row names nobody. What it raises depends on this source alone."""
    require_id(id_column, source.require(id_column))
    named: list[bytes] = []
    for batch in source.read([id_column], nobody):
        texts = [text for text in id_texts(batch.column(0)) if text is not None]
        if len(texts) < batch.num_rows:
            raise TableError(f"the file has rows without {id_column}: each names one person to be taken out")
        named += map(canonical_id, texts) if on_roster else texts
    return np.unique(person_keys(named, key))


def column_of_ids(source: Source, columns: Sequence[str]) -> str:
    """The column that names people, where tables call theirs differently: the one that the source has. Raises
    DomainError where it has none of them, or several."""
    if len(columns) == 1:
        return columns[0]
    there = [column for column in columns if column in source.columns]
    if len(there) == 1:
        return there[0]
    raise DomainError(
        f"the file needs one column of ids, called as that of a table: {', '.join(columns)}; "
        + (f"it has {' and '.join(there)}: leave one in" if there else "it has none of them")
    )


def erased_in(snapshot: Snapshot) -> Keys | None:
    """The keys of everybody who was erased, in order; None where nobody was, or all were readmitted. For the custodian
    alone."""
    return snapshot.column(ERASED) if ERASED in snapshot.manifest["columns"] else None


def write_without(snapshot: Snapshot, gone: Keys, folder: Path) -> str:
    """Write a snapshot without the rows of some people into a new folder, synced; the text of its manifest. They, and
    whoever was erased before, are marked as erased.

    Raises TableError where the snapshot is not what it was, before anything counts.
    """
    return write_manifest(folder, _written_without(snapshot, gone, folder))


def write_tables_without(tables: Sequence[Snapshot], gone: Keys, folder: Path) -> str:
    """The same of a snapshot of several tables: each has the mark."""
    private_folder(folder)
    parts = {one.folder.name: _written_without(one, gone, folder / one.folder.name) for one in tables}
    return write_manifest(folder, {"tables": parts})


def _written_without(snapshot: Snapshot, gone: Keys, folder: Path) -> dict[str, Any]:
    """What a manifest says of one table without them."""
    private_folder(folder)
    columns = snapshot.manifest["columns"]
    people = snapshot.column(PEOPLE)
    stays = ~np.isin(people, gone)
    person = snapshot.column(PERSON)
    kept = stays[person]
    numbers = (np.cumsum(stays) - 1)[person[kept]]
    types = {name: np.dtype(about["type"]) for name, about in columns.items()}
    types |= {PERSON: np.min_scalar_type(max(int(stays.sum()) - 1, 0)), ERASED: np.dtype(np.uint64)}
    before = erased_in(snapshot)
    erased = gone if before is None else np.union1d(before, gone)
    made = {PERSON: numbers, PEOPLE: people[stays], ERASED: erased}
    with ColumnFiles(folder, types, snapshot.key) as written:
        for name in types:
            written.add({name: made[name] if name in made else snapshot.column(name)[kept]})
        about = written.about()
    # Of a table that grows: rows stand in the order in which they came.
    grown = {period: int(kept[:rows].sum()) for period, rows in snapshot.manifest.get("grown", {}).items()}
    return manifest_of(int(np.count_nonzero(kept)), about, snapshot.manifest["stamp"], grown)
