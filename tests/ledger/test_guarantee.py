from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import InvalidBudget
from discreet.ledger.budget import PureBudget, exact_amount
from discreet.ledger.budget_choice import budget_from_json
from discreet.ledger.guarantee import Neighbours, PureDP, guarantee_from_json
from discreet.ledger.spend import UNITS
from discreet.ledger.standing import Standing


@pytest.mark.parametrize(
    ("epsilon", "neighbours", "rows", "limit"),
    [
        (Fraction(1), "add-remove", 1, UNITS),
        (Fraction(1), "replace", 1, UNITS // 2),
        (Fraction(3, 10), "replace", 1, 3 * UNITS // 20),
        (Fraction(1), "add-remove", 3, UNITS // 3),
        (Fraction(1), "replace", 17, UNITS // 34),  # 34 does not divide UNITS: rounded down
    ],
)
def test_the_limit_is_epsilon_over_rows_and_sense(
    epsilon: Fraction, neighbours: Neighbours, rows: int, limit: int
) -> None:
    budget = PureBudget(epsilon, neighbours, rows)
    assert budget.limit == limit
    assert budget.amount_of(limit) <= epsilon < budget.amount_of(limit + 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((Fraction(0), "replace"), "above 0"),
        ((Fraction(-1, 2), "replace"), "above 0"),
        ((Fraction(1), "bounded"), "add-remove, replace"),
        ((Fraction(1), "replace", 0), "at least one row"),
        ((Fraction(10**9), "replace"), "at most"),
        ((Fraction(1, 10**13), "replace"), "at least 1/360360000000"),
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(arguments: Any, words: str) -> None:
    with pytest.raises(InvalidBudget, match=words):
        PureBudget(*arguments)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (1, Fraction(1)),
        (0.1, Fraction(1, 10)),
        ("0.3", Fraction(3, 10)),
        ("1/50", Fraction(1, 50)),
        (Decimal("2.5"), Fraction(5, 2)),
        (Fraction(2, 3), Fraction(2, 3)),
        ("1e-3", Fraction(1, 1000)),
    ],
)
def test_an_epsilon_is_the_number_that_a_person_means(said: Any, meant: Fraction) -> None:
    assert exact_amount(said) == meant


@pytest.mark.parametrize(
    "said", [0, -1, "0", float("nan"), float("inf"), "-inf", "1/0", "", "one", "1e999999999", True, "1/2/3"]
)
def test_an_epsilon_that_is_no_positive_finite_number_is_refused(said: Any) -> None:
    with pytest.raises(InvalidBudget, match="ε must be"):
        exact_amount(said)


@pytest.mark.parametrize(
    ("guarantee", "words"),
    [
        (
            PureDP(Fraction(1, 50), "replace"),
            "differential privacy, ε = 1/50, neighbours: replace (one person's row changes)",
        ),
        (
            PureDP(Fraction(2), "add-remove", 3),
            "differential privacy, ε = 2, neighbours: add-remove (one person's up to 3 rows are added or removed)",
        ),
        (
            PureDP(Fraction(1), "replace", remarks=("microdata was published",)),
            "differential privacy, ε = 1, neighbours: replace (one person's row changes); microdata was published",
        ),
    ],
)
def test_a_guarantee_says_itself_in_words_and_survives_json(guarantee: PureDP, words: str) -> None:
    assert str(guarantee) == words
    assert guarantee_from_json(guarantee.to_json()) == guarantee


def test_a_budget_promises_its_epsilon_and_survives_json() -> None:
    budget = PureBudget(Fraction(1, 3), "replace", 2)
    assert Standing.of(budget).guarantee() == PureDP(Fraction(1, 3), "replace", 2)
    assert Standing.of(budget).promise(UNITS // 12) == PureDP(Fraction(1, 3), "replace", 2)
    assert budget_from_json(budget.to_json()) == budget


def test_a_guarantee_of_a_kind_that_is_not_known_is_refused() -> None:
    told = PureDP(Fraction(1), "replace").to_json()
    with pytest.raises(ValueError, match="a guarantee of kind 'perfect'; this version does not know it"):
        guarantee_from_json({**told, "kind": "perfect"})


@pytest.mark.parametrize(
    ("epsilon", "told"), [("1/5", "ε = 1/5,"), ("1/3", "ε = 1/3,"), ("103997461/1040000000", "ε ≈ 0.1,")]
)
def test_a_long_fraction_is_told_by_its_first_digits_and_kept_exactly(epsilon: str, told: str) -> None:
    guarantee = PureDP(Fraction(epsilon), "add-remove")
    assert told in str(guarantee)
    assert guarantee.to_json()["epsilon"] == epsilon
