"""Tables that grow: which periods are closed, and how the rows of the next ones come in. Spends nothing."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from discreet.domain.domain import Domain
from discreet.errors import DomainError, UnsupportedQuery, VaultError
from discreet.fit import Fitted
from discreet.ledger.declared import tables_in
from discreet.ledger.receipt import Receipt
from discreet.ledger.snapshot import SnapshotId
from discreet.progress import Progress, silent
from discreet.vault.succession import go_over, taking_of, unwritten

if TYPE_CHECKING:
    from discreet.table.snapshot import Snapshot
    from discreet.table.source import Source
    from discreet.vault.vault import Vault


def require_growing(domain: Domain, through: str | None, each_period: bool, *, live: bool, roster: bool) -> None:
    """Raise unless what is said of periods, when a vault is made, fits its domain."""
    growing = domain.growing
    if growing is None:
        if through is not None or each_period:
            said = "through" if through is not None else "each_period"
            raise DomainError(f"{said} is about a table that grows: say grows = true of a date attribute of its domain")
        return
    if live or roster:
        other = "is read live" if live else "is asked about a roster"
        raise UnsupportedQuery(f"a table that {other} does not grow: leave grows out of its domain, and `refresh` it")
    if through is None:
        raise DomainError(
            f"the table grows by {growing.name}: say up to which {growing.period} it is complete now "
            f"(--through {growing.label(0)}); later rows are left out until they are appended"
        )
    domain.until(through)


def append_rows(
    vault: "Vault", table: object, through: str | None, progress: Progress = silent, fitted: Fitted | None = None
) -> Receipt:
    """Take the rows of the periods after the last that is closed, up to one that is closed now."""
    from discreet.vault.erasure import kept_out, of_the_current

    source, elsewhere = _sources(vault, table)

    def taken_behind(snapshots: "Sequence[Snapshot]") -> tuple[SnapshotId, str]:
        """What is found here is compared again when it is journalled: two appends at once do not both come in."""
        closing = closed_by(*_reach(vault, snapshots), through)
        taking, number = taking_of(vault, progress, fitted, kept_out(vault), closing), snapshots[0].id.number + 1
        return taking.take(source(), number, onto=snapshots, elsewhere=elsewhere), closing

    try:
        taken, closing = of_the_current(vault, taken_behind)
    except OSError:
        raise unwritten(vault.path) from None
    return go_over(vault, taken, partial(vault.ledger.note_append, closed=closing))


def _sources(vault: "Vault", table: object) -> "tuple[Callable[[], Source | Mapping[str, Source]], Collection[str]]":
    """Opens where rows are appended from, of each table that grows; and which of those are not where the vault's own
    are. Those that are not given are read from there."""
    from discreet.table.open import open_source
    from discreet.vault.several import open_sources, require_names

    if not vault._all:
        one = vault._own.locate() if table is None else table
        return lambda: open_source(one), () if table is None else (vault.domain.name,)
    tables = tables_in(vault.ledger.header)
    given = require_names({} if table is None else table, tables, every=False)
    if still := [name for name in given if tables[name].domain.growing is None]:
        raise UnsupportedQuery(
            f"{still[0]} does not grow: no date attribute of it, or of what its rows belong to, says grows = true; "
            "leave it out, or `discreet refresh`, which levels what is spent"
        )
    places = {
        name: given.get(name, over._own.locate())
        for name, over in vault._all.items()
        if over.ledger.horizon.growing is not None
    }
    return lambda: open_sources(places), given


def _reach(vault: "Vault", snapshots: "Sequence[Snapshot]") -> tuple[Domain, Domain]:
    """How far the tables can go, and how far they do in a snapshot: of several, in all of them."""
    if not vault._all:
        return vault.ledger.horizon, snapshots[0].domain
    growing = [one for one in snapshots if one.domain.growing is not None]
    whole = tables_in(vault.ledger.header).person
    return whole, whole if not growing else whole.until(_last_of(growing[0].domain))


def _last_of(domain: Domain) -> str:
    assert domain.growing is not None
    return domain.growing.label(domain.growing.cells - 1)


def closed_by(whole: Domain, now: Domain, through: str | None) -> str:
    """The last period that an append closes: the one that is named, or the next one."""
    growing, grown = whole.growing, now.growing
    if growing is None or grown is None:
        raise UnsupportedQuery(
            "this vault's table does not grow: no date attribute of its domain says grows = true; `discreet refresh` "
            "takes a new snapshot, and levels what is spent"
        )
    last = grown.label(grown.cells - 1)
    if grown.cells == growing.cells:
        raise VaultError(f"the table goes up to {last}, where its domain ends (high): make a new vault from then on")
    if through is None:
        return growing.label(grown.cells)
    whole.until(through)  # or it raises
    code = growing.named_code(through)
    if code is not None and code < grown.cells:
        raise VaultError(
            f"{through} is closed already: the table goes up to {last}, and what is in it stays as it is. Append from "
            f"{growing.label(grown.cells)} on, or `discreet refresh` with the whole table, which levels all spending"
        )
    return through
