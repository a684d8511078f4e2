"""Numbers next to the docs: a CSV file and a picture for each figure."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from experiments.page import Page

PAGE = Page("buckets")
save, write_rows = PAGE.save, PAGE.write_rows

COLOURS = {
    "TwoSize": "#2a6fb5",
    "MultiSize": "#3f9b6c",
    "MultiSize (seed's)": "#9ac7ae",
    "Optimal": "#111111",
    "Anatomy": "#b5482a",
    "similar": "#d1467a",
    "No-pruning": "#b5482a",
    "Loss-pruning": "#c98a1b",
    "Full-pruning": "#2a6fb5",
}

Lines = Mapping[str, Mapping[float, float]]
"""A number along x, by the name of a line."""


def draw_lines(
    name: str, panels: Mapping[str, Lines], along: str, what: str, logarithmic: bool = False, even: bool = True
) -> None:
    """A panel a table, two in a row, and a line a method where it has numbers; the seed has places along x `even`."""
    write_lines(name, panels, along, what)
    rows = (len(panels) + 1) // 2
    figure = Figure(figsize=(11, 3.6 * rows), layout="constrained")
    for axes, (title, lines) in zip(figure.subplots(rows, 2).flat, panels.items(), strict=False):
        ticks = sorted({x for line in lines.values() for x in line})
        for label, line in lines.items():
            places = [ticks.index(x) if even else x for x in line]
            axes.plot(places, list(line.values()), marker="o", markersize=4, label=label, color=COLOURS.get(label))
        if even:
            axes.set_xticks(range(len(ticks)), [f"{tick:g}" for tick in ticks])
        if logarithmic:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set(title=title, xlabel=along, ylabel=what)
        axes.grid(axis="y", alpha=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    # One legend for all panels, beside them: it hides no curve.
    entries = {
        label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if len(entries) > 1:
        figure.legend(entries.values(), entries.keys(), loc="outside right center", fontsize=8, frameon=False)
    save(figure, name)


def write_lines(name: str, panels: Mapping[str, Lines], along: str, what: str) -> None:
    rows = [
        (title, label, f"{x:g}", f"{y:.6g}")
        for title, lines in panels.items()
        for label, line in lines.items()
        for x, y in line.items()
    ]
    write_rows(name, ("table", "method", along, what), rows)
