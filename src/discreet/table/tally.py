"""Many marginals counted natively, in one pass over the codes: for plans whose groupings no one scan can share.

Marginals with the same attributes but the last are counted together, block by block of rows: their common key is
computed once, and what is left of a step is to read a code and to add 1. Blocks, and the counts of one marginal, stay
in the near caches.
"""

from collections import defaultdict
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.cores import on_all_cores
from discreet.native import kernel

BLOCK_ROWS = 1 << 15
DEALT = 64
"""Number of parts that the stems are divided into, so that each core gets about as many marginals."""

Array = NDArray[np.int64]
Codes = NDArray[Any]
"""Shape (attributes, rows), of a type as narrow as the largest code allows."""


class Stems(NamedTuple):
    """Stem s has the axes stems[stem_starts[s]:…], and the marginals members[member_starts[s]:…]: each with its last
    axis, and where its counts begin."""

    sizes: Array
    stem_starts: Array
    stems: Array
    member_starts: Array
    last_axes: Array
    offsets: Array


def count_marginals(
    columns: Sequence[NDArray[Any]], sizes: Sequence[int], marginals: Sequence[tuple[int, ...]]
) -> list[Array]:
    """How many rows have each combination of codes, for every marginal by the axes of its attributes.

    There is a column of codes for each axis, each below its size. Marginals are different ones; memory is that of the
    answer.
    """
    cells = [prod(sizes[axis] for axis in axes) for axes in marginals]
    starts = np.concatenate([[0], np.cumsum(cells, dtype=np.int64)])
    counts = np.zeros(int(starts[-1]), np.int64)
    work = _work(sizes, marginals, starts)
    kind = np.min_scalar_type(max(sizes) - 1)
    totals = [int(start) for axes, start in zip(marginals, starts[:-1], strict=True) if not axes]
    rows = columns[0].size
    counts[totals] += rows
    for first in range(0, rows, BLOCK_ROWS):
        block = np.stack([column[first : first + BLOCK_ROWS].astype(kind, copy=False) for column in columns])
        _count_block(block, work, counts)
    shapes = [tuple(sizes[axis] for axis in axes) for axes in marginals]
    ends = starts.tolist()
    return [counts[first:last].reshape(shape) for first, last, shape in zip(ends[:-1], ends[1:], shapes, strict=True)]


def _work(sizes: Sequence[int], marginals: Sequence[tuple[int, ...]], starts: Array) -> Stems:
    together: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    for axes, start in zip(marginals, starts.tolist(), strict=False):
        if axes:
            together[axes[:-1]].append((axes[-1], start))
    largest_first = sorted(together.items(), key=lambda stem: -len(stem[1]))
    dealt = [stem for part in range(DEALT) for stem in largest_first[part::DEALT]]
    return Stems(
        np.array(sizes, np.int64),
        np.cumsum([0, *(len(stem) for stem, _ in dealt)]),
        np.array([axis for stem, _ in dealt for axis in stem], np.int64),
        np.cumsum([0, *(len(members) for _, members in dealt)]),
        np.array([axis for _, members in dealt for axis, _ in members], np.int64),
        np.array([start for _, members in dealt for _, start in members], np.int64),
    )


def _count_block(block: Codes, work: Stems, counts: Array) -> None:
    on_all_cores(
        lambda start, stop: _count(block, work, start, stop, counts),
        len(work.stem_starts) - 1,
        block.shape[1] * len(work.offsets) // max(1, len(work.stem_starts) - 1),
    )


@kernel
def _count(codes: Codes, work: Stems, first: int, last: int, counts: Array) -> None:
    """Count a block of rows for the stems first … last-1."""
    rows = codes.shape[1]
    keys = np.empty(rows, np.int64)
    for stem in range(first, last):
        keys[:] = 0
        for at in range(work.stem_starts[stem], work.stem_starts[stem + 1]):
            axis = work.stems[at]
            size, column = work.sizes[axis], codes[axis]
            for row in range(rows):
                keys[row] = keys[row] * size + column[row]
        for member in range(work.member_starts[stem], work.member_starts[stem + 1]):
            axis, start = work.last_axes[member], work.offsets[member]
            size, column = work.sizes[axis], codes[axis]
            for row in range(rows):
                counts[start + keys[row] * size + column[row]] += 1
