"""Wide tables beside ResidualPlanner's published settings: 10 to 100 attributes of ten values, at most 3-way."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from experiments.cubes.plot import panels
from experiments.page import Page
from experiments.wide.residual import residual_planner_largest
from experiments.wide.run import ORDER, ROWS, VALUES, Run, run_in_own_process

PAGE = Page("wide")

ATTRIBUTES = (10, 20, 50, 100)
SETTINGS = {"Laplace, ε = 1": ("epsilon", "1"), "Gaussian, ρ = ½": ("rho", "1/2")}

# ResidualPlanner as published, not measured here: 20 attributes are published in 26.8 s and 2.7 GB, 50 not in 550 s.
PLANNED = {20: 0.6, 50: 11.2}


def draw(attributes: Sequence[int] = ATTRIBUTES, rows: int = ROWS) -> None:
    found = [
        (name, run_in_own_process(count, *spent, rows)) for count in attributes for name, spent in SETTINGS.items()
    ]
    write(found)
    PAGE.save(picture(found, rows), "wide")


def picture(found: Sequence[tuple[str, Run]], rows: int) -> Figure:
    """Seconds and memory by the number of attributes."""
    figure, (seconds, memory) = panels(2)
    for name, style in zip(SETTINGS, ("o-", "s--"), strict=True):
        runs = [run for setting, run in found if setting == name]
        counts = [run.attributes for run in runs]
        seconds.plot(counts, [run.planning for run in runs], style, color="#8c8c8c", label=f"planned, {name}")
        seconds.plot(counts, [run.publishing for run in runs], style, color="#111111", label=f"published, {name}")
        memory.plot(counts, [run.peak_bytes / 1e9 for run in runs], style, color="#111111", label=name)
    colour = "#b5482a"
    seconds.plot(list(PLANNED), list(PLANNED.values()), "v", color=colour, label="ResidualPlanner plans *")
    seconds.plot([20], [26.8], "^", color=colour, label="ResidualPlanner publishes *")
    seconds.plot([50], [550], "^", markerfacecolor="none", color=colour, label="ResidualPlanner, not ended *")
    memory.plot([20], [2.7], "^", color=colour, label="ResidualPlanner *")
    for panel, what, corner in ((seconds, "seconds", "lower right"), (memory, "peak memory, GB", "upper left")):
        panel.set(xscale="log", yscale="log", xlabel="attributes of ten values", ylabel=what)
        panel.set_xticks(ATTRIBUTES, labels=[str(count) for count in ATTRIBUTES])
        panel.minorticks_off()
        panel.yaxis.set_major_formatter("{x:,.6g}")
        panel.legend(frameon=False, fontsize=8, loc=corner)
    seconds.set_ylim(bottom=1e-4)  # room for the legend
    title = f"All cuboids of at most {ORDER} dimensions, {rows:,} rows; *: as published, on another machine"
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure


def write(found: Sequence[tuple[str, Run]]) -> None:
    header = (
        "attributes", "noise", "cuboids", "cells", "planned s", "published s", "saved s", "peak GB", "folder MB",
        "largest variance", "squared error / variance", "roll-ups off by", "ResidualPlanner's optimum",
    )  # fmt: skip
    rows = []
    for name, run in found:
        theirs = residual_planner_largest(run.attributes, VALUES, ORDER, 0.5) if name.startswith("Gaussian") else None
        rows.append(
            (
                run.attributes,
                name,
                run.cuboids,
                run.cells,
                f"{run.planning:.2f}",
                f"{run.publishing:.2f}",
                f"{run.saving:.2f}",
                f"{run.peak_bytes / 1e9:.2f}",
                f"{run.folder_bytes / 1e6:.0f}",
                f"{run.largest_variance:.6g}",
                f"{run.relative_error:.4f}",
                f"{run.roll_up_gap:.1e}",
                "" if theirs is None else f"{theirs:.6g}",
            )
        )
    PAGE.write_rows("wide", header, rows)
