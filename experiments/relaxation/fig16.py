"""Figure 16: processor time for a query against each parameter. (a) to (c) are of the runs of Figures 13 to 15."""

import importlib
from collections.abc import Sequence
from typing import Any

from experiments.relaxation.plot import PAGE, label, panels, save, ticks
from experiments.relaxation.setting import (
    BUCKETS,
    COMPOUND_SIZES,
    EPSILONS,
    VOLUMES,
    Quality,
    Setting,
    for_each,
    quality,
)
from experiments.relaxation.sweep import look_of, recorded, sweep, write_qualities

PANELS: tuple[tuple[str, str, Sequence[Any], str, str | None], ...] = (
    ("(a)", "epsilon", EPSILONS, "ε", "fig14"),
    ("(b)", "volume", VOLUMES, "query volume s", "fig15"),
    ("(c)", "most_answers", COMPOUND_SIZES, "maximum compound size ξ", "fig13"),
    ("(d)", "most_buckets", BUCKETS, "most buckets θ", None),
)


def draw() -> None:
    figure, axes = panels(4, width=3.4)
    timed: dict[Setting, Quality] = {}
    for panel, (letter, parameter, values, axis, from_figure) in zip(axes, PANELS, strict=True):
        # Buckets are the paper's; this system has an exact map on this domain.
        curves = {
            key: settings
            for key, settings in sweep(parameter, values).items()
            if parameter != "most_buckets" or key[1] == "as in the paper"
        }
        listed = [setting for settings in curves.values() for setting in settings]
        found = for_each(listed, quality) if from_figure is None else _runs_of(from_figure)
        timed |= {setting: found[setting] for setting in listed}
        for (distribution, whose), settings in curves.items():
            times = [found[one].milliseconds for one in settings]
            panel.plot([float(value) for value in values], times, **look_of(distribution, whose))
        panel.set_ylim(bottom=0)
        ticks(panel, parameter, values)
        label(panel, letter, axis, "milliseconds a query")
    write_qualities("fig16", timed)
    save(figure, "fig16")


def _runs_of(figure: str) -> dict[Setting, Quality]:
    if not (PAGE.folder / f"{figure}.csv").exists():
        importlib.import_module(f"experiments.relaxation.{figure}").draw()
    return recorded(figure)
