"""Who a charge is for, where a vault has several users: kept in the journal beside the charge, and public."""

from dataclasses import dataclass, field
from fractions import Fraction

from discreet.errors import QuotaExceeded
from discreet.exact import equals_text
from discreet.ledger.budget import Budget


@dataclass(frozen=True)
class Asker:
    """Somebody with a question. `quota` is the most that their own charges may spend at any point."""

    name: str
    quota: Fraction | None = None
    charges: list[int] = field(default_factory=list, compare=False)
    """The numbers of what was charged through this object."""

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
        return f"{self.name} has a quota of {budget.symbol} {equals_text(self.quota or Fraction())}"
