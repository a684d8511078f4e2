"""Figure 6.3: the variance threshold θ₀ of PMost, on Adult, as a share of the bound θ' that Algorithm 1 finds."""

from fractions import Fraction

import numpy as np

from discreet.cube.noise_model import NoiseModel
from discreet.cube.planners.bmax import smallest_bound
from discreet.cube.planners.task import Task
from discreet.ledger.budget import PureBudget
from discreet.query.lattice import Lattice
from experiments.cubes.plot import COLOURS, panels, save, write_rows
from experiments.cubes.techniques import PMOST, PMOSTG, errors_of, exact_cube
from experiments.tables.tables import adult

SHARES = tuple(tenth / 10 for tenth in range(1, 11))


def draw() -> None:
    table = adult()
    exact = exact_cube(table.base_cuboid())
    bound = bmax_bound(table.sizes)
    rows = []
    figure, axes = panels(3, width=4.6)
    for technique in (PMOST, PMOSTG):
        found = []
        for share in SHARES:
            plan = technique.plan(table.sizes, Fraction(1), bound=share * bound)
            errors = errors_of(plan, exact)
            precise = int(np.sum(plan.variances(consistent=False) <= share * bound * (1 + 1e-9)))
            found.append(
                (precise, errors.rough.max(), errors.rough.mean(), errors.consistent.max(), errors.consistent.mean())
            )
            rows.append((technique.name, share, len(plan.sources), *(f"{value:.2f}" for value in found[-1])))
        precise, most, mean, most_consistent, mean_consistent = np.array(found).T
        colour = COLOURS[technique.name]
        for panel, rough, consistent in ((axes[0], most, most_consistent), (axes[1], mean, mean_consistent)):
            panel.plot(SHARES, rough, "o--", color=colour, alpha=0.45, label=technique.name)
            panel.plot(SHARES, consistent, "o-", color=colour, label=f"{technique.name}C")
        axes[2].plot(SHARES, precise, "o-", color=colour, label=technique.name)
    for panel, title in zip(axes, ("max cuboid error", "average cuboid error", "precise cuboids of 256"), strict=True):
        panel.set_title(title, fontsize=10, loc="left")
        panel.set_xlabel("θ₀ / θ'")
        panel.set_ylim(bottom=0)
        panel.legend(frameon=False, fontsize=8)
    header = ("technique", "θ₀/θ'", "sources", "precise", "max", "average", "max, consistent", "average, consistent")
    write_rows("fig6_3", header, rows)
    save(figure, "fig6_3")


def bmax_bound(sizes: tuple[int, ...]) -> float:
    """θ': the largest variance of BMax at ε = 1."""
    lattice = Lattice(sizes)
    published = lattice.choose("all")
    task = Task(lattice, published, (1.0,) * len(published), NoiseModel(PureBudget(Fraction(1), "add-remove")))
    return smallest_bound(task)[1]
