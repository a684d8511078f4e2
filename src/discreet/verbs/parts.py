"""What every verb of a vault works with."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from discreet.answer.policy import Policy
from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery, VaultError
from discreet.ledger.asker import Asker
from discreet.ledger.budget import SUBSETS_ONLY
from discreet.ledger.journal import canonical
from discreet.ledger.ledger import Charge, Ledger, Record
from discreet.query.plan import Plan
from discreet.release.archive import Archive
from discreet.release.gate import Gate
from discreet.release.own_table import OwnTable
from discreet.release.release import Release


@dataclass
class VaultParts:
    """A vault's parts: its directory, what is public, its account, the gate, and its own table."""

    path: Path
    domain: Domain
    ledger: Ledger
    gate: Gate = field(repr=False)
    _own: OwnTable = field(repr=False)
    location: str
    policy: Policy

    def _charge(self, number: int) -> Charge:
        found = self.ledger.charge_at(number)
        if found is None:
            raise VaultError(f"there is no charge {number}; see `discreet ledger show {self.path}`")
        return found

    def _bought(self, plan: Plan) -> Charge | None:
        """The first charge that bought these very measurements of the table as it is now, answered or cut off."""
        now, since, _ = self.ledger.reach
        wanted = canonical({"content": plan.condensed()})[1:-1]
        for entry in self.ledger.entries(since):
            if entry.kind == "charge" and wanted in entry.body and entry.seq > since:
                charge = self._charge(entry.seq)
                if charge.snapshot == now and canonical({"content": charge.plan})[1:-1] == wanted:
                    return charge
        return None

    @property
    def _asker(self) -> Asker | None:
        return self.gate.asker

    @property
    def _archive(self) -> Archive:
        return self.gate.archive

    @property
    def _recall(self) -> Callable[[Charge, Record], Release]:
        return self.gate.recall

    def _measure_alone(self, plan: Plan) -> Release:
        """Measure a plan. Whoever asks meanwhile for a number of it waits for it, and is not charged."""
        with self.gate.underway.alone(plan.condensed()):
            return self.gate.measure(plan)

    def _require_amounts(self) -> None:
        """Refuse what a SuLQ database does not do."""
        if self.ledger.budget.by_queries:
            raise UnsupportedQuery(SUBSETS_ONLY)
