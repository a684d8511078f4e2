"""Residuals: the whole numbers that they are, what a row moves them by, and what they therefore cost."""

import json
from fractions import Fraction
from functools import reduce
from itertools import combinations, product
from math import ceil, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.price import _squared_move as audited_move
from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.errors import InvalidNoise, UnsupportedQuery
from discreet.ledger.budget import Induced, PureBudget
from discreet.ledger.spend import UNITS
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.noise.law import Gaussian, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Residual
from discreet.query.residual import MOST_SPREAD, require_residual, residual_of, squared_move

SIZES = [(), (2,), (3,), (7,), (2, 2), (2, 3), (4, 3), (2, 2, 2), (3, 2, 4), (5, 3, 3)]
TAU = Fraction(35, 3)


def domain_of(sizes):
    return Domain("t", tuple(Integer(name=f"a{i}", source="s", low=1, high=n) for i, n in enumerate((*sizes, 2))))


def matrix_of(sizes):
    return reduce(np.kron, (n * np.eye(n, dtype=np.int64) - 1 for n in sizes), np.eye(1, dtype=np.int64))


def cost_of(sizes, budget, law=None):
    domain = domain_of(sizes)
    query = Residual(domain.everything, domain.names[: len(sizes)])
    return Plan((Measurement(query, law or Gaussian(TAU)),)).cost(domain, budget)


def largest(sizes, added, removed):
    """The largest squared length of so many rows added and so many removed, over all ways to choose them."""
    columns = matrix_of(sizes).T
    ways = product(range(len(columns)), repeat=added + removed)
    return max(int(((columns[[*way[:added]]].sum(0) - columns[[*way[added:]]].sum(0)) ** 2).sum()) for way in ways)


@given(st.lists(st.integers(2, 5), max_size=4), st.integers(0, 99))
def test_it_is_the_product_of_the_axes_matrices_in_whole_numbers(sizes, seed):
    table = np.random.default_rng(seed).integers(0, 1000, sizes)
    before = table.copy()
    residual = residual_of(table)
    assert residual.dtype == np.int64
    np.testing.assert_array_equal(residual.reshape(-1), matrix_of(sizes) @ table.reshape(-1))
    np.testing.assert_array_equal(table, before)
    for axis in range(len(sizes)):
        assert not residual.sum(axis=axis).any()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_a_row_counts_for_the_largest_length_of_all_rows_and_pairs_of_rows(sizes):
    columns = matrix_of(sizes).T
    alone = max(int((column**2).sum()) for column in columns)
    apart = max((int(((one - two) ** 2).sum()) for one, two in combinations(columns, 2)), default=0)
    assert squared_move(sizes, "add-remove") == audited_move(sizes, "add-remove") == alone
    assert squared_move(sizes, "replace") == audited_move(sizes, "replace") == max(Fraction(alone), Fraction(apart, 2))


@pytest.mark.parametrize("sizes", [(), (2,), (3,), (2, 2), (2, 3)], ids=str)
@pytest.mark.parametrize("rows", [1, 2])
def test_the_charge_covers_every_person_of_several_rows_exactly_for_one(sizes, rows):
    for neighbours in ("add-remove", "replace"):
        budget = ConcentratedBudget(Fraction(1000), neighbours, rows)
        stated = budget.amount_of(cost_of(sizes, budget).everywhere)
        ways = [(n, 0) for n in range(rows + 1)]
        ways += [] if neighbours == "add-remove" else [(n, m) for n in range(1, rows + 1) for m in range(1, rows + 1)]
        worst = max(largest(sizes, *way) for way in ways) / (2 * TAU)
        rounding = budget.amount_of(1)
        assert worst <= stated
        if sizes or neighbours == "add-remove":
            assert stated <= worst + rounding


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("added", "removed"), [(1, 1), (2, 1), (2, 2)])
def test_the_charge_covers_those_whom_facts_tie_together(neighbours, added, removed):
    induced = Induced(added + removed, added**2 + removed**2)
    budget = ConcentratedBudget(Fraction(1000), neighbours).under(induced)
    for sizes in ((2,), (3,), (2, 2)):
        assert largest(sizes, added, removed) / (2 * TAU) <= budget.amount_of(cost_of(sizes, budget).everywhere)


def test_the_charge_is_that_of_residual_planner():
    # Xiao, He, Zhang, Kifer 2023: a component with variance σ² costs ∏(1 − 1/n)/(2σ²); and here m/(m − 1) times
    # that where rows are replaced, of which the limit allows for 2.
    sizes, sigma_squared = (4, 3, 5), Fraction(7)
    law = Gaussian(sigma_squared * prod(sizes) ** 2)
    rho = Fraction(3, 4) * Fraction(2, 3) * Fraction(4, 5) / (2 * sigma_squared)
    assert cost_of(sizes, ConcentratedBudget(Fraction(9), "add-remove"), law).everywhere == ceil(UNITS * rho)
    replaced = cost_of(sizes, ConcentratedBudget(Fraction(9), "replace"), law).everywhere
    assert replaced == ceil(UNITS * rho * Fraction(3, 2))


def test_a_part_of_the_domain_alone_is_charged():
    domain = domain_of((3, 4))
    where = domain.slab("a2", 0, 0)
    cost = Plan((Measurement(Residual(where, ("a0",)), Gaussian(TAU)),)).cost(
        domain, ConcentratedBudget(Fraction(9), "add-remove")
    )
    assert cost.everywhere == 0
    assert cost.regional == ((where.boxes[0], ceil(UNITS * 6 / (2 * TAU))),)


@pytest.mark.parametrize(
    ("budget", "law"),
    [
        (PureBudget(Fraction(1), "add-remove"), Laplace(Fraction(9))),
        (ConcentratedBudget(Fraction(1), "add-remove"), Laplace(Fraction(9))),
        (PureBudget(Fraction(1), "add-remove"), Gaussian(Fraction(9))),
    ],
    ids=["pure", "Laplace noise", "Gaussian noise in a pure vault"],
)
def test_it_has_gaussian_noise_and_a_budget_that_takes_it(budget, law):
    with pytest.raises(InvalidNoise, match="Gaussian noise"):
        cost_of((3, 4), budget, law)


def test_attributes_of_one_value_and_tables_beyond_whole_numbers_are_refused():
    require_residual(())
    require_residual((MOST_SPREAD // 2, 2))
    with pytest.raises(UnsupportedQuery, match="at least 2 values"):
        require_residual((1, 3))
    with pytest.raises(UnsupportedQuery, match="at most 16,777,216 numbers"):
        require_residual((MOST_SPREAD // 2, 3))


def test_within_the_most_spread_no_number_overflows():
    # All of 2^38 rows in one cell: the largest number is rows·∏(n − 1), and rows·∏n on the way there.
    table = np.zeros((8, MOST_SPREAD // 8), np.int64)
    table[0, 0] = 1 << 38
    assert int(residual_of(table)[0, 0]) == (1 << 38) * 7 * (MOST_SPREAD // 8 - 1)


def test_residuals_in_a_row_are_one_line_of_the_journal():
    domain = domain_of((3, 4))
    by = ((), ("a0",), ("a0", "a1"))
    law = Gaussian(Fraction(9))
    plan = Plan(
        (
            *(Measurement(Residual(domain.everything, names), law) for names in by),
            Measurement(Count(domain.everything, ("a0",)), law),
            Measurement(Residual(domain.everything, ("a1",)), law),
        )
    )
    lines = json.loads(json.dumps(plan.condensed()))
    assert [list(line["query"]) for line in lines] == [["residuals"], ["count"], ["residual"]]
    assert lines[0]["query"]["residuals"]["by"] == [[], ["a0"], ["a0", "a1"]]
    assert Plan.from_json(lines) == plan == Plan.from_json(plan.to_json())
