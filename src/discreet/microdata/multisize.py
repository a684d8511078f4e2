"""Many sizes by recursion: each part of the best two sizes is divided again while that lessens the loss.

That is the seed's Algorithm 2. What a part got early it keeps, good or bad. So, beyond the seed, the first division is
tried with every least size; then three sizes at a time are thrown together and divided afresh, where that gains.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import SupportsIndex

import numpy as np

from discreet.microdata.demand import Demand, Integers
from discreet.microdata.limits import Limits, Number
from discreet.microdata.pairs import FULL_PRUNING, divide_records, search_pairs
from discreet.microdata.settings import LARGEST_PAIRED, Setting, best_two_sizes, size_range, unmet
from discreet.native import kernel

TOGETHER = 3
"""Sizes thrown together at a time. Two find little: they came of one best pair."""

LEAST_GAIN = 0.001
"""The share of the loss that an exchange must gain to be worth it."""

MOST_TRIES = 600
EFFORT = 25_000_000
"""Exchanges to try, times values, times pairs of sizes: a tenth or two of a second. Three times as many gain 1%."""


@dataclass(frozen=True, eq=False)
class Division:
    """Buckets by size, and records by size and value: line S is for buckets of size S."""

    buckets: Integers
    records: Integers

    @property
    def loss(self) -> int:
        return int(self.losses.sum())

    @property
    def losses(self) -> Integers:
        """The loss by size."""
        sizes = np.arange(len(self.buckets))
        return self.buckets * (sizes - 1) ** 2

    def exchanged(self, sizes: list[int], other: "Division") -> "Division":
        """This division with its buckets of some sizes replaced by another division of their records."""
        kept = np.ones(len(self.buckets), np.int64)
        kept[sizes] = 0
        return Division(self.buckets * kept + other.buckets, self.records * kept[:, None] + other.records)

    def setting(self) -> Setting:
        sizes = np.flatnonzero(self.buckets).tolist()
        parts = tuple(tuple(self.records[size].tolist()) for size in sizes)
        return Setting(tuple((size, int(self.buckets[size])) for size in sizes), parts)


def multi_size_setting(
    counts: Sequence[SupportsIndex],
    limits: Limits | Sequence[Number],
    min_size: int | None = None,
    max_size: int = 50,
    *,
    values: Sequence[str] | None = None,
    exchange: bool = True,
) -> Setting:
    """A valid setting with any number of sizes, its loss at most that of the best two [buckets, Algorithm 2].

    A heuristic: `optimal_setting` has the least loss, where it can be computed. Without `exchange` it is the seed's
    alone. Raises InvalidLimits as `two_size_setting` does.
    """
    demand = Demand.of(counts, limits, values)
    smallest, largest = size_range(demand, min_size, max_size)
    caps = demand.caps(min(largest, LARGEST_PAIRED))
    best = best_two_sizes(demand, caps, smallest, largest)
    if best is None:
        raise unmet(demand, smallest, largest)
    if smallest == largest or best.sizes[-1][0] > LARGEST_PAIRED:
        return best
    largest = min(largest, LARGEST_PAIRED)
    whole = np.array(demand.counts, np.int64)
    tries = min(MOST_TRIES, EFFORT // (len(whole) * largest**2)) if exchange else 0
    starts = range(smallest, min(largest, smallest + 1 + tries))
    divisions = [Division(*_divide(whole, caps, smallest, largest, least)) for least in starts]
    division = min((found for found in divisions if found.buckets.any()), key=lambda found: found.loss)
    while tries > 0:
        tries, better = _exchange(division, caps, smallest, largest, tries)
        if better is None:
            break
        division = better
    return division.setting()


def _exchange(
    division: Division, caps: Integers, smallest: int, largest: int, tries: int
) -> tuple[int, Division | None]:
    """The tries that are left, and the first better division found by dividing a few sizes afresh, or None."""
    losses = division.losses
    wanted = LEAST_GAIN * division.loss
    for sizes in _groups(division):
        before = int(losses[sizes].sum())
        if tries == 0 or before < wanted:
            break
        tries -= 1
        afresh = Division(*_divide(division.records[sizes].sum(axis=0), caps, smallest, largest, smallest))
        if afresh.buckets.any() and before - afresh.loss > wanted:
            return tries, division.exchanged(sizes, afresh)
    return tries, None


def _groups(division: Division) -> Iterator[list[int]]:
    """A few sizes at a time, those with the most loss first."""
    sizes = np.flatnonzero(division.buckets).tolist()
    losses = division.losses.tolist()
    groups = combinations(sizes, min(TOGETHER, len(sizes)))
    yield from map(list, sorted(groups, key=lambda group: -sum(losses[size] for size in group)))


@kernel
def _divide(counts: Integers, caps: Integers, smallest: int, largest: int, least: int) -> tuple[Integers, Integers]:
    """Buckets by size, and records by size and value; no buckets where no two sizes keep the limits.

    The first division has sizes from `least`, later ones from `smallest`. Requires smallest ≤ least < largest."""
    buckets = np.zeros(largest + 1, np.int64)
    records = np.zeros((largest + 1, len(counts)), np.int64)
    parts = [(0, counts)]
    while len(parts) > 0:
        size, part = parts.pop()
        total = part.sum()
        loss = total // size * (size - 1) ** 2 if size else total * largest**2
        best = np.array([loss])
        small, b1, large, b2 = search_pairs(part, caps, smallest if size else least, largest, best, FULL_PRUNING)
        if small:
            first, second = divide_records(part, caps, small, b1, large, b2)
            if b1:
                parts.append((small, first))
            if b2:
                parts.append((large, second))
        elif size:
            buckets[size] += total // size
            records[size] += part
    return buckets, records
