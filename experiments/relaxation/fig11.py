"""Figure 11: queries answered without relaxation, as they come in."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.ledger.buckets import BucketedSpend
from discreet.ledger.capacity import capacity_at_volume
from discreet.ledger.grid import GridSpend
from discreet.ledger.spend import SpendMap
from experiments.relaxation.database import accepted
from experiments.relaxation.plot import label, panels, save, write_rows
from experiments.relaxation.setting import BUCKETS, DISTRIBUTIONS, Setting, domain, for_each
from experiments.relaxation.workload import NOISE_SCALE, QUERIES

Answered = dict[str, NDArray[np.int64]]
EVERY = 200
"""Points of a curve are so many queries apart."""


def _histogram(most_buckets: int, limit: int) -> SpendMap:
    return BucketedSpend(domain(), limit, most_buckets, cut_by="sum")


MAPS: dict[str, Callable[[int], SpendMap]] = {
    # Disjoint answers a query if and only if it overlaps none before it: every point may be in one count.
    "Disjoint": lambda _: GridSpend(domain(), 1),
    **{f"Histogram, θ = {most:,}": partial(_histogram, most) for most in BUCKETS},
    "Histogram, θ = 100,000, our cuts": lambda limit: BucketedSpend(domain(), limit, 10**5),
    "Grid (exact)": lambda limit: GridSpend(domain(), limit),
}

LOOKS: dict[str, dict[str, Any]] = {
    "Disjoint": {"ls": ":", "color": "black"},
    "Histogram, θ = 100,000, our cuts": {"ls": "--", "color": "black", "lw": 1.2},
    "Grid (exact)": {"lw": 5, "alpha": 0.3, "color": "grey", "zorder": 1},
}


def answered(setting: Setting) -> Answered:
    """For each way to keep account, how many of the first queries were answered."""
    queries = setting.queries()
    return {name: np.cumsum(accepted(make(setting.limit), queries))[EVERY - 1 :: EVERY] for name, make in MAPS.items()}


def draw() -> None:
    settings = [Setting(distribution) for distribution in DISTRIBUTIONS]
    found = for_each(settings, answered)
    submitted = np.arange(EVERY, QUERIES + 1, EVERY)
    columns = [(setting.distribution, name) for setting in settings for name in MAPS]
    counts = zip(submitted, *(found[setting][name] for setting in settings for name in MAPS), strict=True)
    write_rows("fig11", ("submitted", *(f"{distribution}: {name}" for distribution, name in columns)), counts)
    figure, axes = panels(2, width=5.2, height=4.2)
    for panel, letter, setting in zip(axes, "ab", settings, strict=True):
        for name, curve in found[setting].items():
            panel.plot(submitted, curve, label=name, **LOOKS.get(name, {"lw": 1.4}))
        bound = capacity_at_volume(setting.epsilon, Fraction(NOISE_SCALE), Fraction(str(setting.volume)))
        panel.axhline(float(bound), color="black", lw=1, label="upper bound (Lemma 3)")
        label(panel, f"({letter}) {setting.distribution.title()} workload", "queries submitted", "queries answered")
    save(figure, "fig11")
