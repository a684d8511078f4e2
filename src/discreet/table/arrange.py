"""Rows put in an order, numbered by somebody else, and written without a column: what a release of rows needs."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.domain.columns import column_of
from discreet.domain.domain import Domain
from discreet.errors import EngineError, TableError
from discreet.noise.bits import Bits
from discreet.table.count import CodedRows

Array = NDArray[np.int64]

LARGEST_KEY = 2**63
"""What sorts by one whole number has fewer combinations than this."""


def held_rows(rows: CodedRows, names: Sequence[str], bits: Bits) -> "HeldRows":
    """The codes of some attributes of every row. No row can make it fail."""
    if not rows.size:
        raise TableError("the table has no rows that its domain describes; there is nothing to arrange")
    return HeldRows(rows.domain, {name: rows.codes(name) for name in names}, bits)


@dataclass
class HeldRows:
    """Rows as codes, in an order that changes. Whoever holds them holds the data."""

    domain: Domain
    _codes: dict[str, NDArray[Any]] = field(repr=False)
    bits: Bits
    _numbers: NDArray[np.int32] | None = field(default=None, repr=False)

    def counts(self, name: str) -> Array:
        """How many rows have each code of an attribute."""
        return np.bincount(self._codes[name].astype(np.int64), minlength=self.domain[name].size)

    def distinct(self, name: str) -> int:
        """How many codes of an attribute there are."""
        return int(np.unique(self._codes[name]).size)

    def entropy(self, name: str) -> float:
        """How many bits an attribute tells of a row, on average."""
        _, counts = np.unique(self._codes[name], return_counts=True)
        shares = counts / counts.sum()
        return float(-(shares * np.log2(shares)).sum())

    def order(self, by: Sequence[str], reported: str) -> Array:
        """Put the rows in order by the codes of some attributes, ties by lot; the codes of one of them, in that order.

        The lots are 64 fresh random bits a row, used once: beyond `by` the order tells nothing of the one before.
        """
        lots = self.bits.words(self._codes[reported].size)
        self._arrange(np.lexsort((lots, *self._keys(by))))
        return self._codes[reported].astype(np.int64)

    def deal(self, numbers: NDArray[np.int32], name: str, codes: Array) -> None:
        """Give the rows, in their order, these numbers. Requires that they have these codes of an attribute, which is
        checked: rows and numbers that parted company would be published as somebody else's."""
        if numbers.shape != codes.shape or not np.array_equal(self._codes[name], codes):
            raise EngineError("the rows are not in the order that was asked for; nothing was written")
        self._numbers = numbers

    def write(self, names: Sequence[str], number: str, path: Path) -> None:
        """Write the columns of some attributes with the rows' numbers to a Parquet file, ordered by what it holds: by
        number and then by the columns, so that the order tells nothing that the file does not."""
        dealt = self._dealt()
        order = np.lexsort((*self._keys(names), dealt))
        columns = {name: column_of(self.domain[name], self._codes[name][order].astype(np.int64)) for name in names}
        # Without Arrow's own schema in the file, a dictionary reads back as what it holds.
        pq.write_table(pa.table({**columns, number: dealt[order]}), path, compression="zstd", store_schema=False)

    def sample(self, names: Sequence[str], first_numbers: int) -> tuple[Array, Array]:
        """The numbers and the codes of all rows with a number up to so many: for measuring what can be guessed."""
        dealt = self._dealt()
        chosen = np.flatnonzero(dealt <= first_numbers)
        chosen = chosen[np.argsort(dealt[chosen], kind="stable")]
        return dealt[chosen].astype(np.int64), np.stack(
            [self._codes[n][chosen].astype(np.int64) for n in names], axis=1
        )

    def _dealt(self) -> NDArray[np.int32]:
        if self._numbers is None:
            raise EngineError("the rows have no numbers yet; nothing was written")
        return self._numbers

    def _arrange(self, order: Array) -> None:
        self._codes = {name: codes[order] for name, codes in self._codes.items()}

    def _keys(self, by: Sequence[str]) -> list[NDArray[Any]]:
        """What sorts rows by some attributes, for lexsort: one whole number where that does, which sorts faster."""
        if prod(self.domain[name].size for name in by) >= LARGEST_KEY:
            return [self._codes[name] for name in reversed(by)]
        key = np.zeros(next(iter(self._codes.values())).size, np.int64)
        for name in by:
            key = key * self.domain[name].size + self._codes[name]
        return [key] if by else []
