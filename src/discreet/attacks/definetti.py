"""The deFinetti attack on buckets: a learner fits all buckets at once, and guesses each person's value."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.microdata.buckets import Buckets
from discreet.microdata.measure import MOST_CODES
from discreet.microdata.posterior import ROUNDS, learn_beliefs

MOST_PEOPLE = 500_000
"""People to learn from: those of the first buckets, whose numbers were drawn by lot."""


@dataclass(frozen=True, eq=False)
class DeFinettiAttack:
    """What a learner believes of people, beside what one bucket shows. Beliefs: nobody here knows the truth."""

    people: int
    blind: float
    """The mean of people's largest belief, from one bucket …"""
    learnt: float
    """… and after learning from all."""
    above: int
    """People of whom a belief passes the value's limit."""
    most: float
    """The largest belief as a multiple of its limit."""
    ratios: Any
    blind_ratios: Any

    @property
    def warns(self) -> bool:
        return self.above > 0

    def to_json(self) -> dict[str, Any]:
        kept = ("people", "blind", "learnt", "above", "most")
        return {"kind": "definetti", **{name: getattr(self, name) for name in kept}}

    def plot(self, path: str | Path) -> None:
        """Draw how many people have a largest belief of how much of its limit, before and after learning."""
        from discreet.picture.curves import histogram_picture
        from discreet.picture.save import save_picture

        picture = histogram_picture(
            {"from one bucket": self.blind_ratios, "after learning": self.ratios},
            "deFinetti",
            "naive Bayes, fitted to all buckets; beyond 1 a limit is passed",
            "largest belief, in multiples of its limit",
        )
        save_picture(picture, path)


def attack_by_learning(buckets: Buckets, rounds: int = ROUNDS) -> DeFinettiAttack:
    """Fit how quasi-identifiers go with values, from the published tables alone, and weigh each bucket by it."""
    ends = np.cumsum(buckets.size_of)
    last = max(1, int(np.searchsorted(ends, MOST_PEOPLE, side="right")))
    size_of, people = buckets.size_of[:last], int(ends[last - 1])
    names = [name for name in buckets.columns if buckets.domain[name].size <= MOST_CODES]
    codes = [np.ascontiguousarray(buckets.codes(name)[:people]) for name in names]
    sizes = [buckets.domain[name].size for name in names]
    bucket, value = buckets.listing
    listing = (value[bucket < last], size_of + buckets.fakes)
    limits = np.array([float(limit) for limit in buckets.limits])
    blind = learn_beliefs([], [], size_of, listing, limits, buckets.fakes, rounds=0)
    learnt = learn_beliefs(codes, sizes, size_of, listing, limits, buckets.fakes, rounds)
    return DeFinettiAttack(
        people=people,
        blind=float(blind.strength.mean()),
        learnt=float(learnt.strength.mean()),
        above=int((learnt.over_limit > 1 + 1e-9).sum()),
        most=float(learnt.over_limit.max()),
        ratios=learnt.over_limit,
        blind_ratios=blind.over_limit,
    )
