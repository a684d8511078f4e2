"""Corruption: what somebody learns of the others in a bucket who knows the values of some of its people.

Let a bucket have S people, and σ fakes among the S + σ values listed for it. Fakes are values that nobody in the bucket
has, each listed once [buckets, Section 6]. So a value that is listed twice or more is no fake; of the u values listed
once, σ are. Whoever knows q people of the bucket strikes their values out, and for one of the S − q others believes

    m / (S − q)                          in a value listed m ≥ 2 times,
    (1 − σ/(u − k)) / (S − q)            in a value listed once, where k of the known people have such a value,

at most 1. The second is largest with the known people among those whose values are listed more than once, as far as
there are such. If all values of a bucket differ, which the seed assumes, that is 1/(S − q + σ), at worst 1/(1 + σ).
Without that assumption fakes dilute nothing of what is listed twice: the first line has no σ.

The second line takes each value listed once to be a fake as likely as any other. Frequencies are public, so somebody
may know better: of a value's listings that stand alone, so many are real. What is stated is the larger of the two.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ListedValues:
    """The values listed for buckets, a line for each pair of a bucket and a value in it."""

    bucket: Integers
    value: Integers
    times: Integers
    people: Integers
    """By bucket: how many people it has."""
    counts: Integers
    """By value: how many people have it."""
    fakes: int = 0

    @classmethod
    def of(
        cls, bucket: Integers, value: Integers, people: Integers, counts: Integers, fakes: int = 0
    ) -> "ListedValues":
        """From the lines of ST, by bucket and then by value, as they are in the file; both are numbered from 0."""
        new = np.concatenate(([True], (np.diff(bucket) != 0) | (np.diff(value) != 0)))
        first = np.flatnonzero(new)
        return cls(bucket[first], value[first], np.diff(first, append=len(bucket)), people, counts, fakes)

    @cached_property
    def real_share(self) -> Numbers:
        """By value: which share of its listings that stand alone are of somebody."""
        once = self.times == 1
        alone = np.bincount(self.value[once], minlength=len(self.counts))
        together = np.bincount(self.value[~once], weights=self.times[~once], minlength=len(self.counts))
        return np.clip((self.counts - together) / np.maximum(alone, 1), 0, 1)

    @cached_property
    def expected(self) -> Numbers:
        """For each line, how many of the bucket's people have the value, on average: together they are all of them."""
        weights = np.where(self.times == 1, self.real_share[self.value], self.times)
        total = np.bincount(self.bucket, weights=weights, minlength=len(self.people))
        return np.asarray(weights * (self.people / np.maximum(total, 1e-300))[self.bucket])

    def belief(self, known: int) -> Numbers:
        """For each line, how much somebody believes at most in the value for a person of the bucket, who knows up to
        `known` of the others."""
        once = self.times == 1
        buckets = len(self.people)
        listed_once = np.bincount(self.bucket[once], minlength=buckets)
        in_plain_sight = np.bincount(self.bucket[~once], weights=self.times[~once], minlength=buckets)
        known_here = np.minimum(known, self.people - 1)
        others = self.people - known_here
        known_once = np.clip(known_here - in_plain_sight, 0, None)
        real = 1 - self.fakes / np.maximum(listed_once - known_once, 1)
        likely = np.maximum(np.clip(real, 0, 1)[self.bucket], self.real_share[self.value])
        share = np.where(once, likely, self.times)
        return np.minimum(1, share / others[self.bucket])


@dataclass(frozen=True)
class Corruption:
    """What knowing up to `known` people of a bucket brings at worst, over all buckets and values."""

    known: int
    most: float
    """The strongest belief in any value for somebody else."""
    if_distinct: float
    """The same where all values of a bucket differ, as the seed assumes: 1/(S − q + σ) in the smallest bucket."""
    above: int
    """Pairs of a bucket and a value for which the belief passes the value's limit …"""
    pairs: int
    """… of so many."""


def corruption(listed: ListedValues, limits: tuple[Fraction, ...], known: int) -> Corruption:
    """What somebody gains who knows the values of `known` people in a bucket."""
    belief = listed.belief(known)
    allowed = np.array([float(limit) for limit in limits])[listed.value]
    smallest = int(listed.people.min())
    return Corruption(
        known=known,
        most=float(belief.max(initial=0.0)),
        if_distinct=1 / (max(smallest - known, 1) + listed.fakes),
        above=int((belief > allowed * (1 + 1e-12)).sum()),
        pairs=len(belief),
    )
