"""How many queries an accuracy takes, before any is spent. joint.md has the variances."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import PartyError
from discreet.mining.estimate import deviations
from discreet.mining.party import Party, noise_variance, require_same_roster
from discreet.mining.sampling import RATE

Shares = tuple[float, float]
"""Pr[α] and Pr[β]."""

EVEN: Shares = (0.5, 0.5)
"""What is taken where nothing is known."""


@dataclass(frozen=True)
class AccuracyTerms:
    """What the accuracy of two parties depends on; all of it public."""

    people: int
    noise_alpha: float
    noise_beta: float

    @classmethod
    def of(cls, alpha: Party, beta: Party) -> "AccuracyTerms":
        return cls(require_same_roster(alpha, beta), noise_variance(alpha), noise_variance(beta))

    @property
    def spread(self) -> float:
        """r(1 − r)·n: what a subset's count varies by, per unit of an attribute's variance."""
        return float(RATE * (1 - RATE)) * self.people

    def variances(self, shares: Shares) -> tuple[float, float]:
        """Of one count of α and one of β, given the subset's size."""
        alpha, beta = shares
        return (
            self.spread * alpha * (1 - alpha) + self.noise_alpha,
            self.spread * beta * (1 - beta) + self.noise_beta,
        )

    def deviation(self, shares: Shares) -> float:
        """The standard deviation of Pr[αβ] from one subset; that from t subsets is 1/√t of it."""
        return math.sqrt(math.prod(self.variances(shares))) / self.spread

    def queries_for_both(self, error: float, confidence: float, shares: Shares = EVEN) -> int:
        """How many subsets give Pr[αβ] within ±error."""
        return 1 + math.ceil((deviations(confidence) * self.deviation(shares) / require_error(error)) ** 2)

    def error_of_both(self, queries: int, confidence: float, shares: Shares = EVEN) -> float:
        """Within what Pr[αβ] is known after so many subsets."""
        return deviations(confidence) * self.deviation(shares) / math.sqrt(max(queries - 1, 1))

    def queries_for_gap(self, error: float, confidence: float, shares: Shares = EVEN) -> int:
        """How many subsets give Δ = Pr[β|α] − Pr[β] within ±error."""
        return self.queries_for_both(require_error(error) * require_share(shares[0]), confidence, shares)

    def error_of_gap(self, queries: int, confidence: float, shares: Shares = EVEN) -> float:
        """Within what Δ is known after so many subsets."""
        return self.error_of_both(queries, confidence, shares) / require_share(shares[0])


def worst_of(pairs: Sequence[AccuracyTerms], queries: int, confidence: float) -> float:
    """Within what Pr[αβ] is known for every pair of several parties after so many subsets."""
    return max(terms.error_of_both(queries, confidence) for terms in pairs)


def require_share(share: float) -> float:
    if not 0 < share <= 1:
        raise PartyError("hardly anybody has α, so that what it implies cannot be told; ask for a wider predicate")
    return share


def require_error(error: float) -> float:
    if not 0 < error < 1:
        raise PartyError("an error is a difference of probabilities between 0 and 1, as in 0.05")
    return error
