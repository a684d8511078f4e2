"""One parameter varied, everything else as in Table 2: what Figures 13 to 16 are made of."""

from collections.abc import Sequence
from dataclasses import astuple, fields, replace
from typing import Any

from experiments.relaxation.plot import COLOURS, SYMBOLS, label, panels, save, write_rows
from experiments.relaxation.setting import DISTRIBUTIONS, THE_PAPERS_START, Quality, Setting, for_each, quality

STYLES = {True: "-", False: "--"}


def settings_of(parameter: str, values: Sequence[Any], starts: Sequence[int]) -> list[Setting]:
    """Every value of a parameter, for both distributions and each number of starts."""
    return [
        replace(Setting(distribution), **{parameter: value, "starts": count})
        for distribution in DISTRIBUTIONS
        for count in starts
        for value in values
    ]


def quality_figure(name: str, parameter: str, values: Sequence[Any], axis: str) -> None:
    """The mean relaxation error and the mean compound size against a parameter."""
    ours = Setting("data").starts
    found = for_each(settings_of(parameter, values, (ours, THE_PAPERS_START)), quality)
    write_qualities(name, found)
    figure, (errors, sizes) = panels(2)
    for distribution in DISTRIBUTIONS:
        for starts in (ours, THE_PAPERS_START):
            line = [found[one] for one in settings_of(parameter, values, (starts,)) if one.distribution == distribution]
            named = f"{distribution.title()}, {starts} start{'s' * (starts > 1)}"
            look = {"color": COLOURS[distribution], "marker": SYMBOLS[distribution], "ls": STYLES[starts == ours]}
            errors.plot([float(value) for value in values], [one.mean_error for one in line], label=named, **look)
            sizes.plot([float(value) for value in values], [one.mean_size for one in line], label=named, **look)
    errors.set_ylim(bottom=0)
    sizes.set_ylim(bottom=1)
    label(errors, "(a) relaxation error", axis, "mean relaxation error (Eq. 13)")
    label(sizes, "(b) compound size", axis, "mean number of counts")
    save(figure, name)


def write_qualities(name: str, found: dict[Setting, Quality]) -> None:
    header = [field.name for noun in (Setting, Quality) for field in fields(noun)]
    rows = [
        [float(part) if index == 1 else part for index, part in enumerate(astuple(setting))] + _rounded(result)
        for setting, result in found.items()
    ]
    write_rows(name, header, rows)


def _rounded(result: Quality) -> list[object]:
    return [f"{part:.4g}" if isinstance(part, float) else part for part in astuple(result)]
