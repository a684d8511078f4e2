"""What charges spend by region, as the audit reads it: boxes by the sides on which they stop short."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Side = tuple[int, int, int]
"""An axis, and the lowest and highest code on it."""
Sides = tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class Load:
    """What a charge spends by region: its boxes, the units of each, and no less than all have together at any point."""

    boxes: tuple[Sides, ...] = ()
    units: tuple[int, ...] = ()
    peak: int = 0


class Depth(NamedTuple):
    """The most units at any point: at least the first, which some point has, and at most the second."""

    least: int
    most: int

    @property
    def exact(self) -> bool:
        return self.least == self.most


NOTHING = Depth(0, 0)


def edges_of(loads: Iterable[Load], shape: Sequence[int]) -> dict[int, Ints]:
    """For each axis that a box has a side on, the codes at which something begins or has just ended, and both ends."""
    found: dict[int, set[int]] = {}
    for load in loads:
        for sides in load.boxes:
            for axis, low, high in sides:
                found.setdefault(axis, {0, shape[axis]}).update((low, high + 1))
    return {axis: np.array(sorted(found[axis]), np.int64) for axis in sorted(found)}
