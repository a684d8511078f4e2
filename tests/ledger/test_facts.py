"""A fact lowers the limit of the whole map, for what was spent and for what will be."""

from fractions import Fraction

import pytest

from discreet.domain.region import Box
from discreet.errors import BudgetExceeded, InvalidBudget, JournalCorrupt, JournalError, UnsupportedQuery
from discreet.ledger.buckets import BucketedSpend
from discreet.ledger.budget import Induced, PureBudget, QueryBudget
from discreet.ledger.grid import GridSpend
from discreet.ledger.ledger import Ledger
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.spend import UNITS, Cost
from discreet.ledger.squared_budget import ConcentratedBudget

ONE = Fraction(1)
LEFT, RIGHT = Box((0, 0), (1, 2)), Box((2, 0), (4, 2))


def fact(people, squares=None):
    return {"fact": {"text": "n"}, "induced": [people, squares or people**2 // 2]}


@pytest.fixture(params=["grid", "buckets"])
def ledger_of_either(request, monkeypatch, domain_of, tmp_path):
    maps = {"grid": GridSpend, "buckets": lambda domain, limit: BucketedSpend(domain, limit, most_buckets=8)}
    monkeypatch.setattr("discreet.ledger.state.spend_map", maps[request.param])
    Ledger.create(tmp_path / "j.sqlite", {"vault_id": "0123456789"})

    def make():
        return Ledger.open(tmp_path / "j.sqlite", domain_of(5, 3), PureBudget(ONE, "add-remove"))

    return make


def test_it_is_lowered_for_past_and_future_charges_in_every_process(ledger_of_either):
    one, other = ledger_of_either(), ledger_of_either()
    one.charge(Cost(0, ((LEFT, UNITS // 8),)), {})
    assert one.left(one.domain.everything) == UNITS - UNITS // 8
    note = one.note_fact(fact(4), one.head.seq)
    assert (note.number, note.table) == (3, 0)
    for ledger in (one, other, ledger_of_either()):
        assert ledger.left(ledger.domain.everything) == UNITS // 8
        assert ledger.budget.limit == UNITS // 4
        assert ledger.budget.amount_of(ledger.spent_max) == Fraction(1, 2)
        assert str(ledger.guarantee).endswith("; subject to 1 public fact, S_Q = 4: n")
        assert [(f.number, f.content["induced"]) for f in ledger.facts] == [(3, [4, 8])]
    with pytest.raises(BudgetExceeded, match="has ε = 1/2 left"):
        other.charge(Cost(0, ((LEFT, UNITS // 8 + 1),)), {})
    other.charge(Cost(0, ((LEFT, UNITS // 8),)), {})
    other.charge(Cost(0, ((RIGHT, UNITS // 4),)), {})
    assert one.left(one.domain.everything) == 0


def test_where_more_is_spent_already_nothing_more_is_charged_anywhere(ledger_of_either):
    ledger = ledger_of_either()
    ledger.charge(Cost(0, ((LEFT, UNITS // 2),)), {})
    ledger.note_fact(fact(4), ledger.head.seq)
    assert ledger.guarantee.epsilon == 2
    for cost in (Cost(1), Cost(0, ((RIGHT, 1),)), Cost(0, ((LEFT, 1),))):
        assert ledger.refusal(cost) is not None
        with pytest.raises(
            BudgetExceeded, match=r"ε = 2 to whoever knows the facts, and .* promise ε = 1: nothing more"
        ):
            ledger.charge(cost, {})
    assert ledger.left(ledger.domain.everything) == 0
    assert not ledger.left_by([0, 1]).any()
    assert ledger_of_either().refusal(Cost(1)) is not None


@pytest.mark.parametrize("content", [fact(4), {"induced": [4, 8]}], ids=["in words", "by its number"])
def test_what_is_foretold_of_a_fact_is_what_holds_once_it_is_noted(ledger_of_either, content):
    ledger = ledger_of_either()
    ledger.charge(Cost(0, ((LEFT, UNITS // 8),)), {})
    before, foretold = ledger.head, ledger.with_fact(content)
    assert ledger.head == before
    ledger.note_fact(content, ledger.head.seq)
    assert foretold == (ledger.budget, ledger.guarantee)


def test_a_limit_is_never_raised_again_not_even_by_a_refresh(ledger_of_either):
    ledger = ledger_of_either()
    ledger.note_fact(fact(4), ledger.head.seq)
    ledger.note_fact(fact(2), ledger.head.seq)
    assert ledger.budget.limit == UNITS // 4
    ledger.charge(Cost(0, ((LEFT, UNITS // 16),)), {})
    ledger.note_refresh(SnapshotId(1, "f"))
    assert ledger.left(ledger.domain.everything) == UNITS // 4 - UNITS // 16
    ledger.note_fact(fact(8), ledger.head.seq)
    assert [f.table for f in ledger.facts] == [0, 0, 5]
    assert ledger.left(ledger.domain.everything) == UNITS // 8 - UNITS // 16
    assert ledger_of_either().left(ledger.domain.everything) == UNITS // 8 - UNITS // 16


def test_a_fact_worked_out_before_another_one_came_is_refused(ledger):
    known = ledger.head.seq
    ledger.note_fact(fact(4), known)
    with pytest.raises(JournalError, match="add the fact again"):
        ledger.note_fact(fact(4), known)
    known = ledger.head.seq
    ledger.note_refresh(SnapshotId(1, "f"))
    with pytest.raises(JournalError, match="another table"):
        ledger.note_fact(fact(4), known)
    with pytest.raises(ValueError, match="a method of its own"):
        ledger.note("fact", {})


def test_a_journal_with_a_broken_fact_is_refused(ledger):
    with pytest.raises(JournalCorrupt, match="entry 2 of the journal is no fact"):
        ledger.note_fact({"induced": ["many", 2]}, ledger.head.seq)


def test_charges_know_which_facts_they_were_calibrated_to(ledger):
    first = ledger.note_fact(fact(2), ledger.head.seq).number
    charge = ledger.charge(Cost(1), {})
    second = ledger.note_fact(fact(2), ledger.head.seq).number
    assert ledger.facts_before(charge.id) == (first,)
    assert ledger.facts_before(ledger.head.seq + 1) == (first, second)


@pytest.mark.parametrize(
    ("budget", "induced", "factor"),
    [
        (PureBudget(ONE, "add-remove"), Induced(), 1),
        (PureBudget(ONE, "add-remove"), Induced(4, 8), 4),
        (PureBudget(ONE, "replace"), Induced(2, 2), 2),  # n is public: as before
        (PureBudget(ONE, "replace"), Induced(), 2),
        (PureBudget(ONE, "add-remove", 3), Induced(5, 13), 15),
        (ConcentratedBudget(ONE, "add-remove"), Induced(3, 5), 9),
        (ConcentratedBudget(ONE, "replace"), Induced(), 2),
        (ConcentratedBudget(ONE, "replace"), Induced(2, 2), 2),
        (ConcentratedBudget(ONE, "replace"), Induced(4, 8), 8),
        (ConcentratedBudget(ONE, "add-remove", 2), Induced(3, 5), 36),
        (ConcentratedBudget(ONE, "replace", 2), Induced(4, 8), 32),
    ],
)
def test_what_induced_neighbours_cost(budget, induced, factor):
    assert budget.under(induced).factor == factor
    assert budget.under(induced).limit == UNITS // factor
    assert budget.under(induced).under(Induced()) == budget.under(Induced())


def test_a_fact_that_leaves_nothing_makes_no_budget():
    with pytest.raises(InvalidBudget):
        PureBudget(ONE, "add-remove").under(Induced(UNITS + 1, 1))


def test_only_budgets_that_the_map_keeps_take_facts():
    made = QueryBudget(10, Fraction(1, 10), 100, "test", Fraction(1, 100), Fraction(1, 100), 4)
    with pytest.raises(UnsupportedQuery, match="takes no facts"):
        made.under(Induced(2, 2))
