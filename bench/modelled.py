"""Adult read through a model, beside least squares: error and time, at pure ε = 1 and at (ε, 10^-9); and the columns
that Census-Income has like Adult's, a table that no choice of the method was made with."""

import os
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.figure import Figure
from bench.model_peers.kept import memory_beside, seconds_beside, variation_beside
from discreet.cube.cube import Cube
from discreet.cube.modelled import Modelled
from discreet.cube.plan import CubePlan
from discreet.ledger.conversion import rho_for
from discreet.model.rows import draw_rows
from discreet.noise.bits import SeededBits
from discreet.query.lattice import Label, Lattice
from discreet.vault.vault import Vault
from experiments.tables.tables import Coded, adult, census_income

SEEDS = 5
"""Releases, each with new noise. The first is not timed: it compiles."""

LARGE = 20
"""People in a cell from which on a model range is to hold as often as it says."""

ASKED = (
    "SELECT workclass, sex, income, COUNT(*) FROM adult GROUP BY workclass, sex, income",
    "SELECT relationship, race, COUNT(*) FROM adult WHERE income = '>50K' GROUP BY relationship, race",
    "SELECT occupation IN ('Sales', 'Tech-support'), education, COUNT(*) FROM adult GROUP BY 1, 2",
    "SELECT marital_status, occupation, sex, COUNT(*) FROM adult GROUP BY marital_status, occupation, sex",
)
"""Questions of an eighth of ε each at a scale of 8."""

DELTA = Fraction(1, 10**9)
CHOSEN_AS_ONE_GOES = 0.121
"""Mean total variation of triples of Adult at (0.1, 10⁻⁹) where what to measure is chosen as one goes, as AIM does:
measured once, before and elsewhere."""
LIKE_ADULT = (
    "class_of_worker", "education", "marital_stat", "detailed_occupation_recode", "race", "sex", "income",
)  # fmt: skip

Cuboids = dict[int, NDArray[np.float64]]


def figures() -> Iterator[Figure]:
    table = adult()
    base = table.base_cuboid().astype(float)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        rows, domain = table.write(Path(folder))
        pure = Vault.init(Path(folder) / "pure", table=rows, domain=domain, epsilon=1000, neighbours="add-remove")
        approximate = Vault.init(Path(folder) / "rho", table=rows, domain=domain, rho=10, neighbours="add-remove")
        yield from approximate_figures(approximate, base)  # first: it says what memory was needed so far
        yield from pure_figures(pure, base, (rows, domain))
        yield from other_budgets(approximate, base)
        yield from census_figures(census_income().only(*LIKE_ADULT), Path(folder))


def pure_figures(vault: Vault, base: NDArray[np.float64], files: tuple[Path, Path]) -> Iterator[Figure]:
    plan = vault.cubes.plan(epsilon=1, planner="model")
    published = vault.cubes.publish(vault.cubes.plan(epsilon=1))
    truth = rolled_up(base, published.plan.lattice)
    least = mean_errors({mask: published.cuboids[mask] for mask in truth}, truth)
    errors, seconds, cpu, cubes = [], [], [], []
    for _ in range(SEEDS):
        start, own = time.perf_counter(), time.process_time()
        cube = vault.cubes.publish(plan, estimate="modelled", again=True)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - own)
        errors.append(mean_errors(cube.modelled.model.cuboids(range(1 << 8)), truth))
        cubes.append(cube)
    cuboid, people, largest = np.mean(errors, axis=0)
    note = f"least squares {least[0]:.1f}; largest {largest:.0f} against {least[2]:.0f}; {SEEDS} releases"
    yield Figure("Adult, 256 cuboids, ε = 1, modelled: mean error of a cuboid", cuboid, 8, "lower", "people", note)
    note = f"least squares {least[1]:.1f}"
    yield Figure("Adult, 256 cuboids, ε = 1, modelled: where people are", people, 10.5, "lower", "people", note)
    note = f"the shortest; {min(cpu):.1f} CPU s on {os.cpu_count()} cores"
    yield Figure("Adult, 28 pairs, ε = 1: publish and fit", min(seconds), 10, "lower", "s", note)

    yield from coverage_figures(cubes, truth)
    yield from everything_figures(*files, truth, published.plan.lattice)


def coverage_figures(cubes: list[Cube], truth: Cuboids) -> Iterator[Figure]:
    """How many true cells lie in their model ranges: of cuboids that were measured, and of finer ones."""
    held = Held()
    for cube, mask in product(cubes, truth):
        if mask.bit_count() in (2, 3):
            held.look(mask.bit_count() == 2, cube.modelled, cube.plan.lattice.names_of(mask), truth[mask])
    note = (
        f"{len(cubes)} releases; pairs of fewer people {held.share(True, False):.1%}; triples, which were not "
        f"measured: {held.share(False, True):.1%} of {LARGE} people and more, {held.share(False, False):.1%} of fewer"
    )
    name = f"Adult, ε = 1, 95% model ranges that hold: measured pairs of {LARGE} people and more"
    yield Figure(name, held.share(True, True), 0.93, "higher", "", note)


def everything_figures(rows: Path, domain: Path, truth: Cuboids, lattice: Lattice) -> Iterator[Figure]:
    """The same of the model of everything public: half of ε for all pairs, half for what was asked beside them."""
    held, measured = Held(), 0
    for seed in range(SEEDS):
        home = rows.with_name(f"everything{seed}")
        vault = Vault.init(home, table=rows, domain=domain, epsilon=1, neighbours="add-remove")
        vault.cubes.publish(vault.cubes.plan(epsilon=Fraction(1, 2), planner="model"))
        for sql in ASKED:
            vault.ask(sql, scale=8)
        masks = [mask for mask in truth if 1 <= mask.bit_count() <= 3]
        of = vault.model.of
        measured = sum(of.is_measured(map(str, lattice.names_of(mask))) for mask in masks)
        for mask in masks:
            names = lattice.names_of(mask)
            held.look(of.is_measured(map(str, names)), vault.model, names, truth[mask])
    note = (
        f"{SEEDS} vaults: all pairs and {len(ASKED)} questions beside them, {measured} cuboids of at most three "
        f"attributes measured; cells of fewer people there {held.share(True, False):.1%}; where nothing was measured "
        f"together {held.share(False, True):.1%} of {LARGE} people and more, {held.share(False, False):.1%} of fewer"
    )
    name = f"Adult, ε = 1, everything public, 95% model ranges that hold: measured cells of {LARGE} people and more"
    yield Figure(name, held.share(True, True), 0.93, "higher", "", note)


class Held:
    """Which true cells lie in their model ranges: by whether they were measured, and whether LARGE."""

    def __init__(self) -> None:
        self._held: dict[tuple[bool, bool], list[bool]] = {key: [] for key in product((True, False), repeat=2)}

    def look(self, measured: bool, modelled: Modelled, names: Sequence[Label], truth: NDArray[np.float64]) -> None:
        low, high = modelled.range(*names)
        inside, large = (low.values <= truth) & (truth <= high.values), truth >= LARGE
        for is_large in (True, False):
            self._held[measured, is_large].extend(inside[large == is_large].tolist())

    def share(self, measured: bool, large: bool) -> float:
        return float(np.mean(self._held[measured, large]))


def other_budgets(vault: Vault, base: NDArray[np.float64]) -> Iterator[Figure]:
    """A tenth and ten times of ε: all triples, and what the planner chooses by itself where that is something else."""
    for epsilon in (Fraction(1, 10), Fraction(10)):
        spent = rho_for(epsilon, DELTA)
        chosen = vault.cubes.plan(rho=spent, planner="model")  # before all triples are published: it would be they
        (pairs, triples, least), cpu = distances_of(
            vault, base, vault.cubes.plan(rho=spent, planner="model", cuboids=3)
        )
        if chosen.candidates:
            yield from adaptive_figures(vault, base, epsilon, chosen, triples)
        note = (
            f"2-way {pairs:.4f}; least squares of the same releases, clipped at 0, {least:.4f}; {SEEDS} releases, "
            f"{cpu:.0f} CPU s each; {variation_beside('Adult', str(epsilon), 3)}"
        )
        name = f"Adult, ({float(epsilon):g}, 10⁻⁹), all triples, modelled: total variation, 3-way"
        yield Figure(name, triples, least, "lower", "", note)


def adaptive_figures(
    vault: Vault, base: NDArray[np.float64], epsilon: Fraction, plan: CubePlan, fixed: float
) -> Iterator[Figure]:
    """What the planner chooses for a small budget, beside all triples for the same."""
    (pairs, triples, _), cpu = distances_of(vault, base, plan)
    note = f"2-way {pairs:.4f}; {SEEDS} releases, {cpu:.0f} CPU s each; the bar is AIM's idea, measured elsewhere"
    name = f"Adult, ({float(epsilon):g}, 10⁻⁹), as the planner chooses: total variation, 3-way"
    yield Figure(name, triples, CHOSEN_AS_ONE_GOES, "lower", "", note)
    name = f"Adult, ({float(epsilon):g}, 10⁻⁹), as the planner chooses / all triples: total variation, 3-way"
    yield Figure(name, triples / fixed, 1, "lower", "×", f"{triples:.4f} against {fixed:.4f}")


def census_figures(table: Coded, folder: Path) -> Iterator[Figure]:
    """The seven columns of Census-Income that are like Adult's, with the same settings."""
    rows, domain = table.write(folder)
    vault = Vault.init(folder / "census", table=rows, domain=domain, rho=10, neighbours="add-remove")
    plan = vault.cubes.plan(rho=rho_for(Fraction(1), DELTA), planner="model")
    (pairs, triples, least), cpu = distances_of(vault, table.base_cuboid().astype(float), plan)
    note = (
        f"219,751 rows, 7 columns; 2-way {pairs:.4f}; least squares, clipped at 0, {least:.4f}; {SEEDS} releases, "
        f"{cpu:.0f} CPU s each; {variation_beside('Census-Income, 7 columns', '1', 3)}"
    )
    yield Figure("Census-Income, (1, 10⁻⁹), modelled: total variation, 3-way", triples, least, "lower", "", note)


def distances_of(vault: Vault, base: NDArray[np.float64], plan: CubePlan) -> tuple[list[float], float]:
    """Means over releases: total variation of pairs and triples, that of triples by least squares where all of them are
    measured, and CPU seconds."""
    truth, found, cpu = rolled_up(base, plan.lattice), [], []
    for _ in range(SEEDS):
        start = time.process_time()
        cube = vault.cubes.publish(plan, estimate="modelled", again=True)
        cpu.append(time.process_time() - start)
        least = np.nan if plan.candidates else clipped(cube, truth, 3)
        found.append([variation(cube, truth, 2), variation(cube, truth, 3), least])
    return np.mean(found, axis=0).tolist(), float(np.mean(cpu))


def clipped(cube: Cube, truth: Cuboids, order: int) -> float:
    """The mean total variation distance of least squares without what is below 0."""
    off = []
    for mask in truth:
        if mask.bit_count() == order:
            cells = np.maximum(cube.cells_of(mask), 0)
            off.append(np.abs(cells / cells.sum() - truth[mask] / float(truth[0])).sum() / 2)
    return float(np.mean(off))


def approximate_figures(vault: Vault, base: NDArray[np.float64]) -> Iterator[Figure]:
    plan = vault.cubes.plan(rho=rho_for(Fraction(1), DELTA), planner="model")
    truth, distances, seconds = rolled_up(base, plan.lattice), [], []
    for _ in range(SEEDS):
        start = time.process_time()
        cube = vault.cubes.publish(plan, estimate="modelled", again=True)
        seconds.append(time.process_time() - start)
        distances.append([variation(cube, truth, order) for order in (2, 3)])
    pairs, triples = np.mean(distances, axis=0)
    for order, value, bar in ((2, pairs, 0.0135), (3, triples, 0.033)):
        note = f"{SEEDS} releases of 56 triples; {variation_beside('Adult', '1', order)}"
        yield Figure(f"Adult, (1, 10⁻⁹), modelled: total variation, {order}-way", value, bar, "lower", "", note)
    note = f"publish and fit, CPU seconds, the shortest; {seconds_beside('Adult', '1')}"
    yield from rows_figures(cube, truth)
    yield Figure("Adult, (1, 10⁻⁹), modelled: time", min(seconds), 60, "lower", "CPU s", note)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield Figure("Adult, modelled: memory of the whole process", most, 1, "lower", "GB", memory_beside("Adult", "1"))


def rows_figures(cube: Cube, truth: Cuboids) -> Iterator[Figure]:
    """The last release's rows beside its model."""
    assert cube.model is not None
    rows = round(cube.model.total)
    start = time.process_time()
    codes = draw_rows(cube.model, rows, SeededBits(0))
    seconds = time.process_time() - start
    joint = np.zeros(cube.plan.lattice.sizes)
    np.add.at(joint, tuple(codes.T), 1.0)
    counted, total = rolled_up(joint, cube.plan.lattice), float(truth[0])
    for order in (2, 3):
        masks = [mask for mask in truth if mask.bit_count() == order]
        own = float(np.mean([np.abs(counted[mask] / rows - truth[mask] / total).sum() / 2 for mask in masks]))
        note = f"{own:.4f}; {rows:,} rows in {seconds:.1f} CPU s"
        yield Figure(
            f"Adult, (1, 10⁻⁹), rows to their model, {order}-way",
            own / variation(cube, truth, order),
            1.1,
            "lower",
            "×",
            note,
        )


def rolled_up(base: NDArray[np.float64], lattice: Lattice) -> Cuboids:
    """Every cuboid of the true table."""
    made: Cuboids = {lattice.base: base}
    for mask in range(lattice.base - 1, -1, -1):
        axis = next(axis for axis in range(lattice.dimensions) if not mask >> axis & 1)
        finer = mask | 1 << axis
        made[mask] = made[finer].sum(axis=lattice.axes(finer).index(axis))
    return made


def mean_errors(cuboids: Cuboids, truth: Cuboids) -> tuple[float, float, float]:
    """The mean absolute error of a cuboid, that of its cells where people are, and the largest of all."""
    errors = {mask: np.abs(cells - truth[mask]) for mask, cells in cuboids.items()}
    people = [float(own[truth[mask] > 0].mean()) for mask, own in errors.items()]
    return (
        float(np.mean([own.mean() for own in errors.values()])),
        float(np.mean(people)),
        max(map(np.max, errors.values())),
    )


def variation(cube: Cube, truth: Cuboids, order: int) -> float:
    """The mean total variation distance over all cuboids of so many dimensions."""
    model = cube.modelled.model
    masks = [mask for mask in truth if mask.bit_count() == order]
    made, total = model.cuboids(masks), float(truth[0])
    return float(np.mean([np.abs(made[mask] / model.total - truth[mask] / total).sum() / 2 for mask in masks]))
