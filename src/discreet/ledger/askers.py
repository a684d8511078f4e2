"""Everybody who was charged for: what each spent, and what their quota lets them spend besides."""

from dataclasses import dataclass, field
from fractions import Fraction

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.ledger.asker import Asker
from discreet.ledger.budget import Budget
from discreet.ledger.own_spend import OwnSpend
from discreet.ledger.spend import Cost


@dataclass
class Askers:
    """The spending of each asker by their name, in the order of the journal. One thread at a time: the ledger's."""

    domain: Domain
    _spends: dict[str, OwnSpend] = field(default_factory=dict)

    def add(self, name: str | None, cost: Cost) -> None:
        """Count a charge; one that nobody is named for is the vault's own."""
        if name is not None:
            self._spends.setdefault(name, OwnSpend(self.domain)).add(cost)

    def level(self) -> None:
        """Another table: everybody in it may be at another point."""
        for own in self._spends.values():
            own.level()

    def spent(self) -> dict[str, int]:
        """The most units that each spent at any point."""
        return {name: own.peak for name, own in self._spends.items()}

    def let(self, asker: Asker | None, cost: Cost, budget: Budget) -> bool:
        """Whether an asker's quota, by itself, lets a charge through."""
        return asker is None or asker.quota is None or asker.is_within(self._of(asker).peak_with(cost), budget)

    def require(self, asker: Asker | None, cost: Cost, budget: Budget) -> None:
        """Raise QuotaExceeded where it does not."""
        if asker is not None and asker.quota is not None:
            asker.require_within(self._of(asker).peak_with(cost), cost.peak, budget)

    def left(self, asker: Asker, region: Region, budget: Budget) -> Fraction | None:
        """The least that an asker's quota leaves at any point of a region; None without a quota."""
        return None if asker.quota is None else asker.left(self._of(asker).most(region), budget)

    def _of(self, asker: Asker) -> OwnSpend:
        return self._spends.get(asker.name) or OwnSpend(self.domain)
