"""How far off running totals are at most, for what they cost: computed for the strategies that there are, and measured
through the gate.

Worst variance of a total times 2ρ, where ρ is the most that a row costs; one row a person, add-remove.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.figure import Figure
from discreet.refinement.running_totals import best_strategy, least_possible
from discreet.vault.vault import Vault

BARS = ((12, 3.5), (52, None), (60, None), (365, 9.0))
"""Periods, and the bar of the issue."""
GROUPS, SMALL = 2000, 12
"""Groups whose totals are measured through the gate, each with noise of its own; and of how many months."""
DOMAIN = f"""\
name = "visits"
[attributes.day]
kind = "date"
low = 2026-01-01
high = 2026-12-31
period = "month"
source = "made up"
[attributes.ward]
kind = "integer"
low = 0
high = {GROUPS - 1}
source = "made up"
"""


def independent(periods: int) -> float:
    """Each period by itself: the last total adds up all of them."""
    return float(periods)


def binary_tree(periods: int) -> float:
    """A row is in a node of each level, and a total adds up as many nodes as its number has ones."""
    levels = periods.bit_length()
    return float(levels * max(total.bit_count() for total in range(1, periods + 1)))


def square_root(periods: int) -> float:
    """The square root of the triangle of ones has binom(2k, k)/4^k on its k-th diagonal, and is its own other factor.
    [Fichtenberger, Henzinger, Upadhyay 2023]"""
    entries = np.cumprod([1.0, *((2 * k - 1) / (2 * k) for k in range(1, periods))])
    return float((entries**2).sum()) ** 2


def measured() -> float:
    """The largest mean square over the totals of a year, times 2ρ: every month of 2,000 wards, through the gate."""
    draw = np.random.default_rng(1)
    months, wards = draw.integers(1, SMALL + 1, 50_000), draw.integers(0, GROUPS, 50_000)
    truth = np.zeros((SMALL, GROUPS))
    np.add.at(truth, (months - 1, wards), 1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "visits.toml").write_text(DOMAIN)
        rows = {"day": [f"2026-{month:02d}-01" for month in months], "ward": wards}
        pq.write_table(pa.table(rows), folder / "visits.parquet")
        domain, table = folder / "visits.toml", folder / "visits.parquet"
        vault = Vault.init(folder / "vault", table=table, domain=domain, neighbours="add-remove", rho=1)
        vault.running.declare(vault.running.plan("month", by="ward", rho=1))
        totals = [vault.running.publish(through=f"2026-{month:02d}") for month in range(1, SMALL + 1)][-1]
        spent = float(vault.budget().spent)
    return float(((totals.values - truth.cumsum(axis=0)) ** 2).mean(axis=1).max()) * 2 * spent


def figures() -> Iterator[Figure]:
    for periods, bar in BARS:
        root, best = square_root(periods), best_strategy(periods).worst
        note = (
            f"independent {independent(periods):.0f}, binary tree {binary_tree(periods):.0f}, square root {root:.2f}; "
            f"no strategy has less than {least_possible(periods):.2f}"
        )
        what = f"{periods} periods, worst variance of a running total × 2ρ"
        yield Figure(what, best, root if bar is None else bar, "lower", "", note)
    note = f"largest of {SMALL} mean squares over {GROUPS:,} groups, ± {3 * (2 / GROUPS) ** 0.5:.0%}"
    yield Figure(f"{SMALL} periods, the same, measured through the gate", measured(), 3.5, "lower", "", note)
