"""Figure 6.10 of the cubes thesis: exact cuboids that are known, and the error of publishing the others.

Adult, ε = 1. Five cases: nothing is known; one exact cuboid; two of one dimension each, of two, of three, drawn at
random, several times. BMaxGC, with the noise that S_Q needs. Three readings of one release: the exact cuboids are known
to the adversary alone; they are public, and stand in the place of their noisy versions and roll-ups (the thesis); they
are public, and part of the least squares (this system).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.cube.consistency import reconcile
from discreet.cube.known_cuboids import impose
from discreet.cube.plan import CubePlan
from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.facts.facts import CuboidFact
from discreet.facts.generic import sensitivity
from discreet.ledger.budget import Induced
from discreet.noise.bits import SeededBits
from discreet.query.lattice import Lattice
from experiments.cubes.techniques import BMAXG, exact_cube, noisy_sources
from experiments.facts.plot import panels, save, write_rows
from experiments.tables.tables import adult

CASES = {
    "none": (0, 0),
    "one cuboid": (1, 0),
    "two, 1 dimension": (2, 1),
    "two, 2 dimensions": (2, 2),
    "two, 3 dimensions": (2, 3),
}
"""How many exact cuboids are known, and of how many dimensions each; 0: of any number."""

DRAWS = 12
READINGS = ("private", "public", "public, in least squares")
COLOURS = ("#8c8c8c", "#2a6fb5", "#111111")

Cells = NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """S_Q, and the mean absolute error of every cuboid under each reading."""

    people: int
    errors: dict[str, Cells]


def draw() -> None:
    table = adult()
    exact, lattice = exact_cube(table.base_cuboid()), Lattice(table.sizes)
    plan = BMAXG.plan(table.sizes, Fraction(1))
    outcomes = {
        case: [
            outcome_of(plan, lattice, exact, masks, SeededBits(100 * place + run))
            for run, masks in enumerate(drawn_cuboids(lattice, *chosen))
        ]
        for place, (case, chosen) in enumerate(CASES.items())
    }
    write(outcomes)
    picture(outcomes)


def drawn_cuboids(lattice: Lattice, count: int, dimensions: int) -> Iterator[tuple[int, ...]]:
    """DRAWS choices of so many cuboids of so many dimensions, none of them the base cuboid."""
    rng = np.random.default_rng(7)
    masks = [mask for mask in range(lattice.base) if not dimensions or mask.bit_count() == dimensions]
    sets = list(combinations(masks, count))
    for place in rng.choice(len(sets), size=DRAWS, replace=len(sets) < DRAWS):
        yield sets[place]


def people_of(lattice: Lattice, masks: tuple[int, ...]) -> int:
    """S_Q of some exact cuboids."""
    domain = Domain(
        "t",
        tuple(Integer(name=f"d{axis}", source="t", low=0, high=size - 1) for axis, size in enumerate(lattice.sizes)),
    )
    facts = [
        CuboidFact(tuple(f"d{axis}" for axis in lattice.axes(mask)), np.zeros(lattice.shape(mask), np.int64))
        for mask in masks
    ]
    return sensitivity(facts, domain).people


def outcome_of(plan: CubePlan, lattice: Lattice, exact: Cells, masks: tuple[int, ...], bits: SeededBits) -> Outcome:
    people = people_of(lattice, masks)
    subject = replace(plan, noise=replace(plan.noise, budget=plan.noise.budget.under(Induced(people, people**2))))
    cube = reconcile(lattice, noisy_sources(subject, exact, bits), subject.source_variances)
    cuboids = {mask: lattice.cuboid_of(cube, mask) for mask in plan.published}
    known = {mask: lattice.cuboid_of(exact, mask).astype(np.int64) for mask in masks}
    private = cuboid_errors(lattice, cuboids, exact)
    exactly = np.array([any(not mask & ~fact for fact in masks) for mask in plan.published])
    impose(lattice, cuboids, known)
    readings = (private, np.where(exactly, 0, private), cuboid_errors(lattice, cuboids, exact))
    return Outcome(people, dict(zip(READINGS, readings, strict=True)))


def cuboid_errors(lattice: Lattice, cuboids: dict[int, Cells], exact: Cells) -> Cells:
    return np.array([np.abs(cells - lattice.cuboid_of(exact, mask)).mean() for mask, cells in cuboids.items()])


def write(outcomes: dict[str, list[Outcome]]) -> None:
    rows = []
    for case, found in outcomes.items():
        people = [outcome.people for outcome in found]
        for reading in READINGS:
            figures = [f"{figure:.1f}" for figure in (np.mean(people), *summary(found, reading))]
            rows.append((case, reading, min(people), max(people), *figures))
    write_rows("fig6_10", ("known", "reading", "least S_Q", "largest S_Q", "mean S_Q", "max", "average"), rows)


def summary(found: list[Outcome], reading: str) -> tuple[float, float]:
    """The largest and the average cuboid error, each as a mean over all draws."""
    errors = [outcome.errors[reading] for outcome in found]
    return float(np.mean([each.max() for each in errors])), float(np.mean([each.mean() for each in errors]))


def picture(outcomes: dict[str, list[Outcome]]) -> None:
    figure, axes = panels(2)
    for place, (panel, title) in enumerate(zip(axes, ("max cuboid error", "average cuboid error"), strict=True)):
        for number, (reading, colour) in enumerate(zip(READINGS, COLOURS, strict=True)):
            heights = [summary(found, reading)[place] for found in outcomes.values()]
            at = np.arange(len(outcomes)) + (number - 1) * 0.28
            panel.bar(at, heights, 0.26, color=colour, label=reading)
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:,.6g}")
        panel.set_xticks(range(len(outcomes)), labels=[case.replace(", ", ",\n") for case in outcomes])
        panel.set_title(title, fontsize=10, loc="left")
    axes[0].set_ylabel("people")
    axes[0].legend(frameon=False, fontsize=9)
    figure.suptitle("Adult, all 256 cuboids, ε = 1 subject to the exact cuboids that are known", x=0.01, ha="left")
    save(figure, "fig6_10")
