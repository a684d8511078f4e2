"""What a peer's lines and saved cuboids amount to."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from bench.peers.outcome import Counts, Marginals, Noise
from bench.peers.workload import WARM_UP, Table

Lines = Sequence[Mapping[str, Any]]
Cells = NDArray[np.float64]
ENOUGH_TO_SCALE = 8


def judge_noise(lines: Lines) -> Noise:
    return Noise(**lines[0])


def judge_counts(lines: Lines) -> Counts:
    asked = [line for line in lines if "seconds" in line]
    counted = asked[WARM_UP:] or asked
    [memory] = [line["peak_bytes"] for line in lines if "peak_bytes" in line]
    [end] = [line for line in lines if "after" in line]
    return Counts(
        asked=len(asked),
        median_seconds=statistics.median(line["seconds"] for line in counted),
        slowest_seconds=max(line["seconds"] for line in counted),
        mean_error=statistics.fmean(line["error"] for line in asked),
        peak_bytes=memory,
        **end,
    )


def judge_marginals(table: Table, wanted: Sequence[int], lines: Lines, folder: Path) -> Marginals:
    """From the cuboids that are in the folder. Requires at least one."""
    seconds = {line["mask"]: line["seconds"] for line in lines}
    found = {mask: np.load(folder / f"{mask}.npy") for mask in seconds}
    errors = {mask: np.abs(np.nan_to_num(cells) - table.counted(mask)) for mask, cells in found.items()}
    return Marginals(
        wanted=len(wanted),
        finished=len(found),
        seconds=sum(seconds.values()),
        scaled_seconds=scaled_seconds(table, wanted, seconds),
        peak_bytes=lines[-1]["peak_bytes"],
        cells=sum(map(table.cells, found)),
        answered_cells=sum(int(np.isfinite(cells).sum()) for cells in found.values()),
        mean_error=statistics.fmean(float(error.mean()) for error in errors.values()),
        people_error=statistics.fmean(float(error[table.counted(mask) > 0].mean()) for mask, error in errors.items()),
        max_error=max(float(error.max()) for error in errors.values()),
        roll_up_gap=roll_up_gap(table, found),
    )


def scaled_seconds(table: Table, wanted: Sequence[int], seconds: Mapping[int, float]) -> float | None:
    """So much a cuboid and so much a cell, by least squares over those that were finished, for all of them."""
    if len(seconds) == len(wanted) or len(seconds) < ENOUGH_TO_SCALE:
        return None
    sizes = np.array([[1.0, table.cells(mask)] for mask in seconds])
    by_cuboid, by_cell = nnls(sizes, np.array(list(seconds.values())))[0]
    left = [mask for mask in wanted if mask not in seconds]
    return float(sum(seconds.values()) + by_cuboid * len(left) + by_cell * sum(map(table.cells, left)))


def roll_up_gap(table: Table, found: Mapping[int, Cells]) -> float | None:
    """Each cuboid, and each with one dimension summed away, beside whatever else there is of the same dimensions."""
    first: dict[int, Cells] = {}
    gaps = []
    for mask, cells in found.items():
        known = np.nan_to_num(cells)
        axes = table.axes(mask)
        for rolled, view in [(mask, known)] + [(mask & ~(1 << axis), known.sum(at)) for at, axis in enumerate(axes)]:
            if rolled in first:
                gaps.append(float(np.abs(view - first[rolled]).max()))
            else:
                first[rolled] = view
    return max(gaps, default=None)
