"""Threads, processes, forks and crashes over one journal."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger
from discreet.ledger.spend import UNITS, Cost
from tests.forked import FORK, charge_until_refused, in_processes

# Fifty charges of this fit to the last unit, and not one more.
FIFTIETH = UNITS // 50


def test_processes_together_spend_the_limit_to_the_last_unit(path: Path, domain: Domain, budget: PureBudget) -> None:
    def work(i: int, out: Any) -> None:
        cost = Cost(FIFTIETH) if i % 2 else Cost(0, ((Box((1, 1), (2, 3)), FIFTIETH),))
        out.put(charge_until_refused(Ledger.open(path, domain, budget), cost))

    assert sum(in_processes(4, work)) == 50
    ledger = Ledger.open(path, domain, budget)
    assert ledger.spent_max == UNITS
    assert ledger.pending() == []


def test_threads_together_spend_the_limit_to_the_last_unit(ledger: Ledger) -> None:
    with ThreadPoolExecutor(4) as pool:
        fitted = pool.map(lambda _: charge_until_refused(ledger, Cost(FIFTIETH)), range(4))
    assert sum(fitted) == 50
    assert ledger.spent_max == UNITS


def test_forked_children_go_on_with_a_ledger_that_was_open_before(ledger: Ledger) -> None:
    ledger.charge(Cost(FIFTIETH), {})

    def work(_: int, out: Any) -> None:
        out.put(charge_until_refused(ledger, Cost(FIFTIETH)))

    assert sum(in_processes(3, work)) == 49
    assert charge_until_refused(ledger, Cost(FIFTIETH)) == 0
    assert ledger.spent_max == UNITS


def test_one_answer_wins_and_everybody_sees_it(path: Path, domain: Domain, budget: PureBudget, ledger: Ledger) -> None:
    charge = ledger.charge(Cost(1), {})

    def work(i: int, out: Any) -> None:
        out.put(Ledger.open(path, domain, budget).record(charge.id, {"drawn by": i}))

    answers = in_processes(4, work)
    assert all(answer == ledger.recorded(charge.id) for answer in answers)
    assert sum(entry.kind == "record" for entry in ledger.entries()) == 1


def test_a_crash_between_charge_and_record_keeps_the_charge_with_its_plan(
    path: Path, domain: Domain, budget: PureBudget, ledger: Ledger
) -> None:
    def work() -> None:
        Ledger.open(path, domain, budget).charge(Cost(FIFTIETH), {"query": "count"})
        os.kill(os.getpid(), signal.SIGKILL)

    child = FORK.Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    (charge,) = ledger.pending()
    assert (charge.plan, charge.cost) == ({"query": "count"}, Cost(FIFTIETH))
    assert ledger.spent_max == FIFTIETH
    ledger.record(charge.id, {"value": 3})
    assert Ledger.open(path, domain, budget).pending() == []


def test_a_crash_within_a_charge_leaves_a_journal_that_opens(path: Path, domain: Domain, budget: PureBudget) -> None:
    def work() -> None:
        ledger = Ledger.open(path, domain, budget)
        with ledger._followed.turn():
            ledger._followed.append("charge", None, "{}")
            os.kill(os.getpid(), signal.SIGKILL)

    child = FORK.Process(target=work)
    child.start()
    child.join()
    ledger = Ledger.open(path, domain, budget)
    assert ledger.spent_max == 0
    ledger.charge(Cost(FIFTIETH), {})


def test_a_ledger_opens_while_another_process_writes(path: Path, domain: Domain, budget: PureBudget) -> None:
    def work(i: int, out: Any) -> None:
        if i == 0:
            out.put(charge_until_refused(Ledger.open(path, domain, budget), Cost(FIFTIETH)))
        else:
            spent = [Ledger.open(path, domain, budget).spent_max for _ in range(10)]
            out.put(0 if spent == sorted(spent) else -1)

    assert sum(in_processes(3, work)) == 50
