"""The most spent point of charges whose edges make too fine a grid to count: found by cutting the domain in two, again
and again, where most may be spent.

A part counts what covers it, and whatever else meets it: no point of it has more. Once nothing else meets it, every
point has exactly that. The part that may have most is cut next, so that at any time the most that may be left anywhere,
and the most that some point has, are known; where they are the same, that is the answer. Which part is cut where
matters for how soon that is, and for nothing else.
"""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.audit.load import Depth, Ints, Load, edges_of
from discreet.audit.terms import MOST_UNITS
from discreet.native import kernel

MOST_STEPS = 1 << 28
"""After so many sides of boxes were looked at, the search ends: some seconds."""
SOME = 4000
"""Search steps that are allowed for each load: they take less time than counting a charge."""
MOST_KEPT = 1 << 25
"""… or once so many charges are kept in parts that wait: 128 MiB."""
EACH = 2000
"""The fixed cost of cutting a part in two, in search steps."""

Numbers = NDArray[np.int32]


class Crowd(NamedTuple):
    """Charges as flat arrays: charge c has boxes first_box[c] … first_box[c+1]−1, each of them sides likewise. Codes
    are places among the edges of their axis; `offset` says where an axis begins in an array over the edges of all."""

    first_box: Ints
    peak: Ints
    first_side: Ints
    units: Ints
    axis: Ints
    low: Ints
    high: Ints
    offset: Ints


class SearchBox(NamedTuple):
    """A box of the domain: what covers it, and the charges that meet it without."""

    low: Ints
    high: Ints
    covered: int
    meeting: Numbers


def search(loads: Sequence[Load], shape: Sequence[int], enough: int | None = None, share: int = 1) -> Depth:
    """The most units at any point, of loads that have boxes. Where that takes too many steps, bounds of it; where the
    upper one is not above `enough`, SOME steps for each load will do. One of `share` searches takes its share."""
    total = sum(load.peak for load in loads)
    if total > MOST_UNITS:  # more than 64 bits can add up
        return Depth(max(max(load.units, default=0) for load in loads), total)
    most_steps = MOST_STEPS // share
    crowd = _crowd(loads, shape)
    whole = np.zeros(len(crowd.offset) - 1, np.int64), np.diff(crowd.offset) - 1
    covered, bound, met = _met(crowd, *whole, np.arange(len(crowd.peak), dtype=np.int32))
    waiting = [(-bound, 0, SearchBox(*whole, covered, met))]
    least, steps, kept, turn = 0, 0, len(met), 0
    while -waiting[0][0] > least and steps < most_steps and kept < MOST_KEPT:
        if enough is not None and steps > SOME * len(loads) and -waiting[0][0] <= enough:
            break
        bound, _, part = heapq.heappop(waiting)
        bound, kept, turn = -bound, kept - len(part.meeting), turn + 1
        # Now and then all the way down, to a part that nothing crosses: the most of those is what some point has.
        diving = turn & (turn - 1) == 0
        while len(part.meeting):
            steps += EACH + 4 * len(part.meeting)
            (worse, other), (bound, part) = sorted(_halves(crowd, part), key=lambda half: half[0])
            heapq.heappush(waiting, (-worse, -len(waiting) - steps, other))
            kept += len(other.meeting)
            if not diving:
                break
        if len(part.meeting):
            heapq.heappush(waiting, (-bound, -len(waiting) - steps, part))
            kept += len(part.meeting)
        else:
            least = max(least, bound)
        if not waiting:
            return Depth(least, least)
    return Depth(least, max(least, -waiting[0][0]))


def _crowd(loads: Sequence[Load], shape: Sequence[int]) -> Crowd:
    """Loads as arrays; those over the same boxes are one."""
    alike: dict[object, list[Load]] = {}
    for load in loads:
        if load.boxes:
            alike.setdefault(load.boxes, []).append(load)
    groups = list(alike.values())
    edges = edges_of((group[0] for group in groups), shape)
    place = {axis: number for number, axis in enumerate(edges)}
    boxes = [sides for group in groups for sides in group[0].boxes]
    sides = np.array([(place[axis], low, high + 1) for box in boxes for axis, low, high in box], np.int64)
    sides = sides.reshape(-1, 3)
    for axis, codes in edges.items():
        mine = sides[:, 0] == place[axis]
        sides[mine, 1:] = np.searchsorted(codes, sides[mine, 1:])
    return Crowd(
        first_box=_firsts([len(group[0].boxes) for group in groups]),
        peak=np.array([sum(load.peak for load in group) for group in groups], np.int64),
        first_side=_firsts([len(box) for box in boxes]),
        units=np.concatenate([np.sum([load.units for load in group], axis=0, dtype=np.int64) for group in groups]),
        axis=sides[:, 0].copy(),
        low=sides[:, 1].copy(),
        high=sides[:, 2] - 1,
        offset=_firsts([len(codes) - 1 for codes in edges.values()]),
    )


def _firsts(lengths: Sequence[int]) -> Ints:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64))).astype(np.int64)


def _halves(crowd: Crowd, part: SearchBox) -> list[tuple[int, SearchBox]]:
    """A part cut in two, each with the most that a point of it may have."""
    axis, cut = _best_cut(crowd, part.low, part.high, part.meeting)
    below, above = part.high.copy(), part.low.copy()
    below[axis], above[axis] = cut - 1, cut
    halves = []
    for low, high in ((part.low, below), (above, part.high)):
        covered, bound, met = _met(crowd, low, high, part.meeting)
        halves.append((part.covered + bound, SearchBox(low, high, part.covered + covered, met)))
    return halves


@kernel
def _met(crowd: Crowd, low: Ints, high: Ints, charges: Numbers) -> tuple[int, int, Numbers]:
    """What covers a part, among some charges; no less than any point of it has of all; and those that cross it."""
    crossing, many, covered, bound = np.empty_like(charges), 0, 0, 0
    for charge in charges:
        covering, meeting = 0, 0
        for box in range(crowd.first_box[charge], crowd.first_box[charge + 1]):
            meets, covers = True, True
            for side in range(crowd.first_side[box], crowd.first_side[box + 1]):
                axis, a, b = crowd.axis[side], crowd.low[side], crowd.high[side]
                if a > high[axis] or b < low[axis]:
                    meets = False
                    break
                covers &= a <= low[axis] and high[axis] <= b
            if meets and covers:
                covering += crowd.units[box]
            elif meets:
                meeting += crowd.units[box]
        if meeting:
            bound += min(covering + meeting, crowd.peak[charge])
            crossing[many] = charge
            many += 1
        else:
            covered += covering
    return covered, covered + bound, crossing[:many].copy()


@kernel
def _best_cut(crowd: Crowd, low: Ints, high: Ints, charges: Numbers) -> tuple[int, int]:
    """The cut along an edge that leaves most units out of the half that keeps more; among equals, out of both."""
    begins, ends = np.zeros(crowd.offset[-1] + 1, dtype=np.int64), np.zeros(crowd.offset[-1] + 1, dtype=np.int64)
    touched = np.zeros(len(low), dtype=np.bool_)
    for charge in charges:
        for box in range(crowd.first_box[charge], crowd.first_box[charge + 1]):
            meets = True
            for side in range(crowd.first_side[box], crowd.first_side[box + 1]):
                axis = crowd.axis[side]
                meets &= crowd.low[side] <= high[axis] and low[axis] <= crowd.high[side]
            if not meets:
                continue
            for side in range(crowd.first_side[box], crowd.first_side[box + 1]):
                axis, a, b = crowd.axis[side], crowd.low[side], crowd.high[side]
                if a > low[axis]:
                    begins[crowd.offset[axis] + a] += crowd.units[box]
                    touched[axis] = True
                if b < high[axis]:
                    ends[crowd.offset[axis] + b + 1] += crowd.units[box]
                    touched[axis] = True
    best_axis, best_cut, best, second = -1, -1, -1, -1
    for axis in range(len(low)):
        if not touched[axis]:
            continue
        start, right = crowd.offset[axis], 0
        left = begins[start + low[axis] + 1 : start + high[axis] + 1].sum()
        for cut in range(low[axis] + 1, high[axis] + 1):
            # Left of the cut nothing is met that begins at it or later, right of it nothing that ended before.
            right += ends[start + cut]
            fewer, both = min(left, right), left + right
            if (begins[start + cut] or ends[start + cut]) and (fewer > best or (fewer == best and both > second)):
                best_axis, best_cut, best, second = axis, cut, fewer, both
            left -= begins[start + cut]
    return best_axis, best_cut
