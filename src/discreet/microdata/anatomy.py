"""Anatomy's ℓ-diversity, the baseline: buckets of ℓ or ℓ + 1 records, each of another value [Xiao, Tao, VLDB 2006].

One ℓ for all values has to serve the strictest limit [buckets, Remark 1].
"""

from collections.abc import Sequence
from typing import SupportsIndex

import numpy as np

from discreet.errors import InvalidLimits
from discreet.microdata.demand import Demand
from discreet.microdata.limits import Limits, Number
from discreet.microdata.pairs import divide_records
from discreet.microdata.settings import Setting


def diversity(
    counts: Sequence[SupportsIndex], limits: Limits | Sequence[Number], values: Sequence[str] | None = None
) -> int:
    """The smallest ℓ whose ℓ-diversity keeps all limits: ⌈1/f'⌉ for the least f' of a value that has records."""
    return int(-(-1 // Demand.of(counts, limits, values).strictest))


def anatomy_loss(total: int, ell: int) -> int:
    """The loss of buckets of ℓ and ℓ + 1 records, whether or not the values allow them, as the seed's Figure 4 has it.

    Requires ell ≤ total."""
    return sum(buckets * (size - 1) ** 2 for size, buckets in _sizes(total, ell))


def anatomy_setting(counts: Sequence[SupportsIndex], ell: int, *, values: Sequence[str] | None = None) -> Setting:
    """Buckets of ℓ and ℓ + 1 records (more where there are fewer than ℓ buckets), every value at most once in each.

    Raises InvalidLimits where a value has more than one record for each bucket, naming it. Otherwise Theorem 3 holds.
    With b buckets, n = q·b + r records and every o ≤ b: PC is plain; FC(q) as min(o, b − r) ≥ o·(b − r)/b; FC(q + 1) as
    k values with o ≥ r, if k ≤ q, leave n − k·b for the others, and k·r + n − k·b = (q + 1)·r + (q − k)(b − r).
    """
    demand = Demand.of(counts, Limits.constant(1), values)
    if not 1 <= ell <= demand.total:
        raise InvalidLimits(f"ℓ is from 1 to the number of records; here it is {ell}")
    most = max(demand.counts)
    if most > demand.total // ell:
        name = demand.values[demand.counts.index(most)]
        raise InvalidLimits(
            f"{ell}-diversity asks that no value has more than 1/{ell} of the records, and {name} has; "
            f"at most {demand.total // most}-diversity can be had"
        )
    sizes = _sizes(demand.total, ell)
    whole = np.array(demand.counts, np.int64)
    if len(sizes) == 1:
        return Setting(sizes, (demand.counts,))
    (small, b1), (large, b2) = sizes
    once = np.ones((large + 1, len(whole)), np.int64)
    first, second = divide_records(whole, once, small, b1, large, b2)
    return Setting(sizes, (tuple(first.tolist()), tuple(second.tolist())))


def _sizes(total: int, ell: int) -> tuple[tuple[int, int], ...]:
    """As many buckets as ℓ allows, the records spread evenly."""
    buckets = total // ell
    size, larger = divmod(total, buckets)
    return tuple(pair for pair in ((size, buckets - larger), (size + 1, larger)) if pair[1])
