"""What a share of the budget buys: the noise on each cell of a source.

Every law is unit / share^power: Laplace noise has the variance 2λ² with λ = factor/(ε·b), Gaussian noise has
σ² = factor/(2ρ·b). Planners see no more of a currency than that. Plans state the variance of the noise that is drawn.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.cube.measure import COUNT, Measure
from discreet.errors import InvalidBudget
from discreet.ledger.budget import Budget, exact_amount
from discreet.ledger.guarantee import Neighbours
from discreet.ledger.spend import UNITS, units_down
from discreet.noise.law import Laplace, Noise

LEAST_VARIANCE = 1e-200
"""Noise of a tiny scale is nearly always 0; its precision 1/variance is to stay a number."""


@dataclass(frozen=True)
class NoiseModel:
    """A budget for a whole cube: its people, rows a person and facts are the vault's.

    With facts, K_gen^Q needs Σ 1/λ_C = ε/S_Q [cubes, Theorem 5.3.1]: the budget's factor. `continuous` states the
    variance of the continuous distribution instead of the discrete one, as papers do.
    """

    budget: Budget
    measure: Measure = COUNT
    """What a cell holds, and so how far one row moves it."""
    continuous: bool = False

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise InvalidBudget("the budget must be above 0, and not below what the ledger counts")

    @property
    def amount(self) -> Fraction:
        """What the cube may spend."""
        return self.budget.total

    @property
    def neighbours(self) -> Neighbours:
        return self.budget.neighbours

    @property
    def power(self) -> int:
        return self.budget.power

    @property
    def factor(self) -> int:
        """What one person costs, as a multiple of what one row costs that is added or removed."""
        return self.budget.factor * self.budget.signs(self.measure.one_signed)

    @property
    def unit(self) -> Fraction:
        """The continuous variance on a cell of the one source that gets the whole budget."""
        return self.law(Fraction(1)).continuous_variance

    def law(self, share: Fraction) -> Noise:
        """The noise that is drawn for each cell of a source with this share."""
        measure = self.measure
        return self.budget.noise_costing(self.amount * share, measure.move, measure.one_signed, measure.grain)

    def law_in_grains(self, share: Fraction) -> Noise:
        """The same as the whole grains that it is drawn in."""
        return self.law(share).times(1 / self.measure.grain)

    def least_scale(self, share: Fraction) -> Fraction | None:
        """The scale, in grains, of the Laplace draws of a source with this share; None where noise is Gaussian."""
        law = self.law_in_grains(share)
        return law.scale if isinstance(law, Laplace) else None

    def variance(self, share: Fraction) -> float:
        """The variance on each cell of a source with this share."""
        if self.continuous:
            return float(self.unit / share**self.power)
        return max(float(self.measure.grain) ** 2 * self.law_in_grains(share).variance, LEAST_VARIANCE)

    @property
    def limit(self) -> int:
        """What a row may cost, in the ledger's units, rounded down."""
        return units_down(self.amount / self.factor)

    def exact_share(self, share: float | Fraction) -> Fraction:
        """A share rounded down to whole units of the ledger: rounding never makes a sum of shares overspend."""
        return Fraction(int(Fraction(share) * self.limit), UNITS) * self.factor / self.amount

    def of_amount(self, amount: Fraction) -> "NoiseModel":
        """The same where the cube may spend another amount."""
        return replace(self, budget=self.budget.part(amount))

    def as_continuous(self) -> "NoiseModel":
        return replace(self, continuous=True)


def noise_model(
    epsilon: object, rho: object, mu_squared: object, budget: Budget, measure: Measure = COUNT
) -> NoiseModel:
    """The part of a vault's budget that a cube may spend, in the vault's currency."""
    amounts = {"epsilon": epsilon, "rho": rho, "mu_squared": mu_squared}
    amount = amounts.pop(budget.option, None)
    if amount is None or any(other is not None for other in amounts.values()):
        raise InvalidBudget(
            f"this vault's budget is {budget.symbol}: say how much of it this may spend, "
            f"{budget.option}=… (--{budget.option.replace('_', '-')})"
        )
    return NoiseModel(budget.part(exact_amount(amount, budget.symbol)), measure)  # type: ignore[arg-type]
