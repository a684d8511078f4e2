"""Work in forked processes over one ledger."""

import multiprocessing
from collections.abc import Callable
from typing import Any

from discreet.errors import BudgetExceeded
from discreet.ledger.ledger import Ledger
from discreet.ledger.spend import Cost

FORK = multiprocessing.get_context("fork")


def in_processes(count: int, work: Callable[[int, Any], object]) -> list[Any]:
    """Run work(i, out) in forked children; everything that they put out, and what one of them failed with."""
    out = FORK.SimpleQueue()

    def told(i: int) -> None:
        try:
            work(i, out)
        except BaseException as failure:
            out.put(failure)
            raise

    children = [FORK.Process(target=told, args=(i,)) for i in range(count)]
    for child in children:
        child.start()
    results = [out.get() for _ in children]
    for child in children:
        child.join()
        assert child.exitcode == 0
    return results


def charge_until_refused(ledger: Ledger, cost: Cost) -> int:
    """How many such charges fit."""
    fitted = 0
    while True:
        try:
            ledger.record(ledger.charge(cost, {}).id, {})
        except BudgetExceeded:
            return fitted
        fitted += 1
