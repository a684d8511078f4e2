"""What can be guessed of people in buckets, measured against the truth on a sample: for the publisher, who knows it.

Two learners guess the value of each person, from what is published and the procedure. One looks at where a person lies
on the sweep among those of the bucket: the order attack. The other looks at the quasi-identifiers: the deFinetti
attack. Beside them stands the blind guess, the value that is listed most often for the bucket.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.microdata.demand import Integers
from discreet.microdata.posterior import learn_beliefs

MOST_PEOPLE = 50_000
"""People in the sample, about."""
MOST_CODES = 1024
"""A learner leaves out attributes of more codes: each is seen too rarely to be learnt from."""
PARTS = 8
"""The order attack tells eighths of a bucket apart."""


@dataclass(frozen=True)
class GuessedShares:
    """Shares of people whose value is guessed right."""

    people: int
    blind: float
    order: float
    definetti: float


def measure_guesses(bucket: Integers, codes: Integers, sizes: Sequence[int], values: int) -> GuessedShares:
    """Let the learners guess. `codes` has the people's codes in the order of the sweep's attributes, and in its last
    column the values; people come in the order of their buckets."""
    truth, people = codes[:, -1], codes[:, :-1]
    _, size_of = np.unique(bucket, return_counts=True)
    whose = np.repeat(np.arange(len(size_of)), size_of)
    listing = (truth[np.lexsort((truth, whose))], size_of)
    limits = np.ones(values)
    listed = np.bincount(whose * values + truth, minlength=len(size_of) * values).reshape(-1, values)
    along = np.lexsort((*people.T[::-1], whose))
    place = np.empty(len(whose), np.int64)
    place[along] = np.arange(len(whose)) - np.repeat(np.cumsum(size_of) - size_of, size_of)
    part = PARTS * place // np.repeat(size_of, size_of)
    known = [axis for axis, size in enumerate(sizes) if size <= MOST_CODES]
    by_order = learn_beliefs([part], [PARTS], size_of, listing, limits)
    by_codes = learn_beliefs(
        [np.ascontiguousarray(people[:, axis]) for axis in known],
        [sizes[axis] for axis in known],
        size_of,
        listing,
        limits,
    )
    return GuessedShares(
        people=len(truth),
        blind=float(listed.max(axis=1).sum() / len(truth)),
        order=float((by_order.value == truth).mean()),
        definetti=float((by_codes.value == truth).mean()),
    )
