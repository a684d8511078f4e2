"""Where a search for the best shares begins: greedy covers from few large sources to many small ones."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from discreet.cube.planners.all import share_among_all
from discreet.cube.planners.base import give_all_to_base
from discreet.cube.planners.bmaxg import thrifty_cover
from discreet.cube.planners.coverage import count_pairs, cover_of
from discreet.cube.planners.descent import Points
from discreet.cube.planners.landscape import logits_of
from discreet.cube.planners.task import Shares, Task
from discreet.deadline import still_wanted
from discreet.query.lattice import Lattice

MAX_PAIRS = 2**20
"""Beyond this many pairs of a source and a cuboid, dimensions are covered in blocks: 12 dimensions just fit."""


def start_points(task: Task, most: int) -> Points:
    """Logits of at most so many different starts: All, Base, Algorithm 3's answer, and its variants."""
    starts: dict[tuple[int, ...], Shares] = {}
    for shares in _covers(task, most):
        starts.setdefault(tuple(sorted(shares)), shares)
        if len(starts) == most:
            break
    points = np.zeros((len(starts), 1 << task.lattice.dimensions))
    for row, shares in enumerate(starts.values()):
        points[row, list(shares)] = [float(share) for share in shares.values()]
    return logits_of(points)


def _covers(task: Task, most: int) -> Iterator[Shares]:
    coarse, blocks = _in_blocks(task)
    coverage = cover_of(coarse, weighted=True)
    thrifts = [1 / task.noise.power, *np.linspace(0.2, 0.9, max(2, most // 2)).tolist()]
    yield share_among_all(task)
    yield give_all_to_base(task)
    for thrift in thrifts:
        for finest_first in (False, True):
            still_wanted()
            cover = thrifty_cover(coverage, len(coarse.published), task.noise.power, thrift, finest_first)
            yield {_union(blocks, source): share for source, share in cover.items()}


def _in_blocks(task: Task) -> tuple[Task, list[int]]:
    """The task with dimensions joined, the smallest first, until its covers can be listed; and each block's mask."""
    blocks = sorted(((size, 1 << axis) for axis, size in enumerate(task.lattice.sizes)), key=lambda block: block[1])
    coarse = task
    while count_pairs(coarse) > MAX_PAIRS:
        still_wanted()
        first, second = sorted(blocks)[:2]
        joined = (first[0] * second[0], first[1] | second[1])
        blocks = sorted([*(b for b in blocks if b not in (first, second)), joined], key=lambda block: block[1])
        masks = [mask for _, mask in blocks]
        weights: dict[int, float] = {}
        for published, weight in zip(task.published, task.burdens, strict=True):
            touched = sum(1 << index for index, mask in enumerate(masks) if mask & published)
            weights[touched] = max(weight, weights.get(touched, 0))
        chosen = tuple(sorted(weights))
        coarse = replace(
            task,
            lattice=Lattice(tuple(size for size, _ in blocks)),
            published=chosen,
            weights=tuple(weights[mask] for mask in chosen),
            expected=(1.0,) * len(chosen),
        )
    return coarse, [mask for _, mask in blocks]


def _union(blocks: list[int], chosen: int) -> int:
    return sum(mask for index, mask in enumerate(blocks) if chosen >> index & 1)
