"""Figure 6.9: the parts of publishing: (a) planning, by dimensions; (b) noise and consistency, by number of sources."""

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from discreet.cube.consistency import reconcile, roll_up
from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan
from discreet.ledger.budget import PureBudget
from discreet.noise.bits import SeededBits
from discreet.query.lattice import Lattice
from experiments.cubes.plot import COLOURS, panels, save, write_rows
from experiments.cubes.techniques import BMAX, BMAXG, OPTIMAL, PMOST, PMOSTG, exact_cube, noisy_sources
from experiments.tables.tables import adult

SIZES = (9, 16, 7, 15, 6, 5, 2, 2, 4, 4)
DIMENSIONS = (5, 6, 7, 8, 9, 10)
PLANNERS = (BMAX, PMOST, BMAXG, PMOSTG, OPTIMAL)
SOURCES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
REPEATS = 3


def draw() -> None:
    planning = {
        technique.name: [_seconds(lambda t=technique, d=count: t.plan(SIZES[:d], Fraction(1))) for count in DIMENSIONS]
        for technique in PLANNERS
    }
    computing = [parts(count) for count in SOURCES]
    write_rows("fig6_9a", ("dimensions", *planning), _rounded(DIMENSIONS, *planning.values()))
    write_rows(
        "fig6_9b", ("sources", "noise", "roll-ups", "consistency"), _rounded(SOURCES, *zip(*computing, strict=True))
    )
    figure, (left, right) = panels(2, width=5.4, height=4.2)
    for name, seconds in planning.items():
        left.plot(DIMENSIONS, seconds, "o-", color=COLOURS[name], label=name)
    left.set(yscale="log", xlabel="dimensions", ylabel="seconds")
    left.set_title("(a) planning, all cuboids", fontsize=10, loc="left")
    for label, seconds in zip(
        ("noise", "roll-ups, level by level", "consistency"), zip(*computing, strict=True), strict=True
    ):
        right.plot(SOURCES, seconds, "o-", label=label)
    right.set(xscale="log", xlabel="sources", ylabel="seconds", ylim=(0, None))
    right.set_xticks(SOURCES, labels=[str(count) for count in SOURCES])
    right.minorticks_off()
    right.set_title("(b) Adult, 8.2 M cells, by number of sources", fontsize=10, loc="left")
    for panel in (left, right):
        panel.legend(frameon=False, fontsize=8)
    save(figure, "fig6_9")


def parts(count: int) -> tuple[float, float, float]:
    """The seconds for noise, for roll-ups and for consistency, with the base cuboid and random others as sources."""
    table = adult()
    exact, lattice = exact_cube(table.base_cuboid()), Lattice(table.sizes)
    others = np.random.default_rng(count).permutation(lattice.base)[: count - 1].tolist()
    masks = tuple(sorted([*others, lattice.base]))
    published = lattice.choose("all")
    noise = NoiseModel(PureBudget(Fraction(1), "add-remove"))
    plan = CubePlan("random", lattice, published, (1.0,) * len(published), noise, masks, (Fraction(1, count),) * count)
    sources = list(noisy_sources(plan, exact, SeededBits(1)))
    return (
        _seconds(lambda: list(noisy_sources(plan, exact, SeededBits(1)))),
        _seconds(lambda: roll_up(lattice, sources, plan.source_variances)),
        _seconds(lambda: reconcile(lattice, sources, plan.source_variances)),
    )


def _seconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def _rounded(first: tuple[int, ...], *columns: object) -> list[tuple[object, ...]]:
    return [
        (place, *(f"{seconds:.4f}" for seconds in row))
        for place, row in zip(first, zip(*columns, strict=True), strict=True)
    ]
