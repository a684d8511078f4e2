"""Who a charge is for, where a vault has several users: kept in the journal beside the charge, and public."""

from dataclasses import dataclass, field
from fractions import Fraction

from discreet.domain.attribute import equals_text
from discreet.errors import QuotaExceeded
from discreet.ledger.budget import Budget


@dataclass(frozen=True)
class Asker:
    """Somebody with a question. `quota` is the most of the vault's budget that their own charges may add up to."""

    name: str
    quota: Fraction | None = None
    charges: list[int] = field(default_factory=list, compare=False)
    """The numbers of what was charged through this object."""

    def require_within(self, spent: int, more: int, budget: Budget) -> None:
        """Raise QuotaExceeded where `more` units do not fit beside those that this asker has `spent`."""
        if self.quota is None or budget.amount_of(spent + more) <= self.quota:
            return
        symbol, left = budget.symbol, max(self.quota - budget.amount_of(spent), Fraction())
        raise QuotaExceeded(
            f"{self.name} has a quota of {symbol} {equals_text(self.quota)}, of which {symbol} {equals_text(left)} is "
            f"left, and this needs {symbol} {equals_text(budget.amount_of(more))}; ask with more noise, or what was "
            "released: that is free"
        )
