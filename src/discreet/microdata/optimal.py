"""The least loss of all settings, with any number of sizes, by integer programming.

Nothing that the solver says is believed. Its numbers of buckets are taken, and the records are divided by an exact
flow: if that fills all buckets, the setting is valid without a doubt. It is compared with what `multi_size_setting`
finds, so that it is never worse, and a solver that says there is nothing, or only worse, is asked again without its
presolve. That no setting is better is proved by prices, or rests on the solver's bound alone: `Setting.least`.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import SupportsIndex

from discreet.errors import InvalidLimits, UnsupportedQuery
from discreet.microdata.demand import Demand
from discreet.microdata.limits import Limits, Number
from discreet.microdata.multisize import MAX_CELLS, multi_size_setting
from discreet.microdata.program import Program, Solution
from discreet.microdata.rounding import WHOLE, exact_setting, rounded_setting
from discreet.microdata.settings import Setting, size_range, unmet

RELATIVE_GAP = 1e-5
NEAR = 1.002
"""The loss, to the least, that rounding aims at, before the whole program is solved, which may take minutes."""


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

    Its `least` is a loss that no setting is below, by prices or by the solver's bound; where that is its own, it is the
    best of all (within 1 part in 10^5). Raises UnsupportedQuery where there are too many values and sizes,
    InvalidLimits where no setting keeps the limits.
    """
    demand = Demand.of(counts, limits, values)
    smallest, largest = size_range(demand, min_size, max_size)
    if len(demand.counts) * (largest - smallest + 1) > MAX_CELLS:
        raise UnsupportedQuery(
            f"{len(demand.counts)} values and {largest - smallest + 1} sizes are too many for an integer program "
            f"(at most {MAX_CELLS} together); take sizes multi or two"
        )
    program = Program.of(demand, smallest, largest)
    best: Setting | None = None
    with suppress(InvalidLimits):
        best = multi_size_setting(demand.counts, demand.limits, smallest, largest)
    best = rounded_setting(program, best, NEAR, seconds)
    least, proof = (float(best.least), best.proof) if best else (0.0, None)
    for solution in _solutions(program, seconds):
        if best is not None and best.loss <= max(math.ceil(least - WHOLE), least * (1 + RELATIVE_GAP)):
            break
        found = None if solution.buckets is None else exact_setting(program, solution.buckets)
        if found is not None and (best is None or found.loss < best.loss):
            best = found
        if best is not None and solution.bound <= best.loss * (1 + WHOLE):
            # A bound above a setting that is there is wrong, and says nothing.
            least = max(least, solution.bound)
    if best is None:
        raise unmet(demand, smallest, largest)
    return replace(best, least=min(best.loss, math.ceil(least * (1 - WHOLE) - WHOLE)), proof=proof)


def _solutions(program: Program, seconds: float) -> Iterator[Solution]:
    """What the solver finds. Whoever comes to the last was told nothing that fits together."""
    whole = program.whole(RELATIVE_GAP, seconds)
    yield whole
    if whole.done:
        yield program.whole(RELATIVE_GAP, seconds, presolve=False)
