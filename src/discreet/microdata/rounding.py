"""Whole buckets from the integer program without whole numbers, which is quick and nearly whole.

Its buckets are rounded down, one of each size is taken back, and what they do not hold is a small table, for which the
integer program is quick. Where that table has no setting, or the whole loses too much, two of each size are taken back,
then four, until the small table is the whole one. A setting is near enough when its loss is at most `aim` times what
the program's prices prove that no setting is below (`prices.py`).

The solver works until it is near enough, or has looked at `NODES` parts of a program: no clock decides what it finds.
Its numbers of buckets are believed only where an exact flow divides the records among them.
"""

import math
from dataclasses import replace

import numpy as np

from discreet.microdata.flow import divide_by_flow, flow_of
from discreet.microdata.prices import proof_by, proved_loss
from discreet.microdata.program import LinearSolution, Numbers, Program
from discreet.microdata.settings import Setting

NODES = 100
"""Parts of an integer program that are looked at: few need more than one. So the time has an end."""
LEAST_GAP = 1e-5
WHOLE = 1e-6
"""A number of the solver's is whole within this."""


def rounded_setting(program: Program, best: Setting | None, aim: float, seconds: float = math.inf) -> Setting | None:
    """The best of one setting and those by rounding; its `least` is proved, its loss mostly within `aim` of it."""
    relaxed = program.relaxed()
    if relaxed is None:
        return best
    proof = proof_by(program, relaxed.prices)
    least = proved_loss(program.counts.tolist(), proof)
    back = 1
    while best is None or best.loss > aim * least:
        kept = np.maximum(np.floor(relaxed.buckets + WHOLE) - back, 0)
        found = _with_the_rest(program, relaxed, kept, least, aim, seconds)
        if found is not None and (best is None or found.loss < best.loss):
            best = found
        if not kept.any():
            break
        back *= 2
    return None if best is None else replace(best, least=min(least, best.loss), proof=proof)


def _with_the_rest(
    program: Program, relaxed: LinearSolution, kept: Numbers, least: int, aim: float, seconds: float
) -> Setting | None:
    """The kept buckets and those of the integer program for the records that they do not hold."""
    rest = _rest(program, relaxed, kept)
    if rest is None:
        return None
    loss = float(kept @ (program.sizes - 1.0) ** 2)
    # The kept buckets lose what they lose: what all may lose beyond the least, the rest may.
    gap = (aim - 1) * least / max(aim * least - loss, 1)
    buckets = kept.copy()
    if rest.counts.any():
        solution = rest.whole(min(max(gap, LEAST_GAP), 1), seconds, nodes=NODES)
        if solution.buckets is None:
            return None
        buckets += solution.buckets
    return exact_setting(program, buckets)


def _rest(program: Program, relaxed: LinearSolution, kept: Numbers) -> Program | None:
    """The program of the records that the kept buckets do not hold, or None where they cannot be filled."""
    used = kept > 0
    if not used.any():
        return program
    # The relaxed records in the same proportion are a flow that fills the kept buckets; so there is a whole one beside.
    share = (kept[used] / relaxed.buckets[used])[:, None]
    room = np.ceil(relaxed.records[used] * share - WHOLE)
    room = np.minimum(room, program.caps[used] * kept[used, None]).astype(np.int64)
    flow = flow_of(program.counts, room, (program.sizes * kept)[used].astype(np.int64))
    return None if flow is None else replace(program, counts=program.counts - flow.sum(axis=0))


def exact_setting(program: Program, buckets: Numbers) -> Setting | None:
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
