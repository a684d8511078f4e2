"""Groups of one GROUP BY that public tables tell of alike: what is best for one is best for all, and their numbers are
an array.

Least squares weighs tables of the whole space by space, and boxes with as many codes on every axis have the same
weights (`query/marginals.py`). So the groups of a grid have one law wherever no part helps: a part is what was asked
for with a WHERE, and one that marginals do not tell of helps nobody whom they do. `tests/answer/test_alike.py` compares
it with `best`, group by group.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.answer.best import Best, best_of, rounded
from discreet.answer.draws import Laws
from discreet.answer.grid import Floats, Grid
from discreet.answer.index import Answers
from discreet.answer.joint import JointSystem
from discreet.query.marginals import Axes


@dataclass(frozen=True, eq=False)
class BestOfGroups:
    """The best public estimates of all groups: `one` with the value 1, times these."""

    one: Best
    values: NDArray[np.int64] | Floats


def is_untold(grid: Grid, past: Answers) -> bool:
    """Whether it is plain that nothing public makes any group of a grid.

    Each group has a corner with a code above 0 on just the axes that it cuts. No marginal has them together, and no
    part has a corner there.
    """
    joint = past.joint
    cut = _cut(grid, joint)
    if not cut or not joint.is_whole or cut in joint.marginals.precisions:
        return False
    return not any(all(corner[axis] for axis in cut) for corner in joint.corners_of_parts)


def best_of_groups(grid: Grid, past: Answers, laws: Laws) -> BestOfGroups | None:
    """What `best` finds for every group, where marginals alone tell of them; else None."""
    joint = past.joint
    cut = _cut(grid, joint)
    if not cut or not joint.is_whole or joint.has_helping_parts or joint.marginals.exact:
        return None
    if not joint.marginals.determine(cut):
        return None
    first = grid[tuple(codes.start for codes in grid.ranges)].boxes[0]
    systems = [joint, *past.simpler]
    one, place = best_of(((1, first),), past, laws, systems)
    if one is None:
        return None
    if place is None:
        values = _as_measured(grid, one, past)
    else:
        values = systems[place].marginals.values(first, grid.axes, grid.ranges)
    if values is None:
        return None
    if one.is_one_draw:
        return BestOfGroups(one, np.rint(values).astype(np.int64))
    return BestOfGroups(one, np.array([rounded(value) for value in values.tolist()]))


def _cut(grid: Grid, joint: JointSystem) -> Axes:
    """The axes of which every group has some codes only; none where one is grouped by twice."""
    if len({*grid.axes}) < len(grid.axes):
        return ()
    return joint.marginals.cut(grid[tuple(codes.start for codes in grid.ranges)].boxes[0])


def _as_measured(grid: Grid, one: Best, past: Answers) -> Floats | None:
    """The numbers of the table that one group was measured in."""
    [source] = one.sources
    by = tuple(sorted(grid.axes))
    block = next((block for block in past.groups.blocks if block.source == source and block.by == by), None)
    if block is None or not block.aligned(grid.box):
        return None
    start = block.where.low
    found = block.values[tuple(slice(grid.box.low[a] - start[a], grid.box.high[a] - start[a] + 1) for a in by)]
    return np.transpose(found, [by.index(axis) for axis in grid.axes]).reshape(-1).astype(np.float64)
