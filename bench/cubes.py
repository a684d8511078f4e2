"""Cube planning: a prototype's figures, HDMM's largest variance, and the time that planning takes.

Variances are at ε = 1 (Gaussian: ρ = ½), add-remove, for continuous noise, all 2^d cuboids published.
"""

import time
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from bench.figure import Figure, race
from discreet.cube.consistency import reconcile
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.ledger.budget import PureBudget
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.query.lattice import Lattice

LAPLACE = NoiseModel(PureBudget(Fraction(1), "add-remove"), continuous=True)
GAUSSIAN = NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove"), continuous=True)

ADULT = Lattice((9, 16, 7, 15, 6, 5, 2, 2))
TABLES = {
    "Adult": ADULT,
    "Nursery": Lattice((3, 5, 4, 4, 3, 2, 3, 3, 5)),
    "7×7": Lattice((7,) * 7),
    "2×7×5": Lattice((2, 7, 5)),
}

EXACT = 0.001
GREEDY = 0.02

# Largest and mean variance on each table: what a correct planner lands on.
ROWS: list[tuple[str, str, bool, float, list[tuple[float, float]]]] = [
    ("All", "all", False, EXACT, [(131072, 131072), (524288, 524288), (32768, 32768), (128, 128)]),
    ("AllC", "all", True, EXACT, [(28912.9, 28912.9), (49152, 49152), (12867.9, 12867.9), (62.2, 62.2)]),
    ("Base", "base", False, EXACT, [(3628800, 64260), (129600, 2700), (1647086, 32768), (140, 36)]),
    ("BMax", "bmax", False, GREEDY, [(32768, 18432), (26460, 5157), (13454, 10661), (64, 48)]),
    ("BMaxC", "bmax", True, GREEDY, [(16263.5, 9148.2), (11914.4, 2461.9), (8431, 5223), (46.7, 35.0)]),
    ("BMaxG", "bmaxg", False, GREEDY, [(23455.9, 13160.2), (20200.3, 7985.9), (11069, 8136), (53.2, 28.5)]),
    ("BMaxGC", "bmaxg", True, GREEDY, [(14620.4, 5899.4), (7250.9, 2725.0), (6374.5, 4279.1), (44.3, 24.3)]),
]

# What the prototype's optimiser reached, and of which it is the best that is known under Gaussian noise.
LARGEST = [9527.9, 6274.7, 6083.8, 44.3]
MEAN_OF_LEAST_DEVIATION = [4823.2, 2122.1, 4072.2, 24.3]
LARGEST_GAUSSIAN = [56.7, 48.5, 50.4, 3.9]

HDMM_LARGEST, HDMM_MEAN = 15_680, 4_539  # its marginals template with equal weights, on Adult

WIDE = (*ADULT.sizes, 4, 4, 3, 2, 2, 3, 5, 2)


def figures() -> Iterator[Figure]:
    plan_cube(Lattice((2, 3)), LAPLACE), plan_cube(Lattice((2, 3)), GAUSSIAN)  # compile, or load
    for name, planner, consistent, tolerance, expected in ROWS:
        yield row_figure(name, planner, consistent, tolerance, expected)
    yield from optimal_figures()
    yield from precise_figures()
    yield from time_figures()
    yield reconcile_figure()


def row_figure(
    name: str, planner: str, consistent: bool, tolerance: float, expected: list[tuple[float, float]]
) -> Figure:
    """The worst deviation of a planner from its row."""
    deviations, notes = [], []
    for (table, lattice), figures in zip(TABLES.items(), expected, strict=True):
        variances = plan_cube(lattice, LAPLACE, planner=planner).variances(consistent)
        reached = float(variances.max()), float(variances.mean())
        deviations += [abs(ours / theirs - 1) for ours, theirs in zip(reached, figures, strict=True)]
        notes.append(f"{table} {reached[0]:.6g} / {reached[1]:.6g}")
    return Figure(f"{name}, deviation", max(deviations), tolerance, "lower", "", "max / mean: " + ", ".join(notes))


def optimal_figures() -> Iterator[Figure]:
    largest = [plan_cube(lattice, LAPLACE) for lattice in TABLES.values()]
    yield best_figure("optimal, max", [plan.max_variance_consistent for plan in largest], LARGEST)
    deviation = [plan_cube(lattice, LAPLACE, objective="mean-std") for lattice in TABLES.values()]
    means = [plan.mean_variance_consistent for plan in deviation]
    yield best_figure("optimal, mean standard deviation: mean", means, MEAN_OF_LEAST_DEVIATION)
    gaussian = [plan_cube(lattice, GAUSSIAN) for lattice in TABLES.values()]
    reached = [plan.max_variance_consistent for plan in gaussian]
    yield best_figure("optimal, Gaussian, max", reached, LARGEST_GAUSSIAN)
    ours = largest[0].max_variance_consistent
    note = f"{ours:.0f} beside {HDMM_LARGEST}"
    yield Figure("Adult, max, to HDMM", ours / HDMM_LARGEST, 0.65, "lower", "×", note)
    mean = plan_cube(ADULT, LAPLACE, objective="mean").mean_variance_consistent
    yield Figure("Adult, mean, to HDMM", mean / HDMM_MEAN, 1, "lower", "×", f"{mean:.0f} beside {HDMM_MEAN}")


def best_figure(name: str, reached: list[float], known: list[float]) -> Figure:
    ratios = [ours / theirs for ours, theirs in zip(reached, known, strict=True)]
    note = ", ".join(f"{table} {ours:.5g}" for table, ours in zip(TABLES, reached, strict=True))
    return Figure(f"{name}, to the prototype", max(ratios), 1.01, "lower", "×", note)


def precise_figures() -> Iterator[Figure]:
    """PMost and PMostG on Adult, at the seed's bound: half of what BMax keeps."""
    bound = plan_cube(ADULT, LAPLACE, planner="bmax").max_variance / 2

    def precise(planner: str, bound_to_plan: float | None = None) -> int:
        plan = plan_cube(ADULT, LAPLACE, planner=planner, bound=bound_to_plan)
        notes[planner] = (
            f"{plan.max_variance:.6g} / {plan.mean_variance:.6g}, "
            f"consistent {plan.max_variance_consistent:.6g} / {plan.mean_variance_consistent:.6g}"
        )
        return int((plan.variances(consistent=False) <= bound * (1 + 1e-9)).sum())

    notes: dict[str, str] = {}
    floor = max(precise("all"), precise("base"))
    for planner in ("pmost", "pmostg"):
        count = precise(planner, bound)
        yield Figure(f"Adult, {planner}: precise cuboids", count, floor, "higher", "of 256", notes[planner])


def time_figures() -> Iterator[Figure]:
    for planner, bar in (("bmax", 2.0), ("bmaxg", 0.5), ("optimal", 0.5)):
        (seconds,) = race(partial(plan_cube, ADULT, LAPLACE, planner=planner), repeats=5)
        yield Figure(f"Adult, {planner}, planning", seconds, bar, "lower", "s", "256 cuboids")
    for dimensions, bar in ((12, 10.0), (16, 60.0)):
        start = time.perf_counter()
        plan = plan_cube(Lattice(WIDE[:dimensions]), LAPLACE)
        seconds = time.perf_counter() - start
        note = f"{2**dimensions} cuboids, {len(plan.sources)} sources"
        yield Figure(f"{dimensions} dimensions, optimal, planning", seconds, bar, "lower", "s", note)


def reconcile_figure() -> Figure:
    sources = {mask: np.ones(ADULT.shape(mask), np.int64) for mask in range(256)}
    variances = dict.fromkeys(sources, 2.0)
    (seconds,) = race(lambda: reconcile(ADULT, sources.items(), variances), repeats=5)
    cells = ADULT.cube_bytes // 8
    note = f"256 sources, {cells / 1e6:.1f} M cells, {seconds / cells * 1e9:.0f} ns a cell"
    return Figure("Adult, all cuboids made consistent", seconds, 1, "lower", "s", note)
