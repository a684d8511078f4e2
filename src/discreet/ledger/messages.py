"""Amounts and boxes in the words of error messages."""

import math
from decimal import ROUND_DOWN, ROUND_UP, Context
from fractions import Fraction

from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.errors import BudgetExceeded, JournalRolledBack
from discreet.exact import equals_text
from discreet.ledger.budget import Budget, QueryBudget
from discreet.ledger.receipt import Receipt, receipt_path
from discreet.ledger.spend import Refusal


def box_words(domain: Domain, box: Box) -> str:
    """A box by the labels of its codes, without the attributes that it does not restrict: "age 20 to 50, sex F"."""
    words = []
    for attribute, low, high in zip(domain.attributes, box.low, box.high, strict=True):
        if (low, high) == (0, attribute.size - 1):
            continue
        if low == high:
            words.append(f"{attribute.name} {attribute.label(low)}")
        else:
            words.append(f"{attribute.name} {attribute.label(low)} to {attribute.label(high)}")
    return ", ".join(words) or "everywhere"


def left_words(budget: Budget, units: int) -> str:
    """The ε that so many units are, never more: "3/10", or six digits where there is no simple fraction."""
    return _words(budget, units, ROUND_DOWN)


def needed_words(budget: Budget, units: int) -> str:
    """The ε that was rounded up to so many units: "1/17", or six digits, never less, where there is no simple one."""
    return _words(budget, units, ROUND_UP)


def refused(domain: Domain, budget: Budget, refusal: Refusal) -> BudgetExceeded:
    if isinstance(budget, QueryBudget):
        return BudgetExceeded(
            f"this vault answers {budget.queries:,} queries in all, ever; {refusal.left:,} are left, and this asks "
            f"{refusal.needed:,}; ask about fewer subsets, or of what was released: that is free"
        )
    where = box_words(domain, refusal.where)
    left, needed = left_words(budget, refusal.left), needed_words(budget, refusal.needed)
    advice = "with more noise, or for a region that avoids it" if refusal.left else "for a region that avoids it"
    return BudgetExceeded(
        f"this region has {budget.symbol} = {left} left ({where}) and the query needs {needed}; ask {advice}"
    )


def overdrawn(budget: Budget, spent: int) -> BudgetExceeded:
    """What is said where a fact lowered the limit below what was spent before it."""
    return BudgetExceeded(
        f"what was spent is {budget.symbol} = {needed_words(budget, spent)} to whoever knows the facts, and the vault "
        f"was to promise {budget.symbol} {equals_text(budget.total)}: nothing more is measured; what was released "
        "stays free to ask for"
    )


def _words(budget: Budget, units: int, rounding: str) -> str:
    if units == 0:
        return "0"
    exact = budget.amount_of(units)
    simple = _simplest(exact - budget.amount_of(1) / 2, exact)
    if simple.denominator <= 10_000:
        return str(simple)
    return f"{Context(prec=6, rounding=rounding).divide(exact.numerator, exact.denominator).normalize():f}"


def _simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the least denominator in [low, high], down the Stern–Brocot tree. Requires 0 < low ≤ high."""
    if math.ceil(low) <= high:
        return Fraction(math.ceil(low))
    whole = math.floor(low)
    return whole + 1 / _simplest(1 / (high - whole), 1 / (low - whole))


def rolled_back(receipt: Receipt, vault_id: str) -> JournalRolledBack:
    return JournalRolledBack(
        f"the journal no longer has entry {receipt.seq} as it was seen: an older copy was put back, and what was spent "
        "since is not in it. Put the newer journal back. If it is lost, a custodian may go on with `discreet ledger "
        "check --accept-rollback`, which is noted in the journal. (The last receipt seen is kept in "
        f"{receipt_path(vault_id)})"
    )
