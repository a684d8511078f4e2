"""Figure 12: queries answered without relaxation, against the budget and the queries' volume."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.ledger.capacity import capacity_at_volume
from experiments.relaxation.database import accepted
from experiments.relaxation.plot import COLOURS, SYMBOLS, label, panels, save, ticks, write_rows
from experiments.relaxation.setting import DISTRIBUTIONS, EPSILONS, VOLUMES, Setting, for_each
from experiments.relaxation.workload import NOISE_SCALE

PANELS: tuple[tuple[str, str, Sequence[Any], str], ...] = (
    ("(a)", "epsilon", EPSILONS, "ε"),
    ("(b)", "volume", VOLUMES, "query volume s"),
)


def capacity(setting: Setting) -> int:
    return sum(accepted(setting.spend_map(), setting.queries()))


def bound(setting: Setting) -> float:
    return float(capacity_at_volume(setting.epsilon, Fraction(NOISE_SCALE), Fraction(str(setting.volume))))


def draw() -> None:
    runs = {
        (parameter, distribution): [
            replace(Setting.as_in_the_paper(distribution), **{parameter: value}) for value in values
        ]
        for _, parameter, values, _ in PANELS
        for distribution in DISTRIBUTIONS
    }
    found = for_each([setting for listed in runs.values() for setting in listed], capacity)
    rows = [
        (one.distribution, float(one.epsilon), one.volume, count, f"{bound(one):.1f}") for one, count in found.items()
    ]
    write_rows("fig12", ("distribution", "epsilon", "volume", "answered", "upper bound"), rows)
    figure, axes = panels(2)
    for panel, (letter, parameter, values, axis) in zip(axes, PANELS, strict=True):
        for distribution in DISTRIBUTIONS:
            panel.plot(
                [float(value) for value in values],
                [found[setting] for setting in runs[parameter, distribution]],
                color=COLOURS[distribution],
                marker=SYMBOLS[distribution],
                label=distribution.title(),
            )
        bounds = [bound(setting) for setting in runs[parameter, "uniform"]]
        panel.plot([float(value) for value in values], bounds, color="black", lw=1, label="upper bound (Lemma 3)")
        ticks(panel, parameter, values)
        label(panel, letter, axis, "queries answered")
    axes[0].set_ylim(bottom=0)
    axes[1].set_yscale("log")
    save(figure, "fig12")
