"""FILTERs that part a total: bought once, and added up."""

from fractions import Fraction

import pytest

from discreet.noise.law import Laplace

PARTS = [
    ("COUNT(*)", ["age < 4", "age >= 4"], "age IS NOT NULL"),
    ("COUNT(*)", ["sex = 'F'", "NOT sex = 'F'"], "sex IS NOT NULL"),
    ("COUNT(*)", ["sex = 'F'", "sex = 'M'", "sex IS NULL"], "TRUE"),
    ("SUM(age)", ["age BETWEEN 1 AND 4", "age > 4"], "age > 0"),
    ("SUM(income)", ["income < 10 AND sex = 'F'", "income >= 10 AND sex = 'F'"], "sex = 'F'"),
]


def statement(call, parts, whole, by=""):
    calls = [f"{call} FILTER (WHERE {one}) AS p{place}" for place, one in enumerate(parts)]
    outputs = ", ".join([*([by] if by else []), *calls, f"{call} FILTER (WHERE {whole}) AS n"])
    return f"SELECT {outputs} FROM people" + (f" GROUP BY {by}" if by else "")


@pytest.mark.parametrize("wish", [{"scale": 20}, {"within": 60}])
@pytest.mark.parametrize(("call", "parts", "whole"), PARTS)
def test_parts_are_bought_once_add_up_and_are_no_wider_than_was_asked_for(make_vault, call, parts, whole, wish):
    vault = make_vault(epsilon=10_000)
    sql = statement(call, parts, whole)
    alone = vault.explain(f"SELECT {call} FROM people", **wish).cost
    said = vault.explain(sql, **wish)
    answer = vault.ask(sql, **wish)
    numbers = {row.column: row for row in answer.rows}
    assert sum(numbers[f"p{place}"].value for place in range(len(parts))) == numbers["n"].value
    assert said.cost == answer.cost < 2 * alone
    assert vault.ask(sql, **wish).cost == 0
    for row in answer.rows:
        forecast = next(one for one in said.forecasts if one.column == row.column)
        assert forecast.halfwidth == pytest.approx((row.high - row.low) / 2)
        if "within" in wish:
            assert row.high - row.low <= 2 * 60
    if "scale" in wish and call == "COUNT(*)":
        asked = Laplace(Fraction(20)).variance
        assert all(row.source.variance <= asked * (1 + 1e-9) for row in answer.rows)


@pytest.mark.parametrize(("call", "parts", "whole"), PARTS[:3])
def test_parts_of_each_group_add_up_to_it(make_vault, call, parts, whole):
    answer = make_vault(epsilon=100).ask(statement(call, parts, whole, by="income"), scale=20)
    lines = [answer.rows[start : start + len(parts) + 1] for start in range(0, len(answer.rows), len(parts) + 1)]
    assert len(lines) == 5
    for *own, total in lines:
        assert sum(row.value for row in own) == total.value


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["sex = 'F'", "NOT sex = 'F'"], "TRUE"),  # those whose sex is not known are in neither
        (["age < 5", "age > 3"], "TRUE"),  # these overlap
        (["age < 2", "age BETWEEN 2 AND 3", "age IN (4, 5)", "age IN (6, 7)", "age > 7"], "TRUE"),  # too many to gain
    ],
)
def test_what_parts_do_not_tell_cheaper_is_measured(make_vault, parts, whole):
    vault = make_vault(epsilon=100)
    answer = vault.ask(statement("COUNT(*)", parts, whole), scale=20)
    overlaps = parts[1] == "age > 3"
    assert answer.cost == Fraction(3 if overlaps else 2, 20)
    assert {row.kind for row in answer.rows} == {"measured"}


def test_with_gaussian_noise_the_total_is_measured_beside_two_parts(make_vault):
    vault = make_vault(rho=10)
    answer = vault.ask(statement(*PARTS[1]), scale=20)
    assert {row.kind for row in answer.rows} == {"measured"}


def test_what_is_public_is_not_bought_again_to_add_it_up(make_vault):
    vault = make_vault(epsilon=100)
    vault.ask("SELECT COUNT(*) FROM people WHERE age < 4", scale=20)
    both = vault.explain(statement(*PARTS[0]), scale=20)
    assert both.cost <= Fraction(2, 20)


def test_where_parts_are_too_dear_each_number_is_answered_as_before(make_vault):
    """What is left suffices for the parts as they were asked for, and not for sharper ones."""
    vault = make_vault(epsilon=Fraction(1, 8))
    vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=100)
    answer = vault.ask(statement(*PARTS[1]), scale=10)
    assert all(row.value is not None for row in answer.rows)
