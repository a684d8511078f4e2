"""Numbers next to the docs: a CSV file and a picture."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

OUT = Path(__file__).parents[2] / "docs" / "experiments" / "wide"


def save(figure: Figure, name: str) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT / f"{name}.png", dpi=110)


def write_rows(name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with (OUT / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
