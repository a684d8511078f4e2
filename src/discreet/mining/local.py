"""A vault on this machine as a party."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.ledger.budget import QueryBudget
from discreet.ledger.ledger import Ledger
from discreet.mining.party import SubsetAnswers
from discreet.query.subset import Subset


@dataclass(frozen=True)
class LocalParty:
    """What a miner sees of a vault, and no more: the same as over HTTP."""

    people: int
    roster: str
    budget: QueryBudget
    _ledger: Ledger = field(repr=False)
    _ask: Callable[[Sequence[Subset], str], Any] = field(repr=False)

    @property
    def trials(self) -> int:
        return self.budget.trials

    @property
    def queries_left(self) -> int:
        return max(self.budget.limit - self._ledger.spent_max, 0)

    @property
    def guarantee(self) -> str:
        return str(self._ledger.guarantee)

    def ask_subsets(self, subsets: Sequence[Subset], predicate: str) -> SubsetAnswers:
        answer = self._ask(subsets, predicate)
        return SubsetAnswers(answer.values, answer.sizes, str(answer.receipt), answer.notes)
