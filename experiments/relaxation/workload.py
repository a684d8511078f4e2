"""The queries of the relaxation seed's Section 5."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.domain.region import Box

Distribution = Literal["data", "uniform"]

SHAPE = (79, 14, 23, 100)
NOISE_SCALE = 2000
QUERIES = 20_000


def workload(
    distribution: Distribution,
    volume: float,
    people: NDArray[np.int64] | None = None,
    count: int = QUERIES,
    seed: int = 0,
) -> list[Box]:
    """Boxes that restrict two random attributes to √volume of their range each, around a centre.

    The centre is a random code ("uniform") or that of a random row of `people`, one code a column ("data"). An interval
    that would leave the domain is moved inside; its length y − x is √volume·(max − min), rounded down.
    """
    generator = np.random.default_rng(seed)
    last = np.array(SHAPE) - 1
    lengths = np.floor(np.sqrt(volume) * last).astype(np.int64)
    restricted = np.argsort(generator.random((count, len(SHAPE))), axis=1)[:, :2]
    if people is None:
        centres = generator.integers(0, SHAPE, (count, len(SHAPE)))
    else:
        centres = people[generator.integers(0, len(people), count)]
    if (distribution == "data") != (people is not None):
        raise ValueError("the data workload needs people, the uniform one does not")
    starts = np.clip(centres - lengths // 2, 0, last - lengths)
    low, high = np.zeros_like(starts), np.tile(last, (count, 1))
    rows = np.arange(count)[:, None]
    low[rows, restricted] = starts[rows, restricted]
    high[rows, restricted] = (starts + lengths)[rows, restricted]
    return [Box(tuple(first), tuple(final)) for first, final in zip(low.tolist(), high.tolist(), strict=True)]
