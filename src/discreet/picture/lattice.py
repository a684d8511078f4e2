"""The lattice of cuboids: which are measured, with what share of the budget, and how exact each will be."""

import textwrap
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

MOST_NAMED = 16
"""Cuboids are named in the picture where there are at most this many."""
MOST_JOINED = 128
"""Lines join cuboids to their roll-ups where there are at most this many."""


Places = dict[frozenset[int], tuple[float, float]]
"""Where each cuboid is drawn, by the places of its dimensions."""


class Node(NamedTuple):
    """A cuboid: its dimensions by place, how far off its cells may be, and its share of the budget where measured."""

    places: frozenset[int]
    halfwidth: float
    share: float | None


def lattice_picture(names: Sequence[str], nodes: Sequence[Node], title: str, subtitle: str) -> Figure:
    """Cuboids by level, the total at the top; colour is the error, a ring a source, and its size the share."""
    figure = Figure(figsize=(10, 6.4), dpi=144, layout="constrained")
    axes = figure.subplots()
    places = _places(nodes)
    if len(nodes) <= MOST_JOINED:
        axes.add_collection(LineCollection(_joins(nodes, places), colors="0.85", linewidths=0.8, zorder=1))
    dots = _draw_dots(axes, nodes, np.array([places[node.places] for node in nodes]))
    if len(nodes) <= MOST_NAMED:
        _name_dots(axes, nodes, places, names)
    levels = sorted({len(node.places) for node in nodes})
    axes.set_yticks([-level for level in levels], labels=[_level_words(level) for level in levels])
    axes.set_xticks([])
    axes.margins(x=0.08, y=0.12 if len(nodes) <= MOST_NAMED else 0.07)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title(f"{textwrap.fill(title, 95)}\n", loc="left", weight="bold", size=11)
    axes.text(0, 1.015, subtitle, transform=axes.transAxes, color="0.35", size=9)
    key = figure.legend(loc="outside lower center", frameon=False, fontsize=9, handletextpad=0.2)
    key.legend_handles[0].set_sizes([70])  # type: ignore[union-attr]
    bar = figure.colorbar(dots, label="a cell is within ± this, 95% of the time", fraction=0.04)
    bar.ax.minorticks_off()
    low, high = dots.get_clim()
    ticks = sorted({float(f"{tick:.2g}") for tick in np.geomspace(low, high, 5)})
    shown = [tick for tick in ticks if low <= tick <= high]
    bar.set_ticks(shown, labels=[f"{tick:,.6g}" for tick in shown])
    return figure


def _draw_dots(axes: Axes, nodes: Sequence[Node], xy: NDArray[np.float64]) -> PathCollection:
    """A dot a cuboid, and a ring around each that is measured."""
    crowd = max(np.unique(xy[:, 1], return_counts=True)[1])
    room = min(420.0, 52_000 / crowd**1.6)
    largest = max((node.share for node in nodes if node.share), default=1.0)
    sizes = np.array([room * (0.45 + 0.55 * node.share / largest if node.share else 0.35) for node in nodes])
    widths = np.array([node.halfwidth for node in nodes])
    norm = LogNorm(widths.min() * 0.999, widths.max() * 1.001)
    dots = axes.scatter(xy[:, 0], xy[:, 1], s=sizes, c=widths, cmap="viridis_r", norm=norm, linewidths=0, zorder=2)
    measured = [place for place, node in enumerate(nodes) if node.share]
    axes.scatter(
        xy[measured, 0],
        xy[measured, 1],
        s=sizes[measured],
        facecolors="none",
        edgecolors="crimson",
        linewidths=min(2.0, 0.6 + room / 200),
        zorder=3,
        label="measured: the larger, the more of the budget",
    )
    return dots


def _name_dots(axes: Axes, nodes: Sequence[Node], places: Places, names: Sequence[str]) -> None:
    for node in nodes:
        axes.annotate(
            _words(node, names),
            places[node.places],
            (0, -15),
            textcoords="offset points",
            ha="center",
            va="top",
            size=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85},
        )


def _places(nodes: Sequence[Node]) -> Places:
    """Levels from top to bottom; within a level in the order of the dimensions, spread evenly."""
    levels: dict[int, list[frozenset[int]]] = defaultdict(list)
    for node in sorted(nodes, key=lambda node: sorted(node.places)):
        levels[len(node.places)].append(node.places)
    widest = max(map(len, levels.values()))
    # Narrow levels are spread a little, so that the lattice is less of a needle.
    return {
        places: ((position - (len(level) - 1) / 2) * (widest / len(level)) ** 0.5, -float(depth))
        for depth, level in levels.items()
        for position, places in enumerate(level)
    }


def _joins(nodes: Sequence[Node], places: Places) -> list[list[tuple[float, float]]]:
    return [
        [places[node.places], places[node.places - {gone}]]
        for node in nodes
        for gone in node.places
        if node.places - {gone} in places
    ]


def _words(node: Node, names: Sequence[str]) -> str:
    cuboid = textwrap.fill(" × ".join(names[place] for place in sorted(node.places)) or "total", 22)
    share = f"\n{node.share:.0%} of the budget" if node.share else ""
    return f"{cuboid}\n±{node.halfwidth:,.0f}{share}"


def _level_words(level: int) -> str:
    return "total" if level == 0 else "1 dimension" if level == 1 else f"{level} dimensions"
