"""Settings: how many buckets of which sizes, and which records go to which size. One size and two sizes, at best.

A table of n records in buckets of size S is valid if and only if every value has at most ⌊f'·S⌋ records for each
bucket [buckets, Lemma 2]; two sizes, if the records can be divided so that each part is [Lemma 3, Theorem 3].
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, SupportsIndex

import numpy as np

from discreet.errors import InvalidLimits
from discreet.microdata.demand import Demand, Integers
from discreet.microdata.limits import Limits, Number
from discreet.microdata.pairs import FULL_PRUNING, LOSS_PRUNING, NO_PRUNING, divide_records, search_pairs

Pruning = Literal["full", "loss", "none"]
PRUNINGS = {"full": FULL_PRUNING, "loss": LOSS_PRUNING, "none": NO_PRUNING}

PARTS = 2**20
"""Of prices, to one of the loss."""

LARGEST_PAIRED = 1024
"""Larger buckets tell next to nothing, and pairs of sizes grow with the square. Beyond it all buckets are of one size,
which some limits need: those that are the values' frequencies [buckets, Lemma 1]."""


@dataclass(frozen=True)
class Proof:
    """What a record of each value costs, in PARTS to one of the loss.

    No bucket of these sizes that keeps the limits holds records for more than it loses: so all settings lose at least
    what all records cost (`prices.py`)."""

    sizes: tuple[int, int]
    prices: tuple[int, ...]


@dataclass(frozen=True)
class Setting:
    """Buckets (S1, b1), (S2, b2), …, sizes rising, b buckets of size S each; parts[j][i] records of value i go to the
    buckets of size j. Requires that the parts fill the buckets."""

    sizes: tuple[tuple[int, int], ...]
    parts: tuple[tuple[int, ...], ...]
    least: int = 0
    """A loss that no setting of the sizes asked for is below, as far as is known."""
    proof: Proof | None = None
    """Of such a loss; of all that `least` is where no integer program has a say."""

    @property
    def loss(self) -> int:
        """The information loss: the sum of (size − 1)² over all buckets [buckets, Definition 3]."""
        return sum(buckets * (size - 1) ** 2 for size, buckets in self.sizes)

    @property
    def mse(self) -> float:
        """The mean squared error: the loss over the number of records less one [buckets, Definition 3]."""
        return self.loss / max(1, self.total - 1)

    @property
    def total(self) -> int:
        """How many records the buckets hold."""
        return sum(size * buckets for size, buckets in self.sizes)

    @property
    def buckets(self) -> int:
        return sum(buckets for _, buckets in self.sizes)

    @property
    def counts(self) -> tuple[int, ...]:
        """How many records each value has, in all sizes."""
        return tuple(map(sum, zip(*self.parts, strict=True)))


def one_size_setting(
    counts: Sequence[SupportsIndex],
    limits: Limits | Sequence[Number],
    min_size: int | None = None,
    max_size: int = 50,
    *,
    values: Sequence[str] | None = None,
) -> Setting:
    """The smallest size that keeps the limits with all buckets alike [buckets, Lemma 2]: that has the least loss."""
    demand = Demand.of(counts, limits, values)
    smallest, largest = size_range(demand, min_size, max_size)
    size = _one_size(demand, smallest, largest)
    if not size:
        raise InvalidLimits(
            f"no one size from {smallest} to {largest} divides {demand.total} records and keeps the limits; allow two"
        )
    return Setting(((size, demand.total // size),), (demand.counts,))


def two_size_setting(
    counts: Sequence[SupportsIndex],
    limits: Limits | Sequence[Number],
    min_size: int | None = None,
    max_size: int = 50,
    *,
    values: Sequence[str] | None = None,
    pruning: Pruning = "full",
) -> Setting:
    """The valid setting of the least loss with at most two sizes from `min_size` to `max_size` [buckets, Algorithm 1];
    of sizes beyond 1,024, with one.

    `limits` are Limits, or one number for each count. `pruning` changes the time, not the loss. Raises InvalidLimits
    where the limits cannot be kept, and says by which value, and which size would do.
    """
    demand = Demand.of(counts, limits, values)
    smallest, largest = size_range(demand, min_size, max_size)
    setting = best_two_sizes(demand, demand.caps(min(largest, LARGEST_PAIRED)), smallest, largest, pruning)
    if setting is None:
        raise unmet(demand, smallest, largest)
    return setting


def best_two_sizes(
    demand: Demand, caps: Integers, smallest: int, largest: int, pruning: Pruning = "full"
) -> Setting | None:
    """The best of at most two sizes, or None. `caps` are the demand's, for all sizes that are paired."""
    counts = np.array(demand.counts, np.int64)
    # One size is a pair with none of the other: looking for it first is cheap, and the loss it has prunes the rest.
    size = _one_size(demand, smallest, largest)
    paired = min(largest, LARGEST_PAIRED)
    loss = demand.total // size * (size - 1) ** 2 if size else demand.total * paired**2
    best = np.array([loss], np.int64)
    small, b1, large, b2 = search_pairs(counts, caps, smallest, paired, best, PRUNINGS[pruning])
    if small:
        first, second = divide_records(counts, caps, small, b1, large, b2)
        pairs = ((small, b1, first), (large, b2, second))
        used = [(size, buckets, tuple(part.tolist())) for size, buckets, part in pairs if buckets]
        return Setting(tuple((size, buckets) for size, buckets, _ in used), tuple(part for _, _, part in used))
    return Setting(((size, demand.total // size),), (demand.counts,)) if size else None


def size_range(demand: Demand, min_size: int | None, max_size: int) -> tuple[int, int]:
    """The sizes worth looking at. Raises InvalidLimits where there are none."""
    least = 1 if min_size is None else min_size
    if not 1 <= least <= max_size:
        raise InvalidLimits("bucket sizes are 1 or more, and min_size is at most max_size")
    if least > demand.total:
        raise InvalidLimits(f"there are {demand.total} records, too few for a bucket of {least}; lower min_size")
    smallest, largest = max(demand.smallest_size, least), min(max_size, demand.total)
    if smallest > largest:
        raise unmet(demand, smallest, largest)
    return smallest, largest


def _one_size(demand: Demand, smallest: int, largest: int) -> int:
    """The smallest size that is valid alone, or 0."""
    total = demand.total
    small = [size for size in range(1, math.isqrt(total) + 1) if total % size == 0]
    for size in sorted({*small, *(total // size for size in small)}):
        buckets = total // size
        if smallest <= size <= largest and all(
            count <= limit.numerator * size // limit.denominator * buckets
            for count, limit in zip(demand.counts, demand.limits, strict=True)
        ):
            return size
    return 0


def unmet(demand: Demand, smallest: int, largest: int) -> InvalidLimits:
    """Why no setting within the sizes keeps the limits: which values none of them suits, and a max size that would do.

    A size suits a value if its buckets can hold the value as often as the table does, o/n ≤ ⌊f'·S⌋/S.
    """
    # A table of every size and value: with very many values, fewer sizes.
    last = min(LARGEST_PAIRED, demand.total, max(largest, 2**24 // len(demand.counts)))
    caps, sizes = demand.caps(last), np.arange(last + 1)
    suits = caps * demand.total >= np.array(demand.counts) * sizes[:, None]
    offenders = np.flatnonzero(~suits[smallest : largest + 1].any(axis=0))
    # One more line, which suits all, stands for sizes that are not looked at.
    later = np.vstack([suits[largest + 1 :, offenders], np.ones((1, len(offenders)), bool)])
    needs = largest + 1 + later.argmax(axis=0)
    worst = np.argsort(-needs, kind="stable")[:3]
    reasons = [
        f"{demand.words(offenders[line])} needs buckets of {_at_least(needs[line], max(last, largest))}"
        for line in worst
    ]
    if len(offenders) > len(worst):
        reasons.append(f"{len(offenders) - len(worst)} more values need more than {largest}")
    why = "; ".join(reasons) or "each of them can be kept, but not all together"
    # All records in one bucket keep every limit that is not below its value's frequency [buckets, Lemma 1].
    enough = _enough(demand, caps, smallest, max(needs.max(initial=0), largest + 1)) or _one_size(
        demand, largest + 1, demand.total
    )
    return InvalidLimits(
        f"no buckets of at most {largest} records keep the limits: {why}; a max size of {enough} would do"
    )


def _at_least(size: int, last: int) -> str:
    return f"{size} or more" if size <= last else f"more than {last}"


def _enough(demand: Demand, caps: Integers, smallest: int, start: int) -> int:
    """The smallest max size with a setting, from `start` to the last of the caps, or 0."""

    def works(largest: int) -> bool:
        return best_two_sizes(demand, caps, min(smallest, largest), largest) is not None

    low, high = start, len(caps) - 1
    if low > high or not works(high):
        return 0
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle + 1, high)
    return low
