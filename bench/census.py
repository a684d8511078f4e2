"""All ten columns of Census-Income through a model, beside least squares: a table that no choice of the method was made
with, and a joint of 10^11 cells, so that the model is a mixture of products."""

import os
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np

from bench.figure import Figure
from bench.mixture import MOST_CELLS, cells_of, clipped, variation
from bench.model_peers.kept import variation_beside
from discreet.ledger.conversion import rho_for
from discreet.vault.vault import Vault
from experiments.tables.tables import census_income

SEEDS = 5


def figures() -> Iterator[Figure]:
    table = census_income()
    triples = [axes for axes in combinations(range(10), 3) if cells_of(table, axes) <= MOST_CELLS]
    found, cpu = [], []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        rows, domain = table.write(Path(folder))
        vault = Vault.init(Path(folder) / "vault", table=rows, domain=domain, rho=10, neighbours="add-remove")
        plan = vault.cubes.plan(rho=rho_for(Fraction(1), Fraction(1, 10**9)), planner="model")
        for _ in range(SEEDS):
            start = time.process_time()
            cube = vault.cubes.publish(plan, estimate="modelled", again=True)
            cpu.append(time.process_time() - start)
            pairs = variation(cube, table, combinations(range(10), 2))
            found.append([pairs, variation(cube, table, triples), clipped(cube, table)])
    pairs, three, least = np.mean(found, axis=0)
    note = (
        f"219,751 rows, 45 pairs measured, {SEEDS} releases, {np.mean(cpu):.0f} CPU s each; least squares, "
        f"clipped at 0, {least:.4f}; the {len(triples)} triples of at most {MOST_CELLS:,} cells {three:.4f}; "
        f"{variation_beside('Census-Income, 10 columns', '1', 2)}"
    )
    yield Figure(
        "Census-Income, 10 columns, (1, 10⁻⁹), modelled: total variation, 2-way", pairs, least, "lower", "", note
    )
