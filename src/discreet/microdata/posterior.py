"""What a learner believes of each person, from the two tables alone: the deFinetti attack.

Within a bucket every pairing of people and values is equally likely only for somebody who learns nothing from the other
buckets. A learner does: it fits, by expectation and maximisation, how often people of each value have each code of each
attribute (naive Bayes), weighs the values listed for a person's bucket by it, makes the weights of a bucket add up to
what is listed there, and begins again. [Kifer, Attacks on Privacy and deFinetti's Theorem, 2009]

Limits bound what the tables show of a bucket; no limit on buckets bounds what is learnt of a population. So this is
measured and stated, not promised.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.microdata.demand import Integers
from discreet.native import kernel

Numbers = NDArray[np.float64]

ROUNDS = 12
BALANCING = 4
"""Turns of making people's weights add up to 1 and values' weights to their listings, a round."""
SMOOTHING = 0.5
"""Added to every count that is fitted, so that nothing is impossible."""


@dataclass(frozen=True, eq=False)
class Belief:
    """For each person: the value believed in most, how strongly, and the largest belief as a multiple of its limit."""

    value: Integers
    strength: Numbers
    over_limit: Numbers


def learn_beliefs(
    people: Sequence[Integers],
    sizes: Sequence[int],
    size_of: Integers,
    values: Sequence[Integers],
    limits: Numbers,
    fakes: int = 0,
    rounds: int = ROUNDS,
) -> Belief:
    """Fit and weigh. People are in the order of their buckets, `size_of` each; `people` are their codes of each
    attribute, `sizes` the numbers of codes. `values` are two columns: the values listed, bucket by bucket, and how many
    there are of each bucket. With 0 rounds it is the blind belief of somebody who sees one bucket."""
    listed, listed_of = values
    codes = np.stack(people, axis=1) if people else np.zeros((int(size_of.sum()), 0), np.int64)
    logs = np.zeros((codes.shape[1], len(limits), max(sizes, default=1)))
    best, strength, over = np.empty(len(codes), np.int64), np.empty(len(codes)), np.empty(len(codes))
    for _ in range(rounds):
        counted = np.full(logs.shape, SMOOTHING)
        _weigh(codes, size_of, listed, listed_of, fakes, logs, counted, limits, best, strength, over)
        logs = np.log(counted) - np.log(counted.sum(axis=2, keepdims=True))
    _weigh(codes, size_of, listed, listed_of, fakes, logs, np.zeros(logs.shape), limits, best, strength, over)
    return Belief(best, strength, over)


@kernel
def _weigh(
    codes: Integers,
    size_of: Integers,
    listed: Integers,
    listed_of: Integers,
    fakes: int,
    logs: Numbers,
    counted: Numbers,
    limits: Numbers,
    best: Integers,
    strength: Numbers,
    over: Numbers,
) -> None:
    """One round over all buckets: weights, what they count, and the strongest belief of each person."""
    weights = np.empty((size_of.max(), listed_of.max()))
    first, first_listed = 0, 0
    for bucket in range(len(size_of)):
        size = size_of[bucket]
        values = np.unique(listed[first_listed : first_listed + listed_of[bucket]])
        times = np.zeros(len(values))
        for place in range(first_listed, first_listed + listed_of[bucket]):
            times[np.searchsorted(values, listed[place])] += size / (size + fakes)
        for person in range(size):
            _weights_of(codes[first + person], values, times, logs, weights[person])
        _balance(weights, size, times)
        for person in range(size):
            strength[first + person], over[first + person] = 0.0, 0.0
            for v in range(len(values)):
                weight = weights[person, v]
                if weight > strength[first + person]:
                    strength[first + person], best[first + person] = weight, values[v]
                over[first + person] = max(over[first + person], weight / limits[values[v]])
                for attribute in range(codes.shape[1]):
                    counted[attribute, values[v], codes[first + person, attribute]] += weight
        first += size
        first_listed += listed_of[bucket]


@kernel
def _weights_of(codes: Integers, values: Integers, times: Numbers, logs: Numbers, weights: Numbers) -> None:
    """Times listed × how likely the codes are among people of the value, not yet adding up to anything."""
    largest = -np.inf
    for v in range(len(values)):
        likely = np.log(times[v])
        for attribute in range(len(codes)):
            likely += logs[attribute, values[v], codes[attribute]]
        weights[v] = likely
        largest = max(largest, likely)
    for v in range(len(values)):
        weights[v] = np.exp(weights[v] - largest)


@kernel
def _balance(weights: Numbers, size: int, times: Numbers) -> None:
    """Make values add up to their listings and people to 1, by turns; people last: a belief is a probability."""
    for _ in range(BALANCING):
        for v in range(len(times)):
            total = 1e-300
            for person in range(size):
                total += weights[person, v]
            for person in range(size):
                weights[person, v] *= times[v] / total
        for person in range(size):
            total = 1e-300
            for v in range(len(times)):
                total += weights[person, v]
            for v in range(len(times)):
                weights[person, v] /= total
