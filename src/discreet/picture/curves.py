"""Curves, histograms and points with intervals: what an audit found."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from discreet.picture.bars import COLOURS, INK, page
from discreet.picture.heat import shorten


def curves_picture(
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], title: str, note: str, along: str, meaning: str
) -> Figure:
    """One line for each name, over the same axis, from 0 to 1."""
    figure, axes = page(title, note, 4.2)
    for colour, (name, (places, values)) in zip(COLOURS, curves.items(), strict=False):
        axes.plot(places, values, color=colour, marker="o", markersize=4, label=name)
    axes.set_xlabel(along)
    axes.set_ylabel(meaning)
    axes.set_ylim(0, 1.03)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color="0.9")
    axes.legend(frameon=False)
    return figure


def histogram_picture(numbers: Mapping[str, NDArray[np.float64]], title: str, note: str, along: str) -> Figure:
    """How many people have which number, with a line at 1."""
    figure, axes = page(title, note, 4.2)
    largest = max(1.05, *(float(each.max(initial=0)) for each in numbers.values()))
    edges = np.linspace(0, largest, 41)
    for colour, (name, each) in zip(COLOURS, numbers.items(), strict=False):
        axes.hist(each, bins=edges.tolist(), color=colour, alpha=0.7, label=name)
    axes.axvline(1, color=INK, linewidth=0.9, linestyle="--")
    axes.set_xlabel(along)
    axes.set_ylabel("people")
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.legend(frameon=False)
    return figure


def intervals_picture(
    names: Sequence[str],
    values: Sequence[float],
    ends: Sequence[tuple[float, float]],
    bound: float,
    title: str,
    note: str,
) -> Figure:
    """A point with its interval on each line, between 0 and 1, and a bound."""
    figure, axes = page(title, note, 1.4 + 0.3 * max(len(names), 3))
    lines = np.arange(len(names))
    low = [max(value - end[0], 0.0) for value, end in zip(values, ends, strict=True)]
    high = [max(end[1] - value, 0.0) for value, end in zip(values, ends, strict=True)]
    axes.errorbar(values, lines, xerr=[low, high], fmt="o", color=COLOURS[0], ecolor=INK, elinewidth=0.9, capsize=2.5)
    axes.axvline(bound, color=COLOURS[3], linewidth=1, linestyle="--")
    axes.set_yticks(lines, labels=[shorten(name, 48) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, 1.02)
    axes.set_xlabel("share")
    axes.grid(axis="x", color="0.9")
    return figure
