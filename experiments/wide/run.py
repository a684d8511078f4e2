"""One wide table, published whole through a vault: how long it takes, how much memory, and how exact it is."""

import os
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from discreet.cube.cube import Cube
from discreet.cube.memory import needed_bytes
from discreet.vault import Vault
from experiments.noise import RepeatableNoise
from experiments.tables.tables import Coded, synthetic

ROWS = 100_000
VALUES = 10
ORDER = 3
"""All cuboids of at most so many dimensions."""


@dataclass(frozen=True)
class Run:
    """Seconds and bytes; memory is the process's peak, the table's making and all imports included."""

    attributes: int
    cuboids: int
    cells: int
    planning: float
    publishing: float
    saving: float
    peak_bytes: int
    stated_bytes: int
    folder_bytes: int
    largest_variance: float
    relative_error: float
    """The mean squared error of some cuboids of three dimensions, to the variance that was stated for them."""
    roll_up_gap: float


def run_in_own_process(attributes: int, currency: str, amount: str, rows: int = ROWS) -> Run:
    """The whole way in a process of its own, so that its peak memory is its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(_run_repeatably, attributes, currency, amount, rows).result()


def _run_repeatably(attributes: int, currency: str, amount: str, rows: int) -> Run:
    with RepeatableNoise().named("wide", attributes, currency, amount, rows):
        return run(attributes, currency, amount, rows)


def run(attributes: int, currency: str, amount: str, rows: int = ROWS) -> Run:
    table = synthetic((VALUES,) * attributes, rows)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        place, domain = table.write(Path(folder))
        budget = {currency: 1000}
        vault = Vault.init(Path(folder) / "v", table=place, domain=domain, neighbours="add-remove", **budget)
        few = table.domain.names[:4]
        spent = {currency: amount}
        vault.cubes.publish(vault.cubes.plan(cuboids=2, dimensions=few, **spent))  # compiles, or loads what is compiled
        start = time.perf_counter()
        plan = vault.cubes.plan(cuboids=ORDER, **spent)
        planned = time.perf_counter()
        cube = vault.cubes.publish(plan)
        published = time.perf_counter()
        cube.save(Path(folder) / "cube")
        saved = time.perf_counter()
        return Run(
            attributes=attributes,
            cuboids=len(cube.cuboids),
            cells=sum(cells.size for cells in cube.cuboids.values()),
            planning=planned - start,
            publishing=published - planned,
            saving=saved - published,
            peak_bytes=peak_bytes(),
            stated_bytes=needed_bytes(plan),
            folder_bytes=sum(file.stat().st_size for file in (Path(folder) / "cube").iterdir()),
            largest_variance=plan.max_variance_consistent,
            relative_error=relative_error(cube, table),
            roll_up_gap=roll_up_gap(cube),
        )


def peak_bytes() -> int:
    """The most that this process ever had in memory."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def relative_error(cube: Cube, table: Coded) -> float:
    ratios = []
    for axes in some_triples(len(table.sizes)):
        names = [table.domain.names[axis] for axis in axes]
        exact = np.zeros([table.sizes[axis] for axis in axes])
        np.add.at(exact, tuple(table.rows[:, axis] for axis in axes), 1)
        ratios.append(np.mean((cube.cells(*names) - exact) ** 2) / cube.variance(*names))
    return float(np.mean(ratios))


def roll_up_gap(cube: Cube) -> float:
    """How far a roll-up is from the cuboid itself, at most, to the largest count in it."""
    gaps = []
    for axes in some_triples(len(cube.dimensions)):
        names = [cube.dimensions[axis].name for axis in axes]
        coarse = cube.cells(*names[:2])
        gaps.append(np.abs(cube.cells(*names).sum(axis=2) - coarse).max() / max(np.abs(coarse).max(), 1))
    return float(max(gaps))


def some_triples(dimensions: int) -> list[list[int]]:
    rng = np.random.default_rng(7)
    return [sorted(rng.choice(dimensions, 3, replace=False).tolist()) for _ in range(20)]
