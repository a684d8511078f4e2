"""Numbers next to the docs: a CSV file and a picture for each experiment."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

OUT = Path(__file__).parents[2] / "docs" / "experiments" / "facts"

COLOURS = ("#8c8c8c", "#2a6fb5", "#3f9b6c", "#c98a1b", "#b5482a", "#6a4fa3")


def panels(count: int, width: float = 6.4, height: float = 4.2) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width * count, height), layout="constrained")
    axes = list(figure.subplots(1, count, squeeze=False)[0])
    for panel in axes:
        panel.grid(axis="y", alpha=0.3)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Figure, name: str) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT / f"{name}.png", dpi=110)


def write_rows(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
