"""How a vault is made: its table read once, its budget and its header settled, and the folder filled."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.domain.domain import Domain
from discreet.domain.read import domain_text, parse_domain
from discreet.domain.read_tables import parse_tables
from discreet.errors import InvalidBudget, UnsupportedQuery
from discreet.exact import Number
from discreet.fit import Fitted
from discreet.home import fill_home, new_home, require_new_place
from discreet.ledger.budget import Budget, QueryBudget
from discreet.ledger.budget_choice import budget_of
from discreet.ledger.growth import CLOSED
from discreet.ledger.guarantee import Neighbours
from discreet.noise.bits import Bits
from discreet.postgres_address import of_vault
from discreet.progress import Progress
from discreet.release.taking import Taking
from discreet.vault.append import require_growing
from discreet.vault.several import KEY_WORDS, make_several, require_plain

if TYPE_CHECKING:
    from discreet.mining.sulq import Calibration
    from discreet.table.roster import Roster
    from discreet.table.unit import Unit


@dataclass(frozen=True)
class Wanted:
    """What a vault is to promise, as `Vault.init` was told; it says what each of these is."""

    neighbours: Neighbours | None
    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    mu: Number | None
    queries: int | None
    roster: object
    calibration: "Calibration"
    failure: Number | None
    id: str | None
    max_rows: int | None
    discover: Number | None
    discover_delta: Number | None
    through: str | None
    each_period: bool
    live: bool

    def budget(self, rows: int) -> Budget:
        """Of people with so many rows."""
        return budget_of(self.epsilon, self.delta, self.rho, self.mu, self.neighbours, rows)

    @property
    def said_by_domain(self) -> dict[str, object]:
        """What the domain says itself where it declares several tables, or what they do not go with."""
        names = ("id", "max_rows", "queries", "roster", "live", "each_period")
        return {name: getattr(self, name) for name in names}


def make_vault(
    home: Path,
    table: object,
    domain: str | Path,
    wanted: Wanted,
    ledger: str | None,
    progress: Progress,
    fitted: Fitted | None,
) -> None:
    """Make the folder of a vault, whole or not at all; see `Vault.init`."""
    require_new_place(home)
    text = domain_text(domain)
    tables = parse_tables(text, domain)
    if len(tables) > 1 or isinstance(table, Mapping):
        require_plain(tables, **wanted.said_by_domain)
        budget = wanted.budget(tables.rows)
        require_growing(tables.person, wanted.through, wanted.each_period, live=False, roster=False)
        discover = wanted.discover, wanted.discover_delta
        make_several(home, text, tables, table, budget, discover, wanted.through, ledger, progress, fitted)
    else:
        _make_over_one(home, text, tables.tables[0].domain, table, wanted, ledger, progress, fitted)


def _make_over_one(
    home: Path,
    text: str,
    domain: Domain,
    table: object,
    wanted: Wanted,
    ledger: str | None,
    progress: Progress,
    fitted: Fitted | None,
) -> None:
    from discreet.release.discover import search_for, with_found
    from discreet.table.open import locate, open_source  # readers take long to import: asking needs none
    from discreet.table.roster import roster_bytes

    unit, people, budget = _protected(domain, wanted)
    live, through = wanted.live, wanted.through
    require_growing(domain, through, wanted.each_period, live=live, roster=people is not None)
    search = search_for(domain, budget, wanted.discover, wanted.discover_delta, wanted.each_period)
    if search is not None and live:
        raise UnsupportedQuery("values are discovered in a snapshot's table, not in one that is read live")
    key = Bits().words(KEY_WORDS).tobytes()
    source = open_source(table)
    with new_home(home) as aside:
        if search is not None:
            text = with_found(text, search.found_in(source, unit, key, Bits(), progress))
            domain, budget = parse_domain(text), search.budget
        taken = Taking(domain, unit, people, key, aside, progress, fitted, None, through).take(source, 1, live)
        header = {
            "vault_id": Bits().words(2).tobytes().hex(),
            "budget": budget.to_json(),
            "domain": text,
            "unit": unit and unit.to_json(),
            "snapshot": taken.to_json(),
            **({"live": True} if live else {}),
            **({} if through is None else {CLOSED: through}),
            **({} if search is None else {"discovered": search.to_json()}),
            **({} if people is None else {"roster": {"people": people.people, "fingerprint": people.fingerprint}}),
        }
        journal = ledger and of_vault(ledger, str(header["vault_id"]))
        fill_home(aside, header, key, locate(table), journal, None if people is None else roster_bytes(people))


def _protected(domain: Domain, wanted: Wanted) -> "tuple[Unit | None, Roster | None, Budget]":
    """Whom the vault protects, and by what budget: people with their rows, or the records of a roster."""
    from discreet.table.unit import unit_of, unit_on_roster

    if wanted.queries is None and wanted.roster is None:
        unit = unit_of(wanted.id, wanted.max_rows, domain.null_ids, wanted.each_period)
        return unit, None, wanted.budget(unit.max_rows if unit else 1)
    if any(other is not None for other in (wanted.epsilon, wanted.rho, wanted.mu, wanted.neighbours)):
        raise InvalidBudget("a budget of queries has no epsilon, rho, mu or neighbours: any row may be another")
    record = unit_on_roster(wanted.id, wanted.max_rows, domain.null_ids)
    return record, *_roster_and_budget(wanted, record.id, domain.points)


def _roster_and_budget(wanted: Wanted, id_column: str, points: int) -> "tuple[Roster, QueryBudget]":
    """The roster and the budget of a SuLQ database. A row is a point of the domain, or there is none."""
    from discreet.mining.sulq import FAILURE, query_budget
    from discreet.table.roster import read_roster

    if wanted.queries is None or wanted.delta is None or wanted.roster is None:
        raise InvalidBudget("a SuLQ database takes queries, delta and a roster, all three")
    people = read_roster(wanted.roster, id_column)
    most = FAILURE if wanted.failure is None else wanted.failure
    return people, query_budget(wanted.queries, wanted.delta, people.people, points + 1, wanted.calibration, most)
