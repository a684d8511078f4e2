"""Erasure: people ask to be taken out, and the vault goes over to its snapshot without them.

What is told of it, to the custodian too, depends on the vault's settings and its journal: not on whom the file names,
nor on whether anybody of them was there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.errors import TableError, UnsupportedQuery
from discreet.home import left_behind
from discreet.ledger.declared import tables_in
from discreet.ledger.receipt import Receipt
from discreet.ledger.snapshot import SnapshotId
from discreet.table.unit import Keys
from discreet.vault.succession import current_snapshots, go_over, taking_of, unwritten

if TYPE_CHECKING:
    from discreet.table.snapshot import Snapshot
    from discreet.vault.vault import Vault

Read = TypeVar("Read")

NO_IDS = (
    "this vault does not tell people apart, as it was made without --id: nobody can be named in it. Take them out of "
    "the table, and then a new snapshot: `discreet refresh`"
)
LOST_MARK = (
    "people were erased from this vault, and whom to leave out stands in its snapshot, which cannot be read: restore "
    "it from a backup; or say --readmit, and whoever the table still names comes back"
)


@dataclass(frozen=True)
class Erasure:
    """What was journalled, and which snapshot the vault is over now: without those who are to be out of it."""

    receipt: Receipt
    snapshot: int
    beyond: tuple[str, ...]
    """What an erasure does not reach, each with what to do about it."""

    def to_json(self) -> dict[str, Any]:
        return {"receipt": str(self.receipt), "snapshot": self.snapshot, "beyond": list(self.beyond)}


def erase_people(vault: "Vault", ids: object) -> Erasure:
    """Take everybody out whom a table of ids names, and keep them out; see `Vault.erase`."""
    from discreet.table.erase import column_of_ids, keys_named_in
    from discreet.table.open import open_source

    columns = _columns_of_ids(vault)
    source, own = open_source(ids), vault._own
    gone = keys_named_in(source, column_of_ids(source, columns), own.key(), on_roster=own.roster is not None)
    taken = _written_without(gone, vault)
    receipt = go_over(vault, taken, vault.ledger.note_erasure)
    return Erasure(receipt, taken.number, tuple(_beyond(taken, vault)))


def _columns_of_ids(vault: "Vault") -> Sequence[str]:
    """What the columns are called that tell people apart: of several tables each may have its own."""
    unit = vault.ledger.header.get("unit")
    if unit is not None:
        return (unit["id"],)
    if not vault._all:
        raise UnsupportedQuery(NO_IDS)
    return tuple(dict.fromkeys(table.id for table in tables_in(vault.ledger.header) if table.id is not None))


def _written_without(gone: Keys, vault: "Vault") -> SnapshotId:
    try:
        return of_the_current(vault, lambda snapshots: taking_of(vault).without(gone, snapshots))
    except OSError:
        raise unwritten(vault.path, "the snapshot without them", ", and they are in it") from None


def kept_out(vault: "Vault") -> Keys | None:
    """The keys of those whom a refresh leaves out; None where there are none. Raises TableError where that is not known
    any more."""
    from discreet.table.erase import erased_in

    if vault.ledger.latest("erase") is None:
        return None
    try:
        return of_the_current(vault, lambda snapshots: erased_in(snapshots[0]))
    except TableError:
        raise TableError(LOST_MARK) from None


def of_the_current(vault: "Vault", read: "Callable[[Sequence[Snapshot]], Read]") -> Read:
    """What is read of the snapshot that the vault is over, each table of it; again where another one was taken
    meanwhile."""
    while True:
        snapshots = current_snapshots(vault)
        if len({snapshot.id for snapshot in snapshots}) > 1:
            continue
        try:
            return read(snapshots)
        except TableError:
            if vault.ledger.snapshot == snapshots[0].id:
                raise
            # Whoever took the next one has removed what was being read.


def _beyond(taken: SnapshotId, vault: "Vault") -> Iterator[str]:
    ledger = vault.ledger
    places = [over.location for over in vault._all.values()]
    tables = f"the tables themselves, {', '.join(places)}" if places else f"the table itself, {vault.location}"
    still = "they still name" if places else "the table still names"
    yield f"{tables}, and the file of ids: a refresh leaves out whom {still}"
    yield "backups and copies of the vault: whoever is in one is back with it; make a new backup, and remove the others"
    yield "processes at work, which let go of the old snapshot when they are next asked, or end"
    if ledger.publications:
        entries = ", ".join(map(str, ledger.publications))
        yield f"rows that were published in buckets (entry {entries}): whoever has them, has them"
    if ledger.header.get("roster") is not None:
        yield "the roster, which is public, and names them still"
    yield "what was released, and files made of it: noisy, as of its snapshot, and counted in the budget as before"
    for folder in left_behind(vault.path, taken):
        yield f"{folder}, which could not be removed: remove it"
