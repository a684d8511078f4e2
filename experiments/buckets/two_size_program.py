"""The paper's *Optimal* of Section 7.3: two sizes by integer linear programs, one for each pair of sizes."""

import time
from itertools import combinations

import numpy as np

from discreet.microdata.demand import Demand
from discreet.microdata.limits import Limits
from discreet.microdata.program import Program
from discreet.microdata.settings import size_range
from experiments.buckets.setting import MAX_SIZE, Counts


class OutOfTime(Exception):
    """The programs take longer than they may."""


def two_sizes_by_programs(counts: Counts, limits: Limits, max_size: int = MAX_SIZE, seconds: float = 60) -> int | None:
    """The least loss of a setting of at most two sizes, as the solver has it, in so much processor time; None where it
    finds none. Raises OutOfTime."""
    demand = Demand.of(counts, limits)
    smallest, largest = size_range(demand, None, max_size)
    values, caps = np.array(demand.counts, np.int64), demand.caps(largest)
    least: int | None = None
    start = time.process_time()
    for pair in [*combinations(range(smallest, largest + 1), 2)] or [(smallest,)]:
        if time.process_time() - start > seconds:
            raise OutOfTime
        sizes = np.array(pair)
        found = Program(values, sizes, caps[sizes]).whole(gap=0, seconds=seconds)
        if found.buckets is not None:
            loss = int(np.rint(found.buckets).astype(np.int64) @ (sizes - 1) ** 2)
            least = loss if least is None else min(least, loss)
    return least
