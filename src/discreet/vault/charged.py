"""Charges that were made already: by their numbers, by what they bought, and what came of them."""

from pathlib import Path

from discreet.errors import VaultError
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge
from discreet.ledger.journal import canonical
from discreet.query.plan import Plan
from discreet.release.gate import Gate
from discreet.release.release import Release


def charge_at(number: int, ledger: Books, home: Path) -> Charge:
    """The charge with this number. Raises VaultError where there is none."""
    found = ledger.charge_at(number)
    if found is None:
        raise VaultError(f"there is no charge {number}; see `discreet ledger show {home}`")
    if not ledger.tells_of(found):
        raise VaultError(
            f"charge {number} is of {found.table}, and this is {ledger.table}: take that table of the vault"
        )
    return found


def bought_before(plan: Plan, ledger: Books) -> Charge | None:
    """The first charge that bought these very measurements of the table as it is now, answered or cut off."""
    since = ledger.refreshed
    wanted = canonical({"content": plan.condensed()})[1:-1]
    for entry in ledger.entries(since):
        if entry.kind == "charge" and wanted in entry.body and entry.seq > since:
            charge = ledger.charge_at(entry.seq)
            if charge and ledger.tells_of(charge) and canonical({"content": charge.plan})[1:-1] == wanted:
                return charge
    return None


def release_of(charge: Charge, gate: Gate) -> Release:
    """What a charge paid for: as it was recorded, or completed now where it was cut off. Nothing more is spent."""
    record = gate.ledger.recorded(charge.id)
    return gate.complete(charge) if record is None else gate.recall(charge, record)
