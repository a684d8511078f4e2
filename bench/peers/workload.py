"""What every peer is asked to do, and how: tables in codes, cuboids by bit masks, questions about a range of people."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOISE_SCALE = 10
DRAWS = 10**6
EPSILON = 1.0
"""For a whole task: every cuboid, or every question, has an even share of it."""
QUESTIONS = 200
WARM_UP = 3
"""The first questions are not in the median: they open, compile, or copy."""


@dataclass(frozen=True)
class Table:
    """Rows of codes: column i holds 0 … sizes[i] − 1. A cuboid is a mask: bit i is set where it has column i."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    rows: NDArray[np.int32]

    def save(self, path: Path) -> None:
        np.savez(path, names=np.array(self.names), sizes=np.array(self.sizes), rows=self.rows)

    @classmethod
    def load(cls, path: Path) -> "Table":
        with np.load(path) as saved:
            return cls(tuple(saved["names"].tolist()), tuple(saved["sizes"].tolist()), saved["rows"])

    def axes(self, mask: int) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.sizes)) if mask >> axis & 1)

    def columns(self, mask: int) -> tuple[str, ...]:
        return tuple(self.names[axis] for axis in self.axes(mask))

    def shape(self, mask: int) -> tuple[int, ...]:
        return tuple(self.sizes[axis] for axis in self.axes(mask))

    def cells(self, mask: int) -> int:
        return int(np.prod(self.shape(mask), dtype=np.int64))

    def cell_of_rows(self, mask: int) -> NDArray[np.int64]:
        """In which cell of the cuboid, laid out in a row, every person is."""
        if not mask:
            return np.zeros(len(self.rows), np.int64)
        codes = tuple(self.rows[:, axis].astype(np.int64) for axis in self.axes(mask))
        return np.ravel_multi_index(codes, self.shape(mask))

    def counted(self, mask: int) -> NDArray[np.int64]:
        """The exact count of every cell of the cuboid."""
        return np.bincount(self.cell_of_rows(mask), minlength=self.cells(mask)).reshape(self.shape(mask))

    def code_grid(self, mask: int) -> NDArray[np.int32]:
        """The codes of every cell, a line a cell, in the order of `counted`."""
        return np.indices(self.shape(mask), dtype=np.int32).reshape(len(self.shape(mask)), -1).T


def pairs(table: Table) -> list[int]:
    """All cuboids of two dimensions."""
    return [mask for mask in range(2 ** len(table.sizes)) if mask.bit_count() == 2]


def all_cuboids(table: Table) -> list[int]:
    """Every cuboid, large and small ones mixed: whoever gets through a part has done a fair sample of them."""
    many = 2 ** len(table.sizes)
    return sorted(range(many), key=lambda mask: mask * 101 % many)


@dataclass(frozen=True)
class Question:
    """How many people are of an age from `youngest` to `oldest`, with an income class of at least `income`?"""

    youngest: int
    oldest: int
    income: int

    @property
    def where(self) -> str:
        return f"age BETWEEN {self.youngest} AND {self.oldest} AND income >= {self.income}"

    def counted(self, age: NDArray[np.int32], income: NDArray[np.int32]) -> int:
        return int(np.count_nonzero((age >= self.youngest) & (age <= self.oldest) & (income >= self.income)))


@dataclass(frozen=True)
class Reply:
    """What a peer says to a question; `kind` where it says more than the number."""

    value: float
    kind: str = ""


def questions() -> Iterator[Question]:
    """All different, and all about people of 45 with an income class of 8 or more: they share their budget."""
    return (Question(*asked) for asked in product(range(20, 45), range(45, 85), range(4, 8)))


def people(rows: int, seed: int = 1) -> Table:
    """A generated table: age in years, class of income, region."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 100, rows), rng.binomial(10, 0.4, rows), rng.integers(0, 12, rows)]
    return Table(("age", "income", "region"), (100, 11, 12), np.stack(columns, axis=1).astype(np.int32))


def column(table: Table, name: str) -> NDArray[np.int32]:
    return np.ascontiguousarray(table.rows[:, table.names.index(name)])


def in_order(table: Table, mask: int, keys: NDArray[Any], values: NDArray[Any]) -> NDArray[np.float64]:
    """Cells that came as lines of codes and values, in the cuboid's shape; NaN where there was no line."""
    cells = np.full(table.shape(mask), np.nan)
    cells[tuple(np.asarray(keys, np.int64).reshape(-1, len(table.shape(mask))).T)] = values
    return cells
