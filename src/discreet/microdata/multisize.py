"""Many sizes: by recursion, which is the seed's Algorithm 2, and beyond it by rounding a linear program.

The recursion divides each part of the best two sizes again while that lessens the loss. What a part got early it keeps,
good or bad: on small tables it loses up to a quarter more than the least. So, where its loss is not proved to be near
the least, the program without whole numbers is rounded (`rounding.py`).
"""

from collections.abc import Sequence
from typing import SupportsIndex

import numpy as np

from discreet.microdata.demand import Demand, Integers
from discreet.microdata.limits import Limits, Number
from discreet.microdata.pairs import FULL_PRUNING, divide_records, search_pairs
from discreet.microdata.settings import LARGEST_PAIRED, Setting, best_two_sizes, size_range, unmet
from discreet.native import kernel

NEAR = 1.02
"""The loss, to the least, that rounding aims at."""

MAX_CELLS = 20_000
"""Values times sizes of the program. Without whole numbers it takes 0.05 s for 50 × 50."""


def multi_size_setting(
    counts: Sequence[SupportsIndex],
    limits: Limits | Sequence[Number],
    min_size: int | None = None,
    max_size: int = 50,
    *,
    values: Sequence[str] | None = None,
    rounds: bool = True,
) -> Setting:
    """A valid setting with any number of sizes, its loss at most that of the best two [buckets, Algorithm 2].

    Mostly within a few hundredths of the least loss; how far, at most, its `least` says. Without `rounds` it is the
    seed's recursion alone, as it is where values times sizes are more than `MAX_CELLS`. Raises InvalidLimits as
    `two_size_setting` does.
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
    divided = _setting(*_divide(np.array(demand.counts, np.int64), caps, smallest, largest))
    if not rounds or len(demand.counts) * (largest - smallest + 1) > MAX_CELLS:
        return divided
    from discreet.microdata.program import Program  # a solver takes long to import
    from discreet.microdata.rounding import rounded_setting

    return rounded_setting(Program.of(demand, smallest, largest), divided, NEAR) or divided


def _setting(buckets: Integers, records: Integers) -> Setting:
    """Of buckets by size, and records by size and value."""
    sizes = np.flatnonzero(buckets).tolist()
    return Setting(
        tuple((size, int(buckets[size])) for size in sizes), tuple(tuple(records[size].tolist()) for size in sizes)
    )


@kernel
def _divide(counts: Integers, caps: Integers, smallest: int, largest: int) -> tuple[Integers, Integers]:
    """Buckets by size, and records by size and value. Requires that two sizes keep the limits."""
    buckets = np.zeros(largest + 1, np.int64)
    records = np.zeros((largest + 1, len(counts)), np.int64)
    parts = [(0, counts)]
    while len(parts) > 0:
        size, part = parts.pop()
        total = part.sum()
        loss = total // size * (size - 1) ** 2 if size else total * largest**2
        best = np.array([loss])
        small, b1, large, b2 = search_pairs(part, caps, smallest, largest, best, FULL_PRUNING)
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
