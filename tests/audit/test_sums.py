"""Sums are paid for at every point, however the pieces of a cost are cut, and whichever sum they were made for."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit import sums
from discreet.audit.cells import AddedAmount, TableOfCodes
from discreet.audit.report import audit_vault
from discreet.audit.sums import PricedSum, compared
from discreet.demo.census import census_domain_path, write_census
from discreet.vault import Vault

SHAPE = (3, 4, 2)


@st.composite
def boxes(draw):
    ends = [sorted(draw(st.tuples(*[st.integers(0, size - 1)] * 2))) for size in SHAPE]
    return tuple(low for low, _ in ends), tuple(high for _, high in ends)


@st.composite
def priced(draw):
    axes = tuple(sorted(draw(st.sets(st.sampled_from([0, 1, 2]), min_size=1))))
    numbers = draw(st.lists(st.integers(-3, 3), min_size=24, max_size=24))
    shape = tuple(SHAPE[axis] for axis in axes)
    table = TableOfCodes(axes, tuple([*range(size)] for size in shape), shape, numbers[: int(np.prod(shape))])
    chosen = draw(st.lists(boxes(), min_size=1, max_size=2))
    apart = chosen if len(chosen) == 1 or not _points(chosen[0]) & _points(chosen[1]) else chosen[:1]
    return PricedSum(AddedAmount(table, table, Fraction(1, 2)), tuple(apart), lambda most: int(2 * most))


def _points(box):
    return set(product(*(range(low, high + 1) for low, high in zip(*box, strict=True))))


def _needed(one, point):
    table = one.addend.low
    number = np.array(table.numbers).reshape(table.shape)[tuple(point[axis] for axis in table.axes)]
    return abs(int(number)) if any(point in _points(box) for box in one.boxes) else 0


@pytest.mark.parametrize("most_runs", [sums.MOST_RUNS, 4])
@given(
    st.lists(priced(), min_size=1, max_size=3),
    st.lists(st.tuples(boxes(), st.integers(0, 4)), max_size=6),
    st.integers(0, 6),
)
def test_a_sum_is_short_exactly_where_a_point_pays_less_than_it_needs(most_runs, asked, paid, everywhere):
    pieces = [(*box, units) for box, units in paid]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sums, "MOST_RUNS", most_runs)
        found = compared(asked, pieces, everywhere)
    inside = {point for one in asked for box in one.boxes for point in _points(box)}
    at = {point: everywhere + sum(units for box, units in paid if point in _points(box)) for point in inside}
    assert (found == "short") == any(at[point] < sum(_needed(one, point) for one in asked) for point in inside)


@pytest.mark.parametrize(
    "budget", [{"epsilon": 1000, "neighbours": "replace"}, {"rho": 100, "neighbours": "add-remove"}]
)
def test_an_honest_vault_is_told_to_be_one_whatever_statistics_it_was_asked_for(tmp_path, budget):
    write_census(tmp_path / "people.parquet", 500)
    vault = Vault.init(tmp_path / "vault", table=tmp_path / "people.parquet", domain=census_domain_path(), **budget)
    for numbers in (
        "CORR(age, income)",
        "COVAR_POP(age, income), REGR_SLOPE(income, age)",
        "STDDEV(age), VAR_POP(income), AVG(income)",
        "SUM((age - 50) * (income - 3)), SUM(age - 50), SUM((age - 20) * (income - 4)), SUM(income)",
        "SUM(CASE WHEN sex = 'F' THEN age ELSE income END), SUM(CASE WHEN region = 'Arden' THEN age END), SUM(age)",
    ):
        for where in ("", "WHERE age > 30 AND sex = 'F'"):
            vault.ask(f"SELECT {numbers} FROM people {where}", scale=300)
    assert not [finding for finding in audit_vault(vault.path).findings if finding.outcome != "warning"]
