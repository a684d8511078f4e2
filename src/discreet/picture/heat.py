"""Heat maps of public numbers over two attributes."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

MOST_TICKS = 16


def heat_map(
    values: NDArray[np.floating],
    rows: tuple[str, Sequence[str]],
    columns: tuple[str, Sequence[str]],
    title: str,
    meaning: str,
    limits: tuple[float, float] | None = None,
) -> Figure:
    """A grid of colours: `rows` and `columns` name the axes and their labels, `meaning` what the colour stands for."""
    figure = Figure(figsize=(8, 5.5), dpi=144, layout="constrained")
    axes = figure.subplots()
    low, high = limits or (float(values.min()), float(values.max()))
    image = axes.imshow(values, aspect="auto", origin="lower", cmap="viridis", vmin=low, vmax=high)
    for axis, (name, labels), turn in ((axes.xaxis, columns, 45), (axes.yaxis, rows, 0)):
        step = -(-len(labels) // MOST_TICKS)
        axis.set_ticks(range(0, len(labels), step), labels=[shorten(label) for label in labels[::step]])
        axis.set_label_text(name)
        if turn and max(map(len, labels)) > 4:
            axis.set_tick_params(rotation=turn)
    axes.set_title(title, loc="left")
    figure.colorbar(image, label=meaning)
    return figure


def shorten(label: str, most: int = 18) -> str:
    return label if len(label) <= most else label[: most - 1] + "…"
