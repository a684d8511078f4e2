"""Statistics that tell the outcomes of two neighbouring inputs apart: what an audit cuts into events.

For one number the most telling events are its tails, or whatever values are likelier on one side than on the other. For
many numbers it is the likelihood ratio of all of them. A careless mechanism betrays itself elsewhere: in the last bits
of a float, in a remainder that rounded noise does not change, in a difference of two numbers whose noise is the same.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MODULI = (2, 3, 5, 10, 16, 100)
MOST_BINS, IN_A_BIN = 64, 32
"""Bins of a likelihood, and how many runs of either input fall into one: of fewer, it would learn their noise."""
FEW_VALUES = 512
"""A number with at most so many different values is looked at value by value."""
PAIRED = 8
"""With at most so many numbers, every two of them are looked at together."""
TINY = 1e-12
"""How much of a number's variance is added to it before it is divided by: where two numbers share their noise, their
difference has none."""


@dataclass(frozen=True)
class Statistic:
    """A number computed from each run's outcome, one row a run."""

    name: str
    score: Callable[[Floats], Floats]


def fitted_statistics(one: Floats, other: Floats) -> list[Statistic]:
    """Everything to tell two samples apart by, with what has to be learnt for it learnt from them."""
    columns = one.shape[1]
    found = [statistic for place in range(columns) for statistic in _of_number(place, one, other)]
    if columns > 1:
        found += [_ratio_of_all(one, other), _direction(one, other)]
    if 1 < columns <= PAIRED:
        found += [statistic for pair in combinations(range(columns), 2) for statistic in _of_pair(*pair)]
    return found


def _of_number(place: int, one: Floats, other: Floats) -> Iterator[Statistic]:
    name = _name(place, one.shape[1])
    mine, theirs = one[:, place], other[:, place]
    yield Statistic(name, lambda outcomes: outcomes[:, place])
    values = np.unique(np.concatenate([mine, theirs]))
    if 2 < values.size <= FEW_VALUES:
        weight = _log_ratio(mine, theirs, values)
        yield Statistic(f"likelihood of {name}", lambda outcomes: weight(outcomes[:, place]))
    if np.all(values == np.rint(values)):
        for modulus in MODULI:
            if modulus < np.ptp(values):
                yield _of_remainder(place, name, modulus, mine, theirs)
    else:
        yield Statistic(f"lowest bit of {name}", lambda outcomes: lowest_bit(outcomes[:, place]))


def _of_remainder(place: int, name: str, modulus: int, mine: Floats, theirs: Floats) -> Statistic:
    weight = _log_ratio(mine % modulus, theirs % modulus, np.arange(modulus, dtype=np.float64))
    return Statistic(f"likelihood of {name} mod {modulus}", lambda outcomes: weight(outcomes[:, place] % modulus))


def _of_pair(left: int, right: int) -> Iterator[Statistic]:
    yield Statistic(f"x{left + 1} − x{right + 1}", lambda outcomes: outcomes[:, left] - outcomes[:, right])
    yield Statistic(f"x{left + 1} + x{right + 1}", lambda outcomes: outcomes[:, left] + outcomes[:, right])


def _ratio_of_all(one: Floats, other: Floats) -> Statistic:
    """The sum of every number's own log-likelihood ratio: all there is to know where their noise is independent."""
    weights, bins = [], min(max(len(one) // IN_A_BIN, 2), MOST_BINS)
    for place in range(one.shape[1]):
        pooled = np.sort(np.concatenate([one[:, place], other[:, place]]))
        edges = np.unique(pooled[np.linspace(0, pooled.size - 1, bins).astype(np.int64)])
        weights.append(_log_ratio(one[:, place], other[:, place], edges))
    return Statistic(
        "likelihood",
        lambda outcomes: np.sum([weight(outcomes[:, place]) for place, weight in enumerate(weights)], axis=0),
    )


def _direction(one: Floats, other: Floats) -> Statistic:
    """The projection that separates the means best for how the numbers vary together: Fisher's."""
    centred = np.concatenate([one - one.mean(axis=0), other - other.mean(axis=0)])
    spread = np.maximum(centred.std(axis=0), TINY)
    varying = (centred / spread).T @ (centred / spread) / len(centred)
    moved = (one.mean(axis=0) - other.mean(axis=0)) / spread
    weights = np.linalg.lstsq(varying + TINY * np.eye(len(varying)), moved, rcond=None)[0] / spread
    return Statistic("projection", lambda outcomes: outcomes @ weights)


def _log_ratio(one: Floats, other: Floats, starts: Floats) -> Callable[[Floats], Floats]:
    """ln(share of `one` / share of `other`) in the bin that a value falls in; a bin reaches to the next one's start."""

    def bins(values: Floats) -> NDArray[np.int64]:
        return np.maximum(np.searchsorted(starts, values, side="right") - 1, 0)

    counted, beside = (np.bincount(bins(sample), minlength=starts.size) + 0.5 for sample in (one, other))
    ratios = np.log(counted / beside)
    return lambda values: ratios[bins(values)]


def lowest_bit(values: Floats) -> Floats:
    """The exponent of the last binary digit that is set: a sum of doubles has no finer one than its coarser part had,
    so noise that is added to a large number is coarse, and noise alone is fine. [Mironov 2012]"""
    mantissa, exponent = np.frexp(values)
    digits = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    last = np.where(digits == 0, 1, digits & -digits)
    return exponent - 53 + np.log2(last.astype(np.float64))


def _name(place: int, columns: int) -> str:
    return "x" if columns == 1 else f"x{place + 1}"
