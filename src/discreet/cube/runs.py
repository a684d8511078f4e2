"""Runs of rounds in the journal. A run begins with the note of its plan; each step is noted before it is charged.

The note of a step names the run and the digest of the step's plan, so that its charge is found whatever happens after:
whoever goes on with a run knows what it has bought. Notes promise nothing and spend nothing. A run is of one table: it
ends where the vault goes over to another, or rows are appended, and what is charged after that is none of its steps.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from discreet.cube.adaptive import AdaptiveRun, Bought
from discreet.cube.journal import NOTE
from discreet.cube.plan import CubePlan
from discreet.cube.record import plan_of, plan_record
from discreet.ledger.books import Books
from discreet.ledger.charge import Charge, read_charge
from discreet.ledger.journal import canonical
from discreet.ledger.ledger import Ledger
from discreet.ledger.snapshot import SUCCESSIONS, SnapshotId
from discreet.query.plan import Plan
from discreet.release.release import Release

ROUND = "round"


def begin_run(plan: CubePlan, ledger: Ledger, over: SnapshotId | None) -> int:
    """Note a plan whose first step is about to be charged; the number of the note is its run's. Raises Refreshed where
    the vault is over another table than it was."""
    return ledger.note(NOTE, plan_record(plan), over, of_table=True).seq


def run_of_plan(plan: CubePlan, books: Books) -> int | None:
    """The last run of a plan, of the table as it is now: of no fewer periods, where it grows."""
    since = max(books.refreshed, books.last_of("append"))
    record = canonical(plan_record(plan))
    numbers = [number for number, content in _begun(books, since) if canonical(content) == record]
    return numbers[-1] if numbers else None


def run_holding(charge: Charge, books: Books) -> int | None:
    """The run that a charge is a step of; None where it is none of any."""
    begun = [number for number, _ in _begun(books, 0) if number < charge.id]
    return next((one for one in reversed(begun) if charge.id in [step.id for step in charges_of(one, books)]), None)


def _begun(books: Books, after: int) -> Iterator[tuple[int, Any]]:
    for entry in books.notes(NOTE, after):
        content = entry.parsed()["content"]
        if "candidates" in content:
            yield entry.seq, content


def note_step(number: int, step: Plan, ledger: Ledger, over: SnapshotId | None) -> None:
    """Note a step that is about to be charged. Raises Refreshed where the vault is over another table than the run."""
    ledger.note(ROUND, {"run": number, "plan": _digest(step.condensed())}, over, of_table=True)


def charges_of(number: int, books: Books) -> list[Charge]:
    """The charges of a run, in order, answered or not. A step that was noted and never charged is none: whoever buys
    the same later, of another table, takes no part in it."""
    noted, found = set[str](), list[Charge]()
    for entry in books.entries(number):
        if entry.kind in (*SUCCESSIONS, "append"):
            break
        if entry.kind == ROUND and (content := entry.parsed()["content"])["run"] == number:
            noted.add(content["plan"])
        elif entry.kind == "charge" and noted and _digest(entry.parsed()["content"]) in noted:
            charge = read_charge(entry)
            if books.tells_of(charge):
                found.append(charge)
                noted.clear()
    return found


def read_run(number: int, books: Books, answer: Callable[[Charge], Release]) -> AdaptiveRun:
    """A run as far as it came. `answer` has what a charge bought."""
    return AdaptiveRun(read_plan(number, books), tuple(Bought(one, answer(one)) for one in charges_of(number, books)))


def read_plan(number: int, books: Books) -> CubePlan:
    """The plan that a run began with."""
    entry = next(entry for entry in books.entries(number - 1) if entry.seq == number)
    return plan_of(entry.parsed()["content"])


def _digest(plan: Any) -> str:
    return hashlib.sha256(canonical({"content": plan}).encode()).hexdigest()
