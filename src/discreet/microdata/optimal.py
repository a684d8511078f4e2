"""The least loss of all settings, with any number of sizes, by integer programming (HiGHS).

Variables: b(S), how many buckets of size S, and t(S, i), how many records of value i they hold. Minimise Σ b·(S − 1)²
where t(S, i) ≤ ⌊f'ᵢ·S⌋·b(S), the values fill the buckets, Σᵢ t(S, i) = S·b(S), and all records are held,
Σ_S t(S, i) = oᵢ [buckets, Definition 4; Lemma 2]. Only b need be integers: for fixed integers b, the t are a flow with
integer capacities, and where there is a flow there is one in integers.

HiGHS computes in floating point. So its b are taken, and the records are divided by an exact flow: if that fills all
buckets, the setting is valid without a doubt. That none is better rests on HiGHS's bound: as losses are integers, it is
exact where the loss is below 10^5, and within 1 part in 10^5 beyond.
"""

from collections.abc import Sequence
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import maximum_flow

from discreet.errors import UnsupportedQuery
from discreet.microdata.demand import Demand, Integers
from discreet.microdata.limits import Limits, Number
from discreet.microdata.settings import Setting, size_range, unmet

MAX_CELLS = 4_000
"""Values times sizes. Time grows fast, and not evenly: 14 × 50 takes some hundredths of a second, 50 × 50 up to
a minute."""

RELATIVE_GAP = 1e-5
SOLVED, INFEASIBLE = 0, 2


def optimal_setting(
    counts: Sequence[SupportsIndex],
    limits: Limits | Sequence[Number],
    min_size: int | None = None,
    max_size: int = 50,
    *,
    values: Sequence[str] | None = None,
    seconds: float = 60,
) -> Setting:
    """The valid setting of the least loss (within 1 part in 10^5) among all with sizes from `min_size` to `max_size`.

    Raises UnsupportedQuery where there are too many values and sizes, or the time runs out; InvalidLimits where no
    setting keeps the limits.
    """
    demand = Demand.of(counts, limits, values)
    smallest, largest = size_range(demand, min_size, max_size)
    cells = len(demand.counts) * (largest - smallest + 1)
    if cells > MAX_CELLS:
        raise UnsupportedQuery(
            f"{len(demand.counts)} values and {largest - smallest + 1} sizes are too many for an integer program "
            f"(at most {MAX_CELLS} together); take sizes multi or two"
        )
    caps = demand.caps(largest)[smallest:]
    sizes = np.arange(smallest, largest + 1)
    buckets = _solve(demand, sizes, caps, seconds)
    if buckets is None:
        raise unmet(demand, smallest, largest)
    used = buckets > 0
    parts = divide_by_flow(np.array(demand.counts, np.int64), caps[used], sizes[used], buckets[used])
    if parts is None:
        raise UnsupportedQuery("the integer program's answer does not hold exactly; take sizes multi or two")
    pairs = zip(sizes[used].tolist(), buckets[used].tolist(), strict=True)
    return Setting(tuple(pairs), tuple(tuple(part) for part in parts.tolist()))


def divide_by_flow(counts: Integers, caps: Integers, sizes: Integers, buckets: Integers) -> Integers | None:
    """How many records of each value go to each size, by size and value, or None where no division keeps the limits.

    A largest flow from values to sizes, in integers. For three sizes and more, Theorem 3's conditions, size by size, no
    longer tell [buckets, Example 5]: this does.
    """
    many, values = len(sizes), len(counts)
    source, sink = many + values, many + values + 1
    held = np.minimum(caps * buckets[:, None], counts)
    size, value = np.nonzero(held)
    ends = [
        (np.full(values, source), many + np.arange(values), counts),
        (many + value, size, held[size, value]),
        (np.arange(many), np.full(many, sink), sizes * buckets),
    ]
    tails, heads, capacities = (np.concatenate(column) for column in zip(*ends, strict=True))
    graph = sparse.csr_array((capacities.astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1))
    result = maximum_flow(graph, source, sink)
    if result.flow_value != counts.sum() or result.flow_value != int(sizes @ buckets):
        return None
    flow: Integers = result.flow[many:source, :many].toarray().T.astype(np.int64)
    return flow


def _solve(demand: Demand, sizes: Integers, caps: Integers, seconds: float) -> Integers | None:
    """How many buckets of each size, or None where the program has no solution."""
    many, values = caps.shape
    cells = np.arange(many * values)
    by_size, by_value = cells // values, cells % values
    ones, zeros = np.ones(many * values), np.zeros(many * values)
    within = _matrix(cells, by_size, -caps.ravel(), many, sparse.diags_array(ones))
    filled = _matrix(np.arange(many), np.arange(many), -sizes, many, sparse.csr_array((ones, (by_size, cells))))
    held = sparse.hstack([sparse.csr_array((values, many)), sparse.csr_array((ones, (by_value, cells)))])
    counts = np.array(demand.counts)
    result = milp(
        np.concatenate([(sizes - 1.0) ** 2, zeros]),
        integrality=np.concatenate([np.ones(many), zeros]),
        bounds=Bounds(0, np.inf),
        constraints=[
            LinearConstraint(within, -np.inf, 0),
            LinearConstraint(filled, 0, 0),
            LinearConstraint(held, counts, counts),
        ],
        options={"time_limit": seconds, "mip_rel_gap": RELATIVE_GAP},
    )
    if result.status == INFEASIBLE:
        return None
    if result.status != SOLVED:
        raise UnsupportedQuery(f"the integer program was not done within {seconds:g} s; take sizes multi or two")
    buckets: Integers = np.rint(result.x[:many]).astype(np.int64)
    return buckets


def _matrix(
    rows: Integers, columns: Integers, numbers: NDArray[np.int64], many: int, cells: sparse.sparray
) -> sparse.csr_array:
    """Coefficients of the buckets, and beside them those of the cells."""
    buckets = sparse.csr_array((numbers, (rows, columns)), shape=(cells.shape[0], many))
    return sparse.hstack([buckets, cells], format="csr")
