"""Numbers next to the docs: a CSV file and a picture for each figure."""

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from experiments.cubes.techniques import Errors
from experiments.page import Page

PAGE = Page("cubes")
save, write_rows = PAGE.save, PAGE.write_rows

COLOURS = {
    "All": "#8c8c8c",
    "Base": "#b5482a",
    "BMax": "#2a6fb5",
    "PMost": "#3f9b6c",
    "BMaxG": "#6a4fa3",
    "PMostG": "#c98a1b",
    "optimal (max)": "#111111",
    "optimal (mean)": "#d1467a",
}
STATISTICS: Mapping[str, Callable[[NDArray[np.float64]], float]] = {
    "max cuboid error": lambda errors: float(errors.max()),
    "average cuboid error": lambda errors: float(errors.mean()),
}


def panels(count: int, width: float = 6.4, height: float = 4.2) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width * count, height), layout="constrained")
    axes = list(figure.subplots(1, count, squeeze=False)[0])
    for panel in axes:
        panel.grid(axis="y", alpha=0.3)
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, axes


def draw_errors(name: str, title: str, along: str, measured: Mapping[object, Mapping[str, Errors]]) -> None:
    """A bar a technique, pale without consistency and full with it, for the max and the average cuboid error."""
    write_errors(name, along, measured)
    figure, axes = panels(2)
    groups = list(measured)
    techniques = list(next(iter(measured.values())))
    width = 0.86 / len(techniques)
    for panel, (statistic, value) in zip(axes, STATISTICS.items(), strict=True):
        for place, technique in enumerate(techniques):
            at = np.arange(len(groups)) + (place - (len(techniques) - 1) / 2) * width
            rough, consistent = (
                [value(getattr(measured[g][technique], kind)) for g in groups] for kind in ("rough", "consistent")
            )
            panel.bar(at, rough, width * 0.94, color=COLOURS[technique], alpha=0.3)
            panel.bar(at, consistent, width * 0.94, color=COLOURS[technique], label=technique)
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.yaxis.set_major_formatter("{x:,.6g}")
        panel.yaxis.set_minor_formatter(NullFormatter())
        panel.set_xticks(range(len(groups)), labels=[str(group) for group in groups])
        panel.set_xlabel(along)
        panel.set_title(statistic, fontsize=10, loc="left")
    axes[0].set_ylabel("people")
    figure.suptitle(f"{title}; pale: without consistency", fontsize=11, x=0.01, ha="left")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9)
    save(figure, name)


def write_errors(name: str, along: str, measured: Mapping[object, Mapping[str, Errors]]) -> None:
    header = (along, "technique", "sources", "max", "average", "max, consistent", "average, consistent", "largest sd")
    rows = [
        (
            group,
            technique,
            len(errors.plan.source_masks),
            *(f"{value(array):.2f}" for array in (errors.rough, errors.consistent) for value in STATISTICS.values()),
            f"{errors.largest_deviation:.2f}",
        )
        for group, found in measured.items()
        for technique, errors in found.items()
    ]
    write_rows(name, header, rows)
