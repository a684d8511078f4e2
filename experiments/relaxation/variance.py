"""Beyond the paper: the variance of the best combination beside the compound's."""

from dataclasses import dataclass
from statistics import fmean
from typing import Any

from discreet.answer.derive import derive
from discreet.domain.region import Region
from experiments.relaxation.plot import COLOURS, SYMBOLS, label, panels, save, ticks, write_rows
from experiments.relaxation.setting import COMPOUND_SIZES, DISTRIBUTIONS, Setting, for_each
from experiments.relaxation.workload import NOISE_SCALE

EVERY = 10


@dataclass(frozen=True)
class Variances:
    """Mean variances in units of λ², and the mean of their ratios, over every tenth relaxed query."""

    compound: float
    derived: float
    ratio: float


def variances(setting: Setting) -> Variances:
    database, compounds, best = setting.database(), [], []
    relaxed = 0
    for asked in setting.queries():
        if database.can_measure(asked):
            database.measure(asked)
            continue
        compound = database.relax(asked, setting.most_answers, setting.starts).compound
        relaxed += 1
        if relaxed % EVERY == 0:
            derived = derive(Region((compound.difference,)), database.past, (*compound.plus, *compound.minus))
            assert derived is not None
            compounds.append(compound.variance / NOISE_SCALE**2)
            best.append(derived.variance / NOISE_SCALE**2)
    ratios = [derived / compound for derived, compound in zip(best, compounds, strict=True)]
    return Variances(fmean(compounds), fmean(best), fmean(ratios))


def draw() -> None:
    settings = [Setting(distribution, most_answers=size) for distribution in DISTRIBUTIONS for size in COMPOUND_SIZES]
    found = for_each(settings, variances)
    rows = [
        (one.distribution, one.most_answers, *(f"{part:.4g}" for part in (each.compound, each.derived, each.ratio)))
        for one, each in found.items()
    ]
    write_rows("variance", ("distribution", "most_answers", "compound", "derived", "ratio"), rows)
    figure, (panel,) = panels(1, width=6)
    for distribution in DISTRIBUTIONS:
        line = [found[one] for one in settings if one.distribution == distribution]
        look: dict[str, Any] = {"color": COLOURS[distribution], "marker": SYMBOLS[distribution]}
        panel.plot(
            COMPOUND_SIZES, [one.compound for one in line], ls="--", label=f"{distribution.title()}, compound", **look
        )
        panel.plot(COMPOUND_SIZES, [one.derived for one in line], label=f"{distribution.title()}, derived", **look)
    panel.set_ylim(bottom=0)
    ticks(panel, "most_answers", COMPOUND_SIZES)
    label(panel, "variance of a relaxed answer", "maximum compound size ξ", "mean variance / λ²")
    save(figure, "variance")
