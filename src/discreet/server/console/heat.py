"""Heat maps as SVG: a path for each of nine shades, so that ten thousand cells are a few kilobytes."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHADES = 9
WIDTH = 760.0
LEFT, TOP = 132.0, 22.0
TITLE = 16.0
"""What the name of the axis to the right takes."""
MOST_ROW_NAMES, MOST_COLUMN_NAMES = 24, 20
LONGEST_NAME = 16


@dataclass(frozen=True)
class Name:
    """A label at its place along an axis."""

    place: float
    text: str


@dataclass(frozen=True)
class Heat:
    """A map of numbers by row and column, in shades from the lowest to the highest."""

    across: str
    down: str
    paths: tuple[tuple[int, str], ...]
    """A shade, and the cells that have it, in units of cells."""
    columns: int
    rows: int
    row_names: tuple[Name, ...]
    column_names: tuple[Name, ...]
    height: float
    lowest: str
    highest: str
    said: str
    """What each cell says, as JSON for the script that reads it out."""
    unsure: str = ""
    """Crosses over the cells that cannot be told from 0, as a path."""

    left, top, width = LEFT, TOP, WIDTH

    @property
    def plot_width(self) -> float:
        return WIDTH - LEFT - 8

    @property
    def total_height(self) -> float:
        longest = max((len(name.text) for name in self.column_names), default=0)
        return TOP + self.height + 18 + 3.6 * longest + TITLE


def heat_map(
    values: NDArray[np.float64],
    down: tuple[str, Sequence[str]],
    across: tuple[str, Sequence[str]],
    words: Callable[[int, int], str],
    ends: Callable[[float], str],
    limits: tuple[float, float] | None = None,
    unsure: NDArray[np.bool_] | None = None,
) -> Heat:
    """A map of `values` by row and column, each axis with its name and its labels.

    `words` says what a cell is, by its row and column, `ends` what the ends of the scale are: `limits`, or the least
    and the largest value; cells that are `unsure` are crossed.
    """
    low, high = limits or (float(values.min()), float(values.max()))
    unit = (SHADES - 1e-9) / (high - low) if high > low else 0.0
    shades = np.clip((values - low) * unit, 0, SHADES - 1).astype(np.int64)
    rows, columns = values.shape
    height = rows * min(max(340.0 / rows, 5.0), 26.0)
    said = {
        "rows": list(down[1]),
        "columns": list(across[1]),
        "values": [[words(row, column) for column in range(columns)] for row in range(rows)],
    }
    return Heat(
        across[0],
        down[0],
        _paths(shades),
        columns,
        rows,
        _names(down[1], height, MOST_ROW_NAMES),
        _names(across[1], WIDTH - LEFT - 8, MOST_COLUMN_NAMES),
        height,
        ends(low),
        ends(high),
        json.dumps(said, ensure_ascii=False, separators=(",", ":")),
        "" if unsure is None else "".join(f"M{column} {row + 1}l1 -1" for row, column in np.argwhere(unsure).tolist()),
    )


def _paths(shades: NDArray[np.int64]) -> tuple[tuple[int, str], ...]:
    """By shade, its runs of cells along the rows."""
    drawn: dict[int, list[str]] = {}
    for row, line in enumerate(shades):
        ends = np.flatnonzero(np.diff(line, append=-1)) + 1
        start = 0
        for end in ends.tolist():
            drawn.setdefault(int(line[start]), []).append(f"M{start} {row}h{end - start}v1h{start - end}z")
            start = end
    return tuple((shade, "".join(runs)) for shade, runs in sorted(drawn.items()))


def _names(labels: Sequence[str], length: float, most: int) -> tuple[Name, ...]:
    """Every label, or every second, third, … where all would be too many; each at the middle of its cell."""
    step, cell = math.ceil(len(labels) / most), length / len(labels)
    return tuple(Name((place + 0.5) * cell, _short(labels[place])) for place in range(0, len(labels), step))


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_NAME else f"{label[: LONGEST_NAME - 1]}…"
