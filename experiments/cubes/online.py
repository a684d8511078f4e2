"""Section 3.4.3, online: cuboids of a table of 20 dimensions, asked one after the other, until nothing is left.

A question is `SELECT a, b, COUNT(*) FROM survey GROUP BY a, b` with ± so many people. The seed outlines: answer from a
released cuboid where that is precise enough; else measure, and deduct from the budget; once that is gone, go on with
what was released. Here it is a vault that is asked, and nothing else.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from discreet.errors import BudgetExceeded
from discreet.vault import Vault
from experiments.cubes.plot import panels, save, write_rows

DIMENSIONS, PEOPLE, QUESTIONS, EPSILON = 20, 200_000, 300, 1
WITHIN = (250, 500, 1000)
KINDS = ("measured", "known", "relaxed", "refused")
COLOURS = {"measured": "#2a6fb5", "known": "#3f9b6c", "relaxed": "#c98a1b", "refused": "#b5482a"}


@dataclass(frozen=True)
class Asked:
    """One cuboid question: how many dimensions, how it was answered, and the mean error of its cells."""

    dimensions: int
    how: str
    spent: float
    error: float


def draw() -> None:
    runs = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        people = write_survey(folder)
        for within in WITHIN:
            runs[within] = list(ask_all(folder, within, people))
    rows = []
    for within, asked in runs.items():
        counts = Counter(question.how for question in asked)
        errors = {kind: [q.error for q in asked if q.how == kind] for kind in KINDS}
        rows.append((within, *(counts[kind] for kind in KINDS), *(_mean(errors[kind]) for kind in KINDS[:3])))
    write_rows("online", ("within", *KINDS, *(f"error, {kind}" for kind in KINDS[:3])), rows)
    figure, axes = panels(len(WITHIN), width=4.6, height=3.8)
    for panel, (within, asked) in zip(axes, runs.items(), strict=True):
        for kind in KINDS:
            panel.plot(np.cumsum([question.how == kind for question in asked]), color=COLOURS[kind], label=kind)
        beside = panel.twinx()
        beside.plot(np.cumsum([question.spent for question in asked]), color="#111111", linestyle=":", label="ε spent")
        beside.set(ylim=(0, 1.05 * EPSILON), ylabel="ε spent (dotted)")
        panel.set(xlabel="questions asked", ylabel="questions answered so", ylim=(0, None))
        panel.set_title(f"within ±{within} people", fontsize=10, loc="left")
    axes[0].legend(frameon=False, fontsize=8)
    save(figure, "online")


def write_survey(folder: Path) -> np.ndarray:
    """A table of yes/no answers that hang together, and its domain."""
    rng = np.random.default_rng(20)
    leaning = rng.normal(size=(PEOPLE, 3))
    loads = rng.normal(size=(3, DIMENSIONS))
    people = (leaning @ loads + rng.normal(size=(PEOPLE, DIMENSIONS)) > rng.normal(size=DIMENSIONS)).astype(np.int8)
    parquet.write_table(pa.table({f"q{k}": people[:, k] for k in range(DIMENSIONS)}), folder / "survey.parquet")
    lines = [f'[attributes.q{k}]\nkind = "integer"\nlow = 0\nhigh = 1\nsource = "item {k}"' for k in range(DIMENSIONS)]
    (folder / "survey.toml").write_text("\n".join(['name = "survey"', *lines]), encoding="utf-8")
    return people


def ask_all(folder: Path, within: int, people: np.ndarray) -> Iterator[Asked]:
    """Ask for cuboids of one to four dimensions, coarse ones more often, some of them again."""
    vault = Vault.init(
        folder / f"vault-{within}",
        table=folder / "survey.parquet",
        domain=folder / "survey.toml",
        epsilon=EPSILON,
        neighbours="add-remove",
    )
    rng = np.random.default_rng(within)
    for _ in range(QUESTIONS):
        count = int(rng.choice([1, 2, 3, 4], p=[0.3, 0.4, 0.2, 0.1]))
        chosen = sorted(rng.choice(DIMENSIONS, count, replace=False, p=_popularity()).tolist())
        names = ", ".join(f"q{k}" for k in chosen)
        try:
            answer = vault.ask(f"SELECT {names}, COUNT(*) FROM survey GROUP BY {names}", within=within)
        except BudgetExceeded:
            yield Asked(count, "refused", 0.0, float("nan"))
            continue
        places = people[:, chosen] @ (1 << np.arange(count)[::-1])
        exact = np.bincount(places, minlength=1 << count)
        errors = [abs(row.value - exact[int("".join(row.labels), 2)]) for row in answer.rows if row.value is not None]
        yield Asked(count, _how({row.kind for row in answer.rows}), float(answer.cost), float(np.mean(errors)))


def _how(kinds: set[str]) -> str:
    if "relaxed" in kinds:
        return "relaxed"
    return "measured" if "measured" in kinds else "known"


def _popularity() -> np.ndarray:
    """Some items are asked about more often than others."""
    weights = 1 / np.arange(1, DIMENSIONS + 1)
    return weights / weights.sum()


def _mean(errors: list[float]) -> str:
    return f"{np.mean(errors):.1f}" if errors else ""
