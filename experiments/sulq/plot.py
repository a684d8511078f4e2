"""Numbers next to the docs: a CSV file and a picture for each figure."""

from matplotlib.figure import Figure

from experiments.page import Page
from experiments.relaxation.plot import label, legend, panels

PAGE = Page("sulq")
write_rows = PAGE.write_rows
COLOURS = ("#b5482a", "#2a6fb5", "#3c8c4a", "#8a5aa8", "#777777")

__all__ = ["COLOURS", "label", "panels", "save", "write_rows"]


def save(figure: Figure, name: str) -> None:
    legend(figure, figure.axes)
    PAGE.save(figure, name)
