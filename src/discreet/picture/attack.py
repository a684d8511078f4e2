"""An attack: the advantage of every attempt beside what is promised, and how the attack got on."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from discreet.picture.bars import COLOURS, INK

Line = tuple[NDArray[np.float64], NDArray[np.float64]]
BOUND = "#8c1d2f"


class Lines(Protocol):
    """Lines to draw: see `attacks.guesses.Chart`."""

    @property
    def title(self) -> str: ...
    @property
    def along(self) -> str: ...
    @property
    def meaning(self) -> str: ...
    @property
    def lines(self) -> Mapping[str, Line]: ...
    @property
    def bounds(self) -> Mapping[str, Line]: ...
    @property
    def level(self) -> float | None: ...
    @property
    def levelled(self) -> str: ...
    @property
    def scales(self) -> str: ...


def attack_picture(
    names: Sequence[str],
    advantages: Sequence[tuple[float, float, float]],
    bound: float,
    chart: Lines,
    title: str,
    note: str,
) -> Figure:
    """On the left an advantage with the ends of its interval for each name, and the bound; on the right the chart."""
    figure = Figure(figsize=(11, 4.4), dpi=144, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.15))
    figure.suptitle(title, x=0.012, ha="left", weight="bold", size=12)
    colours = dict(zip(names, COLOURS, strict=False))
    _advantages(left, names, advantages, bound, colours)
    left.set_title(note, loc="left", size=9, color="0.35")
    _chart(right, chart, colours)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
    return figure


def _advantages(
    axes: Axes,
    names: Sequence[str],
    advantages: Sequence[tuple[float, float, float]],
    bound: float,
    colours: Mapping[str, str],
) -> None:
    for place, (name, (value, low, high)) in enumerate(zip(names, advantages, strict=True)):
        around = [[max(value - low, 0.0)], [max(high - value, 0.0)]]
        axes.errorbar(value, place, xerr=around, fmt="o", color=colours[name], ecolor=INK, elinewidth=0.9, capsize=2.5)
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.axvline(bound, color=BOUND, linestyle="--", linewidth=1.2, label=f"allowed: {bound:.3g}")
    axes.set_yticks(range(len(names)), labels=list(names))
    axes.set_ylim(len(names) - 0.2, -0.6)
    axes.set_xlim(min(-0.05, *(low for _, low, _ in advantages)) - 0.02, 1.05)
    axes.set_xlabel("advantage over a coin")
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")


def _chart(axes: Axes, chart: Lines, colours: Mapping[str, str]) -> None:
    last = max(places.max(initial=0) for places, _ in chart.lines.values())
    for name, spare, (places, heights) in zip(chart.lines, COLOURS, chart.lines.values(), strict=False):
        colour = colours.get(name, spare)
        axes.plot(places, heights, color=colour, marker="o", markersize=3, linewidth=1.3, label=name)
        if chart.scales != "linear" and places[-1] < last:
            axes.plot([places[-1], last], [heights[-1]] * 2, color=colour, linewidth=1.1, linestyle=":")
    for name, (places, heights) in chart.bounds.items():
        axes.plot(places, heights, color=BOUND, linestyle="--", linewidth=1.2, label=name)
    if chart.level is not None:
        axes.axhline(chart.level, color=BOUND, linewidth=1.2, linestyle="--", label=chart.levelled)
    if chart.scales != "linear":
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
    if chart.scales == "log-log":
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:,g}")
    axes.set_title(chart.title, loc="left", size=9, color="0.35")
    axes.set_xlabel(chart.along)
    axes.set_ylabel(chart.meaning)
    axes.legend(frameon=False, fontsize=8.5)
