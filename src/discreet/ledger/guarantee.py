"""Budgets and guarantees: what a vault may spend, and what a release promises.

A row at point p changes the odds of everything released by at most exp(spend at p). Adding or removing one person, who
has up to k rows, therefore costs k times the map's maximum M; replacing one person's rows takes k rows away and adds k:
2·k·M. So M ≤ ε/(k·S), with S = 1 or 2, is ε-differential privacy. [relaxation, Lemma 2, with noise per query]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

from discreet.errors import InvalidBudget
from discreet.ledger.spend import MAX_UNITS, UNITS, units_down

Neighbours = Literal["add-remove", "replace"]

SENSES: Mapping[Neighbours, int] = {"add-remove": 1, "replace": 2}
"""S: how many times one person's rows count when the table becomes a neighbour."""


@dataclass(frozen=True)
class PureDP:
    """ε-differential privacy for people with at most `max_rows` rows each."""

    epsilon: Fraction
    neighbours: Neighbours
    max_rows: int = 1

    def __str__(self) -> str:
        rows = "row" if self.max_rows == 1 else f"up to {self.max_rows} rows"
        verb = {
            "add-remove": "is added or removed" if self.max_rows == 1 else "are added or removed",
            "replace": "changes" if self.max_rows == 1 else "change",
        }[self.neighbours]
        return f"differential privacy, ε = {self.epsilon}, neighbours: {self.neighbours} (one person's {rows} {verb})"

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "pure",
            "epsilon": str(self.epsilon),
            "neighbours": self.neighbours,
            "max_rows": self.max_rows,
        }

    @classmethod
    def from_json(cls, guarantee: Mapping[str, Any]) -> "PureDP":
        return cls(Fraction(guarantee["epsilon"]), guarantee["neighbours"], guarantee["max_rows"])


Guarantee: TypeAlias = PureDP
"""What a release promises; every currency of a vault adds its own class."""


@dataclass(frozen=True)
class Budget:
    """A total of ε for everything that a vault will ever release. Raises InvalidBudget where that makes no sense."""

    epsilon: Fraction
    neighbours: Neighbours
    max_rows: int = 1

    def __post_init__(self) -> None:
        if self.neighbours not in get_args(Neighbours):
            raise InvalidBudget(f"neighbours is one of {', '.join(get_args(Neighbours))}; it has to be chosen")
        if self.max_rows < 1:
            raise InvalidBudget("a person has at least one row: max_rows is 1 or more")
        if self.epsilon <= 0:
            raise InvalidBudget("ε must be above 0")
        if self.limit > MAX_UNITS:
            most = Fraction(MAX_UNITS * self.factor, UNITS)
            raise InvalidBudget(f"ε is at most {int(most)} here; beyond it nothing is private anyway")
        if self.limit < 1:
            raise InvalidBudget(f"ε is below what the ledger counts; give at least {self.epsilon_of(1)}")

    @property
    def factor(self) -> int:
        """k·S: what one person costs, as a multiple of what one row costs."""
        return self.max_rows * SENSES[self.neighbours]

    @property
    def limit(self) -> int:
        """The most units that may be spent at any point: ⌊UNITS·ε/(k·S)⌋."""
        return units_down(self.epsilon / self.factor)

    def epsilon_of(self, units: int) -> Fraction:
        """The ε that so many units at a point cost one person."""
        return Fraction(units * self.factor, UNITS)

    @property
    def guarantee(self) -> Guarantee:
        """What the vault promises for everything that it releases, together."""
        return PureDP(self.epsilon, self.neighbours, self.max_rows)

    def promise(self, units: int) -> Guarantee:
        """What a release promises by itself that spends at most so many units at any point."""
        return PureDP(self.epsilon_of(units), self.neighbours, self.max_rows)

    def to_json(self) -> dict[str, Any]:
        return {"epsilon": str(self.epsilon), "neighbours": self.neighbours, "max_rows": self.max_rows}

    @classmethod
    def from_json(cls, budget: Mapping[str, Any]) -> "Budget":
        return cls(Fraction(budget["epsilon"]), budget["neighbours"], budget["max_rows"])


def exact_epsilon(value: Fraction | Decimal | int | float | str) -> Fraction:
    """The number that a person means: 0.1 and "0.1" are 1/10. Raises InvalidBudget where it is no finite number > 0."""
    try:
        epsilon = value if isinstance(value, Fraction) else parse_exact(str(value))
    except (ArithmeticError, ValueError):
        raise InvalidBudget("ε must be a finite number above 0, as in 1, 0.5 or 1/3") from None
    if epsilon <= 0:
        raise InvalidBudget("ε must be above 0")
    return epsilon


def parse_exact(text: str) -> Fraction:
    """A number as people write it, exactly. Raises ValueError or ArithmeticError where it is none that is finite."""
    if "/" in text:
        return Fraction(text)
    decimal = Decimal(text)
    # 1e999999999 is a short text, but its digits would fill the memory.
    if not decimal.is_finite() or abs(decimal.adjusted()) > 50:
        raise ValueError
    return Fraction(decimal)
