"""Purchases: everything that one question buys is within its limits, together, and what is refused was not spent."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.read import parse_domain
from discreet.domain.region import Box, Region
from discreet.errors import BudgetExceeded, EngineError, InvalidNoise, QuotaExceeded, Refreshed
from discreet.ledger.asker import Asker
from discreet.ledger.budget import PureBudget, QueryBudget
from discreet.ledger.spend import Cost
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.noise.law import Binomial, Exponential, Gaussian, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Quantile, SubsetCount, Sum
from discreet.query.subset import subset_of
from discreet.release.purchase import NO_LIMITS, Purchase, QuestionLimits

SMALL = parse_domain(
    """
name = "small"
[attributes.x]
kind = "integer"
low = 0
high = 4
source = "a test"
[attributes.y]
kind = "integer"
low = -3
high = 2
source = "a test"
"""
)
PURE = PureBudget(Fraction(100), "add-remove")
RHO = ConcentratedBudget(Fraction(100), "replace", max_rows=2)


def counted(region, scale=10):
    return Plan((Measurement(Count(region), Laplace(Fraction(scale))),))


def ages(domain, low, high):
    return domain.slab("age", low, high)


def buys(purchase, plan):
    try:
        purchase.measure(plan)
    except BudgetExceeded:
        return False
    return True


@st.composite
def boxes(draw):
    ends = [sorted(draw(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)))) for size in SMALL.shape]
    lows, highs = zip(*ends, strict=True)
    return Box(tuple(lows), tuple(highs))


@st.composite
def plans(draw):
    """Counts, sums and quantiles of boxes, and now and then of everything."""
    queries = []
    for box in draw(st.lists(boxes(), min_size=1, max_size=3)):
        where = draw(st.sampled_from([Region((box,)), Region((box,)), SMALL.everything]))
        queries.append(draw(st.sampled_from([Count(where), Sum("y", where), Quantile("y", Fraction(1, 2), where)])))
    scales = [Fraction(draw(st.integers(1, 40)), draw(st.integers(1, 4))) for _ in queries]
    return list(zip(queries, scales, strict=True))


def plan_of(plan, budget):
    noise = Laplace if isinstance(budget, PureBudget) else lambda scale: Gaussian(scale**2)
    return Plan(tuple(Measurement(q, (Exponential if isinstance(q, Quantile) else noise)(s)) for q, s in plan))


def reached(costs):
    """The most units at any point, by a look at every point."""
    return max(sum(cost.at(point) for cost in costs) for point in product(*map(range, SMALL.shape)))


@pytest.mark.parametrize("budget", [PURE, RHO], ids=["pure", "rho"])
@given(listed=st.lists(plans(), min_size=1, max_size=6))
def test_a_plan_is_let_through_exactly_where_no_point_passes_the_limit(budget, listed):
    bought = []
    for plan in (plan_of(one, budget) for one in listed):
        cost = plan.cost(SMALL, budget)
        together, total = budget.amount_of(reached([*bought, cost])), sum(bought, Cost())
        QuestionLimits(max_per_query=together).require(plan, SMALL, budget, total)
        if together > budget.amount_of(reached([*bought, Cost()])):
            with pytest.raises(BudgetExceeded, match="a question may spend"):
                QuestionLimits(max_per_query=together - budget.amount_of(1)).require(plan, SMALL, budget, total)
        bought.append(cost)


NOISES = [
    (Count(SMALL.everything), Laplace(Fraction(5)), 5),
    (Count(SMALL.everything), Gaussian(Fraction(25)), 5),
    (Count(SMALL.everything), Gaussian(Fraction(2)), Fraction(14142135623, 10**10)),
    (Sum("y", SMALL.everything), Laplace(Fraction(15)), 5),  # a row adds up to 3
    (Sum("y", SMALL.everything), Gaussian(Fraction(225)), 5),
    (Quantile("x", Fraction(1, 2), SMALL.everything), Exponential(Fraction(5)), 5),
    (SubsetCount((subset_of("everyone"),), SMALL.everything), Binomial(100), 5),
]


@pytest.mark.parametrize(("query", "law", "scale"), NOISES)
def test_noise_of_the_least_scale_is_let_through_and_less_is_not(query, law, scale):
    QuestionLimits(min_scale=Fraction(scale)).require_noise(query, law, SMALL)
    with pytest.raises(InvalidNoise, match="at least; ask for less accuracy"):
        QuestionLimits(min_scale=Fraction(scale) + Fraction(1, 10**10)).require_noise(query, law, SMALL)


def test_queries_are_limited_by_their_number():
    budget = QueryBudget(100, Fraction(1), 400, "exact", Fraction(1, 10**6), Fraction(1, 10**6), 30)
    asked = SubsetCount(tuple(subset_of((seed, 0.5)) for seed in range(6)), SMALL.everything)
    plan = Plan((Measurement(asked, budget.law),))
    QuestionLimits(max_per_query=Fraction(6)).require(plan, SMALL, budget)
    with pytest.raises(BudgetExceeded, match=r"may spend T = 5 here, and this one needs T = 6; .* for less at once"):
        QuestionLimits(max_per_query=Fraction(5)).require(plan, SMALL, budget)


def test_what_is_bought_in_steps_adds_up_point_by_point(gate, domain):
    purchase = Purchase(gate, QuestionLimits(max_per_query=Fraction(1, 4)))
    assert buys(purchase, counted(ages(domain, 0, 9)))
    assert buys(purchase, counted(ages(domain, 5, 14)))
    assert not buys(purchase, counted(ages(domain, 9, 12)))
    assert buys(purchase, counted(ages(domain, 20, 29), scale=4))
    assert buys(purchase, counted(ages(domain, 10, 12)))
    assert not buys(purchase, counted(domain.everything, scale=100))  # at 20 to 29 nothing is left
    assert buys(purchase, counted(ages(domain, 0, 19), scale=20))  # 0.2 + 0.05 at 5 to 9
    assert gate.ledger.budget.amount_of(purchase.bought.peak) == Fraction(1, 4)


def test_what_is_refused_by_the_limits_leaves_the_journal_as_it_was(gate, domain):
    purchase = Purchase(gate, QuestionLimits(Fraction(20), Fraction(1, 25)))
    head = gate.ledger.head
    for plan, error in [
        (counted(domain.everything, 19), InvalidNoise),
        (counted(domain.everything, 24), BudgetExceeded),
    ]:
        with pytest.raises(error):
            purchase.measure(plan)
    assert (gate.ledger.head, purchase.bought, purchase.releases) == (head, Cost(), [])


def test_what_the_vault_or_a_quota_refuses_does_not_count(gate, domain):
    for asker, scale, error in [
        (None, Fraction(1, 2000), BudgetExceeded),
        (Asker("ana", Fraction(1)), 1, QuotaExceeded),
    ]:
        purchase = Purchase(replace(gate, asker=asker), NO_LIMITS)
        plan = Plan(2 * counted(domain.everything, scale).measurements)
        with pytest.raises(error):
            purchase.measure(plan)
        assert (purchase.bought, purchase.releases) == (Cost(), [])


def test_a_charge_that_stands_without_an_answer_counts(gate, domain, monkeypatch):
    purchase, plan = Purchase(gate, QuestionLimits(max_per_query=Fraction(1, 10))), counted(domain.everything)
    with monkeypatch.context() as broken:
        broken.setattr(Laplace, "sample", lambda *_: 1 / 0)
        with pytest.raises(EngineError, match="charge 2 stands"):
            purchase.measure(plan)
    assert gate.ledger.budget.amount_of(purchase.bought.peak) == Fraction(1, 10)
    assert not buys(purchase, plan)


def test_an_error_says_what_was_spent_before_it_and_nothing_where_nothing_was(gate, domain):
    purchase, error = Purchase(gate, NO_LIMITS), InvalidNoise("too little")
    assert purchase.told(error) is error
    purchase.measure(counted(domain.everything))
    purchase.measure(counted(ages(domain, 0, 9), scale=4))
    told = purchase.told(error)
    assert type(told) is InvalidNoise
    assert str(told).startswith("too little; before that this question spent ε = 0.35 (charge 2, 4), and what")
    assert str(told).endswith("asked again, only the rest is needed, as explain says")
    # Of another table everything is needed again.
    assert "all of it is needed" in str(purchase.told(Refreshed("refreshed")))
