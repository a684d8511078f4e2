"""Asking predicates at their parties over the same random subsets."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import PartyError
from discreet.mining.joint import Sample
from discreet.mining.parties import HasParty, party_of
from discreet.mining.party import Counts, Party, noise_variance
from discreet.noise.bits import Bits
from discreet.progress import Progress, silent
from discreet.query.subset import Seeded

RATE = Fraction(1, 2)
"""The best rate: the signal is r(1 − r) times the people who have both, and the noise does not depend on r. joint.md"""
PILOT = 16
"""Subsets in the first batch: enough to know both shares, few enough to lose to a predicate with a slip."""
BATCH = 256
SEED_BITS = 48  # whole in every reader of JSON


@dataclass(frozen=True)
class PartyPredicate:
    """A predicate at the party that holds its columns."""

    party: Party
    predicate: str


def asked_of(attribute: "tuple[Party | HasParty | str, str]") -> PartyPredicate:
    place, predicate = attribute
    return PartyPredicate(party_of(place), predicate)


@dataclass(frozen=True)
class Sampled:
    """Counts of several predicates, each over the same random subsets."""

    counts: tuple[Counts, ...]
    sizes: Counts
    notes: tuple[tuple[str, ...], ...]
    """Of each predicate: where its party answered about something else than it says."""

    def and_then(self, more: "Sampled") -> "Sampled":
        together = zip(self.counts, more.counts, strict=True)
        sizes = np.concatenate([self.sizes, more.sizes])
        return Sampled(tuple(np.concatenate(pair) for pair in together), sizes, more.notes)

    def sample(self, place: int, asked: PartyPredicate) -> Sample:
        return Sample(self.counts[place], noise_variance(asked.party))


def fresh_subsets(count: int, bits: Bits) -> list[Seeded]:
    """Random subsets, each person in each with probability RATE, whatever anybody holds about them."""
    seeds = bits.words(count) >> np.uint64(64 - SEED_BITS)
    return [Seeded(int(seed), RATE) for seed in seeds]


def sample_together(
    asked: Sequence[PartyPredicate], count: int, bits: Bits, progress: Progress = silent, what: str = "asking"
) -> Sampled:
    """Ask every predicate over the same fresh subsets, a batch after the other: `count` queries of each.

    The first batch is a small one: a predicate that its party refuses costs the others no more.
    """
    found = Sampled(tuple(np.empty(0, np.int64) for _ in asked), np.empty(0, np.int64), ((),) * len(asked))
    while len(found.sizes) < count:
        progress(what, len(found.sizes) / count)
        batch = BATCH if found.sizes.size else PILOT
        subsets = fresh_subsets(min(batch, count - len(found.sizes)), bits)
        answers = [one.party.ask_subsets(subsets, one.predicate) for one in asked]
        for answer in answers[1:]:
            if not np.array_equal(answer.sizes, answers[0].sizes):
                raise PartyError("the parties count different people in the same subset; their versions differ")
        counts, notes = tuple(answer.values for answer in answers), tuple(answer.notes for answer in answers)
        found = found.and_then(Sampled(counts, answers[0].sizes, notes))
    progress(what, 1.0)
    return found


def require_queries(asked: Sequence[PartyPredicate], needed: Sequence[int], advice: str) -> None:
    """Raise PartyError unless every party has that many queries left for its predicates, before any is spent."""
    for one in dict.fromkeys(other.party for other in asked):
        wanted = sum(count for other, count in zip(asked, needed, strict=True) if other.party == one)
        left = one.queries_left
        if wanted > left:
            raise PartyError(f"this takes {wanted:,} queries, and {left:,} are left at one party; {advice}")
