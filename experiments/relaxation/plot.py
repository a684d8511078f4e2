"""Numbers next to the docs: a CSV file and a picture for each figure."""

import csv
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.page import Page

PAGE = Page("relaxation")
write_rows = PAGE.write_rows

COLOURS = {"data": "#b5482a", "uniform": "#2a6fb5"}
SYMBOLS = {"data": "o", "uniform": "s"}


def panels(count: int, width: float = 4.6, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width * count, height), layout="constrained")
    axes = list(figure.subplots(1, count, squeeze=False)[0])
    for panel in axes:
        panel.grid(alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes


def label(panel: Axes, title: str, x: str, y: str) -> None:
    panel.set_title(title, fontsize=10, loc="left")
    panel.set_xlabel(x)
    panel.set_ylabel(y)


def ticks(panel: Axes, parameter: str, values: Sequence[Any]) -> None:
    """A tick at every value; volumes and buckets grow by factors."""
    if parameter == "most_buckets":
        panel.set_xscale("log")
        return
    if parameter == "volume":
        panel.set_xscale("log")
        panel.minorticks_off()
    names = [f"{value:.0%}" if parameter == "volume" else f"{float(value):g}" for value in values]
    panel.set_xticks([float(value) for value in values], names)


def legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend for all panels, beside them: it hides no curve."""
    entries = {name: handle for panel in axes for handle, name in zip(*panel.get_legend_handles_labels(), strict=True)}
    figure.legend(
        entries.values(), entries.keys(), loc="outside right center", fontsize=8, frameon=False, handlelength=3.5
    )


def save(figure: Figure, name: str) -> None:
    legend(figure, figure.axes)
    PAGE.save(figure, name)


def read_rows(name: str) -> list[dict[str, str]]:
    with (PAGE.folder / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))
