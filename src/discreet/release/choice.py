"""Choices by the exponential mechanism: one of some public candidates, the likelier the more its expectation misses.

Adding a row moves every utility by at most Δu = 1 (`query/choice.py`), and drawing i with Pr ∝ exp(u(i)/(2λ)) loses at
most 1/λ for one row [cubes, Theorem 2.1.2, with the factor 2 that it lacks]. What is drawn is a whole number, exactly,
in steps that do not depend on the counts (`noise/exponential.md`). Requires fewer than 2^62 rows.
"""

from fractions import Fraction
from math import prod

import numpy as np

from discreet.domain.domain import Domain
from discreet.errors import UnsupportedQuery
from discreet.noise.bits import Bits
from discreet.noise.exponential import Gaps, sample_exponential
from discreet.query.choice import Counts, utilities
from discreet.query.query import Choice, Count, answer_shape

CHOICE_CELLS = 1 << 26
"""A choice looks at this many counts at most, over all its candidates."""


def counts_for(query: Choice) -> list[Count]:
    """The exact counts that a choice is drawn from: a marginal for each candidate."""
    return [Count(query.where, candidate.by) for candidate in query.candidates]


def require_choosable(query: Choice, domain: Domain) -> None:
    """Raise unless every candidate has an expectation for each of its cells, and they are not too many."""
    sizes = [prod(answer_shape(count, domain)) for count in counts_for(query)]
    if any(len(one.expected) != size for one, size in zip(query.candidates, sizes, strict=True)):
        raise UnsupportedQuery("what is expected of a marginal is a number for each of its cells")
    if sum(sizes) > CHOICE_CELLS:
        raise UnsupportedQuery(
            f"that choice would look at {sum(sizes):,} counts, and at most {CHOICE_CELLS:,} are looked at; name fewer "
            "candidates, or smaller ones"
        )


def draw_choice(query: Choice, scale: Fraction, counts: list[Counts], bits: Bits) -> Counts:
    """The place of the candidate that was drawn."""
    found = utilities(query.candidates, counts)
    gaps = (found.max() - found).reshape(1, -1)
    return np.asarray(sample_exponential([Gaps(gaps, 1 / (2 * scale))], bits)[0], np.int64)
