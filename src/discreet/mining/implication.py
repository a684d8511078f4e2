"""Does α, which one party knows, make β likelier, which another knows? Pr[β|α] = Pr[β] + Δ, without a join.

`regression` reads the slope of β's counts on α's over common random subsets, with errors in both (joint.md); `paper` is
the seed's test on heavy sets with binary search (heavy.py), far dearer at the same accuracy.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from discreet.errors import PartyError
from discreet.mining.accuracy import EVEN, AccuracyTerms, Shares, require_error
from discreet.mining.estimate import IntervalEstimate, deviations
from discreet.mining.heavy import Search, search
from discreet.mining.joint import JointShares, joint_of
from discreet.mining.parties import HasParty
from discreet.mining.party import Party
from discreet.mining.sampling import PILOT, PartyPredicate, Sampled, asked_of, require_queries, sample_together
from discreet.noise.bits import Bits
from discreet.progress import Progress, silent

Method = Literal["regression", "paper"]


@dataclass(frozen=True)
class Needed:
    """What an accuracy takes of each party; for the paper's method α's is an average."""

    method: Method
    queries_alpha: int
    queries_beta: int
    error: float
    confidence: float
    shares: Shares

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "shares": list(self.shares)}


@dataclass(frozen=True)
class Implication:
    """How α and β hang together, with what it took. Shares are of the roster's people; intervals hold one by one."""

    alpha: str
    beta: str
    people: int
    method: Method
    confidence: float
    share_alpha: IntervalEstimate
    share_beta: IntervalEstimate
    gap: IntervalEstimate
    """Δ = Pr[β|α] − Pr[β]."""
    conditional: IntervalEstimate
    """Pr[β|α]."""
    queries_alpha: int
    queries_beta: int
    guarantees: tuple[str, str]
    notes: tuple[str, ...] = ()
    """Where a party answered about something else than its predicate says."""

    def to_json(self) -> dict[str, Any]:
        numbers = ("share_alpha", "share_beta", "gap", "conditional")
        return {
            **vars(self),
            **{name: getattr(self, name).to_json() for name in numbers},
            "guarantees": list(self.guarantees),
            "notes": list(self.notes),
        }


def queries_needed(
    alpha: Party,
    beta: Party,
    *,
    error: float = 0.05,
    confidence: float = 0.95,
    method: Method = "regression",
    shares: Shares = EVEN,
) -> Needed:
    """How many queries Δ within ±error takes, if these are the shares of α and β. Spends nothing."""
    terms = AccuracyTerms.of(alpha, beta)
    deviations(confidence)
    require_error(error)
    if method == "paper":
        found = Search(terms, shares, error, confidence)
        return Needed(method, found.queries_alpha, found.queries_beta, error, confidence, shares)
    if method != "regression":
        raise PartyError(f"the methods are {' and '.join(get_args(Method))}, not {method}")
    queries = max(terms.queries_for_gap(error, confidence, shares), PILOT)
    return Needed(method, queries, queries, error, confidence, shares)


def implication(
    alpha: "tuple[Party | HasParty | str, str]",
    beta: "tuple[Party | HasParty | str, str]",
    *,
    error: float = 0.05,
    confidence: float = 0.95,
    method: Method = "regression",
    queries: int | None = None,
    progress: Progress = silent,
) -> Implication:
    """How much likelier β is with α: Δ within ±error, or from exactly so many `queries` to each party.

    Each side is a party (a vault, or the address of one) and a predicate over its columns. A first batch of 16 subsets
    tells both shares, and with them how many queries the error takes; where a party has fewer left, the rest is refused
    with the accuracy that would fit.
    """
    first, second = asked_of(alpha), asked_of(beta)
    bits = Bits()
    plan = queries_needed(first.party, second.party, error=error, confidence=confidence, method=method)
    if queries is not None:
        _require_sample(queries, method)
        require_queries([first, second], [queries, queries], "ask with fewer --queries")
    else:
        _require_enough(plan, first, second)
    pilot = sample_together([first, second], PILOT, bits)
    known = _joint(pilot, first, second, confidence)
    if method == "paper":
        return _by_search(pilot, first, second, plan, bits, progress)
    rest = (queries or _queries_by(known, first, second, error)) - PILOT
    sampled = pilot.and_then(sample_together([first, second], rest, bits, progress)) if rest > 0 else pilot
    return _told(sampled, first, second, confidence)


def _require_sample(queries: int, method: Method) -> None:
    if method != "regression":
        raise PartyError("the paper's method takes as many queries as it needs; give it an error instead")
    if queries < PILOT:
        raise PartyError(f"nothing can be told from fewer than {PILOT} queries to each party")


def _queries_by(known: JointShares, alpha: PartyPredicate, beta: PartyPredicate, error: float) -> int:
    """How many queries the error takes, now that the shares are known; refused where a party has too few."""
    plan = queries_needed(alpha.party, beta.party, error=error, confidence=known.confidence, shares=_shares(known))
    rest = plan.queries_alpha - PILOT
    _require_enough(replace(plan, queries_alpha=rest, queries_beta=rest), alpha, beta)
    return plan.queries_alpha


def _require_enough(plan: Needed, alpha: PartyPredicate, beta: PartyPredicate) -> None:
    fits = min(alpha.party.queries_left, beta.party.queries_left) // (2 if alpha.party == beta.party else 1)
    terms = AccuracyTerms.of(alpha.party, beta.party)
    within = terms.error_of_gap(fits, plan.confidence, plan.shares) if fits >= PILOT else 1.0
    advice = f"by regression, {fits:,} would give ±{within:.2g}" if within < 1 else "that is too few to learn anything"
    require_queries([alpha, beta], [plan.queries_alpha, plan.queries_beta], advice)


def _by_search(
    first_sets: Sampled, alpha: PartyPredicate, beta: PartyPredicate, wanted: Needed, bits: Bits, progress: Progress
) -> Implication:
    """The seed's search, once a longer pilot has told the shares well enough for it."""
    terms, error, confidence = AccuracyTerms.of(alpha.party, beta.party), wanted.error, wanted.confidence
    plan = Search(terms, _shares(_joint(first_sets, alpha, beta, confidence)), error, confidence)
    _require_enough(
        Needed("paper", plan.queries_alpha - PILOT, plan.queries_beta - PILOT, error, confidence, plan.shares),
        alpha,
        beta,
    )
    pilot = first_sets.and_then(sample_together([alpha, beta], plan.pilot - PILOT, bits, progress, "finding shares"))
    told = _told(pilot, alpha, beta, confidence)
    plan = replace(plan, shares=(told.share_alpha.value, told.share_beta.value))
    gap, heavy_queries = search(plan, alpha, beta, bits, progress)
    share = told.share_beta.value
    return replace(
        told,
        method="paper",
        gap=gap,
        conditional=IntervalEstimate(share + gap.value, share + gap.low, share + gap.high).clipped(0, 1),
        queries_alpha=told.queries_alpha + heavy_queries,
        queries_beta=told.queries_beta + plan.steps * plan.tests,
    )


def _shares(known: JointShares) -> Shares:
    return min(max(known.alpha, 0.0), 1.0), min(max(known.beta, 0.0), 1.0)


def _joint(sampled: Sampled, alpha: PartyPredicate, beta: PartyPredicate, confidence: float) -> JointShares:
    return joint_of(sampled.sample(0, alpha), sampled.sample(1, beta), sampled.sizes, alpha.party.people, confidence)


def _told(sampled: Sampled, alpha: PartyPredicate, beta: PartyPredicate, confidence: float) -> Implication:
    known = _joint(sampled, alpha, beta, confidence)
    return Implication(
        alpha=alpha.predicate,
        beta=beta.predicate,
        people=alpha.party.people,
        method="regression",
        confidence=known.confidence,
        share_alpha=known.share(0, 1, 0, 0),
        share_beta=known.share(0, 0, 1, 0),
        gap=known.gap,
        conditional=known.conditional,
        queries_alpha=len(sampled.sizes),
        queries_beta=len(sampled.sizes),
        guarantees=(alpha.party.guarantee, beta.party.guarantee),
        notes=sum(sampled.notes, ()),
    )
