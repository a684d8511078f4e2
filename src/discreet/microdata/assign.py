"""Assignment: the bucket of each record, from counts alone.

Records are known by their sensitive value and their rank among those with the same value. The first records of a value
go to the smallest size, and so on, as the setting divides them; within a size, value after value is dealt round-robin
over the buckets [buckets, Sections 4.1 and 4.3]. So a value's records in a bucket are ⌊o/b⌋ or ⌈o/b⌉ of the o that the
size's b buckets hold, which keeps the limits [Lemma 2], and every bucket is full.

A run is a stretch of ranks that is dealt to one size: the record of rank r goes to bucket
first_bucket + (first_slot + r − first_rank) mod buckets. There are at most as many runs as values times sizes, whatever
the number of records, so an engine can do that sum itself. The ranks must be random, and the bucket numbers shuffled
before they are published: both are telling.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.microdata.demand import Integers
from discreet.microdata.settings import Setting
from discreet.native import kernel


@dataclass(frozen=True, eq=False)
class Assignment:
    """Runs, by value and rank, each as one line of six columns; values are places in the setting's counts."""

    value: Integers
    first_rank: Integers
    length: Integers
    first_slot: Integers
    first_bucket: Integers
    buckets: Integers

    @property
    def total(self) -> int:
        """How many records are assigned."""
        return int(self.length.sum())

    def bucket_of(self, value: int, rank: int) -> int:
        """The bucket of one record. Requires a rank below the value's count; ranks start at 0."""
        run = np.flatnonzero((self.value == value) & (self.first_rank <= rank))[-1]
        slot = int(self.first_slot[run]) + rank - int(self.first_rank[run])
        return int(self.first_bucket[run]) + slot % int(self.buckets[run])

    def all_buckets(self) -> NDArray[np.int32]:
        """The bucket of every record, value by value and by rank within a value."""
        numbers = np.empty(self.total, np.int32)
        _deal(self.length, self.first_slot, self.first_bucket, self.buckets, numbers)
        return numbers


def assign(setting: Setting) -> Assignment:
    """Deal the records of a setting. Buckets are numbered from 0, those of the smallest size first."""
    parts = np.array(setting.parts, np.int64)
    buckets = np.array([number for _, number in setting.sizes], np.int64)
    first_rank = np.cumsum(parts, axis=0) - parts
    first_slot = np.cumsum(parts, axis=1) - parts
    # By value, then by size: the order of the ranks.
    value, size = np.nonzero(parts.T)
    return Assignment(
        value=value,
        first_rank=first_rank[size, value],
        length=parts[size, value],
        first_slot=first_slot[size, value] % buckets[size],
        first_bucket=(np.cumsum(buckets) - buckets)[size],
        buckets=buckets[size],
    )


@kernel
def _deal(
    length: Integers, first_slot: Integers, first_bucket: Integers, buckets: Integers, numbers: NDArray[np.int32]
) -> None:
    place = 0
    for run in range(len(length)):
        slot = first_slot[run]
        for _ in range(length[run]):
            numbers[place] = first_bucket[run] + slot
            place += 1
            slot += 1
            if slot == buckets[run]:
                slot = 0
