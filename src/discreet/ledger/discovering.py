"""What finding values costs, before anything is asked: a part of ε or μ², and a part of δ.

A vault of (ε, δ) parts both when it is made. With δ′ = δ − δ_s it keeps, for all that is asked later, the μ² that
implies (ε − ε_s, δ′). Values are found by mechanisms that, but for a probability of δ_s in all, lose either at most ε_s
together, or are μ_s-GDP together, where μ² + μ_s² implies (ε, δ′). Both ways everything is (ε, δ)-differentially
private: docs/explain/discovery.md has the proof.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from discreet.exact import equals_text, parse_exact
from discreet.ledger.gaussian_conversion import epsilon_for_mu

HALF = Fraction(1, 2)
"""The part of δ that goes into finding values where nothing is said: what it decides grows with its logarithm."""


@dataclass(frozen=True)
class Discovering:
    """What all values that were found cost a person together: ε, μ², and with which probability more than that."""

    epsilon: Fraction = Fraction(0)
    mu_squared: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __bool__(self) -> bool:
        return self.delta > 0

    def __add__(self, other: "Discovering") -> "Discovering":
        return Discovering(self.epsilon + other.epsilon, self.mu_squared + other.mu_squared, self.delta + other.delta)

    def with_later(self, mu_squared: Fraction, delta: Fraction, finest: int) -> Fraction:
        """An ε for which everything is (ε, δ)-private where this much is spent later."""
        return self.epsilon + epsilon_for_mu(mu_squared + self.mu_squared, delta - self.delta, finest)

    def __str__(self) -> str:
        found = f"ε {equals_text(self.epsilon)}" if self.epsilon else f"μ² {equals_text(self.mu_squared)}"
        return f"{found} and δ = {float(self.delta):g}"

    def to_json(self) -> dict[str, str]:
        return {"epsilon": str(self.epsilon), "mu_squared": str(self.mu_squared), "delta": str(self.delta)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Self:
        return cls(*(parse_exact(body[key]) for key in ("epsilon", "mu_squared", "delta")))


NOTHING_FOUND = Discovering()
