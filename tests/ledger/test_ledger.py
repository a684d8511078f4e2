from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import BudgetExceeded, JournalCorrupt, JournalError, JournalRolledBack
from discreet.ledger.budget import PureBudget
from discreet.ledger.ledger import Ledger
from discreet.ledger.places import header_of
from discreet.ledger.receipt import Receipt
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import UNITS, Cost, units_up

ONE = Fraction(1)
THIRD = Cost(units_up(ONE / 3))
LEFT, RIGHT = Box((0, 0), (2, 3)), Box((3, 0), (5, 3))


def test_three_thirds_are_one_and_not_a_unit_more_fits(ledger: Ledger) -> None:
    for _ in range(3):
        ledger.charge(THIRD, {})
    assert ledger.spent_max == UNITS
    with pytest.raises(BudgetExceeded, match="ε = 0 left"):
        ledger.charge(Cost(1), {})
    ledger.charge(Cost(), {})


def test_disjoint_regions_have_a_budget_each(ledger: Ledger) -> None:
    ledger.charge(Cost(0, ((LEFT, UNITS),)), {})
    ledger.charge(Cost(0, ((RIGHT, UNITS // 2),)), {})
    assert ledger.left(Region((LEFT,))) == 0
    assert ledger.left(Region((RIGHT,))) == UNITS // 2
    assert ledger.left_by((0,)).tolist() == [0, 0, 0, UNITS // 2, UNITS // 2, UNITS // 2]


def test_a_charge_beyond_the_limit_is_refused_and_unrecorded(ledger: Ledger) -> None:
    ledger.charge(Cost(0, ((LEFT, units_up(ONE * 7 / 10)),)), {})
    before = ledger.head
    with pytest.raises(BudgetExceeded) as refused:
        ledger.charge(Cost(0, ((Box((2, 1), (4, 2)), units_up(ONE / 2)),)), {"secret": "plan"})
    assert str(refused.value) == (
        "this region has ε = 3/10 left (a 2, b 1 to 2) and the query needs 1/2; "
        "ask with more noise, or for a region that avoids it"
    )
    assert ledger.head == before
    assert ledger.refusal(Cost(0, ((Box((2, 1), (4, 2)), units_up(ONE * 3 / 10)),))) is None


def test_a_charge_is_completed_once_and_every_other_answer_is_lost(ledger: Ledger) -> None:
    charge = ledger.charge(THIRD, {"query": "count"})
    assert ledger.pending() == [charge]
    assert ledger.recorded(charge.id) is None
    first = ledger.record(charge.id, {"value": 41})
    second = ledger.record(charge.id, {"value": 42})
    assert first == second == ledger.recorded(charge.id)
    assert first.body == {"value": 41}
    assert ledger.pending() == []
    assert list(ledger.answered()) == [(charge, first)]


def test_charges_are_found_by_their_number_and_counted_wherever_they_were_made(
    ledger: Ledger, path: Path, domain: Domain, budget: PureBudget
) -> None:
    first = ledger.charge(THIRD, {"query": 1})
    ledger.record(first.id, {})
    other = Ledger.open(path, domain, budget)
    second = other.charge(THIRD, {"query": 2})
    ledger.note_refresh(SnapshotId(1, "f"))
    assert (ledger.charge_at(first.id), ledger.charge_at(second.id)) == (first, second)
    assert [ledger.charge_at(number) for number in (0, 1, first.id + 1, 99)] == [None] * 4
    third = ledger.charge(Cost(1), {}, snapshot=ledger.snapshot)
    assert (ledger.charges, other.charges, Ledger.open(path, domain, budget).charges) == (3, 3, 3)
    assert third.id == 6


@pytest.mark.parametrize("seq", [1, 3, 4, 99])
def test_only_charges_can_be_completed(ledger: Ledger, seq: int) -> None:
    charge = ledger.charge(THIRD, {})
    ledger.record(charge.id, {})
    ledger.note_refresh(SnapshotId(1, "f"))
    with pytest.raises(JournalError, match=f"entry {seq} is not a charge"):
        ledger.record(seq, {})


def test_charges_of_a_table_that_was_replaced_are_pending_and_wait_for_no_answer(ledger: Ledger) -> None:
    old = ledger.charge(Cost(1), {})
    assert ledger.pending() == [old]
    assert ledger.unanswered() == [old.id]
    ledger.note_refresh(SnapshotId(1, "f"))
    new = ledger.charge(Cost(1), {}, snapshot=ledger.snapshot)
    assert ledger.pending() == [old, new]
    assert ledger.unanswered() == [new.id]


def test_another_ledger_over_the_same_journal_sees_every_charge_and_answer(
    path: Path, domain: Domain, budget: PureBudget, ledger: Ledger
) -> None:
    other = Ledger.open(path, domain, budget)
    charge = ledger.charge(Cost(0, ((LEFT, UNITS),)), {"n": 1})
    with pytest.raises(BudgetExceeded):
        other.charge(Cost(1), {})
    assert other.pending() == [charge]
    assert other.record(charge.id, "answer") == ledger.recorded(charge.id)
    assert ledger.pending() == []
    assert ledger.head == other.head


def test_a_ledger_opened_again_stands_where_it_stood(
    path: Path, domain: Domain, budget: PureBudget, ledger: Ledger
) -> None:
    charge = ledger.charge(Cost(5, ((LEFT, 7),)), ["plan"])
    ledger.note_refresh(SnapshotId(1, "f"))
    ledger.close()
    again = Ledger.open(path, domain, budget)
    assert again.header == {"vault_id": "test-vault"} == header_of(path)
    assert again.pending() == [charge]
    assert again.spent_max == 12
    assert again.snapshot == SnapshotId(1, "f")
    assert again.latest("fact") is None
    assert [entry.kind for entry in again.entries()] == ["init", "charge", "refresh"]
    assert [entry.seq for entry in again.entries(after=2)] == [3]


def test_a_receipt_of_this_journal_passes_and_any_other_does_not(ledger: Ledger) -> None:
    charge = ledger.charge(THIRD, {})
    ledger.note_refresh(SnapshotId(1, "f"))
    ledger.check_receipt(charge.receipt)
    ledger.check_receipt(ledger.head)
    for receipt in (Receipt(charge.id, bytes(32)), Receipt(99, ledger.head.hash)):
        with pytest.raises(JournalRolledBack, match=f"entry {receipt.seq} as it was seen"):
            ledger.check_receipt(receipt)


@pytest.mark.parametrize("kind", ["init", "charge", "record"])
def test_a_note_cannot_pass_for_an_entry_that_counts(ledger: Ledger, kind: str) -> None:
    with pytest.raises(ValueError, match="method of its own"):
        ledger.note(kind, {})


@pytest.mark.parametrize("header", [{}, {"vault_id": "short"}, {"vault_id": "../../etc/passwd"}])
def test_a_vault_id_is_safe_as_a_file_name(tmp_path: Path, header: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="vault_id"):
        Ledger.create(tmp_path / "journal.db", header)
    assert not (tmp_path / "journal.db").exists()


def test_a_plan_that_is_not_json_spends_nothing(ledger: Ledger) -> None:
    with pytest.raises(TypeError):
        ledger.charge(THIRD, object())
    assert ledger.spent_max == 0


def test_a_box_outside_the_domain_spends_nothing(ledger: Ledger) -> None:
    before = ledger.head
    with pytest.raises(ValueError, match="domain"):
        ledger.charge(Cost(0, ((Box((0, 0), (6, 0)), 1),)), {})
    assert ledger.head == before


def test_charges_of_another_domain_are_not_replayed(
    path: Path, domain_of: Callable[..., Domain], ledger: Ledger
) -> None:
    ledger.charge(Cost(0, ((RIGHT, 1),)), {})
    with pytest.raises(JournalCorrupt, match="domain"):
        Ledger.open(path, domain_of(2, 2), ledger.budget)


CODES = [st.integers(0, 5), st.integers(0, 5), st.integers(0, 3), st.integers(0, 3)]


@given(st.lists(st.tuples(st.integers(0, 2), *CODES, st.integers(0, 9)), max_size=10))
@settings(max_examples=25)
def test_no_sequence_of_charges_ever_undercounts_a_point(
    tmp_path_factory: pytest.TempPathFactory,
    domain_of: Callable[..., Domain],
    story: list[tuple[int, int, int, int, int, int]],
) -> None:
    path = tmp_path_factory.mktemp("story") / "journal.db"
    Ledger.create(path, {"vault_id": f"vault-{path.parent.name}"})
    budget = PureBudget(Fraction(12, UNITS), "add-remove")
    ledger, late = (Ledger.open(path, domain_of(6, 4), budget) for _ in range(2))
    spent = dict.fromkeys(product(range(6), range(4)), 0)
    for everywhere, a, b, c, d, units in story:
        cost = Cost(everywhere, ((Box((min(a, b), min(c, d)), (max(a, b), max(c, d))), units),))
        after = {point: spent[point] + cost.at(point) for point in spent}
        if max(after.values()) <= 12:
            ledger.charge(cost, {})
            spent = after
        else:
            with pytest.raises(BudgetExceeded):
                ledger.charge(cost, {})
    for seen in (ledger, late, Ledger.open(path, domain_of(6, 4), budget)):
        left = seen.left_by((0, 1))
        assert all(left[point] == 12 - spent[point] for point in spent)
