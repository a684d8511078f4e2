"""A cuboid of one or two dimensions: bars with error bars, or a band or a heat map where bars would be too many."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from discreet.errors import PictureError
from discreet.picture.heat import MOST_TICKS, heat_map, shorten

MOST_BARS = 48
INK, ACCENT = "0.2", "#4a8fb0"
COLOURS = ("#4a8fb0", "#e3a857", "#7fb07a", "#c0707f", "#9a8fc9", "#c9b29b", "#62aca4", "#a3a9b0")
"""Middle tones, on which an error bar can be seen."""

Axis = tuple[str, Sequence[str]]
"""A dimension's name and its labels."""


def cuboid_picture(
    values: NDArray[np.floating], dimensions: Sequence[Axis], halfwidth: float, title: str, note: str
) -> Figure:
    """A picture of a cuboid whose cells are each within ±halfwidth of the truth."""
    if values.ndim == 2:
        # The dimension with fewer values gives the colours.
        turned = values.shape[1] > values.shape[0]
        cells, (lines, colours) = (values.T, dimensions[::-1]) if turned else (values, dimensions)
        if cells.size > MOST_BARS or cells.shape[1] > len(COLOURS):
            return heat_map(values, dimensions[0], dimensions[1], f"{title}\n{note}", f"count, ±{halfwidth:,.0f} each")
        return _bars(cells, lines, colours, halfwidth, title, note)
    if values.ndim != 1:
        raise PictureError("a picture shows a cuboid of one or two dimensions; slice or roll up the others")
    if values.size > MOST_BARS:
        return _band(values, dimensions[0], halfwidth, title, note)
    return _bars(values[:, None], dimensions[0], None, halfwidth, title, note)


def _bars(
    cells: NDArray[np.floating], lines: Axis, colours: Axis | None, halfwidth: float, title: str, note: str
) -> Figure:
    """Lying bars, so that labels are read without turning the head: a group a line, a colour a column."""
    groups, columns = cells.shape
    figure, axes = page(title, note, height=1.6 + 0.3 * max(groups, 4) * (0.55 + 0.45 * columns))
    thickness = 0.8 / columns
    for column in range(columns):
        places = np.arange(groups) + (column - (columns - 1) / 2) * thickness
        axes.barh(
            places,
            cells[:, column],
            height=thickness * 0.92,
            color=COLOURS[column],
            label=shorten(colours[1][column]) if colours else None,
            xerr=halfwidth,
            error_kw={"ecolor": INK, "elinewidth": 0.9, "capsize": min(2.5, 8 * thickness)},
        )
    axes.set_yticks(range(groups), labels=[shorten(label, 28) for label in lines[1]])
    axes.set_ylim(groups - 0.4, -0.6)
    axes.set_ylabel(lines[0])
    axes.set_xlabel("count")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="x", color="0.9")
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    if colours:
        figure.legend(loc="outside right upper", title=colours[0], frameon=False, alignment="left")
    return figure


def _band(values: NDArray[np.floating], dimension: Axis, halfwidth: float, title: str, note: str) -> Figure:
    """A line with a band of ±halfwidth, for a dimension of many values."""
    figure, axes = page(title, note, height=4.2)
    name, labels = dimension
    codes = np.arange(values.size)
    axes.fill_between(codes, values - halfwidth, values + halfwidth, step="mid", color=ACCENT, alpha=0.25, linewidth=0)
    axes.step(codes, values, where="mid", color=ACCENT, linewidth=1.4)
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000, len(labels)) if step * MOST_TICKS >= len(labels))
    axes.set_xticks(codes[::step], labels=[shorten(label) for label in labels[::step]])
    if max(map(len, labels[::step])) > 4:
        axes.tick_params(axis="x", rotation=45)
    axes.set_xlabel(name)
    axes.set_ylabel("count")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", color="0.9")
    axes.margins(x=0.01)
    return figure


def page(title: str, note: str, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8, height), dpi=144, layout="constrained")
    axes = figure.subplots()
    axes.set_title(f"{title}\n", loc="left", weight="bold")
    axes.annotate(note, (0, 1), (0, 6), xycoords="axes fraction", textcoords="offset points", color="0.35", size=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_axisbelow(True)
    return figure, axes
