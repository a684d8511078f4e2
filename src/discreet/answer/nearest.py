"""Boxes by how near they are to an asked one, in the relaxation error's own metric."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.domain.region import Box

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

LEAF = 256
"""Boxes that wait in a plain array before they become a tree."""

ROUNDING = 1e-9
"""Distances this close to each other, relatively, may be equal."""


@dataclass(frozen=True)
class _State:
    """What a reader sees: trees over all boxes but the last, in order, and an array of those, filled to `count`."""

    trees: "tuple[cKDTree, ...]"
    waiting: NDArray[np.float64]
    count: int


class NearestBoxes:
    """Boxes, numbered as they are added; finds the nearest ones exactly, in less than linear time.

    A box is the point (low, high) with each axis times its `step`, and the relaxation error is the L1 distance. A k-d
    tree cannot grow, so there are several, of sizes that double [Bentley, Saxe 1980]: a box is built into at most
    log2(n) trees. Adding needs a lock around it; reading needs none, for a state is never changed, only replaced.
    """

    def __init__(self, step: tuple[float, ...], leaf: int = LEAF) -> None:
        self._step = np.array(step * 2, dtype=np.float64)
        self._state = _State((), np.empty((leaf, 2 * len(step))), 0)

    def add(self, box: Box) -> None:
        state = self._state
        state.waiting[state.count] = self._point(box)
        if state.count + 1 < len(state.waiting):
            self._state = _State(state.trees, state.waiting, state.count + 1)
            return
        from scipy.spatial import cKDTree  # most vaults have no tree yet, and would wait for it to be imported

        trees, points = list(state.trees), state.waiting
        while trees and trees[-1].n == len(points):
            points = np.concatenate((trees.pop().data, points))
        self._state = _State((*trees, cKDTree(points)), np.empty_like(state.waiting), 0)

    def closest(self, asked: Box, count: int) -> list[int]:
        """The numbers of the `count` nearest boxes, and of all that are as near as the last of them."""
        state, point = self._state, self._point(asked)
        apart = np.abs(state.waiting[: state.count] - point).sum(axis=1)
        nearest = [np.atleast_1d(tree.query(point, k=count, p=1)[0]) for tree in state.trees]
        distances = np.sort(np.concatenate((apart, *nearest)))
        if not len(distances):
            return []
        reach = distances[:count].max() * (1 + ROUNDING) + ROUNDING**2
        found: list[int] = []
        before = 0
        for tree in state.trees:
            found += (before + row for row in tree.query_ball_point(point, reach, p=1))
            before += tree.n
        found += (before + np.flatnonzero(apart <= reach)).tolist()
        return found

    def _point(self, box: Box) -> NDArray[np.float64]:
        return np.array(box.low + box.high, dtype=np.float64) * self._step
