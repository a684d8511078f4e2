"""Numbers next to the docs: a CSV file and a picture for each experiment."""

from experiments.cubes.plot import panels
from experiments.page import Page

PAGE = Page("facts")
save, write_rows = PAGE.save, PAGE.write_rows

COLOURS = ("#8c8c8c", "#2a6fb5", "#3f9b6c", "#c98a1b", "#b5482a", "#6a4fa3")

__all__ = ["COLOURS", "panels", "save", "write_rows"]
