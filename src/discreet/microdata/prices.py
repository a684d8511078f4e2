"""A loss that no setting is below, proved in integers by a price for each value.

**Claim.** Let every value have a price, such that no S records that a bucket of size S may hold cost more than
(S − 1)² together, for each size S that buckets may have. Then no setting loses less than all records cost.

**Proof.** The records of each bucket cost at most what the bucket loses; add up over all buckets. ∎

The dearest records of a bucket are found by taking the dearest value first, as often as it may be held, then the next.
The dual of the program without whole numbers has the best prices; rounded, they may pass a size's loss by a little, and
are all lowered by the largest excess to a record. So nothing rests on the solver but how good the bound is.
"""

from collections.abc import Sequence

import numpy as np

from discreet.microdata.demand import Integers
from discreet.microdata.program import Numbers, Program
from discreet.microdata.settings import PARTS, Proof

DEAREST = 2**20
"""Of no bucket of at most 1,024 records can one record cost as much; so sums of prices stay within 62 bits."""


def proof_by(program: Program, prices: Numbers) -> Proof | None:
    """Prices that prove a loss: the better, the nearer they are to the dual's best. None where they are too large."""
    if not np.all(np.abs(prices) < DEAREST):
        return None
    price = np.rint(prices * PARTS).astype(np.int64)
    excess = -(-(_dearest(program, price) - PARTS * (program.sizes - 1) ** 2) // program.sizes)
    lowered = int(excess[_fillable(program)].max())
    sizes = int(program.sizes[0]), int(program.sizes[-1])
    return Proof(sizes, tuple(own - lowered for own in price.tolist()))


def proved_loss(counts: Sequence[int], proof: Proof | None) -> int:
    """What all records cost: no setting loses less."""
    if proof is None:
        return 0
    return max(0, -(-sum(count * own for count, own in zip(counts, proof.prices, strict=True)) // PARTS))


def _dearest(program: Program, price: Integers) -> Integers:
    """By size, what the dearest records cost that a bucket may hold."""
    order = np.argsort(-price, kind="stable")
    held = np.minimum(np.cumsum(program.most[:, order], axis=1), program.sizes[:, None])
    cost: Integers = np.diff(held, axis=1, prepend=0) @ price[order]
    return cost


def _fillable(program: Program) -> Integers:
    """By size, whether the table has records that fill a bucket."""
    fillable: Integers = program.most.sum(axis=1) >= program.sizes
    return fillable
