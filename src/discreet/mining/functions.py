"""All Boolean functions of two attributes that two parties hold. [SuLQ, Section 5]

Pr[α ∧ β] = Pr[α]·Pr[β|α] (Bayes), and every other function is a sum of what follows from it (de Morgan): each of the 16
is linear in 1, Pr[α], Pr[β] and Pr[α ∧ β]. α and β may be any predicates over their parties' columns, so these are also
all functions of f₁(columns of the first) and f₂(columns of the second). Several parties are mined pair by pair: a count
is asked once, and used in all its pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from discreet.errors import PartyError
from discreet.mining.accuracy import AccuracyTerms, worst_of
from discreet.mining.estimate import IntervalEstimate
from discreet.mining.joint import JointShares, joint_of
from discreet.mining.parties import HasParty
from discreet.mining.party import Party, require_same_roster
from discreet.mining.sampling import PILOT, PartyPredicate, asked_of, require_queries, sample_together
from discreet.noise.bits import Bits
from discreet.progress import Progress, silent

FUNCTIONS: dict[str, tuple[int, int, int, int]] = {
    "FALSE": (0, 0, 0, 0),
    "a AND b": (1, 0, 0, 0),
    "a AND NOT b": (0, 1, 0, 0),
    "NOT a AND b": (0, 0, 1, 0),
    "NOT a AND NOT b": (0, 0, 0, 1),
    "a": (1, 1, 0, 0),
    "b": (1, 0, 1, 0),
    "a = b": (1, 0, 0, 1),
    "a <> b": (0, 1, 1, 0),
    "NOT b": (0, 1, 0, 1),
    "NOT a": (0, 0, 1, 1),
    "a OR b": (1, 1, 1, 0),
    "a OR NOT b": (1, 1, 0, 1),
    "NOT a OR b": (1, 0, 1, 1),
    "NOT a OR NOT b": (0, 1, 1, 1),
    "TRUE": (1, 1, 1, 1),
}
"""Each with its values where α and β hold, α alone, β alone, neither."""

LARGEST_SLOPE = 2
"""a = b and a <> b move by twice as much as Pr[α ∧ β] does; no function by more."""


@dataclass(frozen=True)
class Functions:
    """The probability of every Boolean function of a pair, over the roster's people; intervals hold one by one."""

    alpha: str
    beta: str
    people: int
    queries: int
    """Asked of each party."""
    confidence: float
    probabilities: dict[str, IntervalEstimate]
    conditional: IntervalEstimate
    """Pr[β|α]."""
    guarantees: tuple[str, str]
    notes: tuple[str, ...] = ()
    """Where a party answered about something else than its predicate says."""

    def to_json(self) -> dict[str, Any]:
        return {
            **vars(self),
            "probabilities": {name: found.to_json() for name, found in self.probabilities.items()},
            "conditional": self.conditional.to_json(),
            "guarantees": list(self.guarantees),
            "notes": list(self.notes),
        }


def functions(
    *attributes: "tuple[Party | HasParty | str, str]",
    error: float = 0.05,
    confidence: float = 0.95,
    queries: int | None = None,
    progress: Progress = silent,
) -> tuple[Functions, ...]:
    """Every Boolean function of every pair of attributes, each within ±error, or from exactly so many `queries`.

    Each attribute is a party (a vault, or the address of one) and a predicate over its columns.
    """
    asked = [asked_of(attribute) for attribute in attributes]
    if len(asked) < 2:
        raise PartyError("functions are of two attributes or more, each a party and a predicate")
    people = require_same_roster(*(one.party for one in asked))
    count = queries or queries_for_functions(asked, error, confidence)
    if count < PILOT:
        raise PartyError(f"nothing can be told from fewer than {PILOT} queries to each party")
    _require_enough(asked, count, confidence)
    sampled = sample_together(asked, count, Bits(), progress)
    tables = []
    for first, second in combinations(range(len(asked)), 2):
        alpha, beta = asked[first], asked[second]
        joint = joint_of(sampled.sample(first, alpha), sampled.sample(second, beta), sampled.sizes, people, confidence)
        tables.append(
            Functions(
                alpha.predicate,
                beta.predicate,
                people,
                count,
                confidence,
                probabilities_of(joint),
                joint.conditional,
                (alpha.party.guarantee, beta.party.guarantee),
                sampled.notes[first] + sampled.notes[second],
            )
        )
    return tuple(tables)


def queries_for_functions(asked: Sequence[PartyPredicate], error: float, confidence: float) -> int:
    """How many queries to each party give every function of every pair within ±error, whatever the shares."""
    pairs = [terms.queries_for_both(error / LARGEST_SLOPE, confidence) for terms in _pairs(asked)]
    return max(PILOT, *pairs)


def probabilities_of(joint: JointShares) -> dict[str, IntervalEstimate]:
    """The 16 probabilities, each as a linear function of 1, Pr[α], Pr[β] and Pr[α ∧ β]."""
    return {
        name: joint.share(neither, alone - neither, other - neither, both - alone - other + neither)
        for name, (both, alone, other, neither) in FUNCTIONS.items()
    }


def _pairs(asked: Sequence[PartyPredicate]) -> list[AccuracyTerms]:
    return [AccuracyTerms.of(first.party, second.party) for first, second in combinations(asked, 2)]


def _require_enough(asked: Sequence[PartyPredicate], count: int, confidence: float) -> None:
    fits = min(one.party.queries_left // sum(other.party == one.party for other in asked) for one in asked)
    within = LARGEST_SLOPE * worst_of(_pairs(asked), int(min(fits, 2**53)), confidence) if fits >= PILOT else 1.0
    advice = f"{fits:,} for each predicate would give ±{within:.2g}" if within < 1 else "that is too few"
    require_queries(asked, [count] * len(asked), advice)
