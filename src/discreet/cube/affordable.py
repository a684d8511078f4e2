"""Whether the budget can pay for a planned cube, and how much one may spend at most."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.cube.plan import CubePlan
from discreet.errors import BudgetExceeded, QuotaExceeded
from discreet.exact import number_text
from discreet.ledger.asker import Asker
from discreet.ledger.books import Books
from discreet.ledger.budget import Budget
from discreet.notebook import FieldsView
from discreet.query.plan import cost_of_everything

if TYPE_CHECKING:
    from discreet.replies import AffordableJson

DIGITS = 4
"""Of an amount that is named: rounded down, so that it is granted."""


@dataclass(frozen=True, repr=False)
class Affordable(FieldsView):
    """`fits` where a cube can be published now; `at_most` is what any cube may spend now, 0 for nothing."""

    fits: bool
    at_most: Fraction
    budget: Budget

    @property
    def words(self) -> str:
        """What to do where it does not fit."""
        if self.fits:
            return ""
        if not self.at_most:
            return "nothing is left at some points, and a cube is about all of them"
        option = self.budget.option
        return f"plan it with {option} (--{option.replace('_', '-')}) at most {number_text(self.at_most)}"

    def to_json(self) -> "AffordableJson":
        return {"affordable": self.fits, "at_most": number_text(self.at_most)}


def affordable(plan: CubePlan, books: Books, asker: Asker | None = None) -> Affordable:
    """Made of public things; spends nothing. A cube spends what it was planned with at every point, or less."""
    budget, everywhere = books.budget, books.domain.everything
    left = budget.amount_of(books.left(everywhere))
    own = None if asker is None else books.quota_left(asker, everywhere)
    most = left if own is None else min(left, own)
    cost = cost_of_everything(plan.noise.limit, books.domain)
    return Affordable(books.fits(cost, asker), _rounded_down(most), budget)


def require_affordable(plan: CubePlan, books: Books, asker: Asker | None = None) -> None:
    """Raise what charging for it would be refused with, and say what would be granted."""
    try:
        books.require(cost_of_everything(plan.noise.limit, books.domain), asker)
    except (BudgetExceeded, QuotaExceeded) as error:
        raise type(error)(f"{error}; {affordable(plan, books, asker).words}") from None


def _rounded_down(amount: Fraction) -> Fraction:
    if not amount:
        return amount
    step = Fraction(10) ** (math.floor(math.log10(amount)) + 1 - DIGITS)
    return amount // step * step
