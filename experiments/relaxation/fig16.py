"""Figure 16: time for a query against each parameter."""

from collections.abc import Sequence
from typing import Any

from experiments.relaxation.plot import label, panels, save
from experiments.relaxation.setting import BUCKETS, COMPOUND_SIZES, EPSILONS, VOLUMES, for_each, quality
from experiments.relaxation.sweep import look_of, sweep, write_qualities

PANELS: tuple[tuple[str, str, Sequence[Any], str], ...] = (
    ("(a)", "epsilon", EPSILONS, "ε"),
    ("(b)", "volume", VOLUMES, "query volume s"),
    ("(c)", "most_answers", COMPOUND_SIZES, "maximum compound size ξ"),
    ("(d)", "most_buckets", BUCKETS, "most buckets θ"),
)


def draw() -> None:
    curves = {parameter: sweep(parameter, values) for _, parameter, values, _ in PANELS}
    # Buckets are the paper's; this system has an exact map on this domain.
    curves["most_buckets"] = {key: one for key, one in curves["most_buckets"].items() if key[1] == "as in the paper"}
    listed = [setting for by_curve in curves.values() for settings in by_curve.values() for setting in settings]
    found = for_each(listed, quality)
    write_qualities("fig16", found)
    figure, axes = panels(4, width=3.6)
    for panel, (letter, parameter, values, axis) in zip(axes, PANELS, strict=True):
        for (distribution, whose), settings in curves[parameter].items():
            times = [found[one].milliseconds for one in settings]
            panel.plot([float(value) for value in values], times, **look_of(distribution, whose))
        panel.set_ylim(bottom=0)
        if parameter == "most_buckets":
            panel.set_xscale("log")
        label(panel, letter, axis, "milliseconds a query")
    save(figure, "fig16")
