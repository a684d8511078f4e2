"""Discreet: a private statistical database.

The rooms, from the ground up; each may import those before it:
errors · domain (what is public about the table), noise (exact samplers), picture (plots of public numbers) · ledger
(budget and journal) · query (what can be measured), lattice (integer kernels), refinement (least squares) · sql, table
(how it is asked; the sensitive rows) · release (THE GATE) · facts (what is public anyway) · cube (plan, publish,
reconcile), microdata (buckets), mining (SuLQ) · answer (what to do with a question) · account (what a vault tells of
itself), home (its directory) · vault (what users hold, with its cubes, facts, buckets) · audit (the journal, read
again), empirical (ε from outcomes) · attacks · remote (a server's answers) · client, server (HTTP, MySQL, the
console) · cli · demo.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import BudgetExceeded, DiscreetError

if TYPE_CHECKING:
    from discreet.client import Client
    from discreet.cube.cube import Cube
    from discreet.mining.functions import functions
    from discreet.mining.implication import implication
    from discreet.mining.learn import learn
    from discreet.mining.parties import party_of
    from discreet.mining.statistics import Statistics
    from discreet.refinement.linear_refinement import LinearRefinement
    from discreet.refinement.refine import refine
    from discreet.refinement.rho import calibrate, rho
    from discreet.vault.vault import Vault

# Engines, compiled code and solvers are imported when they are first asked for: `discreet --help` needs none of them.
_LATER = {
    "Client": "discreet.client",
    "Cube": "discreet.cube.cube",
    "LinearRefinement": "discreet.refinement.linear_refinement",
    "Statistics": "discreet.mining.statistics",
    "calibrate": "discreet.refinement.rho",
    "functions": "discreet.mining.functions",
    "implication": "discreet.mining.implication",
    "learn": "discreet.mining.learn",
    "party_of": "discreet.mining.parties",
    "refine": "discreet.refinement.refine",
    "rho": "discreet.refinement.rho",
    "Vault": "discreet.vault",
}

__all__ = [
    "BudgetExceeded",
    "Client",
    "Cube",
    "DiscreetError",
    "LinearRefinement",
    "Statistics",
    "Vault",
    "calibrate",
    "functions",
    "implication",
    "learn",
    "party_of",
    "refine",
    "rho",
]


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")
