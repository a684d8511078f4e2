"""Tables of groups that say nothing of each other: FILTERs beside a total, by the same attributes.

Within a group, each table counts one box of the other attributes. Where the indicators of these boxes are linearly
independent, none of the counts follows from the others, and no combination of them estimates one better than itself
without bias: least squares with as many unknowns as measurements leaves every measurement as it is. Groups have no
point in common, so that this holds for all at once.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np

from discreet.domain.region import Box

MOST_TABLES = 8
MOST_PARTS = 4_096
"""Parts that the boxes cut the other attributes into: with more, nobody looks."""


def are_independent(tables: Sequence[tuple[tuple[int, ...], Box]]) -> bool:
    """Whether tables, each by some axes over a box, are by the same ones and no group of one follows from others'. May
    say no of those that are: then they are looked at group by group."""
    if len(tables) > MOST_TABLES or len({by for by, _ in tables}) > 1:
        return False
    if len(tables) < 2:
        return True
    [by] = {by for by, _ in tables}
    boxes = [box for _, box in tables]
    axes = [axis for axis in range(len(boxes[0].low)) if axis not in by]
    starts = [sorted({edge for box in boxes for edge in (box.low[axis], box.high[axis] + 1)}) for axis in axes]
    if np.prod([len(own) for own in starts], dtype=float) > MOST_PARTS:
        return False
    parts = [*product(*starts)]
    inside = [
        [all(box.low[axis] <= code <= box.high[axis] for axis, code in zip(axes, part, strict=True)) for part in parts]
        for box in boxes
    ]
    return int(np.linalg.matrix_rank(np.array(inside, np.float64))) == len(tables)
