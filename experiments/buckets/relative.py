"""The seed's count queries, and the relative error of buckets on them. [buckets, Section 7.2.2]

A query asks for qd of the seven quasi-identifiers, qd from 1 to 7, and for the sensitive value to be among b random
values of their domains each; b = ⌈|A|·s^(1/(qd+1))⌉ for an expected selectivity s of 1% [Xiao, Tao, VLDB 2006]. Queries
that nobody meets have no relative error, and are drawn again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

from discreet.microdata.assign import assign
from discreet.microdata.demand import Demand
from discreet.microdata.settings import Setting
from discreet.microdata.similar import keep_together
from experiments.buckets.people import People

Way = TypeVar("Way")

QUERIES = 5_000
SELECTIVITY = 0.01


@dataclass(frozen=True, eq=False)
class CountQuery:
    """The people who meet the conditions on quasi-identifiers, which values are asked for, and how many meet both."""

    people: NDArray[np.intp]
    wanted: NDArray[np.bool_]
    actual: int


def count_queries(people: People, number: int = QUERIES, seed: int = 0) -> Iterator[CountQuery]:
    chance = np.random.default_rng(seed)
    values = len(people.counts)
    made = 0
    while made < number:
        axes = chance.choice(len(people.names), chance.integers(1, len(people.names) + 1), replace=False)
        share = SELECTIVITY ** (1 / (len(axes) + 1))
        met = np.ones(len(people.values), np.bool_)
        for axis in axes:
            met &= _some(people.sizes[axis], share, chance)[people.codes[:, axis]]
        wanted = _some(values, share, chance)
        chosen = np.flatnonzero(met)
        actual = int(wanted[people.values[chosen]].sum())
        if actual:
            made += 1
            yield CountQuery(chosen, wanted, actual)


def _some(size: int, share: float, chance: np.random.Generator) -> NDArray[np.bool_]:
    chosen = np.zeros(size, np.bool_)
    chosen[chance.choice(size, int(np.ceil(size * share)), replace=False)] = True
    return chosen


@dataclass(frozen=True, eq=False)
class Dealt:
    """QIT as people's buckets, and ST as the values of each bucket, one bucket after the other."""

    bucket: NDArray[np.int32]
    values: NDArray[np.int64]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, people: People, setting: Setting, bucket: NDArray[np.int32]) -> "Dealt":
        sizes = np.bincount(bucket, minlength=setting.buckets)
        return cls(bucket, people.values[np.argsort(bucket, kind="stable")], np.concatenate(([0], np.cumsum(sizes))))

    def error(self, query: CountQuery) -> float:
        """|act − est| / act, with est as QIT and ST give it."""
        estimated = _estimate(query.people, self.bucket, self.values, self.starts, query.wanted)
        return abs(query.actual - estimated) / query.actual


@njit(cache=True)
def _estimate(
    people: NDArray[np.intp],
    bucket: NDArray[np.int32],
    values: NDArray[np.int64],
    starts: NDArray[np.int64],
    wanted: NDArray[np.bool_],
) -> float:
    """For everybody who meets the conditions, the share of wanted values in their bucket."""
    total = 0.0
    for person in people:
        first, last = starts[bucket[person]], starts[bucket[person] + 1]
        met = 0
        for place in range(first, last):
            met += wanted[values[place]]
        total += met / (last - first)
    return total


def round_robin(people: People, setting: Setting, seed: int = 1) -> Dealt:
    """Dealt as the seed does, ranks by lot."""
    order = np.lexsort((np.random.default_rng(seed).random(len(people.values)), people.values))
    bucket = np.empty(len(people.values), np.int32)
    bucket[order] = assign(setting).all_buckets()
    return Dealt.of(people, setting, bucket)


def along(people: People, setting: Setting, demand: Demand, keys: NDArray[np.int64], seed: int = 1) -> Dealt:
    """Filled along an order of the people, ties by lot."""
    order = np.lexsort((np.random.default_rng(seed).random(len(people.values)), keys))
    bucket = np.empty(len(people.values), np.int32)
    bucket[order] = keep_together(people.values[order], setting, demand)
    return Dealt.of(people, setting, bucket)


def sweep_keys(people: People) -> NDArray[np.int64]:
    """The order of `similar`: by all quasi-identifiers, from the one that tells the least."""
    axes = people.by_entropy
    return np.ravel_multi_index(tuple(people.codes[:, axis] for axis in axes), [people.sizes[axis] for axis in axes])


def morton_keys(people: People) -> NDArray[np.int64]:
    """A space-filling order to compare with: the codes' digits in turns, from the highest."""
    digits = [max(1, (size - 1).bit_length()) for size in people.sizes]
    keys = np.zeros(len(people.values), np.int64)
    for level in range(max(digits)):
        for axis, number in enumerate(digits):
            if level < number:
                keys = 2 * keys + (people.codes[:, axis] >> (number - 1 - level) & 1)
    return keys


def mean_errors(people: People, dealt: Mapping[Way, Dealt], number: int = QUERIES) -> dict[Way, float]:
    """The mean relative error of each way to deal, over the same queries."""
    totals = dict.fromkeys(dealt, 0.0)
    for query in count_queries(people, number):
        for name, buckets in dealt.items():
            totals[name] += buckets.error(query)
    return {name: total / number for name, total in totals.items()}
