"""How a vault goes over to another snapshot: at a refresh, an append and an erasure."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError, JournalError, UnsupportedQuery, VaultError
from discreet.fit import Fitted
from discreet.home import forget_snapshot, forget_snapshots, relocate_table
from discreet.ledger.declared import tables_in
from discreet.ledger.receipt import Receipt
from discreet.ledger.snapshot import SnapshotId
from discreet.progress import Progress, silent
from discreet.release.taking import Taking

if TYPE_CHECKING:
    from discreet.table.snapshot import Snapshot
    from discreet.table.unit import Keys
    from discreet.vault.vault import Vault


def refresh(
    vault: "Vault",
    table: object,
    live: bool | None,
    unless_same: bool,
    progress: Progress,
    fitted: Fitted | None,
    erased: "Keys | None",
) -> Receipt:
    """Take a new snapshot of the vault's one table, without those who are erased; see `Vault.refresh`."""
    from discreet.table.open import open_source

    source, now = vault._own.locate() if table is None else table, vault.ledger.snapshot
    live = vault.ledger.is_live if live is None else live
    closed = _require_readable(vault, table, live)
    taking = taking_of(vault, progress, fitted, erased, closed)
    try:
        before = _whole_snapshot(vault) if unless_same and not live else ()
        taken = taking.take(open_source(source), 1 if now is None else now.number + 1, live, before)
    except OSError:
        raise unwritten(vault.path) from None
    if taken == now:
        receipt = vault.ledger.head
    else:
        receipt = go_over(vault, taken, lambda id: vault.ledger.note_refresh(id, live))
    if table is not None:
        _relocate(vault, table)
    return receipt


def _require_readable(vault: "Vault", table: object, live: bool) -> str | None:
    """The last period that is closed, where the table grows: a refresh reads it up to there."""
    closed = vault.ledger.closed_period
    if closed is not None and live:
        raise UnsupportedQuery("a table that is read live does not grow: leave out --live")
    if table is None and vault.ledger.last_of("append") > vault.ledger.last_of("refresh"):
        raise VaultError(
            "rows were appended to this vault's table since it was read: say where all of them are (--table), as "
            f"a new snapshot has what is read now, up to {closed}, and nothing else"
        )
    return closed


def refresh_all(
    vault: "Vault",
    table: object,
    live: bool | None,
    unless_same: bool,
    progress: Progress,
    fitted: Fitted | None,
    erased: "Keys | None",
) -> Receipt:
    """The same of all tables at once: those whose source is not given are read where they were."""
    from discreet.vault.several import open_sources, require_names

    tables, now = tables_in(vault.ledger.header), vault.ledger.snapshot
    if live:
        raise UnsupportedQuery("several tables are read into a snapshot: leave out live")
    given = require_names({} if table is None else table, tables, every=False)
    closed = _require_all_named(vault, given)
    sources = {name: given.get(name, over._own.locate()) for name, over in vault._all.items()}
    taking = taking_of(vault, progress, fitted, erased, closed)
    try:
        before = _whole_snapshot(vault) if unless_same else ()
        taken = taking.take(open_sources(sources), 1 if now is None else now.number + 1, False, before)
    except OSError:
        raise unwritten(vault.path) from None
    receipt = vault.ledger.head if taken == now else go_over(vault, taken, vault.ledger.note_refresh)
    for name, source in given.items():
        _relocate(vault._all[name], source, name)
    return receipt


def _require_all_named(vault: "Vault", given: Mapping[str, object]) -> str | None:
    """The last period that is closed, where tables grow: each is read up to there, and those that rows were appended to
    are not where they were."""
    closed = vault.ledger.closed_period
    growing = [name for name, over in vault._all.items() if over.ledger.horizon.growing is not None]
    missing = [name for name in growing if name not in given]
    if missing and vault.ledger.last_of("append") > vault.ledger.last_of("refresh"):
        raise VaultError(
            f"rows were appended to {', '.join(growing)} since they were read: say where all rows of {missing[0]} are "
            f"(--table {missing[0]}=…), as a new snapshot has what is read now, up to {closed}, and nothing else"
        )
    return closed


def taking_of(
    vault: "Vault",
    progress: Progress = silent,
    fitted: Fitted | None = None,
    erased: "Keys | None" = None,
    closed: str | None = None,
) -> Taking:
    """How a vault takes a snapshot."""
    from discreet.table.unit import Unit

    key = vault._own.key()
    if vault._all:
        tables = tables_in(vault.ledger.header)
        return Taking(tables.person, None, None, key, vault.path, progress, fitted, erased, closed, tables)
    unit, roster = vault.ledger.header.get("unit"), vault._own.roster
    whose = unit and Unit.from_json(unit), roster and roster(), key
    return Taking(vault.ledger.horizon, *whose, vault.path, progress, fitted, erased, closed)


def go_over(vault: "Vault", taken: SnapshotId, note: Callable[[SnapshotId], Receipt]) -> Receipt:
    """Journal that the vault is over another snapshot, and remove the others."""
    try:
        receipt = note(taken)
    except DiscreetError:
        with suppress(JournalError):
            if vault.ledger.snapshot != taken:
                forget_snapshot(vault.path, taken)
        raise
    forget_snapshots(vault.path, taken)
    return receipt


def unwritten(home: Path, what: str = "the snapshot", because: str = "") -> VaultError:
    return VaultError(f"{what} cannot be written to {home}; the one before stays{because}: is there space for it?")


def current_snapshots(vault: "Vault") -> "Sequence[Snapshot]":
    """What the vault is over, each table of it, each as it is when it is opened."""
    return [over._own.snapshot() for over in vault._all.values() or [vault]]


def _whole_snapshot(vault: "Vault") -> "Sequence[Snapshot]":
    """The same, if it can be opened."""
    with suppress(DiscreetError):
        return current_snapshots(vault)
    return ()


def _relocate(vault: "Vault", table: object, name: str | None = None) -> None:
    """From now on the vault's table, or the one of that name, is read from there."""
    from discreet.table.open import locate

    vault.location = locate(table)
    relocate_table(vault.path, vault.location, name)
    vault._own.locate = partial(_same, table)


def _same(source: object) -> object:
    return source
