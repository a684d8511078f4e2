"""Sweeps over the axes of the one array, in place, through the near caches and on all cores.

An axis of n+1 slots holds a total in slot 0 and n values. To split it is to move the values' mean into slot 0 and
leave their deviations; to join it is the way back, once slot 0 holds a total. Axes commute, so they are swept in
groups: a tile of all cells of a group, at LANES places of the other axes, is copied out, swept, and copied back. LANES
numbers are one vector register, so that every step of a sweep is as fast for an axis of 3 slots as for one of 100.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.cores import on_all_cores
from discreet.native import kernel

Cells = NDArray[np.float64]

LANES = 8

NEAR = 2**13
"""The most cells of a group: with LANES of them, half a megabyte."""


def place(cube: Cells, axes: Sequence[int], table: NDArray[Any], factor: float) -> None:
    """Write table × factor into the cuboid with these axes: slots 1 … n of its own, slot 0 of all others."""
    _place(cube.reshape(-1), np.ascontiguousarray(table).reshape(-1), factor, *_lines(cube, axes))


def sum_over(cube: Cells, axis: int, axes: Sequence[int]) -> None:
    """Write into the cuboid with these axes the sums over one more axis."""
    (slots,), (stride,) = _lines(cube, (axis,))
    _sum_over(cube.reshape(-1), slots, stride, *_lines(cube, axes))


def _lines(cube: Cells, axes: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The numbers of values of some axes, and how far apart these lie."""
    sizes = [cube.shape[axis] - 1 for axis in axes]
    strides = [cube.strides[axis] // cube.itemsize for axis in axes]
    return np.array(sizes, np.int64), np.array(strides, np.int64)


def solve_diagonally(cube: Cells, factors: NDArray[np.float64]) -> None:
    """Split every axis, multiply the component of each subset by the factor of its mask, and join every axis.

    Requires a C-contiguous cube.
    """
    *far, (near, _) = _groups(cube.shape)
    for group in far:
        _sweep_far(cube, group, splits=True)
    rows = cube.reshape(-1, prod(cube.shape[near:]))
    sizes = np.array(cube.shape[near:])
    row_masks, cell_masks = _masks(cube.shape[:near], 0), _masks(cube.shape[near:], near)
    on_all_cores(
        lambda first, last: _solve_rows(rows[first:last], sizes, factors, row_masks[first:last], cell_masks),
        len(rows),
        rows.shape[1],
    )
    for group in far:
        _sweep_far(cube, group, splits=False)


def _groups(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """Axes first … last-1 that are swept together, from front to back."""
    groups = []
    last = len(shape)
    while last:
        first = last - 1
        while first and prod(shape[first - 1 : last]) <= NEAR:
            first -= 1
        groups.append((first, last))
        last = first
    return groups[::-1]


def _masks(shape: tuple[int, ...], first_axis: int) -> NDArray[np.int64]:
    """The mask of every cell of some axes: which of them are not in slot 0."""
    masks = np.zeros(1, np.int64)
    for axis, slots in enumerate(shape, first_axis):
        masks = (masks[:, None] | np.where(np.arange(slots) > 0, 1 << axis, 0)).ravel()
    return masks


def _sweep_far(cube: Cells, group: tuple[int, int], splits: bool) -> None:
    first, last = group
    sizes = np.array(cube.shape[first:last])
    far = cube.reshape(prod(cube.shape[:first]), prod(sizes.tolist()), -1)
    tiles = len(far) * -(-far.shape[2] // LANES)
    on_all_cores(lambda a, b: _sweep_tiles(far, sizes, splits, a, b), tiles, far.shape[1] * LANES)


@kernel
def _place(
    cells: Cells, table: NDArray[Any], factor: float, sizes: NDArray[np.int64], strides: NDArray[np.int64]
) -> None:
    run, step = (sizes[-1], strides[-1]) if sizes.size else (1, 1)
    index, start = np.zeros(sizes.size, np.int64), strides.sum()
    for first in range(0, table.size, run):
        for k in range(run):
            cells[start + k * step] = factor * table[first + k]
        start = _next_run(start, index, sizes, strides)


@kernel
def _sum_over(cells: Cells, summed: int, apart: int, sizes: NDArray[np.int64], strides: NDArray[np.int64]) -> None:
    run, step = (sizes[-1], strides[-1]) if sizes.size else (1, 1)
    index, start = np.zeros(sizes.size, np.int64), strides.sum()
    for _ in range(0, sizes.prod(), run):
        for cell in range(start, start + run * step, step):
            total = 0.0
            for value in range(cell + apart, cell + apart * (summed + 1), apart):
                total += cells[value]
            cells[cell] = total
        start = _next_run(start, index, sizes, strides)


@kernel
def _next_run(start: int, index: NDArray[np.int64], sizes: NDArray[np.int64], strides: NDArray[np.int64]) -> int:
    """Where the next run along the last axis starts; counts the other axes' index up."""
    for axis in range(sizes.size - 2, -1, -1):
        index[axis] += 1
        start += strides[axis]
        if index[axis] < sizes[axis]:
            break
        start -= sizes[axis] * strides[axis]
        index[axis] = 0
    return start


@kernel
def _solve_rows(
    rows: Cells,
    sizes: NDArray[np.int64],
    factors: NDArray[np.float64],
    row_masks: NDArray[np.int64],
    cell_masks: NDArray[np.int64],
) -> None:
    """Split, multiply and join the axes that lie together in memory: a row is a group, LANES rows are a tile."""
    tile = np.zeros((rows.shape[1], LANES))
    for first in range(0, rows.shape[0], LANES):
        lanes = min(LANES, rows.shape[0] - first)
        for cell in range(tile.shape[0]):
            for lane in range(lanes):
                tile[cell, lane] = rows[first + lane, cell]
        _split(tile, sizes)
        for cell in range(tile.shape[0]):
            for lane in range(lanes):
                tile[cell, lane] *= factors[row_masks[first + lane] | cell_masks[cell]]
        _join(tile, sizes)
        for lane in range(lanes):
            for cell in range(tile.shape[0]):
                rows[first + lane, cell] = tile[cell, lane]


@kernel
def _sweep_tiles(far: Cells, sizes: NDArray[np.int64], splits: bool, first: int, last: int) -> None:
    """Split or join the middle axis of (outer, group, inner), a group of axes, in tiles first … last-1."""
    tile = np.zeros((far.shape[1], LANES))
    tiles = -(-far.shape[2] // LANES)
    for number in range(first, last):
        start = number % tiles * LANES
        columns = far[number // tiles, :, start : start + LANES]
        _copy(columns, tile)
        if splits:
            _split(tile, sizes)
        else:
            _join(tile, sizes)
        _copy(tile, columns)


@kernel
def _copy(source: Cells, target: Cells) -> None:
    """Copy as many columns as both have."""
    lanes = min(source.shape[1], target.shape[1])
    if lanes == LANES:  # a constant, for which the loop is one instruction
        for cell in range(source.shape[0]):
            for lane in range(LANES):
                target[cell, lane] = source[cell, lane]
    else:
        for cell in range(source.shape[0]):
            for lane in range(lanes):
                target[cell, lane] = source[cell, lane]


@kernel
def _split(tile: Cells, sizes: NDArray[np.int64]) -> None:
    inner = 1
    means = np.empty(LANES)
    for axis in range(sizes.size - 1, -1, -1):
        share, span = 1 / (sizes[axis] - 1), sizes[axis] * inner
        for block in range(0, tile.shape[0], span):
            for total in range(block, block + inner):
                means[:] = 0.0
                for value in range(total + inner, total + span, inner):
                    for lane in range(LANES):
                        means[lane] += tile[value, lane]
                for lane in range(LANES):
                    means[lane] *= share
                    tile[total, lane] += means[lane]
                for value in range(total + inner, total + span, inner):
                    for lane in range(LANES):
                        tile[value, lane] -= means[lane]
        inner = span


@kernel
def _join(tile: Cells, sizes: NDArray[np.int64]) -> None:
    inner = 1
    for axis in range(sizes.size - 1, -1, -1):
        share, span = 1 / (sizes[axis] - 1), sizes[axis] * inner
        for block in range(0, tile.shape[0], span):
            for total in range(block, block + inner):
                for value in range(total + inner, total + span, inner):
                    for lane in range(LANES):
                        tile[value, lane] += share * tile[total, lane]
        inner = span
