"""Charges without an answer: what they will answer is waited for while somebody is at it, and never bought twice."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.answer.decide import decide
from discreet.answer.policy import Policy
from discreet.errors import BudgetExceeded, EngineError
from discreet.noise.law import Laplace
from discreet.release.gate import Gate
from discreet.release.underway import Underway
from discreet.vault import Vault
from tests.hand_time import HandTime
from tests.patience import PATIENCE

BY_SEX = "SELECT sex, COUNT(*) FROM people GROUP BY sex"
FEMALES = "SELECT COUNT(*) FROM people WHERE sex = 'F'"
COVERED = {
    "the same": (BY_SEX, 5, BY_SEX, 5),
    "the same, rougher": (BY_SEX, 5, BY_SEX, 7),
    "one of its groups": (BY_SEX, 5, FEMALES, 5),
    "one of its groups, by another name": (FEMALES, 5, "SELECT COUNT(*) FROM people WHERE sex IN ('F')", 5),
    "part of it": (FEMALES, 5, BY_SEX, 5),
    "an average by its parts": ("SELECT SUM(income), COUNT(income) FROM people", 5,
                                "SELECT AVG(income) FROM people", 5),
    "a quantile": ("SELECT MEDIAN(income) FROM people", 5, "SELECT MEDIAN(income) FROM people", 5),
}  # fmt: skip
NOT_COVERED = {
    "sharper": (FEMALES, 5, FEMALES, 4),
    "another region": (FEMALES, 5, "SELECT COUNT(*) FROM people WHERE sex = 'M'", 5),
    "another quantity": (FEMALES, 5, "SELECT SUM(income) FROM people WHERE sex = 'F'", 5),
    "another level": ("SELECT MEDIAN(income) FROM people", 5, "SELECT QUANTILE(income, 0.9) FROM people", 5),
}


@pytest.fixture
def time():
    return HandTime()


@pytest.fixture
def pool(time):
    with ThreadPoolExecutor(4) as threads:
        yield threads
        time.move(1e6)  # where a test has failed, whoever still waits need not


@pytest.fixture
def told(monkeypatch):
    """A semaphore that whoever begins to wait for another releases."""
    waiting, wait = threading.Semaphore(0), Underway.wait

    def begun(underway, plan):
        waiting.release()
        return wait(underway, plan)

    monkeypatch.setattr(Underway, "wait", begun)
    return waiting


def held(vault, time):
    """The vault with answers on time slots of 5 seconds."""
    return vault.asked_by(None, time.slots(5))


def patching(vault):
    """The vault with a policy that lets relaxed answers buy patches."""
    return replace(vault, policy=Policy(patches=True))


def lost(vault, sql, scale):
    """A charge for what a question buys, without an answer: its process was killed."""
    question = vault._memory.question(sql)
    laws = {column.query: Laplace(Fraction(scale)) for column in question.aggregates}
    plan = decide(laws, vault._desk).plan()
    return vault.ledger.charge(
        plan.cost(vault.domain, vault.ledger.budget), plan.condensed(), snapshot=vault.ledger.snapshot
    )


@pytest.mark.parametrize("case", COVERED)
def test_what_another_is_about_to_have_answered_is_waited_for(case, vault, people, time, pool, told):
    first, scale, second, again = COVERED[case]
    asked = pool.submit(held(vault, time).ask, first, scale=scale)
    time.until_sleeping(1)
    other = Vault.open(vault.path, table=people)
    same = pool.submit(other.ask, second, scale=again)
    assert told.acquire(timeout=PATIENCE)
    assert (vault.ledger.charges, same.done()) == (1, False)
    time.move(5)
    asked.result()
    found = same.result()
    assert vault.ledger.charges == (2 if case == "part of it" else 1)
    assert (found.cost > 0) == (case == "part of it")


@pytest.mark.parametrize("case", NOT_COVERED)
def test_what_another_will_not_answer_is_bought(case, vault, time, pool):
    first, scale, second, again = NOT_COVERED[case]
    asked = pool.submit(held(vault, time).ask, first, scale=scale)
    time.until_sleeping(1)
    assert vault.ask(second, scale=again).cost > 0
    time.move(5)
    assert asked.result().cost > 0
    assert vault.ledger.charges == 2


def test_a_charge_that_lost_its_answer_is_finished_and_not_bought_again(vault):
    charge = lost(vault, BY_SEX, 5)
    answer = vault.ask(BY_SEX, scale=5)
    assert (answer.kind, answer.cost) == ("repeated", 0)
    assert [release.charge for release in vault.releases()] == [charge.id]
    assert (vault.ledger.charges, vault.ledger.pending()) == (1, [])


def test_a_failure_is_not_paid_for_twice(vault, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(Gate, "_noisy", lambda *_: 1 / 0)
        for _ in range(2):
            with pytest.raises(EngineError, match="charge 2 stands"):
                vault.ask(FEMALES, scale=5)
    assert vault.ask(FEMALES, scale=5).cost == 0
    assert vault.ledger.charges == 1


def test_a_lost_charge_for_more_than_was_asked_is_left_to_be_completed(vault):
    charge = lost(vault, BY_SEX, 5)
    assert vault.ask(FEMALES, scale=5).kind == "measured"
    assert [one.id for one in vault.ledger.pending()] == [charge.id]


def test_a_lost_charge_of_an_earlier_table_answers_nothing(vault, people):
    lost(vault, FEMALES, 5)
    vault.refresh(people[people.sex == "M"])
    fresh = vault.ask(FEMALES, scale=5, confidence="0.999999")
    assert fresh.kind == "measured"
    assert fresh.interval()[0] <= 0 <= fresh.interval()[1]


def test_a_lost_charge_that_took_all_of_the_budget_is_finished_for_whoever_asks_again(vault):
    lost(vault, FEMALES, Fraction(1, 10))
    assert vault.ask(FEMALES, scale=Fraction(1, 10)).kind == "repeated"
    with pytest.raises(BudgetExceeded):
        vault.measure(vault.count(sex="F"), scale=1)


def test_what_was_recorded_since_the_decision_is_not_bought(vault, people, monkeypatch):
    """The same was asked, and answered, between the look at what is known and the turn to measure."""
    other = Vault.open(vault.path, table=people)

    def late(*given):
        monkeypatch.undo()
        decision = decide(*given)
        other.ask(FEMALES, scale=5)
        return decision

    monkeypatch.setattr("discreet.answer.ask.decide", late)
    assert vault.ask(FEMALES, scale=5).kind == "repeated"
    assert vault.ledger.charges == 1


def test_two_who_relax_the_same_question_buy_one_patch(vault, people, time, pool):
    vault.ask("SELECT COUNT(*) FROM people WHERE age >= 3", scale=Fraction(1, 10))
    question = "SELECT COUNT(*) FROM people WHERE age >= 2"
    vaults = [held(patching(one), time) for one in (vault, Vault.open(vault.path, table=people))]
    asked = [pool.submit(one.ask, question, scale=5) for one in vaults]
    time.until_sleeping(1)
    time.move(5)
    answers = [one.result() for one in asked]
    assert vault.ledger.charges == 2
    assert answers[0].value == answers[1].value
    assert sorted(answer.cost for answer in answers) == [0, Fraction(1, 5)]


def test_a_patch_that_lost_its_answer_is_finished_and_not_bought_again(vault):
    vault.ask("SELECT COUNT(*) FROM people WHERE age >= 3", scale=Fraction(1, 10))
    lost(vault, "SELECT COUNT(*) FROM people WHERE age = 2", 5)
    assert patching(vault).ask("SELECT COUNT(*) FROM people WHERE age >= 2", scale=5).cost == 0
    assert (vault.ledger.charges, vault.ledger.pending()) == (2, [])


def test_completing_waits_for_whoever_is_at_it(vault, people, time, pool, told):
    asked = pool.submit(held(vault, time).ask, FEMALES, scale=5)
    time.until_sleeping(1)
    completed = pool.submit(Vault.open(vault.path, table=people).complete)
    assert told.acquire(timeout=PATIENCE)
    assert list(vault.releases()) == []
    time.move(5)
    assert completed.result() == []
    assert asked.result().kind == "measured"


def test_an_answer_that_takes_its_slot_is_waited_for_where_it_took_what_was_left(vault, time, pool, told):
    last = pool.submit(held(vault, time).ask, "SELECT COUNT(*) FROM people WHERE age >= 3", scale=Fraction(1, 10))
    time.until_sleeping(1)
    near = pool.submit(vault.ask, "SELECT COUNT(*) FROM people WHERE age >= 4", scale=1)
    assert told.acquire(timeout=PATIENCE)
    time.move(5)
    last.result()
    answer = near.result()
    assert (answer.kind, answer.answered, answer.cost) == ("relaxed", "age >= 3", 0)


def test_each_charge_is_read_once(vault, monkeypatch):
    lost(vault, BY_SEX, 5)
    vault.budget()  # looks at the journal
    [expected] = vault._memory.others
    monkeypatch.setattr(type(vault.ledger), "charge_at", lambda *_: pytest.fail("it was read again"))
    assert list(vault._memory.others) == [expected]
