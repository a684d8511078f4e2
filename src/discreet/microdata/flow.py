"""Which records go to which size, exactly: a largest flow from values to sizes, in integers."""

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_flow

from discreet.microdata.demand import Integers


def divide_by_flow(counts: Integers, caps: Integers, sizes: Integers, buckets: Integers) -> Integers | None:
    """How many records of each value go to each size, by size and value, or None where no division keeps the limits.

    A largest flow from values to sizes, in integers. For three sizes and more, Theorem 3's conditions, size by size, no
    longer tell [buckets, Example 5]: this does.
    """
    if counts.sum() != sizes @ buckets:
        return None
    return flow_of(counts, np.minimum(caps * buckets[:, None], counts), sizes * buckets)


def flow_of(counts: Integers, room: Integers, filled: Integers) -> Integers | None:
    """Records by size and value, at most `room`, that fill every size, and of no value more than there are; or None."""
    many, values = room.shape
    source, sink = many + values, many + values + 1
    size, value = np.nonzero(room)
    ends = [
        (np.full(values, source), many + np.arange(values), counts),
        (many + value, size, room[size, value]),
        (np.arange(many), np.full(many, sink), filled),
    ]
    tails, heads, capacities = (np.concatenate(column) for column in zip(*ends, strict=True))
    graph = sparse.csr_array((capacities.astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1))
    result = maximum_flow(graph, source, sink)
    if result.flow_value != filled.sum():
        return None
    flow: Integers = result.flow[many:source, :many].toarray().T.astype(np.int64)
    return flow
