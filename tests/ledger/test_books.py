"""The books: what is read is of one journal, and whoever cannot wait is not made to."""

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from discreet.domain.domain import Domain
from discreet.errors import JournalRolledBack
from discreet.ledger.budget import PureBudget
from discreet.ledger.charge import Record
from discreet.ledger.journal import Entry, Journal, canonical, chained
from discreet.ledger.ledger import Ledger
from discreet.ledger.places import journal_at
from discreet.ledger.receipt import Receipt
from discreet.ledger.spend import Cost


class PutBack:
    """A journal that another is put in the place of as soon as it is asked for a record."""

    def __init__(self, journal: Journal, other: Journal) -> None:
        self._journal, self._other = journal, other

    def record_of(self, charge: int) -> Entry | None:
        self._journal = self._other
        return self._journal.record_of(charge)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)


def test_an_answer_of_a_journal_that_was_put_back_while_it_was_read_is_not_returned(
    ledger: Ledger, path: Path, tmp_path: Path
) -> None:
    charge = ledger.charge(Cost(1), {})
    before = ledger.head
    shutil.copy(path, tmp_path / "older.db")
    ledger.record(charge.id, {"value": 41})
    older = journal_at(tmp_path / "older.db")
    with older.turn():
        older.append(chained(before, "record", charge.id, canonical({"v": 1, "content": {"value": 42}})))
    ledger._followed.journal = PutBack(ledger._followed.journal, older)
    with pytest.raises(JournalRolledBack):
        ledger.recorded(charge.id)


def test_the_same_journal_under_way_returns_its_answer(ledger: Ledger) -> None:
    charge = ledger.charge(Cost(1), {})
    answer: Record = ledger.record(charge.id, {"value": 41})
    ledger._followed.journal = PutBack(ledger._followed.journal, ledger._followed.journal)
    assert ledger.recorded(charge.id) == answer


def in_another_thread(ledger: Ledger) -> Receipt | None:
    found: list[Receipt | None] = []
    thread = threading.Thread(target=lambda: found.append(ledger.head_at_once()))
    thread.start()
    thread.join()
    return found[0]


def test_the_head_is_told_at_once_or_not_at_all(ledger: Ledger) -> None:
    ledger.charge(Cost(1), {})
    assert ledger.head_at_once() == ledger.head
    assert in_another_thread(ledger) == ledger.head
    with ledger._followed.lock:
        assert in_another_thread(ledger) is None
    assert in_another_thread(ledger) == ledger.head


def test_the_head_is_told_at_once_with_what_others_wrote(
    ledger: Ledger, path: Path, domain: Domain, budget: PureBudget
) -> None:
    charge = Ledger.open(path, domain, budget).charge(Cost(1), {})
    assert ledger.head_at_once() == charge.receipt
