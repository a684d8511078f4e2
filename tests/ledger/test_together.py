"""Charges and records that wait together: one turn, one sync, and every decision as if they had come one by one."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from discreet.deadline import Work, doing
from discreet.domain.region import Box
from discreet.errors import BudgetExceeded, DeadlinePassed, JournalError, QuotaExceeded
from discreet.ledger.asker import Asker
from discreet.ledger.journal import Entry
from discreet.ledger.ledger import Ledger
from discreet.ledger.spend import UNITS, Cost
from discreet.ledger.sqlite import SQLiteJournal
from tests.patience import wait_until

FIFTIETH = Cost(UNITS // 50)
MOST_OF_IT = Cost(UNITS * 3 // 5)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many entries were written in each turn so far."""
    written: list[int] = []
    turn, append = SQLiteJournal.turn, SQLiteJournal.append

    @contextmanager
    def counted(journal: SQLiteJournal) -> Iterator[None]:
        written.append(0)
        with turn(journal):
            yield

    def appended(journal: SQLiteJournal, entry: Entry) -> None:
        append(journal, entry)
        written[-1] += 1

    monkeypatch.setattr(SQLiteJournal, "turn", counted)
    monkeypatch.setattr(SQLiteJournal, "append", appended)
    return written


def all_at_once(ledger: Ledger, *works: Callable[[], Any]) -> list[Future[Any]]:
    """Have threads do all of it: the first comes to an occupied journal, and the others, in order, wait behind it."""
    with ThreadPoolExecutor(len(works)) as pool:
        futures = []
        with ledger._followed.lock:
            for number, work in enumerate(works):
                futures.append(pool.submit(work))
                wait_until(lambda: ledger._together._is_led and len(ledger._together._line) == number)  # noqa: B023
    return futures


@pytest.fixture(autouse=True)
def not_looked_at_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A charge comes to its turn without the look at the journal before it, for which it would wait as well."""
    monkeypatch.setattr(Ledger, "_refuse_hopeless", lambda *_: None)


def test_whoever_waits_together_has_one_turn(ledger: Ledger, turns: list[int]) -> None:
    found = all_at_once(ledger, *[partial(ledger.charge, FIFTIETH, {"plan": i}) for i in range(9)])
    assert turns == [1, 8], "the first has its turn, all others the next"
    assert [future.result().id for future in found] == list(range(2, 11)), "in the order in which they came"
    assert ledger.spent_max == 9 * FIFTIETH.everywhere
    del turns[:]
    found = all_at_once(ledger, *[partial(ledger.record, number, {"values": number}) for number in range(2, 11)])
    assert turns == [1, 8]
    assert [future.result().body for future in found] == [{"values": number} for number in range(2, 11)]
    assert not ledger.pending()


def test_what_does_not_fit_with_the_others_is_decided_when_they_are_counted(ledger: Ledger, turns: list[int]) -> None:
    here, there = (Cost(0, ((Box((a, 0), (a, 3)), MOST_OF_IT.everywhere),)) for a in (0, 1))
    costs = [FIFTIETH, here, there, here, FIFTIETH]
    found = all_at_once(ledger, *[partial(ledger.charge, cost, {}) for cost in costs])
    assert [type(future.exception()) for future in found] == [type(None)] * 3 + [BudgetExceeded, type(None)]
    assert turns == [1, 3, 0]
    alone = "this region has ε = 9/25 left (a 0) and the query needs 3/5"
    assert alone in str(found[3].exception()), "it is told what is left beside all others"


def test_together_they_spend_the_limit_to_the_last_unit(ledger: Ledger) -> None:
    found = all_at_once(ledger, *[partial(ledger.charge, FIFTIETH, {}) for _ in range(60)])
    assert sum(future.exception() is None for future in found) == 50
    assert all(future.exception() is None for future in found[:50]), "first come, first served"
    assert ledger.spent_max == UNITS


def test_a_quota_counts_what_its_asker_writes_beside(ledger: Ledger) -> None:
    ana, ben = Asker("ana", Fraction(1, 25)), Asker("ben", Fraction(1, 50))
    asked = [ben, ana, ana, ana, ben, None]
    found = all_at_once(ledger, *[partial(ledger.charge, FIFTIETH, {}, asker) for asker in asked])
    assert [isinstance(future.exception(), QuotaExceeded) for future in found] == [False] * 3 + [True, True, False]
    assert ledger.spent_by() == {"ana": 2 * FIFTIETH.everywhere, "ben": FIFTIETH.everywhere}


def test_one_charge_has_one_answer_whoever_writes_beside(ledger: Ledger) -> None:
    number, other = ledger.charge(FIFTIETH, {}).id, ledger.charge(FIFTIETH, {}).id
    answers = [(other, 0), (number, 1), (number, 2), (99, 3)]
    found = all_at_once(ledger, *[partial(ledger.record, charge, {"values": value}) for charge, value in answers])
    assert [future.result().body["values"] for future in found[:3]] == [0, 1, 1]
    assert "not a charge" in str(found[3].exception())


def test_where_a_turn_fails_nobody_in_it_has_spent(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    append = SQLiteJournal.append

    def full(journal: SQLiteJournal, entry: Entry) -> None:
        if '"content":3,' in entry.body:
            raise JournalError("the disk is full", "free some space")
        append(journal, entry)

    monkeypatch.setattr(SQLiteJournal, "append", full)
    found = all_at_once(ledger, *[partial(ledger.charge, FIFTIETH, number) for number in range(5)])
    assert found[0].exception() is None
    assert [str(future.exception()) for future in found[1:]] == ["the disk is full; free some space"] * 4
    assert len({id(future.exception()) for future in found}) == 5, "each has an error of its own"
    assert ledger.spent_max == FIFTIETH.everywhere
    ledger.charge(FIFTIETH, {})


def test_who_has_left_is_not_charged_and_who_stayed_is(ledger: Ledger) -> None:
    def asked(number: int) -> int:
        doing.set(Work())
        if number == 2:
            doing.get().leave()  # type: ignore[union-attr]
        return ledger.charge(FIFTIETH, number).id

    found = all_at_once(ledger, *[partial(asked, number) for number in range(4)])
    assert [type(future.exception()) for future in found] == [type(None), type(None), DeadlinePassed, type(None)]
    assert [charge.plan for charge in ledger.pending()] == [0, 1, 3]


def test_a_child_that_was_forked_in_the_middle_has_a_line_of_its_own(ledger: Ledger) -> None:
    with ThreadPoolExecutor(1) as pool:
        with ledger._followed.lock:
            future = pool.submit(ledger.charge, FIFTIETH, "the parent's")
            wait_until(lambda: ledger._together._is_led)
            child = os.fork()
            if not child:
                answered = threading.Event()
                ledger.charge(FIFTIETH, "the child's")
                answered.set()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        future.result()
    assert sorted(charge.plan for charge in ledger.pending()) == ["the child's", "the parent's"]
