"""A vault keeps the currency that it was made with.

All that it spent was charged in it, and all that it released is promised in it. A vault of (ε, δ) that was made before
these were kept by way of μ states a ρ beside them. Counted in μ², the same (ε, δ) would allow a larger ρ, so that what
was said would be false; and the μ² that keeps the ρ gives no count less noise.
[docs/explain/gaussian-privacy.md, Earlier vaults stay in ρ]
"""

from typing import Literal, get_args

from discreet.errors import InvalidBudget
from discreet.exact import equals_text
from discreet.ledger.budget import Budget
from discreet.ledger.squared_budget import ConcentratedBudget, GaussianBudget

Currency = Literal["epsilon", "rho", "mu", "queries"]
"""As `init` is told them; ε with δ is `mu`."""


def require_currency(budget: Budget, wanted: str) -> None:
    """Nothing where the budget is in that currency; otherwise InvalidBudget, with why it is not moved."""
    if wanted not in get_args(Currency):
        raise InvalidBudget(f"a currency is one of {', '.join(get_args(Currency))}")
    if wanted == ("mu" if isinstance(budget, GaussianBudget) else budget.option):
        return
    if wanted == "mu" and isinstance(budget, ConcentratedBudget):
        raise InvalidBudget(f"{_said(budget)}; nothing was changed, it stays in ρ")
    raise InvalidBudget(
        f"a vault keeps the currency that it was made with: all that this one spent was charged in {budget.symbol}, "
        "and all that it released is promised in it; nothing was changed"
    )


def _said(budget: ConcentratedBudget) -> str:
    no_gain = "the μ² that keeps this ρ is 2ρ, and gives no count less noise"
    if budget.epsilon is None or budget.delta is None:
        return f"this vault promises ρ {equals_text(budget.total)} of zCDP; {no_gain}"
    loosened = GaussianBudget.implying(budget.epsilon, budget.delta) / 2
    return (
        f"this vault promises ρ {equals_text(budget.total)} of zCDP beside ε {equals_text(budget.epsilon)}, δ = "
        f"{float(budget.delta):g}, and says so with every release; counted in μ², that ε and δ allow a ρ "
        f"{equals_text(loosened)}, which would loosen it; {no_gain}"
    )
