"""Figure 6.8: the time to publish, on Adult's first 5 to 8 dimensions and two more of four random values.

The whole way through a vault: plan, charge, read, exact noise, sync to disk, then roll-ups or least squares.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from discreet.cube.plan import CubePlan
from discreet.cube.publish import cube_of, measurements_of
from discreet.vault import Vault
from experiments.cubes.plot import COLOURS, panels, save, write_rows
from experiments.cubes.techniques import ALL, BASE, BMAX, BMAXG, OPTIMAL, PMOST, PMOSTG, Technique
from experiments.tables.tables import Coded, adult

DIMENSIONS = (5, 6, 7, 8, 9, 10)
TECHNIQUES = (ALL, BASE, BMAX, PMOST, BMAXG, PMOSTG, OPTIMAL)


def draw() -> None:
    table = adult().with_random_columns((4, 4))
    found = [row for count in DIMENSIONS for row in times(table.first(count))]
    header = ("dimensions", "cells", "technique", "sources", "seconds", "seconds, consistent")
    write_rows("fig6_8", header, [(*row[:4], f"{row[4]:.3f}", f"{row[5]:.3f}") for row in found])
    figure, (panel,) = panels(1, width=8.2, height=4.8)
    for technique in TECHNIQUES:
        rows = [row for row in found if row[2] == technique.name]
        colour = COLOURS[technique.name]
        panel.plot([row[1] for row in rows], [row[5] for row in rows], "o-", color=colour, label=technique.name)
        panel.plot([row[1] for row in rows], [row[4] for row in rows], "o--", color=colour, alpha=0.45)
    cells = sorted({row[1] for row in found})
    panel.set(xscale="log", yscale="log", xlabel="dimensions, cells of the cube", ylabel="seconds")
    panel.set_xticks(cells, labels=[f"{count}\n{size:.1g}" for count, size in zip(DIMENSIONS, cells, strict=True)])
    panel.minorticks_off()
    panel.set_title("Adult, all cuboids, ε = 1; dashed: without consistency", fontsize=10, loc="left")
    panel.legend(frameon=False, fontsize=8)
    save(figure, "fig6_8")


def times(table: Coded) -> Iterator[tuple[int, int, str, int, float, float]]:
    """The seconds that each technique takes, without and with consistency."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        rows, domain = table.write(Path(folder))
        vault = Vault.init(Path(folder) / "v", table=rows, domain=domain, epsilon=100, neighbours="add-remove")
        for technique in TECHNIQUES:
            plan = _plan(vault, technique, table.domain.names[-2:])
            vault.cubes.publish(plan)  # compiles, or loads what is compiled
            runs = [_times(vault, technique, table.domain.names) for _ in range(3 if len(table.sizes) < 9 else 1)]
            plan = runs[0][0]
            rough, consistent = min(run[1] for run in runs), min(run[2] for run in runs)
            yield len(table.sizes), plan.lattice.cube_bytes // 8, technique.name, len(plan.sources), rough, consistent


def _times(vault: Vault, technique: Technique, dimensions: tuple[str, ...]) -> tuple[CubePlan, float, float]:
    start = time.perf_counter()
    plan = _plan(vault, technique, dimensions)
    release = vault.measure(measurements_of(plan, vault.domain))
    measured = time.perf_counter()
    cube_of(plan, vault.domain, release, consistent=False)
    rolled_up = time.perf_counter()
    cube_of(plan, vault.domain, release, consistent=True)
    reconciled = time.perf_counter()
    measuring = measured - start
    return plan, measuring + rolled_up - measured, measuring + reconciled - rolled_up


def _plan(vault: Vault, technique: Technique, dimensions: tuple[str, ...]) -> CubePlan:
    return vault.cubes.plan(epsilon=1, planner=technique.planner, objective=technique.objective, dimensions=dimensions)
