"""Negative associations, as anybody can learn them from the two tables: having z, one hardly ever has x.

In a bucket with n_x people of each value x, the number of people with z is on average Σ n_x·p(z | x). That is a linear
model in what the tables show, so least squares over the buckets gives p(z | x), with its standard error; random dealing
makes it unbiased. The number's variance grows with the bucket, so a bucket weighs one over its people: unweighted, the
errors of tables with small and large buckets are far too small. A pair (z, x) is a negative association where even the
upper end of p(z | x) is far below p(z), the share of z among all: by Bayes' rule, z makes x as much rarer. [buckets,
Section 6, after Kifer 2009 and Li, Li 2009]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.microdata.demand import Integers

RARE = 0.25
"""A value is excluded for people with z where it is surely below this share of what it is for all …"""
ERRORS = 3.0
"""… at so many standard errors."""
BY_CHANCE = 0.5 * erfc(ERRORS / sqrt(2))
"""How often that happens to a pair whose share is just there: 1 in 740."""


@dataclass(frozen=True, eq=False)
class Association:
    """Of one attribute: rate[z, x] is the estimated p(z | x) over p(z), error its standard error."""

    rate: NDArray[np.float64]
    error: NDArray[np.float64]

    @property
    def excluded(self) -> NDArray[np.bool_]:
        """Which values somebody with z can be taken not to have. A rate surely below 0 shows that the model does
        not fit, and nothing is concluded from it."""
        return (self.rate + ERRORS * self.error < RARE) & (self.rate + ERRORS * self.error >= 0)


def learn_associations(
    people: Sequence[Integers], bucket: Integers, listed: sparse.csr_array, sizes: Sequence[int]
) -> list[Association]:
    """One for each attribute: `people` are the people's codes of it, `sizes` says how many codes it has. `bucket` are
    the people's buckets, and `listed` says, buckets × values, how often each value is listed."""
    buckets, values = listed.shape
    weights = 1 / np.maximum(np.bincount(bucket, minlength=buckets), 1)
    weighed = sparse.csr_array(sparse.diags_array(weights) @ listed)
    gram = (listed.T @ weighed).toarray().astype(np.float64)
    # A value that is nowhere, or two that go together everywhere, cannot be told apart: nothing is concluded of them.
    inverse = np.linalg.pinv(gram, hermitian=True)
    known = np.isclose(np.diag(inverse @ gram), 1, atol=1e-6)
    freedom = max(buckets - values, 1)
    return [
        _learn(codes, bucket, weighed, weights, inverse, known, size, freedom)
        for codes, size in zip(people, sizes, strict=True)
    ]


def _learn(
    codes: Integers,
    bucket: Integers,
    weighed: sparse.csr_array,
    weights: NDArray[np.float64],
    inverse: NDArray[np.float64],
    known: NDArray[np.bool_],
    size: int,
    freedom: int,
) -> Association:
    ones = np.ones(len(codes))
    counted = sparse.csr_array((ones, (bucket, codes)), shape=(len(weights), size))
    cross = (weighed.T @ counted).toarray()
    share = inverse @ cross
    squares = (sparse.diags_array(weights) @ counted.power(2)).sum(axis=0)
    residual = np.maximum(squares - (share * cross).sum(axis=0), 0) / freedom
    common = np.maximum(counted.sum(axis=0) / len(codes), 1e-12)
    error = np.sqrt(np.outer(residual, np.maximum(np.diag(inverse), 0)))
    error[:, ~known] = np.inf
    return Association(share.T / common[:, None], error / common[:, None])
