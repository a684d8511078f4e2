"""Optimal: shares chosen for the variance after consistency, which the seed's planners do not see.

Under Gaussian noise the problem is convex in the shares, and one descent finds the optimum. Under Laplace noise a share
counts squared: small sources are worth nothing, every set of sources has its own valley, and the start decides. So
many starts descend side by side, the better ones go on, and the best then gains, loses or changes single sources.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from discreet.cube.kronecker import Masks
from discreet.cube.planners.descent import Points, descend
from discreet.cube.planners.landscape import Landscape, logits_of, shares_of
from discreet.cube.planners.starts import start_points
from discreet.cube.planners.task import Shares, Task
from discreet.query.lattice import Lattice

BLUNT = 32.0
"""The exponent that stands for the largest variance while sources are still being chosen."""

SHARPENING = (128.0, 1024.0, 8192.0)
"""Then it grows: a power mean with exponent r is within a factor |L|^(1/r) of the largest."""

SMALLEST = 1e-4
"""A smaller share is no source."""

VALLEYS = 4
STEPS_TO_SETTLE = 50
LEAST_GAIN = 1e-5


def optimise(task: Task) -> Shares:
    """Shares with a small objective after consistency: the least under Gaussian noise, a deep valley under Laplace."""
    axes = task.lattice.axes(task.top)
    if not axes:
        return {task.top: 1.0}
    task = _over(task, axes)
    landscape = Landscape.of(task)
    # Where shares count plainly the problem is convex, and any start will do.
    points = np.zeros((1, 1 << len(axes))) if task.noise.power == 1 else _search(task, landscape)
    shares = _settle(landscape, points)
    return {_spread(int(mask), axes): float(shares[mask]) for mask in np.flatnonzero(shares)}


def descend_a_little(task: Task, shares: Shares) -> Shares:
    """Better shares in the valley that some are in, for the largest weight × ratio."""
    axes = task.lattice.axes(task.top)
    landscape = Landscape.of(_over(task, axes))
    point = np.zeros((1, 1 << len(axes)))
    for mask, share in shares.items():
        point[0, sum((mask >> axis & 1) << place for place, axis in enumerate(axes))] = share
    point = logits_of(point)
    for r in (BLUNT, SHARPENING[1]):
        point, _ = descend(landscape, point, r, STEPS_TO_SETTLE // 2)
    found = shares_of(point)[0]
    return {_spread(int(mask), axes): float(found[mask]) for mask in np.flatnonzero(found > SMALLEST)}


def _over(task: Task, axes: Sequence[int]) -> Task:
    """The task on a lattice of some of its dimensions, which hold all that is published."""
    lattice = Lattice(tuple(task.lattice.sizes[axis] for axis in axes))
    published = tuple(sum((mask >> axis & 1) << place for place, axis in enumerate(axes)) for mask in task.published)
    return replace(task, lattice=lattice, published=published)


def _spread(mask: int, axes: Sequence[int]) -> int:
    return sum((mask >> place & 1) << axis for place, axis in enumerate(axes))


def _search(task: Task, landscape: Landscape) -> Points:
    """The bottoms of a few valleys, each the best that single changes of its sources lead to."""
    # The more cuboids, the longer a step, and the more neighbours there are: fewer are tried, and in the end none.
    dimensions = task.lattice.dimensions
    crowd = max(32, min(256, 2**15 >> dimensions))
    rounds = 6 if dimensions <= 12 else 0
    points, values = _narrow(landscape, start_points(task, min(64, crowd)), ((12, 16), (25, VALLEYS)))
    lines = zip(points, values, strict=True)
    return np.array([_improve(landscape, point, value, crowd, rounds) for point, value in lines])


def _improve(landscape: Landscape, point: Masks, value: float, crowd: int, rounds: int) -> Masks:
    """The best neighbour, its best neighbour, and so on while that gains anything."""
    for _ in range(rounds):
        stages = ((0, crowd), (3, max(4, crowd // 8)), (12, 1))
        (neighbour,), (lower,) = _narrow(landscape, _neighbours(point, 4 * crowd), stages)
        if lower > value - LEAST_GAIN:
            break
        point, value = neighbour, lower
    return point


def _narrow(landscape: Landscape, points: Points, stages: Sequence[tuple[int, int]]) -> tuple[Points, Masks]:
    """Descend some steps, keep some of the lowest, and so on; the lowest first, each valley once."""
    values = np.zeros(len(points))
    for steps, keep in stages:
        points, values = descend(landscape, points, landscape.exponent or BLUNT, steps)
        _, different = np.unique(values.round(6), return_index=True)
        lowest = different[:keep]
        points, values = logits_of(shares_of(points[lowest])), values[lowest]
    return points, values


def _neighbours(logits: Masks, most: int) -> Points:
    """Copies with one source dropped, moved up or down by one dimension, or added with an average share."""
    shares = np.exp(logits)
    sources, others = np.flatnonzero(shares > SMALLEST), np.flatnonzero(shares <= SMALLEST)
    bits = 1 << np.arange(len(logits).bit_length() - 1)
    removed = np.concatenate([sources, np.repeat(sources, len(bits)), others])
    added = np.concatenate([sources, (sources[:, None] ^ bits).ravel(), others])
    amounts = [np.zeros(len(sources)), np.repeat(shares[sources], len(bits)), np.full(len(others), 1 / len(sources))]
    chosen = np.linspace(0, len(removed) - 1, min(most, len(removed))).astype(np.int64)
    rows = np.arange(len(chosen))
    changed = np.repeat(shares[None], len(chosen), axis=0)
    changed[rows, removed[chosen]] = 0
    changed[rows, added[chosen]] += np.concatenate(amounts)[chosen]
    return logits_of(changed)


def _settle(landscape: Landscape, points: Points) -> Masks:
    """The lowest of some points, as shares, each descended to the bottom of its valley and rid of crumbs."""
    # Under Gaussian noise small shares count, and each cuboid may have one.
    crumb = SMALLEST if landscape.terrain.noise_power == 2 else SMALLEST / points.shape[1]
    shares = shares_of(points)
    for r in (landscape.exponent,) if landscape.exponent else (BLUNT, *SHARPENING):
        points, _ = descend(landscape, points, r, STEPS_TO_SETTLE)
        shares = shares_of(points)
        shares[shares < crumb] = 0
        points = logits_of(shares)
    lowest = min(range(len(points)), key=lambda row: landscape.value(points[row]))
    return np.where(shares[lowest] > 0, shares_of(points[lowest]), 0)
