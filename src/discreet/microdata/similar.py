"""Buckets of people who are alike: an option beyond the seed.

Round-robin deals each value's records blindly, so a bucket's people have nothing in common, and a count over some of
them is an average over all. Here the records lie on a sweep of the quasi-identifiers, so that neighbours are alike, and
buckets are filled along it, one after the other: first what a bucket must take, so that the rest still fits the buckets
that are left, and then whoever comes next on the sweep and is within the limits.

It never gets stuck. Before a bucket is filled, with B buckets of size S left, let value x have r ≤ c·B records left, c
being its cap [buckets, Lemma 2]. It must take max(0, r − c·(B−1)), which is at most r/B because c ≥ r/B: together at
most S. It may take min(c, r), which is at least r/B: together at least S. So S records can be chosen between the two,
and afterwards r ≤ c·(B−1) for every value again.

What it gives away: a bucket's values go with its people, as far as the limits let them. The limits hold for who knows
the tables; who also knows the procedure learns from the order within a bucket: see `measure.py`.
"""

import numpy as np
from numpy.typing import NDArray

from discreet.microdata.demand import Demand, Integers
from discreet.microdata.settings import Setting
from discreet.native import kernel


def keep_together(values: Integers, setting: Setting, demand: Demand) -> NDArray[np.int32]:
    """The bucket of each record, given the values of the records along the sweep. Buckets are numbered from 0, those of
    the smallest size first. Requires a valid setting of the same counts."""
    sizes = _sizes_of_records(values, setting)
    caps = demand.caps(setting.sizes[-1][0])
    buckets = np.empty(len(values), np.int32)
    first = 0
    for place, (size, number) in enumerate(setting.sizes):
        records = np.flatnonzero(sizes == place)
        buckets[records] = first + _fill(values[records], caps[size], size, number)
        first += number
    return buckets


def _sizes_of_records(values: Integers, setting: Setting) -> NDArray[np.int16]:
    """Which size each record goes to: every size gets its share of a value evenly along the sweep."""
    by_value = np.argsort(values, kind="stable")
    ends = np.cumsum(setting.counts)
    sizes = np.empty(len(values), np.int16)
    for part, end, count in zip(zip(*setting.parts, strict=True), ends, setting.counts, strict=True):
        turns = np.concatenate([(np.arange(share) + 0.5) / max(share, 1) for share in part])
        places = np.repeat(np.arange(len(part), dtype=np.int16), part)
        sizes[by_value[end - count : end]] = places[np.argsort(turns, kind="stable")]
    return sizes


@kernel
def _fill(values: Integers, cap: Integers, size: int, buckets: int) -> NDArray[np.int32]:
    """Fill buckets of one size along the sweep. Queues hold each value's records in their order."""
    left = np.zeros(len(cap), np.int64)
    for value in values:
        left[value] += 1
    head = np.cumsum(left) - left
    queue, end = np.empty(len(values), np.int64), head.copy()
    for record in range(len(values)):
        queue[end[values[record]]] = record
        end[values[record]] += 1
    present = np.flatnonzero(left)
    taken = np.zeros(len(cap), np.int64)
    chosen = np.empty(len(values), np.int32)
    for bucket in range(buckets):
        room = size
        for value in present:
            taken[value] = max(0, left[value] - cap[value] * (buckets - bucket - 1))
            for _ in range(taken[value]):
                chosen[queue[head[value]]] = bucket
                head[value] += 1
            left[value] -= taken[value]
            room -= taken[value]
        for _ in range(room):
            nearest, its_value = np.int64(len(values)), np.int64(-1)
            for value in present:
                if left[value] > 0 and taken[value] < cap[value] and queue[head[value]] < nearest:
                    nearest, its_value = queue[head[value]], value
            chosen[nearest] = bucket
            head[its_value] += 1
            left[its_value] -= 1
            taken[its_value] += 1
    return chosen
