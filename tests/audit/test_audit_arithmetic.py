"""The arithmetic of an audit is its own, and agrees with the vault's: depths, prices, limits, conversions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit import depth, search
from discreet.audit.depth import Field, deepest, load_of, units_at
from discreet.audit.load import Depth, Load
from discreet.audit.price import mispriced, read_cost, read_plan
from discreet.audit.terms import mu_keeps, read_terms, rho_keeps
from discreet.domain.read import parse_domain
from discreet.ledger.budget import Induced
from discreet.ledger.budget_choice import budget_from_json, budget_of
from discreet.ledger.conversion import rho_for
from discreet.ledger.gaussian_conversion import mu_squared_for
from discreet.ledger.gaussian_price import gaussian_price
from discreet.ledger.spend import units_up
from discreet.noise.law import Exponential, Gaussian, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Quantile, Residual, Sum
from tests.audit.insider import (
    BUDGETS,
    DOMAIN,
)

SHAPE = (6, 6, 6)
CHARGES = st.lists(
    st.lists(
        st.tuples(st.tuples(*[st.integers(0, 5)] * 3), st.tuples(*[st.integers(0, 5)] * 3), st.integers(0, 9)),
        max_size=3,
    ),
    max_size=8,
)


def charged(corners):
    """Loads of charges, each of some boxes, and what they add up to at every point, counted one by one."""
    dense, loads = np.zeros(SHAPE, np.int64), []
    for charge in corners:
        pieces = [(tuple(map(min, one, two)), tuple(map(max, one, two)), units) for one, two, units in charge]
        alone = np.zeros(SHAPE, np.int64)
        for low, high, units in pieces:
            alone[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))] += units
        loads.append(load_of(pieces, SHAPE))
        assert loads[-1].peak == alone.max()
        dense += alone
    return loads, dense


class TestArithmetic:
    """The reader's own, against counting point by point."""

    @given(CHARGES)
    def test_the_deepest_point_is_found_in_both_ways(self, corners):
        loads, dense = charged(corners)
        assert deepest(loads, SHAPE) == Depth(dense.max(), dense.max())
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(depth, "MOST_CELLS", 0)
            assert deepest(loads, SHAPE) == Depth(dense.max(), dense.max())
        for corner in (0, 1 << 20):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(depth, "CORNER", corner)
                field = Field(SHAPE, loads)
                field.add(loads[:2])
                field.add(loads[2:])
            assert np.array_equal(field.dense(), dense)
            assert np.array_equal(field.by_axis(1), dense.max(axis=(0, 2)))

    @given(CHARGES, st.integers(1, 20_000), st.integers(0, 60))
    def test_a_search_that_ends_early_gives_bounds_and_some_point_has_the_lower_one(self, corners, steps, enough):
        loads, dense = charged(corners)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(depth, "MOST_CELLS", 0)
            patched.setattr(search, "MOST_STEPS", steps)
            found = deepest(loads, SHAPE, enough)
        assert found.least <= dense.max() <= found.most
        assert found.least == 0 or found.least in dense

    @given(CHARGES)
    def test_units_at_points_are_those_that_are_counted_there(self, corners):
        loads, dense = charged(corners)
        points = np.argwhere(dense >= 0)
        assert np.array_equal(units_at(points, loads), dense.reshape(-1))

    @pytest.mark.usefixtures("either_way")
    def test_a_domain_of_hundreds_of_columns_takes_what_was_asked_about_it(self):
        shape = (10,) * 200
        sides = [((axis, code, code + 4),) for axis in range(30) for code in range(3)]
        loads = [Load((box,), (1,), 1) for box in sides]
        # On each axis 2 … 4 is in all three boxes.
        assert deepest(loads, shape) == Depth(90, 90)
        field = Field(shape, loads[:3])
        field.add(loads[:3])
        assert field.by_axis(0).tolist() == [1, 2, 3, 3, 3, 2, 1, 0, 0, 0]
        assert field.by_axis(199).tolist() == [3] * 10

    def test_what_passes_64_bits_is_bounded_and_not_searched(self):
        loads = [Load((((axis, 0, 1),),), (2**60,), 2**60) for axis in range(40)]
        assert deepest(loads, (4,) * 40) == Depth(2**60, 40 * 2**60)

    @given(st.data())
    def test_a_plan_is_priced_as_the_ledger_charges_it_and_no_cheaper(self, data):
        domain = parse_domain(DOMAIN)
        budget = data.draw(
            st.sampled_from(
                [
                    {"epsilon": "3", "neighbours": "replace", "max_rows": 2},
                    {"rho": "2", "neighbours": "replace", "max_rows": 1},
                    {"rho": "2", "neighbours": "add-remove", "max_rows": 3},
                    {"mu_squared": "2", "neighbours": "replace", "max_rows": 1},
                    {"mu_squared": "2", "neighbours": "add-remove", "max_rows": 3},
                ]
            )
        )
        terms = read_terms(budget)
        plan = Plan(tuple(data.draw(st.lists(measurements(domain, "epsilon" not in budget), min_size=1, max_size=4))))
        cost = plan.cost(domain, budget_from_json(budget)).to_json()
        lines = read_plan(plan.condensed(), domain)
        assert mispriced(lines, read_cost(cost, domain), domain, terms) is None
        if cost["everywhere"]:
            cost["everywhere"] -= 1
        elif cost["regional"]:
            data.draw(st.sampled_from(cost["regional"]))[2] -= 1
        else:
            return
        found = mispriced(lines, read_cost(cost, domain), domain, terms)
        assert found is not None
        assert not found.overpaid
        assert "needs" in found.what or "not paid" in found.what

    @pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
    @pytest.mark.parametrize("induced", [(0, 0), (2, 2), (6, 20)])
    def test_limits_are_those_of_the_vault(self, budget, induced):
        chosen = {name: budget.get(name) for name in ("epsilon", "delta", "rho", "mu", "neighbours")}
        own = budget_of(**chosen, max_rows=budget.get("max_rows", 1))
        terms, theirs = read_terms(own.to_json()).under(*induced), own.under(Induced(*induced))
        assert (terms.limit, terms.factor) == (theirs.limit, theirs.factor)
        assert terms.amount(12_345) == theirs.amount_of(12_345)

    @pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-10"), ("8", "1e-3"), ("3", "1e-30")])
    def test_the_largest_rho_that_keeps_a_promise_is_accepted_and_more_is_not(self, epsilon, delta):
        rho = rho_for(Fraction(epsilon), Fraction(delta))
        assert rho_keeps(rho, Fraction(epsilon), Fraction(delta))
        assert not rho_keeps(rho * Fraction(101, 100), Fraction(epsilon), Fraction(delta))

    @pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-10"), ("8", "1e-3"), ("3", "1e-30")])
    def test_the_largest_mu_that_keeps_a_promise_is_accepted_and_more_is_not(self, epsilon, delta):
        mu_squared = mu_squared_for(Fraction(epsilon), Fraction(delta))
        assert mu_keeps(mu_squared, Fraction(epsilon), Fraction(delta))
        assert not mu_keeps(mu_squared * Fraction(1_000_001, 1_000_000), Fraction(epsilon), Fraction(delta))


@given(st.fractions(Fraction(1, 200), Fraction(1), max_denominator=10**6), st.sampled_from([1, 3, 12]))
def test_little_noise_is_priced_by_the_audit_as_by_the_ledger(sigma_squared, squared):
    terms = read_terms({"mu_squared": "2", "neighbours": "add-remove", "max_rows": 1})
    charged = units_up(squared * gaussian_price(sigma_squared))
    assert terms.units("gaussian", sigma_squared, Fraction(squared), one_signed=True) == charged


@st.composite
def measurements(draw, domain, concentrated):
    where = domain.everything
    for name in draw(st.lists(st.sampled_from(domain.names), unique=True, max_size=3)):
        ends = sorted(draw(st.tuples(*[st.integers(0, domain[name].size - 1)] * 2)))
        where = where.intersect(domain.slab(name, *ends))
    if draw(st.booleans()):
        where = domain.everything.subtract(where)
    scale = draw(st.fractions(min_value=Fraction(1, 2), max_value=500, max_denominator=30))
    noise = Gaussian(scale) if concentrated and draw(st.booleans()) else Laplace(scale)
    query = draw(
        st.sampled_from(
            [
                Count(where),
                Count(where, ("sex",)),
                Sum("income", where),
                Sum("age", where),
                Quantile("age", Fraction(1, 2), where),
            ]
        )
    )
    if concentrated and draw(st.booleans()):
        query, noise = Residual(where, draw(st.sampled_from([(), ("sex",), ("job", "sex")]))), Gaussian(scale)
    return Measurement(query, Exponential(scale) if isinstance(query, Quantile) else noise)
