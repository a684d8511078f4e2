"""The least loss of all settings, with any number of sizes, by integer programming.

Nothing that the solver says is believed. Its numbers of buckets are taken, and the records are divided by an exact
flow: if that fills all buckets, the setting is valid without a doubt. It is compared with what `multi_size_setting`
finds, so that it is never worse, and a solver that says there is nothing, or only worse, is asked again without its
presolve. That no setting is better rests on the solver's bound alone, which the setting carries: `Setting.least`.

The program without whole numbers is nearly whole. So its buckets are rounded down, one of each size is taken back, and
what they do not hold is a small table, for which the integer program is quick: that comes within a few per mille of the
bound where the whole program would take minutes.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import SupportsIndex

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_flow

from discreet.errors import InvalidLimits, UnsupportedQuery
from discreet.microdata.demand import Demand, Integers
from discreet.microdata.limits import Limits, Number
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.program import Numbers, Program, Solution
from discreet.microdata.settings import Setting, size_range, unmet

MAX_CELLS = 20_000
"""Values times sizes. The program without whole numbers takes 0.1 s for 50 × 50."""

RELATIVE_GAP = 1e-5
REST_GAP = 0.01
"""How near to the least the part of the table comes that rounding leaves over, of which it is a small part."""
WHOLE = 1e-6
"""A number of the solver's is whole within this."""


def optimal_setting(
    counts: Sequence[SupportsIndex],
    limits: Limits | Sequence[Number],
    min_size: int | None = None,
    max_size: int = 50,
    *,
    values: Sequence[str] | None = None,
    seconds: float = 60,
) -> Setting:
    """The valid setting of the least loss that is found in some seconds, never worse than `multi_size_setting`'s.

    Its `least` is a loss that no setting is below, by the solver's bound; where that is its own, it is the best of all
    (within 1 part in 10^5). Raises UnsupportedQuery where there are too many values and sizes, InvalidLimits where no
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
    program = Program(
        np.array(demand.counts, np.int64), np.arange(smallest, largest + 1), demand.caps(largest)[smallest:]
    )
    best: Setting | None = None
    with suppress(InvalidLimits):
        best = multi_size_setting(demand.counts, demand.limits, smallest, largest)
    least = 0.0
    for solution in _solutions(program, seconds):
        found = None if solution.buckets is None else _exactly(program, solution.buckets)
        if found is not None and (best is None or found.loss < best.loss):
            best = found
        if best is not None and solution.bound <= best.loss * (1 + WHOLE):
            # A bound above a setting that is there is wrong, and says nothing.
            least = max(least, solution.bound)
        if best is not None and best.loss <= max(math.ceil(least - WHOLE), least * (1 + RELATIVE_GAP)):
            break
    if best is None:
        raise unmet(demand, smallest, largest)
    return Setting(best.sizes, best.parts, min(best.loss, math.ceil(least * (1 - WHOLE) - WHOLE)))


def _solutions(program: Program, seconds: float) -> Iterator[Solution]:
    """What the solver finds, the quick ways first. Whoever comes to the last was told nothing that fits together."""
    relaxed = program.relaxed()
    yield relaxed
    if relaxed.buckets is not None and relaxed.records is not None:
        buckets = _rounded(program, relaxed.buckets, relaxed.records, seconds)
        if buckets is not None:
            yield Solution(buckets, None, relaxed.bound, done=True)
    whole = program.whole(RELATIVE_GAP, seconds)
    yield whole
    if whole.done:
        yield program.whole(RELATIVE_GAP, seconds, presolve=False)


def _exactly(program: Program, buckets: Numbers) -> Setting | None:
    """The setting with so many buckets of each size, where they are whole and the records fill them exactly."""
    whole = np.rint(buckets).astype(np.int64)
    used = whole > 0
    if np.abs(buckets - whole).max() > WHOLE:
        return None
    parts = divide_by_flow(program.counts, program.caps[used], program.sizes[used], whole[used])
    if parts is None:
        return None
    pairs = zip(program.sizes[used].tolist(), whole[used].tolist(), strict=True)
    return Setting(tuple(pairs), tuple(tuple(part) for part in parts.tolist()))


def _rounded(program: Program, buckets: Numbers, records: Numbers, seconds: float) -> Numbers | None:
    """Whole buckets near the relaxed ones: those below them by one or two, and the integer program's for the rest."""
    kept = np.maximum(np.floor(buckets + WHOLE) - 1, 0)
    share = np.divide(kept, buckets, out=np.zeros_like(buckets), where=kept > 0)
    # The relaxed records in the same proportion are a flow that fills the kept buckets; so there is a whole one beside.
    room = np.minimum(np.ceil(records * share[:, None] - WHOLE).astype(np.int64), program.caps * kept[:, None])
    used = kept > 0
    if not used.any():
        return None
    flow = _flow(program.counts, room[used].astype(np.int64), (program.sizes * kept)[used].astype(np.int64))
    if flow is None:
        return None
    rest = Program(program.counts - flow.sum(axis=0), program.sizes, program.caps).whole(REST_GAP, seconds)
    return None if rest.buckets is None else kept + rest.buckets


def divide_by_flow(counts: Integers, caps: Integers, sizes: Integers, buckets: Integers) -> Integers | None:
    """How many records of each value go to each size, by size and value, or None where no division keeps the limits.

    A largest flow from values to sizes, in integers. For three sizes and more, Theorem 3's conditions, size by size, no
    longer tell [buckets, Example 5]: this does.
    """
    if counts.sum() != sizes @ buckets:
        return None
    return _flow(counts, np.minimum(caps * buckets[:, None], counts), sizes * buckets)


def _flow(counts: Integers, room: Integers, filled: Integers) -> Integers | None:
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
