from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.region import Box
from discreet.ledger.spend import UNITS, Cost, units_down, units_up


@pytest.mark.parametrize("parts", [*range(1, 17), 100, 1000, 2000, 1_000_000])
def test_parts_of_one_are_whole_numbers_of_units(parts: int) -> None:
    share = Fraction(1, parts)
    assert units_up(share) == units_down(share)
    assert units_up(share) * parts == UNITS


@given(st.fractions(min_value=0, max_value=1000))
def test_spending_rounds_up_and_allowance_rounds_down(amount: Fraction) -> None:
    assert units_down(amount) <= amount * UNITS <= units_up(amount)
    assert units_up(amount) - units_down(amount) == (0 if (amount * UNITS).denominator == 1 else 1)


def test_a_negative_cost_is_refused() -> None:
    with pytest.raises(ValueError, match="never negative"):
        Cost(-1)
    with pytest.raises(ValueError, match="never negative"):
        Cost(0, ((Box((0,), (1,)), -1),))


@st.composite
def costs(draw: st.DrawFn, sizes: tuple[int, ...] = (4, 3, 3)) -> Cost:
    pieces = []
    for _ in range(draw(st.integers(0, 5))):
        ends = [sorted(draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))) for n in sizes]
        pieces.append((Box(tuple(a for a, _ in ends), tuple(b for _, b in ends)), draw(st.integers(0, 9))))
    return Cost(draw(st.integers(0, 9)), tuple(pieces))


@given(costs())
def test_the_peak_is_the_most_at_any_point(cost: Cost) -> None:
    assert cost.peak == max(cost.at(point) for point in product(range(4), range(3), range(3)))


@given(costs(), costs())
def test_a_sum_of_costs_spends_both_at_every_point(one: Cost, two: Cost) -> None:
    total = one + two
    assert all(total.at(p) == one.at(p) + two.at(p) for p in product(range(4), range(3), range(3)))


@given(costs())
def test_a_cost_survives_json(cost: Cost) -> None:
    assert Cost.from_json(cost.to_json()) == cost


@pytest.mark.parametrize("units", [1.0, float("nan"), None, "1", True])
def test_units_that_are_no_whole_numbers_are_refused(units: object) -> None:
    with pytest.raises(ValueError, match="whole numbers"):
        Cost.from_json({"everywhere": units, "regional": []})
    with pytest.raises(ValueError, match="whole numbers"):
        Cost.from_json({"everywhere": 0, "regional": [[[0], [1], units]]})


def test_a_thousand_disjoint_groups_peak_at_one_group() -> None:
    groups = tuple((Box((i, j), (i, j)), 7) for i in range(40) for j in range(25))
    assert Cost(2, groups).peak == 9
