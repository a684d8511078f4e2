"""Time slots: when an answer is recorded, by a clock that the test moves."""

import threading
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import EngineError
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count
from discreet.release.gate import Gate
from discreet.release.slots import Slots, until_slot
from tests.hand_time import HandTime, held_reading
from tests.patience import PATIENCE


@given(st.floats(0, 100), st.floats(0.001, 10))
def test_what_took_any_time_is_seen_after_a_whole_number_of_slots_one_at_least(elapsed, slot):
    wait = until_slot(elapsed, slot)
    slots = (elapsed + wait) / slot
    assert wait >= 0
    assert slots == pytest.approx(round(slots), abs=1e-6)
    assert round(slots) >= 1
    assert wait <= slot * (1 + 1e-9)


def test_without_slots_nothing_waits():
    assert until_slot(0.3, 0) == 0
    assert Slots(sleep=lambda _: pytest.fail("it slept")).wait(0.0)


def test_a_process_that_is_to_end_waits_no_longer_and_says_so():
    ending = threading.Event()
    ending.set()
    assert not Slots(60, ending=ending).wait(0.0)


@pytest.fixture
def on_slots(gate):
    time = HandTime()
    return time, Gate(gate.domain, gate._table, gate.ledger, gate.archive, gate.bits, slots=time.slots(5))


def plan_of(domain):
    return Plan((Measurement(Count(domain.everything), Laplace(Fraction(10))),))


def in_thread(work):
    done = threading.Thread(target=work, daemon=True)
    done.start()
    return done


def test_the_charge_counts_at_once_and_the_record_comes_with_the_end_of_the_slot(on_slots, domain, monkeypatch):
    time, gate = on_slots
    with held_reading(monkeypatch) as reading:
        measuring = in_thread(lambda: gate.measure(plan_of(domain)))
        assert reading.begun.wait(PATIENCE)
        spent = gate.ledger.spent_max
        time.move(1.5)
        reading.over.set()
        time.until_sleeping(1)
        assert gate.ledger.spent_max == spent > 0
        time.move(3.4)
        assert ([charge.id for charge in gate.ledger.pending()], list(gate.ledger.answered())) == ([2], [])
        time.move(0.1)
        measuring.join(PATIENCE)
    assert ([charge.id for charge in gate.ledger.pending()], [charge.id for charge, _ in gate.ledger.answered()]) == (
        [],
        [2],
    )


def test_a_charge_that_is_completed_takes_whole_slots_from_then_on(on_slots, domain):
    time, gate = on_slots
    cost = plan_of(domain).cost(domain, gate.ledger.budget)
    charge = gate.ledger.charge(cost, plan_of(domain).condensed(), snapshot=gate._table().id)
    time.move(100.3)
    completing = in_thread(lambda: gate.complete(charge))
    time.until_sleeping(1)
    time.move(4.9)
    assert [charge.id for charge in gate.ledger.pending()] == [2]
    time.move(0.1)
    completing.join(PATIENCE)
    assert [charge.id for charge in gate.ledger.pending()] == []


def test_a_failure_is_seen_with_the_end_of_the_slot(on_slots, domain, monkeypatch):
    time, gate = on_slots
    monkeypatch.setattr(Gate, "_noisy", lambda *_: 1 / 0)
    seen = []

    def measure():
        try:
            gate.measure(plan_of(domain))
        except EngineError as error:
            seen.append(str(error))

    failing = in_thread(measure)
    time.until_sleeping(1)
    assert seen == []
    time.move(5)
    failing.join(PATIENCE)
    assert seen == ["the answer could not be computed; charge 2 stands, and `discreet ledger complete` finishes it "
                    "without a further charge"]  # fmt: skip


def test_what_a_process_that_ends_has_drawn_is_not_recorded_and_its_charge_can_be_completed(gate, domain):
    ending = threading.Event()
    ending.set()
    ended = Gate(gate.domain, gate._table, gate.ledger, gate.archive, gate.bits, slots=Slots(60, ending=ending))
    with pytest.raises(EngineError, match=r"the server is ending before .* charge 2 stands"):
        ended.measure(plan_of(domain))
    [charge] = gate.ledger.pending()
    assert gate.complete(charge).charge == 2
