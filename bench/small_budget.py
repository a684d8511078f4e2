"""Where choosing what to measure as one goes begins to win over all triples: the number behind `NOISY` of
`cube/small_budget.py`, on Adult."""

import os
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from bench.figure import Figure
from bench.modelled import DELTA, rolled_up, variation
from discreet.cube.plan import CubePlan
from discreet.cube.small_budget import is_small, noise_share
from discreet.ledger.conversion import rho_for
from discreet.vault.vault import Vault
from experiments.tables.tables import adult

EPSILONS = (Fraction(1, 10), Fraction(1, 5), Fraction(2, 5), Fraction(4, 5))
RELEASES = 2
WORSE = 1.1
"""What the planner's choice may be worse by than the better of the two: near the crossing both are as good."""


def figures() -> Iterator[Figure]:
    table = adult()
    truth, rows = table.base_cuboid().astype(float), len(table.rows)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder  # receipts of a vault that is gone in a minute
        path, domain = table.write(Path(folder))
        vault = Vault.init(Path(folder) / "vault", table=path, domain=domain, rho=10, neighbours="add-remove")

        def distance(plan: CubePlan) -> float:
            made = [vault.cubes.publish(plan, estimate="modelled", again=True) for _ in range(RELEASES)]
            return float(np.mean([variation(cube, rolled_up(truth, plan.lattice), 3) for cube in made]))

        for epsilon in EPSILONS:
            spent = rho_for(epsilon, DELTA)
            fixed = vault.cubes.plan(rho=spent, planner="model", cuboids=3)
            triples, rounds = distance(fixed), distance(vault.cubes.plan(rho=spent, planner="adaptive"))
            chosen = rounds if is_small(fixed, rows) else triples
            note = (
                f"triples {triples:.4f}, as one goes {rounds:.4f}; noise as a share of the rows "
                f"{noise_share(fixed, rows):.2f}; {RELEASES} releases of each"
            )
            name = f"Adult, ({float(epsilon):g}, 10⁻⁹), the planner's choice to the better one: total variation, 3-way"
            yield Figure(name, chosen / min(triples, rounds), WORSE, "lower", "×", note)
