"""Plans of cubes that somebody looks at: made once, and then only their noise changes as ε is dragged."""

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from discreet.exact import number_text
from discreet.ledger.budget import require_amounts
from discreet.vault.vault import Vault

if TYPE_CHECKING:
    from discreet.cube.plan import CubePlan

MOST_KEPT = 32


@dataclass
class Drafts:
    """Plans that were made. Another amount changes a plan's noise only, not its sources nor their shares; except for a
    model, for which it may be small."""

    _kept: "OrderedDict[tuple[Any, ...], CubePlan]" = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def plan(
        self, vault: Vault, dimensions: tuple[str, ...], planner: str, cuboids: Literal["all"] | int, amount: Fraction
    ) -> "CubePlan":
        """A plan for these dimensions that spends this much."""
        budget = vault.ledger.budget
        require_amounts(budget)
        by_amount = (amount, vault.ledger.head.seq) if planner == "model" else None
        key = (vault.domain.name, dimensions, planner, cuboids, budget, by_amount)
        with self._lock:
            if key not in self._kept:
                spent = {budget.option: number_text(amount)}
                made = vault.cubes.plan(dimensions=dimensions, planner=planner, cuboids=cuboids, **spent)  # type: ignore[arg-type]
                self._kept[key] = made
                while len(self._kept) > MOST_KEPT:
                    self._kept.popitem(last=False)
            kept = self._kept[key]
        return kept if kept.noise.amount == amount else replace(kept, noise=kept.noise.of_amount(amount))
