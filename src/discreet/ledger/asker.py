"""Who a charge is for, where a vault has several users: kept in the journal beside the charge, and public. What each
spent, and what their quota lets them spend besides."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import QuotaExceeded
from discreet.exact import equals_text
from discreet.ledger.budget import Budget
from discreet.ledger.own_spend import OwnSpend
from discreet.ledger.spend import Cost


@dataclass(frozen=True)
class Asker:
    """Somebody with a question. `quota` is the most that their own charges may spend at any point."""

    name: str
    quota: Fraction | None = None
    charges: list[int] = field(default_factory=list, compare=False)
    """The numbers of what was charged through this object."""
    spends: bool = True
    """Whether anything may be charged in this name: False for somebody who only reads what is free."""

    def require_spending(self) -> None:
        """Raise QuotaExceeded for who only reads, whatever there is left."""
        if not self.spends:
            raise QuotaExceeded("an address that is opened spends nothing; ask this question with its button")

    def left(self, spent: int, budget: Budget) -> Fraction | None:
        """What is left of the quota where this asker has `spent` so many units; None without a quota."""
        return None if self.quota is None else max(self.quota - budget.amount_of(spent), Fraction())

    def is_within(self, reached: int, budget: Budget) -> bool:
        """Whether the quota lets this asker's own spending reach so many units at a point."""
        return self.quota is None or budget.amount_of(reached) <= self.quota

    def require_within(self, reached: int, more: int, budget: Budget) -> None:
        """Raise QuotaExceeded where it does not; `more` of them are those of the charge."""
        left = self.left(reached - more, budget)
        if left is None or self.is_within(reached, budget):
            return
        raise QuotaExceeded(
            f"{self.quota_words(budget)}, of which {budget.symbol} {equals_text(left)} is left there, and this needs "
            f"{budget.symbol} {equals_text(budget.amount_of(more))}; ask with more noise, of others, or what was "
            "released: that is free"
        )

    def quota_words(self, budget: Budget) -> str:
        """The quota, in units of the budget; where it was given in ε, what part of (ε, δ) that is, too."""
        quota = self.quota or Fraction()
        part = f" ({budget.in_words(quota)})" if budget.currency != budget.symbol else ""
        return f"{self.name} has a quota of {budget.symbol} {equals_text(quota)}{part}"


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

    def stated(self) -> list[Any]:
        """What each spent, in the order of their first charges, as data and arrays."""
        return [[name, own.stated()] for name, own in self._spends.items()]

    def restore(self, stated: Sequence[Any]) -> None:
        """Be those who stated this. Raises ValueError where they are of another domain."""
        self._spends = {}
        for name, own in stated:
            self._spends.setdefault(name, OwnSpend(self.domain)).restore(own)

    def _of(self, asker: Asker) -> OwnSpend:
        return self._spends.get(asker.name) or OwnSpend(self.domain)
