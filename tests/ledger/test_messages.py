from fractions import Fraction

import pytest

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.ledger.budget import PureBudget
from discreet.ledger.messages import box_words, left_words, needed_words, refused
from discreet.ledger.spend import Refusal, units_down, units_up

PEOPLE = Domain(
    "people",
    (
        Integer(name="age", source="s", low=0, high=99),
        Category(name="sex", source="s", values=("F", "M"), null=True),
        Bins(name="income", source="s", edges=(Fraction(0), Fraction(100), Fraction(200), None)),
    ),
)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ((20, 0, 0), (50, 0, 2), "age 20 to 50, sex F"),
        ((0, 0, 0), (99, 2, 2), "everywhere"),
        ((7, 2, 1), (7, 2, 2), "age 7, sex (missing), income [100, 200) to [200, ∞)"),
        ((0, 0, 0), (99, 1, 2), "sex F to M"),
    ],
)
def test_a_box_is_worded_by_its_labels(low: tuple[int, ...], high: tuple[int, ...], words: str) -> None:
    assert box_words(PEOPLE, Box(low, high)) == words


@pytest.mark.parametrize("amount", ["3/10", "1/17", "1/2000", "5", "7/13", "1/9999"])
def test_an_amount_that_was_rounded_up_is_worded_as_it_was_meant(amount: str) -> None:
    budget = PureBudget(Fraction(10), "add-remove")
    assert needed_words(budget, units_up(Fraction(amount))) == amount


def test_what_is_left_is_never_overstated_and_what_is_needed_never_understated() -> None:
    budget = PureBudget(Fraction(10), "replace")
    units = units_down(Fraction("0.1234567891"))
    assert left_words(budget, units) == "0.246913"
    assert needed_words(budget, units) == "0.246914"
    assert left_words(budget, 0) == "0"


def test_a_refusal_says_what_is_left_where_what_is_needed_and_what_to_do() -> None:
    budget = PureBudget(Fraction(1), "replace")
    refusal = Refusal(units_down(Fraction(3, 20)), units_up(Fraction(1, 4)), Box((20, 0, 0), (50, 0, 2)))
    assert str(refused(PEOPLE, budget, refusal)) == (
        "this region has ε = 3/10 left (age 20 to 50, sex F) and the query needs 1/2; "
        "ask with more noise, or for a region that avoids it"
    )
    spent = Refusal(0, 1, Box((0, 0, 0), (99, 2, 2)))
    assert str(refused(PEOPLE, budget, spent)).endswith("; ask for a region that avoids it")
