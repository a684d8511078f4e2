"""The arithmetic of an audit is its own, and agrees with the vault's: depths, prices, limits, conversions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit import depth
from discreet.audit.depth import Boxes, Field, deepest
from discreet.audit.price import mispriced, read_cost, read_plan
from discreet.audit.terms import read_terms, rho_keeps
from discreet.domain.read import parse_domain
from discreet.ledger.budget import Induced, budget_from_json, budget_of
from discreet.ledger.conversion import rho_for
from discreet.noise.law import Exponential, Gaussian, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Quantile, Residual, Sum
from tests.audit.insider import (
    BUDGETS,
    DOMAIN,
)

BOXES = st.lists(
    st.tuples(st.tuples(*[st.integers(0, 5)] * 3), st.tuples(*[st.integers(0, 5)] * 3), st.integers(0, 9)), max_size=12
)


class TestArithmetic:
    """The reader's own, against counting point by point."""

    @given(BOXES)
    def test_the_deepest_point_is_found_in_both_ways(self, corners):
        pieces = [(tuple(map(min, one, two)), tuple(map(max, one, two)), units) for one, two, units in corners]
        dense = np.zeros((6, 6, 6), np.int64)
        for low, high, units in pieces:
            dense[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))] += units
        boxes = Boxes.of(pieces, 3)
        assert deepest(boxes, dense.shape) == (dense.max(), True)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(depth, "MOST_CELLS", 0)
            assert deepest(boxes, dense.shape) == (dense.max(), True)
        for corner in (0, 1 << 20):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(depth, "CORNER", corner)
                field = Field(dense.shape, boxes)
                field.add(boxes)
            assert np.array_equal(field.dense(), dense)
            assert np.array_equal(field.by_axis(1), dense.max(axis=(0, 2)))

    @given(st.data())
    def test_a_plan_is_priced_as_the_ledger_charges_it_and_no_cheaper(self, data):
        domain = parse_domain(DOMAIN)
        budget = data.draw(
            st.sampled_from(
                [
                    {"epsilon": "3", "neighbours": "replace", "max_rows": 2},
                    {"rho": "2", "neighbours": "replace", "max_rows": 1},
                    {"rho": "2", "neighbours": "add-remove", "max_rows": 3},
                ]
            )
        )
        terms = read_terms(budget)
        plan = Plan(tuple(data.draw(st.lists(measurements(domain, "rho" in budget), min_size=1, max_size=4))))
        cost = plan.cost(domain, budget_from_json(budget)).to_json()
        lines = read_plan(plan.condensed(), domain)
        assert mispriced(lines, read_cost(cost, domain), domain, terms) == ""
        if cost["everywhere"]:
            cost["everywhere"] -= 1
        elif cost["regional"]:
            data.draw(st.sampled_from(cost["regional"]))[2] -= 1
        else:
            return
        assert "needs" in (found := mispriced(lines, read_cost(cost, domain), domain, terms)) or "not paid" in found

    @pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
    @pytest.mark.parametrize("induced", [(0, 0), (2, 2), (6, 20)])
    def test_limits_are_those_of_the_vault(self, budget, induced):
        chosen = {name: budget.get(name) for name in ("epsilon", "delta", "rho", "neighbours")}
        own = budget_of(**chosen, max_rows=budget.get("max_rows", 1))
        terms, theirs = read_terms(own.to_json()).under(*induced), own.under(Induced(*induced))
        assert (terms.limit, terms.factor) == (theirs.limit, theirs.factor)
        assert terms.amount(12_345) == theirs.amount_of(12_345)

    @pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-10"), ("8", "1e-3"), ("3", "1e-30")])
    def test_the_largest_rho_that_keeps_a_promise_is_accepted_and_more_is_not(self, epsilon, delta):
        rho = rho_for(Fraction(epsilon), Fraction(delta))
        assert rho_keeps(rho, Fraction(epsilon), Fraction(delta))
        assert not rho_keeps(rho * Fraction(101, 100), Fraction(epsilon), Fraction(delta))


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
