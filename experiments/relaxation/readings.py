"""Beside Figure 11: what the seed leaves open. Three ways to read its workload, and its Figure 4 as it is printed.

Lemma 3's bound rests on Σ v(1 − v) ≤ ελ/2 over the answered queries, v their volumes: what part of that is used says
how near a map comes to the bound, whatever the volumes really are.
"""

from math import prod

import numpy as np

from discreet.ledger.grid import GridSpend
from experiments.relaxation.database import accepted
from experiments.relaxation.plot import write_rows
from experiments.relaxation.printed import PrintedHistogram
from experiments.relaxation.setting import DISTRIBUTIONS, Setting, domain, for_each, people
from experiments.relaxation.workload import READINGS, SHAPE, workload

MOST_BUCKETS = 10**5

Row = tuple[str, str, float, float, int, float, float, int]


def measured(setting: Setting) -> list[Row]:
    rows: list[Row] = []
    for reading in READINGS:
        known = people() if setting.distribution == "data" else None
        queries = workload(setting.distribution, setting.volume, known, reading=reading)
        volumes = np.array([box.volume / prod(SHAPE) for box in queries])
        answered = np.array(accepted(GridSpend(domain(), setting.limit), queries))
        used = float((volumes * (1 - volumes))[answered].sum() / setting.limit)
        printed = PrintedHistogram(setting.limit, MOST_BUCKETS)
        stalled = sum(printed.ask(query) for query in queries)
        bound = setting.limit / float((volumes * (1 - volumes)).mean())
        rows.append(
            (
                setting.distribution,
                reading,
                setting.volume,
                float(volumes.mean()),
                int(answered.sum()),
                bound,
                used,
                stalled,
            )
        )
    return rows


def draw() -> None:
    found = for_each([Setting(distribution) for distribution in DISTRIBUTIONS], measured)
    write_rows(
        "readings",
        ("distribution", "reading", "s", "mean volume", "answered", "bound", "used", "answered as printed"),
        [
            (name, reading, s, round(volume, 5), answered, round(bound, 1), round(used, 4), printed)
            for rows in found.values()
            for name, reading, s, volume, answered, bound, used, printed in rows
        ],
    )
