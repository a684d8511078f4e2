"""Figure 16: time for a query against each parameter."""

from experiments.relaxation.plot import COLOURS, SYMBOLS, label, panels, save
from experiments.relaxation.setting import (
    BUCKETS,
    COMPOUND_SIZES,
    DISTRIBUTIONS,
    EPSILONS,
    VOLUMES,
    Setting,
    for_each,
    quality,
)
from experiments.relaxation.sweep import settings_of, write_qualities

PANELS = (
    ("(a)", "epsilon", EPSILONS, "ε"),
    ("(b)", "volume", VOLUMES, "query volume s"),
    ("(c)", "most_answers", COMPOUND_SIZES, "maximum compound size ξ"),
    ("(d)", "most_buckets", BUCKETS, "most buckets θ"),
)


def draw() -> None:
    starts = (Setting("data").starts,)
    runs = {parameter: settings_of(parameter, values, starts) for _, parameter, values, _ in PANELS}
    found = for_each([setting for listed in runs.values() for setting in listed], quality)
    write_qualities("fig16", found)
    figure, axes = panels(4, width=3.4)
    for panel, (letter, parameter, values, axis) in zip(axes, PANELS, strict=True):
        for distribution in DISTRIBUTIONS:
            times = [found[one].milliseconds for one in runs[parameter] if one.distribution == distribution]
            panel.plot(
                [float(value) for value in values],
                times,
                color=COLOURS[distribution],
                marker=SYMBOLS[distribution],
                label=distribution.title(),
            )
        panel.set_ylim(bottom=0)
        if parameter == "most_buckets":
            panel.set_xscale("log")
        label(panel, letter, axis, "milliseconds a query")
    save(figure, "fig16")
