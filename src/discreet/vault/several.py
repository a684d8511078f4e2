"""A vault over several tables of the same people: made, and its sources found."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.domain.read_tables import parse_tables
from discreet.domain.tables import LinkedTables
from discreet.errors import DomainError, TableError, UnsupportedQuery
from discreet.exact import Number
from discreet.fit import Fitted
from discreet.home import fill_home, new_home
from discreet.ledger.budget import Budget
from discreet.ledger.growth import CLOSED
from discreet.noise.bits import Bits
from discreet.postgres_address import of_vault
from discreet.progress import Progress
from discreet.release.taking import Taking

if TYPE_CHECKING:
    from discreet.table.source import Source

KEY_WORDS = 4  # 256 bits


def require_plain(tables: LinkedTables, **others: object) -> None:
    """Refuse what a vault over several tables is not made with."""
    if len(tables) == 1:
        raise DomainError(
            f"sources are given by the names of tables, and the domain declares one table, {tables.names[0]}: give its "
            "source alone, or declare [tables.NAME] for each"
        )
    given = [name for name, value in others.items() if value]
    if given:
        raise UnsupportedQuery(
            f"a vault over several tables ({', '.join(tables.names)}) takes no {' and no '.join(given)}: what tells "
            "people apart, and how many rows of each are kept, is said for each table in the domain"
        )


def require_names(sources: object, tables: LinkedTables, *, every: bool = True) -> dict[str, object]:
    """The source of each table by its name, or of some; otherwise TableError."""
    names = ", ".join(tables.names)
    if not isinstance(sources, Mapping):
        raise TableError(f"this domain declares several tables: say where each is, by its name; there are {names}")
    found = {str(name): source for name, source in sources.items()}
    if unknown := [name for name in found if name not in tables.names]:
        raise TableError(f"the domain declares no table {unknown[0]!r}; there are {names}")
    if every and (missing := [name for name in tables.names if name not in found]):
        raise TableError(f"where is the table {missing[0]}? Say the source of each: {names}")
    return found


def open_sources(sources: Mapping[str, object]) -> "dict[str, Source]":
    from discreet.table.open import open_source

    return {name: open_source(source) for name, source in sources.items()}


def make_several(
    home: Path,
    text: str,
    tables: LinkedTables,
    table: object,
    budget: Budget,
    discover: tuple[Number | None, Number | None],
    through: str | None,
    ledger: str | None,
    progress: Progress,
    fitted: Fitted | None,
) -> None:
    """Make the folder of a vault over several tables, for people who have so many rows in all of them. `discover` are
    the parts of ε and δ that find values which the domain does not declare; `through` the last period that is complete
    in tables that grow."""
    from discreet.release.discover import search_tables, with_found
    from discreet.table.open import locate
    from discreet.table.unit import Unit

    sources = require_names(table, tables)
    searches = search_tables(tables, budget, *discover)
    for search in searches.values():
        budget = search.budget  # the same of each
    key = Bits().words(KEY_WORDS).tobytes()
    opened = open_sources(sources)
    with new_home(home) as aside:
        for name, search in searches.items():
            one = tables[name]
            unit = Unit(str(one.id), one.max_rows, one.domain.null_ids or "drop")
            text = with_found(text, search.found_in(opened[name], unit, key, Bits(), progress), name)
        tables = parse_tables(text) if searches else tables
        prices = {f"{name}.{own}": paid for name, search in searches.items() for own, paid in search.to_json().items()}
        taking = Taking(tables.person, None, None, key, aside, progress, fitted, None, through, tables)
        header = {
            "vault_id": Bits().words(2).tobytes().hex(),
            "budget": budget.over(tables.rows).to_json(),
            "domain": text,
            "rows": [[one.name, one.max_rows] for one in tables],
            "snapshot": taking.take(opened, 1).to_json(),
            **({} if through is None else {CLOSED: through}),
            **({"discovered": prices} if prices else {}),
        }
        journal = ledger and of_vault(ledger, str(header["vault_id"]))
        places = {name: locate(sources[name]) for name in tables.names}
        fill_home(aside, header, key, places, journal, None)
