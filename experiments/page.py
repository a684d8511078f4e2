"""Numbers and pictures beside the docs' pages on experiments."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

DOCS = Path(__file__).parents[1] / "docs" / "experiments"


@dataclass(frozen=True)
class Page:
    """The folder of one page: a CSV file and a picture for each figure."""

    name: str

    @property
    def folder(self) -> Path:
        return DOCS / self.name

    def save(self, figure: Figure, name: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.folder / f"{name}.png", dpi=110)

    def write_rows(self, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([header, *rows])
