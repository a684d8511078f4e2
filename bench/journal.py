"""The journal in Postgres: what a second process on it costs the two together."""

import multiprocessing
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from bench.figure import Figure
from bench.ledger import state_home
from bench.postgres import INSTALL, find_programs, serving
from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.errors import BudgetExceeded
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger
from discreet.ledger.spend import UNITS, Cost
from discreet.postgres_address import of_vault

FORK = multiprocessing.get_context("fork")
DOMAIN = Domain("t", (Integer(name="a", source="bench", low=0, high=99),))
BUDGET = PureBudget(Fraction(1), "add-remove")
CHARGES = 1000
"""So many fit in all, and not one more."""
ROUNDS = 3


def figures() -> Iterator[Figure]:
    if find_programs() is None:
        print(f"journal: nothing is measured. {INSTALL}", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as folder, state_home(folder), serving() as server:
        database = server.ledger()
        rates = [(charges_per_second(database, 1), charges_per_second(database, 2)) for _ in range(ROUNDS)]
    alone, together = (max(rate) for rate in zip(*rates, strict=True))
    note = f"{together:.0f} and {alone:.0f} charges/s, synced; all {CHARGES} that fit and none more"
    yield Figure("charges on Postgres, two processes to one", together / alone, 0.5, "higher", "×", note)


def charges_per_second(database: str, processes: int) -> float:
    """How fast so many processes spend a whole budget together. Raises where it is overspent, or not spent up."""
    vault_id = f"bench-{uuid.uuid4().hex}"
    Ledger.create(database, {"vault_id": vault_id})
    location, start, out = of_vault(database, vault_id), FORK.Barrier(processes + 1), FORK.SimpleQueue()
    children = [FORK.Process(target=spend, args=(location, start, out)) for _ in range(processes)]
    for child in children:
        child.start()
    start.wait()
    began = time.perf_counter()
    fitted = sum(out.get() for _ in children)
    seconds = time.perf_counter() - began
    for child in children:
        child.join()
    ledger = Ledger.open(location, DOMAIN, BUDGET)
    if (fitted, ledger.spent_max) != (CHARGES, UNITS):
        raise AssertionError(f"{fitted} charges fitted where {CHARGES} should")
    ledger.close()
    return fitted / seconds


def spend(location: str, start: Any, out: Any) -> None:
    """Charge until nothing is left; how often that was."""
    ledger, fitted = Ledger.open(location, DOMAIN, BUDGET), 0
    start.wait()
    while True:
        try:
            ledger.charge(Cost(UNITS // CHARGES), {"query": "x" * 500})
        except BudgetExceeded:
            out.put(fitted)
            return
        fitted += 1
