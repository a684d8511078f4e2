"""A journal that is followed: a look at it finds what is new, and what is no longer there."""

import shutil
from pathlib import Path

import pytest

from discreet.domain.domain import Domain
from discreet.errors import JournalRolledBack
from discreet.ledger import sqlite
from discreet.ledger.budget import PureBudget
from discreet.ledger.journal import canonical, chained
from discreet.ledger.ledger import Ledger
from discreet.ledger.places import journal_at
from discreet.ledger.receipt import Receipt
from discreet.ledger.spend import Cost


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What SQLite was asked for so far."""
    asked: list[str] = []
    run = sqlite.SQLiteJournal._run

    def noted(journal: sqlite.SQLiteJournal, statement: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
        asked.append(statement)
        return run(journal, statement, values)

    monkeypatch.setattr(sqlite.SQLiteJournal, "_run", noted)
    return asked


def test_a_look_is_one_statement_whether_there_is_something_new_or_not(
    path: Path, ledger: Ledger, domain: Domain, budget: PureBudget, statements: list[str]
) -> None:
    other = Ledger.open(path, domain, budget)
    for new in (False, True):
        if new:
            other.note("lookups", {"count": 1})
        statements.clear()
        with ledger._followed.lock:
            ledger._followed.count()
        assert len(statements) == 1
        assert ledger._followed.state.head.seq == 1 + new


@pytest.mark.parametrize("batch", [1, 2, 3, 1000])
def test_what_follows_a_receipt_is_what_comes_after_it_in_the_journal(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(sqlite, "BATCH", batch)
    for _ in range(5):
        ledger.charge(Cost(1), {})
    journal = journal_at(path)
    every = list(journal.entries())
    assert len(every) == 6
    for place, entry in enumerate(every, 1):
        following = journal.following(entry.receipt)
        assert following is not None
        assert list(following) == every[place:]
        assert journal.following(Receipt(entry.seq, bytes(32))) is None
    assert journal.following(Receipt(7, every[-1].hash)) is None


@pytest.mark.parametrize("goes_on", [False, True], ids=["shorter", "another entry in its place"])
def test_a_journal_that_was_put_back_while_it_was_open_is_not_counted(
    path: Path, ledger: Ledger, tmp_path: Path, goes_on: bool
) -> None:
    before = ledger.head
    shutil.copy(path, tmp_path / "older.db")
    ledger.charge(Cost(1), {})
    older = journal_at(tmp_path / "older.db")
    if goes_on:
        with older.turn():
            older.append(chained(before, "name", None, canonical({"v": 1, "content": {}})))
    assert ledger.head.seq == 2
    ledger._followed.journal = older
    with pytest.raises(JournalRolledBack):
        _ = ledger.head
    assert ledger._followed.state.charges == 1
