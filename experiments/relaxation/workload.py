"""The queries of the relaxation seed's Section 5."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.domain.region import Box

Distribution = Literal["data", "uniform"]
Reading = Literal["moved", "truncated", "inside"]
READINGS: tuple[Reading, ...] = ("moved", "truncated", "inside")

SHAPE = (79, 14, 23, 100)
NOISE_SCALE = 2000
QUERIES = 20_000


def workload(
    distribution: Distribution,
    volume: float,
    people: NDArray[np.int64] | None = None,
    count: int = QUERIES,
    seed: int = 0,
    reading: Reading = "moved",
) -> list[Box]:
    """Boxes that restrict two random attributes to √volume of their range each, around a centre.

    The centre is a random code ("uniform") or that of a random row of `people`, one code a column ("data"). The seed
    says that intervals fall in the domain, and not how: one that would leave it is moved inside, or truncated, or its
    centre is drawn again until it stays inside. Its length y − x is √volume·(max − min), rounded down.
    """
    if (distribution == "data") != (people is not None):
        raise ValueError("the data workload needs people, the uniform one does not")
    generator = np.random.default_rng(seed)
    last = np.array(SHAPE) - 1
    lengths = np.floor(np.sqrt(volume) * last).astype(np.int64)
    restricted = np.argsort(generator.random((count, len(SHAPE))), axis=1)[:, :2]

    def centres(number: int) -> NDArray[np.int64]:
        if people is None:
            return generator.integers(0, SHAPE, (number, len(SHAPE)))
        return people[generator.integers(0, len(people), number)]

    starts = centres(count) - lengths // 2
    if reading == "inside":
        while len(out := _leaving(starts, lengths, restricted)):
            starts[out] = centres(len(out)) - lengths // 2
    ends = starts + lengths
    if reading == "truncated":
        starts, ends = np.maximum(starts, 0), np.minimum(ends, last)
    else:
        starts = np.clip(starts, 0, last - lengths)
        ends = starts + lengths
    low, high = np.zeros_like(starts), np.tile(last, (count, 1))
    rows = np.arange(count)[:, None]
    low[rows, restricted] = starts[rows, restricted]
    high[rows, restricted] = ends[rows, restricted]
    return [Box(tuple(first), tuple(final)) for first, final in zip(low.tolist(), high.tolist(), strict=True)]


def _leaving(starts: NDArray[np.int64], lengths: NDArray[np.int64], restricted: NDArray[np.int64]) -> NDArray[np.int64]:
    """The queries with an interval that leaves the domain."""
    out = (starts < 0) | (starts + lengths > np.array(SHAPE) - 1)
    return np.flatnonzero(np.take_along_axis(out, restricted, axis=1).any(axis=1))
