"""Work with a deadline: it is given up while it plans, and never from its first entry in the journal on."""

from types import SimpleNamespace

import pytest

from discreet import native
from discreet.cores import on_all_cores
from discreet.deadline import Work, doing, keep_working, seconds_left, still_wanted, wait_for_others
from discreet.errors import DeadlinePassed
from discreet.vault import Vault
from tests.hand_time import HandTime

COUNT = "SELECT age, COUNT(*) FROM people GROUP BY age"


@pytest.fixture
def time():
    return HandTime()


@pytest.fixture
def work(time):
    """Ten seconds of work, as this context's."""
    begun = Work(10, clock=lambda: time.now)
    before = doing.set(begun)
    yield begun
    doing.reset(before)


@pytest.mark.usefixtures("work")
def test_work_is_wanted_until_its_deadline(time):
    time.move(9)
    still_wanted()
    assert (seconds_left(30), seconds_left(0.5)) == (1, 0.5)
    time.move(1)
    with pytest.raises(DeadlinePassed, match="deadline of 10 s"):
        still_wanted()
    assert seconds_left(30) == 0


def test_compiling_does_not_count_whoever_asks_first(time, monkeypatch):
    monkeypatch.setattr(native.time, "monotonic", lambda: time.now)
    first = Work(10)
    with native.compiling:
        time.move(60)
        second = Work(10)
        with native.compiling:  # a kernel that this one calls
            time.move(60)
        assert (first.left, second.left) == (10, 10)
    time.move(4)
    assert (first.left, second.left) == (6, 6)


def test_a_deadline_stands_still_while_a_kernel_is_compiled(time, monkeypatch, tmp_path):
    monkeypatch.setattr(native.time, "monotonic", lambda: time.now)
    place = SimpleNamespace(cache_path=tmp_path, _impl=SimpleNamespace(filename_base="slow"))
    slow = SimpleNamespace(compile=lambda _: time.move(60), _cache=place)
    work = Work(10)
    native._by_one_process(slow)(None)
    assert (time.now, work.left) == (1060, 10)


def test_work_that_nobody_waits_for_is_not_wanted(work):
    work.leave()
    with pytest.raises(DeadlinePassed, match="nobody waits"):
        still_wanted()


def test_work_that_is_kept_is_done_to_the_end(work, time):
    kept = []
    work.on_rest = lambda: kept.append(True)
    keep_working()
    keep_working()
    work.leave()
    time.move(100)
    still_wanted()
    assert (kept, seconds_left(30)) == ([True], 30)


def test_work_that_waits_for_others_rests_and_may_still_be_given_up(work):
    rests = []
    work.on_rest = lambda: rests.append(True)
    wait_for_others()
    wait_for_others()
    assert (rests, work.is_kept) == ([True], False)
    work.leave()
    with pytest.raises(DeadlinePassed):
        wait_for_others()


def test_work_that_is_over_is_not_kept(work, time):
    time.move(11)
    with pytest.raises(DeadlinePassed):
        keep_working()
    assert not work.is_kept


def test_work_without_a_deadline_is_always_wanted():
    still_wanted()
    keep_working()
    assert seconds_left(3) == 3
    Work().check()


def test_threads_that_help_with_work_know_its_deadline(work):
    work.leave()
    with pytest.raises(DeadlinePassed):
        on_all_cores(lambda _first, _last: still_wanted(), items=64, numbers=1 << 20)


def test_a_question_is_given_up_before_its_charge_and_spends_nothing(people_vault, work):
    work.leave()
    head = people_vault.ledger.head
    for verb in (people_vault.ask, people_vault.explain):
        with pytest.raises(DeadlinePassed):
            verb(COUNT, scale=30)
    assert people_vault.ledger.head == head
    with pytest.raises(DeadlinePassed):
        people_vault.cubes.plan(epsilon=1)
    with pytest.raises(DeadlinePassed):
        people_vault.facts.add("SELECT COUNT(*) FROM people", 600)
    assert people_vault.ledger.head == head


def test_a_question_that_is_charged_is_answered_and_recorded_whatever_comes(people_vault, work, monkeypatch):
    charged = type(people_vault.ledger).charge

    def charge(*args):
        found = charged(*args)
        work.leave()
        return found

    monkeypatch.setattr(type(people_vault.ledger), "charge", charge)
    answer = people_vault.ask(COUNT, scale=30)
    assert answer.kind == "measured"
    assert people_vault.ledger.pending() == []


@pytest.fixture
def people_vault(folder):
    return Vault.init(folder / "vault", table=folder / "people.parquet", domain=folder / "people.toml", epsilon=10,
                      neighbours="replace")  # fmt: skip
