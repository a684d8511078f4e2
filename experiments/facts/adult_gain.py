"""How much natural facts gain on Adult, where all tables of one and two attributes are released with noise.

The noise is that of ε = 1 for all of them together. `calibrated` is the same with as much more noise as the facts ask
for, so that the promise holds for whoever knows them: S_Q times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InvalidFact
from discreet.facts.facts import Fact, cuboid_fact
from discreet.facts.generic import sensitivity
from discreet.refinement.refine import refine
from experiments.facts.plot import COLOURS, panels, save, write_rows
from experiments.tables.tables import Coded, adult

EPSILON = 1.0
RUNS = 20

Names = tuple[str, ...]

CASES: dict[str, tuple[Names, ...]] = {
    "consistency alone": (),
    "how many people": ((),),
    "sex": (("sex",),),
    "sex by education": (("sex", "education"),),
    "sex, and race": (("sex",), ("race",)),
    "all single attributes": (),
}


@dataclass(frozen=True)
class Gain:
    """Root mean square errors of the tables of one and of two attributes, at ε's own noise and at calibrated noise."""

    name: str
    people: int | None
    """S_Q; None where it cannot be worked out."""
    one: float
    two: float
    one_stated: float
    two_stated: float
    two_nonnegative: float


class Tables:
    """The cells of all tables of at most two attributes, in one vector."""

    def __init__(self, table: Coded) -> None:
        self.table, base = table, table.base_cuboid()
        axes = range(len(table.sizes))
        self.sets = [(), *((axis,) for axis in axes), *combinations(axes, 2)]
        counts = [base.sum(axis=tuple(set(axes) - set(kept))).reshape(-1) for kept in self.sets]
        self.starts = dict(zip(self.sets, np.cumsum([0, *map(len, counts)]), strict=False))
        self.truth = np.concatenate(counts).astype(np.float64)
        self.dimensions = np.repeat([len(kept) for kept in self.sets], [len(cells) for cells in counts])

    def cells(self, kept: Sequence[int]) -> NDArray[np.int64]:
        """Where the cells of a table are, as an array over its attributes."""
        shape = [self.table.sizes[axis] for axis in kept]
        return self.starts[tuple(kept)] + np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)

    def consistency(self) -> sparse.csr_array:
        """Every table's sums over an attribute are the table without it."""
        rows = []
        for kept in self.sets:
            for axis in kept:
                rest = tuple(other for other in kept if other != axis)
                children = np.moveaxis(self.cells(kept), kept.index(axis), -1).reshape(-1, self.table.sizes[axis])
                for parent, cells in zip(self.cells(rest).reshape(-1), children, strict=True):
                    row = np.zeros(len(self.truth))
                    row[parent], row[cells] = -1, 1
                    rows.append(row)
        return sparse.csr_array(np.array(rows))

    def known(self, names: Names) -> sparse.csr_array:
        """A constraint for each cell of a table that is public."""
        kept = tuple(sorted(self.table.domain.axis(name) for name in names))
        return sparse.eye_array(len(self.truth), format="csr")[self.cells(kept).reshape(-1)]


def gain(tables: Tables, name: str, facts: Sequence[Names], runs: int = RUNS) -> Gain:
    scale = len(tables.sets) / EPSILON  # one person is in a cell of each
    constraints = sparse.vstack([tables.consistency(), *(tables.known(names) for names in facts)], format="csr")
    constants = constraints @ tables.truth
    variances = np.full(len(tables.truth), 2 * scale**2)
    generator = np.random.default_rng(1)
    squares, signed = np.zeros_like(tables.truth), np.zeros_like(tables.truth)
    for _ in range(runs):
        noisy = tables.truth + generator.laplace(scale=scale, size=len(tables.truth))
        squares += (refine(noisy, constraints, constants, variances).estimates - tables.truth) ** 2
        shaped = refine(noisy, constraints, constants, variances, nonnegative=True)
        signed += (shaped.estimates - tables.truth) ** 2
    stated = refine(tables.truth, constraints, constants, variances).variances
    one, two = tables.dimensions == 1, tables.dimensions == 2
    return Gain(
        name,
        _people(tables, facts),
        *(float(np.sqrt(np.mean(squares[part] / runs))) for part in (one, two)),
        *(float(np.sqrt(np.mean(stated[part]))) for part in (one, two)),
        float(np.sqrt(np.mean(signed[two] / runs))),
    )


def _people(tables: Tables, facts: Sequence[Names]) -> int | None:
    try:
        return sensitivity(_facts(tables, facts), tables.table.domain).people
    except InvalidFact:
        return None


def _facts(tables: Tables, facts: Sequence[Names]) -> list[Fact]:
    base, domain = tables.table.base_cuboid(), tables.table.domain
    found: list[Fact] = []
    for names in facts:
        axes = sorted(domain.axis(name) for name in names)
        values = base.sum(axis=tuple(set(range(base.ndim)) - set(axes)))
        found.append(cuboid_fact(tuple(domain.names[axis] for axis in axes), values, domain))
    return found


def draw() -> None:
    tables = Tables(adult())
    every = tuple((name,) for name in tables.table.domain.names)
    gains = [gain(tables, name, every if name.startswith("all") else facts) for name, facts in CASES.items()]
    raw = np.sqrt(2) * len(tables.sets) / EPSILON
    figure, axes = panels(2, width=5.6)
    for panel, part, title in zip(axes, ("one", "two"), ("one attribute", "two attributes"), strict=True):
        values = [raw, *(getattr(found, part) for found in gains)]
        panel.barh(range(len(values)), values, color=[COLOURS[0], *[COLOURS[1]] * len(gains)])
        panel.barh(
            range(1, len(values)),
            [value * (found.people or np.nan) for value, found in zip(values[1:], gains, strict=True)],
            color=COLOURS[1],
            alpha=0.25,
            zorder=0,
        )
        panel.set_yticks(range(len(values)), labels=["nothing", *(found.name for found in gains)])
        panel.invert_yaxis()
        panel.grid(axis="y", visible=False)
        panel.grid(axis="x", alpha=0.3)
        panel.set_xlabel("people")
        panel.set_title(f"tables of {title}: root mean square error", fontsize=10, loc="left")
    axes[1].set_yticklabels([])
    figure.suptitle(f"Adult, ε = {EPSILON:g}; pale: with noise calibrated to the facts", fontsize=11, x=0.01, ha="left")
    save(figure, "adult_gain")
    header = (
        "known", "S_Q", "one attribute", "two attributes", "one, stated", "two, stated", "two, nonnegative",
        "one, calibrated", "two, calibrated",
    )  # fmt: skip
    rows: list[tuple[object, ...]] = [("nothing", 1, *(f"{raw:.2f}",) * 4, "", f"{raw:.2f}", f"{raw:.2f}")]
    rows += [
        (
            g.name,
            g.people or "",
            *(f"{v:.2f}" for v in (g.one, g.two, g.one_stated, g.two_stated, g.two_nonnegative)),
            *(f"{v * g.people:.2f}" if g.people else "" for v in (g.one, g.two)),
        )
        for g in gains
    ]
    write_rows("adult_gain", header, rows)
