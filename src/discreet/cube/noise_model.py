"""What a share of the budget buys: the noise on each cell of a source, one class a currency.

Every law is unit / share^power: Laplace noise has the variance 2λ² with λ = factor/(ε·b), Gaussian noise has
σ² = factor/(2ρ·b). Planners see no more of a currency than that. Plans state the variance of the noise that is drawn.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Self, get_args

from discreet.cube.measure import COUNT, Measure
from discreet.errors import InvalidBudget
from discreet.ledger.budget import NO_FACTS, Budget, Induced, PureBudget, exact_amount
from discreet.ledger.guarantee import SENSES, Neighbours
from discreet.ledger.spend import UNITS, units_down
from discreet.noise.law import Gaussian, Laplace, Noise

LEAST_VARIANCE = 1e-200
"""Noise of a tiny scale is nearly always 0; its precision 1/variance is to stay a number."""


@dataclass(frozen=True)
class NoiseModel(ABC):
    """A budget for a whole cube, for people with at most `max_rows` rows each.

    `continuous` states the variance of the continuous distribution instead of the discrete one, as papers do.
    """

    power: ClassVar[int]
    currency: ClassVar[str]
    symbol: ClassVar[str]
    budget: Fraction
    neighbours: Neighbours
    max_rows: int = 1
    continuous: bool = False
    induced: Induced = NO_FACTS
    """How far apart neighbours are where facts are public: K_gen^Q needs Σ 1/λ_C = ε/S_Q. [cubes, Theorem 5.3.1]"""
    measure: Measure = COUNT
    """What a cell holds, and so how far one row moves it."""

    def __post_init__(self) -> None:
        if self.neighbours not in get_args(Neighbours):
            raise InvalidBudget(f"neighbours is one of {', '.join(get_args(Neighbours))}; it has to be chosen")
        if self.max_rows < 1:
            raise InvalidBudget("a person has at least one row: max_rows is 1 or more")
        if self.limit < 1:
            raise InvalidBudget("the budget must be above 0, and not below what the ledger counts")

    @property
    @abstractmethod
    def factor(self) -> int:
        """What one person costs, as a multiple of what one row costs that is added or removed."""

    @property
    @abstractmethod
    def unit(self) -> Fraction:
        """The continuous variance on a cell of the one source that gets the whole budget."""

    @abstractmethod
    def law(self, share: Fraction) -> Noise:
        """The noise that is drawn for each cell of a source with this share."""

    def law_in_grains(self, share: Fraction) -> Noise:
        """The same as the whole grains that it is drawn in."""
        return self.law(share).times(1 / self.measure.grain)

    def variance(self, share: Fraction) -> float:
        """The variance on each cell of a source with this share."""
        if self.continuous:
            return float(self.unit / share**self.power)
        return max(float(self.measure.grain) ** 2 * self.law_in_grains(share).variance, LEAST_VARIANCE)

    @property
    def limit(self) -> int:
        """What a row may cost, in the ledger's units, rounded down."""
        return units_down(self.budget / self.factor)

    def exact_share(self, share: float | Fraction) -> Fraction:
        """A share rounded down to whole units of the ledger: rounding never makes a sum of shares overspend."""
        return Fraction(int(Fraction(share) * self.limit), UNITS) * self.factor / self.budget

    def as_continuous(self) -> Self:
        return replace(self, continuous=True)


@dataclass(frozen=True)
class LaplaceNoise(NoiseModel):
    """Pure differential privacy: the budget is ε, and shares of it add up."""

    power: ClassVar[int] = 2
    currency: ClassVar[str] = "epsilon"
    symbol: ClassVar[str] = "ε"

    @property
    def epsilon(self) -> Fraction:
        return self.budget

    @property
    def factor(self) -> int:
        return self.max_rows * max(SENSES[self.neighbours], self.induced.people)

    @property
    def unit(self) -> Fraction:
        return 2 * self.scale(Fraction(1)) ** 2

    def scale(self, share: Fraction) -> Fraction:
        """λ, exactly."""
        return self.factor * self.measure.move / (self.budget * share)

    def law(self, share: Fraction) -> Noise:
        return Laplace(self.scale(share))


@dataclass(frozen=True)
class GaussianNoise(NoiseModel):
    """Zero-concentrated differential privacy: the budget is ρ, and shares of it add up."""

    power: ClassVar[int] = 1
    currency: ClassVar[str] = "rho"
    symbol: ClassVar[str] = "ρ"

    @property
    def rho(self) -> Fraction:
        return self.budget

    @property
    def factor(self) -> int:
        # A row that is replaced leaves one cell of a cuboid and enters another: k rows move it by a squared
        # length of at most k² + k², where adding or removing them makes k².
        moved = self.induced.people**2 if self.neighbours == "add-remove" else self.induced.squares
        signs = 1 if self.neighbours == "add-remove" or self.measure.one_signed else 2  # as the ledger charges it
        return self.max_rows**2 * max(SENSES[self.neighbours], moved) * signs

    @property
    def unit(self) -> Fraction:
        return self.squared_scale(Fraction(1))

    def squared_scale(self, share: Fraction) -> Fraction:
        """σ², exactly."""
        return self.factor * self.measure.move**2 / (2 * self.budget * share)

    def law(self, share: Fraction) -> Noise:
        return Gaussian(self.squared_scale(share))


def noise_model(epsilon: object, rho: object, budget: Budget, measure: Measure = COUNT) -> NoiseModel:
    """The part of a vault's budget that a cube may spend, in the vault's currency."""
    amount = epsilon if isinstance(budget, PureBudget) else rho
    if amount is None or (epsilon is not None and rho is not None):
        option = "epsilon" if isinstance(budget, PureBudget) else "rho"
        raise InvalidBudget(
            f"this vault's budget is {budget.symbol}: say how much of it the cube may spend, {option}=…"
        )
    model = LaplaceNoise if isinstance(budget, PureBudget) else GaussianNoise
    exact = exact_amount(amount, budget.symbol)  # type: ignore[arg-type]
    return model(exact, budget.neighbours, budget.max_rows, induced=budget.induced, measure=measure)
