"""Groups of one GROUP BY that what is public tells of alike: what is best for one is best for all, and their numbers
are an array.

Least squares weighs tables of the whole space by space, and boxes with as many codes on every axis have the same
weights (`query/marginals.py`). So the groups of a grid have one law wherever no part helps: a part is what was asked
for with a WHERE, and one that marginals do not tell of helps nobody whom they do. Where parts help, their shares in a
group depend on how it overlaps with each of their boxes, axis by axis (`joint.py`): the same for all groups of a class,
and so is what they add to what marginals say. `tests/answer/test_alike.py` compares it with `best`, group by group.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.answer.best import Best, best_of, rounded
from discreet.answer.draws import Laws
from discreet.answer.grid import Floats, Grid
from discreet.answer.index import Answers
from discreet.answer.joint import JointSystem
from discreet.domain.region import Box
from discreet.query.marginals import Axes, Source


@dataclass(frozen=True, eq=False)
class BestOfGroups:
    """The best public estimates of all groups: each is one of `laws`, which have the value 1, times a number."""

    laws: tuple[Best, ...]
    law: NDArray[np.intp]
    """Which one each group has."""
    values: NDArray[np.int64] | Floats


@dataclass(frozen=True, eq=False)
class _Classes:
    """The groups of a grid by how they lie to some boxes: those of one class overlap with each of them alike."""

    firsts: tuple[Box, ...]
    """A group of each class."""
    number: NDArray[np.intp]
    """The class of each group."""

    @classmethod
    def of(cls, grid: Grid, boxes: Sequence[Box]) -> "_Classes":
        number = np.zeros(1, np.intp)
        firsts: list[list[int]] = []
        for axis, codes in zip(grid.axes, grid.ranges, strict=True):
            low, high = (np.array([getattr(box, end)[axis] for box in boxes], np.int64) for end in ("low", "high"))
            own = np.arange(codes.start, codes.stop)[:, None]
            inside = np.packbits(np.hstack([own >= 0, (low <= own) & (own <= high)]), axis=1)
            _, found, along = np.unique(inside, axis=0, return_index=True, return_inverse=True)
            firsts.append((codes.start + found).tolist())
            number = (number[:, None] * len(found) + along.reshape(-1)).reshape(-1)
        return cls(tuple(grid[codes].boxes[0] for codes in product(*firsts)), number)


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
    """What `best` finds for every group, where marginals tell of them, alone or with parts beside them; else None."""
    joint = past.joint
    cut = _cut(grid, joint)
    if not cut or not joint.is_whole or joint.marginals.exact or not joint.marginals.determine(cut):
        return None
    parts = joint.helping_parts
    if any(part.fact is not None for part in parts):
        return None
    classes = _Classes.of(grid, [box for part in parts for _, box in part.terms])
    found = best_of([((1, first),) for first in classes.firsts], past, laws)
    chosen = [(one, system) for one, system in found if one is not None]
    if len(chosen) < len(found) or past.joint is not joint:  # more was released meanwhile, with other classes
        return None
    values = _values(grid, classes, chosen, past)
    if values is None:
        return None
    numbers: dict[Best, int] = {}
    law = np.array([numbers.setdefault(replace(one, value=1), len(numbers)) for one, _ in chosen])[classes.number]
    is_one_draw = np.array([one.is_one_draw for one in numbers])
    if is_one_draw.all():
        return BestOfGroups(tuple(numbers), law, np.rint(values).astype(np.int64))
    made = ~is_one_draw[law]
    values[~made] = np.rint(values[~made])
    values[made] = [rounded(value) for value in values[made].tolist()]
    return BestOfGroups(tuple(numbers), law, values)


def _values(
    grid: Grid, classes: _Classes, chosen: Sequence[tuple[Best, JointSystem | None]], past: Answers
) -> Floats | None:
    """The number of each group, by what its class has it from; None where some are in no table."""
    first, targets = classes.firsts[0], [((1, box),) for box in classes.firsts]
    values = np.zeros(len(grid))
    systems = {id(system): system for _, system in chosen if system is not None}
    for name, system in systems.items():
        mine = np.array([id(own) == name for _, own in chosen])[classes.number]
        told = system.marginals.values(first, grid.axes, grid.ranges) + system.moves(targets)[classes.number]
        values[mine] = told[mine]
    measured = {one.sources for one, system in chosen if system is None}
    for sources in measured:
        own = np.array([system is None and one.sources == sources for one, system in chosen])
        mine = own[classes.number]
        table = _as_measured(grid, sources, past)
        if table is not None:
            values[mine] = table[mine]
        elif np.bincount(classes.number)[own].max() > 1:
            return None
        else:
            values[mine] = [chosen[number][0].value for number in classes.number[mine]]
    return values


def _cut(grid: Grid, joint: JointSystem) -> Axes:
    """The axes of which every group has some codes only; none where one is grouped by twice."""
    if len({*grid.axes}) < len(grid.axes):
        return ()
    return joint.marginals.cut(grid[tuple(codes.start for codes in grid.ranges)].boxes[0])


def _as_measured(grid: Grid, sources: frozenset[Source], past: Answers) -> Floats | None:
    """The numbers of the table that a group was measured in; None where it was not all of them."""
    [source] = sources
    by = tuple(sorted(grid.axes))
    block = next((block for block in past.groups.blocks if block.source == source and block.by == by), None)
    if block is None or not block.aligned(grid.box):
        return None
    start = block.where.low
    found = block.values[tuple(slice(grid.box.low[a] - start[a], grid.box.high[a] - start[a] + 1) for a in by)]
    return np.transpose(found, [by.index(axis) for axis in grid.axes]).reshape(-1).astype(np.float64)
