"""One parameter varied, everything else as in Table 2: what Figures 13 to 16 are made of."""

from collections.abc import Sequence
from dataclasses import astuple, fields, replace
from fractions import Fraction
from typing import Any

from experiments.relaxation.plot import COLOURS, SYMBOLS, label, panels, read_rows, save, ticks, write_rows
from experiments.relaxation.setting import DISTRIBUTIONS, Quality, Setting, for_each, quality
from experiments.relaxation.workload import Distribution

EXACT = "exact"
STYLES = {"this system": "-", "as in the paper": "--"}


def sweep(parameter: str, values: Sequence[Any]) -> dict[tuple[Distribution, str], list[Setting]]:
    """Every value of a parameter, for both distributions, as this system does it and as in the paper."""
    return {
        (distribution, whose): [replace(setting, **{parameter: value}) for value in values]
        for distribution in DISTRIBUTIONS
        for whose, setting in zip(STYLES, (Setting(distribution), Setting.as_in_the_paper(distribution)), strict=True)
    }


def look_of(distribution: Distribution, whose: str) -> dict[str, Any]:
    """How a curve looks, and what it is called."""
    return {
        "color": COLOURS[distribution],
        "marker": SYMBOLS[distribution],
        "ls": STYLES[whose],
        "label": f"{distribution.title()}, {whose}",
    }


def quality_figure(name: str, parameter: str, values: Sequence[Any], axis: str) -> None:
    """The mean relaxation error and the mean compound size against a parameter."""
    curves = sweep(parameter, values)
    found = for_each([setting for listed in curves.values() for setting in listed], quality)
    write_qualities(name, found)
    figure, (errors, sizes) = panels(2)
    at = [float(value) for value in values]
    for (distribution, whose), settings in curves.items():
        look = look_of(distribution, whose)
        errors.plot(at, [found[one].mean_error for one in settings], **look)
        sizes.plot(at, [found[one].mean_size for one in settings], **look)
    for panel in (errors, sizes):
        ticks(panel, parameter, values)
    errors.set_ylim(bottom=0)
    sizes.set_ylim(bottom=1)
    label(errors, "(a) relaxation error", axis, "mean relaxation error (Eq. 13)")
    label(sizes, "(b) compound size", axis, "mean number of counts")
    save(figure, name)


def recorded(name: str) -> dict[Setting, Quality]:
    """The runs of a figure, read back from its file."""
    found = {}
    for row in read_rows(name):
        setting = Setting(
            distribution="data" if row["distribution"] == "data" else "uniform",
            epsilon=Fraction(row["epsilon"]),
            volume=float(row["volume"]),
            most_answers=int(row["most_answers"]),
            most_buckets=None if row["most_buckets"] == EXACT else int(row["most_buckets"]),
            starts=int(row["starts"]),
        )
        counts = (int(row[field]) for field in ("accepted", "relaxed", "bought"))
        means = (float(row[field]) for field in ("mean_error", "mean_size", "milliseconds"))
        found[setting] = Quality(*counts, *means)
    return found


def write_qualities(name: str, found: dict[Setting, Quality]) -> None:
    header = [field.name for noun in (Setting, Quality) for field in fields(noun)]
    rows = [[_written(part) for part in (*astuple(setting), *astuple(result))] for setting, result in found.items()]
    write_rows(name, header, rows)


def _written(part: object) -> object:
    match part:
        case None:
            return EXACT
        case Fraction() | float():
            return f"{float(part):.4g}"
    return part
