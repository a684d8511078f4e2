"""Released GROUP BYs in columns, so that all of them are looked at in a few array operations."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.answer.nearest import ROUNDING
from discreet.answer.past import CountBlock, PastAnswer
from discreet.domain.region import Box

Ints = NDArray[np.int64]
AT_ONCE = 1 << 20
"""Size of the arrays in which boxes are compared with blocks."""


@dataclass(frozen=True)
class _BlockColumns:
    """Row n is block n; only the first `count` rows are filled."""

    low: Ints
    high: Ints
    grouped: NDArray[np.bool_]
    count: int

    @property
    def filled(self) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        return self.low[: self.count], self.high[: self.count], self.grouped[: self.count]

    @classmethod
    def empty(cls, capacity: int, axes: int) -> "_BlockColumns":
        shape = (capacity, axes)
        return cls(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.bool_), 0)


class Groups:
    """Blocks in the order in which they were added. Adding needs a lock around it; reading needs none."""

    def __init__(self, axes: int) -> None:
        self._blocks: list[CountBlock] = []
        self._columns = _BlockColumns.empty(16, axes)
        self._looked_up: tuple[int, dict[Box, tuple[list[int], list[int]]]] = (0, {})

    def add(self, block: CountBlock) -> None:
        old = self._columns
        if old.count == len(old.low):
            columns = _BlockColumns.empty(2 * old.count, old.low.shape[1])
            columns.low[: old.count], columns.high[: old.count] = old.low, old.high
            columns.grouped[: old.count] = old.grouped
        else:
            columns = old
        columns.low[old.count], columns.high[old.count] = block.where.low, block.where.high
        columns.grouped[old.count, list(block.by)] = True
        self._blocks.append(block)
        self._columns = _BlockColumns(columns.low, columns.high, columns.grouped, old.count + 1)

    @property
    def blocks(self) -> list[CountBlock]:
        """All of them, in the order in which they were added."""
        return list(self._blocks)

    def look_up(self, boxes: Sequence[Box]) -> None:
        """Find in one go what `aligned` and `within` say of some boxes: they are soon asked for it one by one."""
        if self._columns.count:
            self._looked_up = self._columns.count, self._found(boxes)

    def _found(self, boxes: Sequence[Box]) -> dict[Box, tuple[list[int], list[int]]]:
        """Of each box, the blocks that `aligned` and `within` name."""
        low, high, grouped = self._columns.filled
        found: dict[Box, tuple[list[int], list[int]]] = {box: ([], []) for box in boxes}
        at_once = max(AT_ONCE // max(low.size, 1), 1)
        for start in range(0, len(boxes), at_once):
            some = boxes[start : start + at_once]
            lows, highs = (np.array([getattr(box, end) for box in some], np.int64)[:, None] for end in ("low", "high"))
            aligned = np.where(grouped, (low <= lows) & (high >= highs), (low == lows) & (high == highs))
            meets = np.maximum(low, lows) <= np.minimum(high, highs)
            within = np.where(grouped, meets, (lows <= low) & (highs >= high))
            for place, fits in enumerate((aligned, within)):
                for one, row in np.argwhere(fits.all(axis=2)).tolist():
                    found[some[one]][place].append(row)
        return found

    def _rows(self, box: Box) -> tuple[list[int], list[int]]:
        count, found = self._looked_up
        rows = found.get(box) if count == self._columns.count else None
        return self._found([box])[box] if rows is None else rows

    def aligned(self, box: Box) -> list[CountBlock]:
        """The blocks of whose groups a box is a union."""
        if not self._columns.count:
            return []
        return [self._blocks[row] for row in self._rows(box)[0]]

    def within(self, box: Box) -> Iterator[tuple[CountBlock, Box]]:
        """Each block whose groups inside a box make up a box, and that one."""
        if not self._columns.count:
            return
        for row in self._rows(box)[1]:
            block = self._blocks[row]
            first = tuple(map(max, block.where.low, box.low))
            yield block, Box(first, tuple(map(min, block.where.high, box.high)))

    def nearest(self, asked: Box, step: tuple[float, ...]) -> PastAnswer | None:
        """The sum of a block's groups whose box is nearest; of equally near ones, that with the least variance."""
        columns = self._columns
        if not columns.count:
            return None
        low, high, grouped = columns.filled
        near_low = np.where(grouped, np.clip(asked.low, low, high), low)
        near_high = np.where(grouped, np.clip(asked.high, low, high), high)
        errors = (np.abs(near_low - asked.low) + np.abs(near_high - asked.high)) @ np.array(step)
        ties = np.flatnonzero(errors <= errors.min() * (1 + ROUNDING))
        cells = np.where(grouped[ties], near_high[ties] - near_low[ties] + 1, 1).prod(axis=1, dtype=np.float64)
        row = int(ties[np.argmin(cells * [self._blocks[tie].variance for tie in ties])])
        return self._blocks[row].total(Box(tuple(near_low[row].tolist()), tuple(near_high[row].tolist())))

    def beside(self, box: Box) -> Iterator[tuple[CountBlock, int]]:
        """The blocks, and an axis each, that fit a box on every other axis: on that one they may grow or shrink it."""
        if not self._columns.count:
            return
        fits = self._fits(box)
        misfits = (~fits).sum(axis=1)
        for row in np.flatnonzero(misfits == 1):
            yield self._blocks[row], int(np.argmin(fits[row]))
        for row in np.flatnonzero(misfits == 0):
            for axis in self._blocks[row].by:
                yield self._blocks[row], axis

    def _fits(self, box: Box) -> NDArray[np.bool_]:
        """Block by axis: whether the box has the block's own interval there, or lies inside it where it is grouped."""
        low, high, grouped = self._columns.filled
        fits: NDArray[np.bool_] = np.where(
            grouped,
            (low <= box.low) & (high >= box.high),
            (low == box.low) & (high == box.high),
        )
        return fits
