"""Fakes: values listed for a bucket that nobody in it has, against people who know some of its people.

[buckets, Section 6.] A fake must not be told from a value that somebody has. So it is one that the bucket could hold,
by the limits and by the setting, which anybody can work out, and that is not there. It is drawn by lot, in proportion
to how often the value is really dealt to buckets of that size, so that the listings of a rare value are not much more
often fakes than others'; a value that most buckets hold has few places for fakes, and is mostly real where it stands.
Where there is a choice, it is one that nobody in the bucket is taken not to have by the negative associations that the
tables give away. Every bucket has the same number of fakes.

Who knows the procedure must not know which values a bucket really lists. Round-robin makes as few kinds of buckets as
there are values, and a fake would show in a bucket of no such kind; so with fakes, buckets are filled along an order by
lot (`similar.py`), and are of all kinds that the limits allow.

The seed assumes equal limits and buckets of distinct values. Without that: what is listed twice is no fake (see
`corruption.py`), so that fakes show where nothing else is listed once; and buckets of a size that holds few values may
have no room for fakes, which is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InvalidLimits
from discreet.microdata.associations import learn_associations
from discreet.microdata.demand import Integers
from discreet.microdata.settings import Setting
from discreet.native import kernel
from discreet.noise.bits import Bits

BLOCK = 1 << 22
"""About so many lots are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Fakes:
    """What to list besides, and how many of them somebody in their bucket is taken not to have."""

    bucket: Integers
    value: Integers
    excludable: int
    shown: int
    """Buckets that list nothing else once."""


def choose_fakes(
    number: int,
    setting: Setting,
    bucket: Integers,
    value: Integers,
    people: Sequence[Integers],
    sizes: Sequence[int],
    bits: Bits,
) -> Fakes:
    """`number` fakes for each bucket of ST's lines (bucket, value), given the people's codes in the order of their
    buckets. Buckets are numbered from 0, in any order. Raises InvalidLimits where some bucket has no room for them."""
    buckets, values = setting.buckets, len(setting.counts)
    listed = sparse.csr_array((np.ones(len(bucket), np.int64), (bucket, value)), shape=(buckets, values))
    size_of = np.bincount(bucket, minlength=buckets)
    starts = np.cumsum(size_of) - size_of
    places = {size: place for place, (size, _) in enumerate(setting.sizes)}
    weights = np.array(setting.parts, np.float64)[[places[size] for size in size_of.tolist()]]
    weights[listed.nonzero()] = 0
    _require_room(number, size_of, weights)
    whose = np.repeat(np.arange(buckets), size_of)
    associations = learn_associations(people, whose, listed, sizes)
    objections = np.zeros((buckets, values), np.int64)
    if people:
        widest = max(sizes)
        excluded = np.zeros((len(people), widest, values), np.bool_)
        for place, association in enumerate(associations):
            excluded[place, : sizes[place]] = association.excluded
        _object(np.stack(people, axis=1), starts, size_of, excluded, objections)
    chosen = _draw(number, weights, objections, bits)
    return Fakes(
        np.repeat(np.arange(buckets), number),
        chosen.ravel(),
        excludable=int((np.take_along_axis(objections, chosen, axis=1) > 0).sum()),
        shown=int(((listed == 1).sum(axis=1) == 0).sum()),
    )


def _require_room(number: int, size_of: Integers, weights: NDArray[np.float64]) -> None:
    room = (weights > 0).sum(axis=1)
    if room.min() < number:
        tight = int(size_of[room.argmin()])
        most = int(room.min())
        raise InvalidLimits(
            f"a bucket of {tight} records has {most} values to choose fakes from, and {number} are asked for; ask for "
            "fewer, or for buckets of other sizes (min_size, max_size) that hold more values, but not all of them"
        )


@kernel
def _object(
    codes: Integers, starts: Integers, size_of: Integers, excluded: NDArray[np.bool_], objections: Integers
) -> None:
    """For each bucket and value, how many of its people are taken not to have it."""
    values = excluded.shape[2]
    for bucket in range(len(starts)):
        for person in range(starts[bucket], starts[bucket] + size_of[bucket]):
            for value in range(values):
                for attribute in range(codes.shape[1]):
                    if excluded[attribute, codes[person, attribute], value]:
                        objections[bucket, value] += 1
                        break


def _draw(number: int, weights: NDArray[np.float64], objections: Integers, bits: Bits) -> Integers:
    """For each bucket the values with the fewest objections, ties by weighted lot [Efraimidis, Spirakis 2006]."""
    buckets, values = weights.shape
    chosen = np.empty((buckets, number), np.int64)
    step = max(1, BLOCK // values)
    for first in range(0, buckets, step):
        block = slice(first, min(first + step, buckets))
        uniform = (bits.words(weights[block].size) >> np.uint64(11)).reshape(weights[block].shape) * 2.0**-53
        with np.errstate(divide="ignore", invalid="ignore"):
            lots = -np.log1p(-uniform) / weights[block]
            squeezed = lots / (1 + lots)
        # A lot lies far below an objection once it is squeezed into [0, 1); impossible values come last.
        keys = np.where(weights[block] > 0, objections[block] + squeezed, np.inf)
        chosen[block] = np.argpartition(keys, number - 1, axis=1)[:, :number]
    return chosen
