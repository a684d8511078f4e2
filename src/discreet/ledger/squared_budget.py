"""Budgets of squares: of ρ, and of μ². `budget.py` says what they keep."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from discreet.errors import InvalidBudget, InvalidNoise, UnsupportedQuery
from discreet.exact import Number
from discreet.ledger.budget import BY_QUERIES, NO_FACTS, Budget, Induced, exact_amount, said_of_person
from discreet.ledger.conversion import rho_for
from discreet.ledger.discovering import NOTHING_FOUND, Discovering
from discreet.ledger.gaussian_conversion import mu_squared_for
from discreet.ledger.gaussian_price import exponential_price, gaussian_at_price, gaussian_price, pure_price
from discreet.ledger.guarantee import SENSES, Neighbours
from discreet.noise.law import Binomial, Exponential, Gaussian, Laplace, Law, Noise


@dataclass(frozen=True)
class SquaredBudget(Budget):
    """A total of squares, which rows that move a number together add up: of ρ or of μ². With `epsilon` and `delta`, the
    total that implies them."""

    power: ClassVar[int] = 1
    amount: Fraction
    neighbours: Neighbours
    max_rows: int = 1
    epsilon: Fraction | None = None
    delta: Fraction | None = None
    induced: Induced = NO_FACTS
    of_person: bool = False

    @property
    def total(self) -> Fraction:
        return self.amount

    @staticmethod
    @abstractmethod
    def implying(epsilon: Fraction, delta: Fraction) -> Fraction:
        """The largest amount, hardly rounded down, that implies (ε, δ)-differential privacy."""

    @property
    def currency(self) -> str:
        return self.symbol if self.epsilon is None else "ε"

    def in_words(self, amount: Fraction) -> str:
        if self.epsilon is None or self.delta is None:
            return super().in_words(amount)
        return f"{self.share(amount)} of {self._whole}ε {float(self.epsilon):.4g}, δ {float(self.delta):.4g}"

    @property
    def _whole(self) -> str:
        """What an amount is a part of, where that is not all."""
        return ""

    def quota(self, asked: Number) -> Fraction:
        """In a vault that promises (ε, δ), all that is asked under a quota of ε is (ε, δ)-private."""
        if self.delta is None or str(asked).strip().endswith("%"):
            return super().quota(asked)
        return self.implying(exact_amount(asked, "a quota"), self.delta)

    @property
    def factor(self) -> int:
        moved = self.induced.people**2 if self.neighbours == "add-remove" else self.induced.squares
        return self.rows_after**2 * max(SENSES[self.neighbours], moved)

    def under(self, induced: Induced) -> Self:
        return replace(self, induced=induced)

    def signs(self, one_signed: bool) -> int:
        return 1 if self.neighbours == "add-remove" or one_signed else 2

    def loss(self, law: Law, move: Fraction, one_signed: bool, grain: Fraction = Fraction(1)) -> Fraction:
        match law:
            case Binomial():
                raise InvalidNoise(BY_QUERIES)
            case Gaussian():
                return self.signs(one_signed) * self.vector_loss(law.times(1 / grain), (move / grain) ** 2)
            case Laplace(scale=scale):
                return self.signs(one_signed=False) * self.pure_loss(self.rows_before * move / scale)
            case Exponential(scale=scale):
                return self.signs(one_signed=False) * self.exponential_loss(self.rows_before * move / scale)

    def shared(self, loss: Fraction, rows: int) -> Fraction:
        return loss * Fraction(rows, self.max_rows) ** 2

    @staticmethod
    @abstractmethod
    def pure_loss(epsilon: Fraction) -> Fraction:
        """What a mechanism with a pure loss of ε costs."""

    @staticmethod
    @abstractmethod
    def exponential_loss(epsilon: Fraction) -> Fraction:
        """What the exponential mechanism with a pure loss of ε costs."""

    def noise_of_scale(self, scale: Fraction) -> Noise:
        """Gaussian noise with this σ."""
        return Gaussian(scale * scale)

    def noise_costing(
        self,
        amount: Fraction,
        move: Fraction = Fraction(1),
        one_signed: bool = True,
        grain: Fraction = Fraction(1),
    ) -> Noise:
        price = amount / (self.factor * self.signs(one_signed) * (self.rows_before * move / grain) ** 2)
        return self.gaussian_at(price).times(grain)

    @staticmethod
    @abstractmethod
    def gaussian_at(price: Fraction) -> Gaussian:
        """The noise with which a whole number that moves by 1 costs this much, or the least that there is which costs
        less."""

    def part(self, amount: Fraction) -> Self:
        return replace(self, amount=amount, epsilon=None, delta=None)

    def to_json(self) -> dict[str, Any]:
        whose = {"neighbours": self.neighbours, "max_rows": self.max_rows, **said_of_person(self)}
        return {self.option: str(self.total), **whose}

    @property
    def implied(self) -> dict[str, str]:
        """The ε and δ that it was made to keep, where there are any."""
        return {} if self.epsilon is None else {"epsilon": str(self.epsilon), "delta": str(self.delta)}


@dataclass(frozen=True)
class ConcentratedBudget(SquaredBudget):
    """A total of ρ. One with `epsilon` and `delta` is that of a vault made before these were kept by way of μ."""

    symbol: ClassVar[str] = "ρ"
    option: ClassVar[str] = "rho"

    @staticmethod
    def implying(epsilon: Fraction, delta: Fraction) -> Fraction:
        return rho_for(epsilon, delta)

    def vector_loss(self, law: Gaussian, squared_length: Fraction) -> Fraction:
        return self.rows_before**2 * squared_length / (2 * law.sigma_squared)

    @staticmethod
    def pure_loss(epsilon: Fraction) -> Fraction:
        return epsilon**2 / 2

    exponential_loss = pure_loss

    @staticmethod
    def gaussian_at(price: Fraction) -> Gaussian:
        return Gaussian(1 / (2 * price))

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), **self.implied}


@dataclass(frozen=True)
class GaussianBudget(SquaredBudget):
    """A total of μ², of Gaussian differential privacy: what is left once values were found, where some were."""

    symbol: ClassVar[str] = "μ²"
    option: ClassVar[str] = "mu_squared"
    discovering: Discovering = NOTHING_FOUND

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, neighbours: Neighbours, max_rows: int = 1) -> "GaussianBudget":
        """The budget of a vault that promises (ε, δ)."""
        if not 0 < delta < 1:
            raise InvalidBudget("δ must lie between 0 and 1; it should be far below 1 over the number of people")
        return cls(mu_squared_for(epsilon, delta), neighbours, max_rows, epsilon, delta)

    def setting_aside(self, epsilon: Fraction, delta: Fraction) -> tuple[Self, Discovering, Discovering]:
        """What is left for later where finding values may take a part of ε and one of δ; and what it may cost, as it is
        accounted for as Gaussian differential privacy, and as a plain ε. Either leaves the same. Requires a budget of
        (ε, δ)."""
        assert self.epsilon is not None, "it promises (ε, δ)"
        assert self.delta is not None, "it promises (ε, δ)"
        if not epsilon < self.epsilon or not delta < self.delta:
            raise InvalidBudget(
                "finding values takes a part of ε and a part of δ, and leaves the rest for what is asked"
            )
        later = mu_squared_for(self.epsilon - epsilon, self.delta - delta)
        whole = mu_squared_for(self.epsilon, self.delta - delta)
        return (
            replace(self, amount=later),
            Discovering(mu_squared=whole - later, delta=delta),
            Discovering(epsilon=epsilon, delta=delta),
        )

    @property
    def _whole(self) -> str:
        return "what finding values left of " if self.discovering else ""

    def under(self, induced: Induced) -> Self:
        if self.discovering:
            raise UnsupportedQuery(
                "a vault whose values were discovered takes no facts: with them several people change at once, and "
                "what finding values loses for several is not accounted for"
            )
        return super().under(induced)

    def quota(self, asked: Number) -> Fraction:
        if not self.discovering or self.delta is None or str(asked).strip().endswith("%"):
            return super().quota(asked)
        return self.implying(exact_amount(asked, "a quota"), self.delta - self.discovering.delta)

    def part(self, amount: Fraction) -> Self:
        return replace(super().part(amount), discovering=NOTHING_FOUND)

    @staticmethod
    def implying(epsilon: Fraction, delta: Fraction) -> Fraction:
        return mu_squared_for(epsilon, delta)

    def vector_loss(self, law: Gaussian, squared_length: Fraction) -> Fraction:
        return self.rows_before**2 * squared_length * gaussian_price(law.sigma_squared)

    @staticmethod
    def pure_loss(epsilon: Fraction) -> Fraction:
        return pure_price(epsilon)

    @staticmethod
    def exponential_loss(epsilon: Fraction) -> Fraction:
        return exponential_price(epsilon)

    @staticmethod
    def gaussian_at(price: Fraction) -> Gaussian:
        return gaussian_at_price(price)

    def to_json(self) -> dict[str, Any]:
        # Kept apart: a reader that does not know μ would take an ε beside it for a pure one.
        implied = {"implies": self.implied} if self.implied else {}
        found = {"discovering": self.discovering.to_json()} if self.discovering else {}
        return {**super().to_json(), **implied, **found}
