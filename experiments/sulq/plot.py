"""Numbers next to the docs: a CSV file and a picture for each figure."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from experiments.relaxation.plot import label, legend, panels

OUT = Path(__file__).parents[2] / "docs" / "experiments" / "sulq"
COLOURS = ("#b5482a", "#2a6fb5", "#3c8c4a", "#8a5aa8", "#777777")

__all__ = ["COLOURS", "label", "panels", "save", "write_rows"]


def save(figure: Figure, name: str) -> None:
    legend(figure, figure.axes)
    OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT / f"{name}.png", dpi=110)


def write_rows(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
