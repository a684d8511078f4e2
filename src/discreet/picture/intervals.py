"""Numbers of groups, each with an interval of its own: bars, or a line with a band where bars would be too many."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from discreet.picture.bars import ACCENT, COLOURS, INK, MOST_BARS, page
from discreet.picture.heat import shorten

Ends = tuple[float | None, float | None, float | None]
"""Low, value, high; there is no interval where an end is None."""


def interval_picture(
    labels: Sequence[str], numbers: Sequence[Ends], groups: str, what: str, title: str, note: str
) -> Figure:
    """A picture of at least one number, by their labels."""
    values = np.array([value for _, value, _ in numbers], np.float64)
    lows, highs = (
        np.array([value if end is None else end for end, value in zip(ends, values, strict=True)], np.float64)
        for ends in ([low for low, _, _ in numbers], [high for _, _, high in numbers])
    )
    if len(values) > MOST_BARS:
        figure, axes = page(shorten(title, 90), note, height=4.2)
        places = np.arange(len(values))
        axes.fill_between(places, lows, highs, step="mid", color=ACCENT, alpha=0.25, linewidth=0)
        axes.step(places, values, where="mid", color=ACCENT, linewidth=1.4)
        step = -(-len(values) // 20)
        axes.set_xticks(places[::step], labels=[shorten(label) for label in labels[::step]], rotation=45)
        axes.set_xlabel(groups)
        axes.set_ylabel(what)
        axes.yaxis.set_major_formatter("{x:,.6g}")
        return figure
    figure, axes = page(shorten(title, 90), note, height=1.6 + 0.3 * max(len(values), 4))
    around = np.maximum([values - lows, highs - values], 0)
    axes.barh(range(len(values)), values, height=0.74, color=COLOURS[0], xerr=around, error_kw={"ecolor": INK})
    axes.set_yticks(range(len(values)), labels=[shorten(label, 28) for label in labels])
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.set_ylabel(groups)
    axes.set_xlabel(what)
    axes.xaxis.set_major_formatter("{x:,.6g}")
    axes.axvline(0, color=INK, linewidth=0.8)
    return figure
