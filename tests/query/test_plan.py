"""Plans: their cost is stated before anything is read, and they come back from the journal as they were."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.domain.attribute import Category, Integer
from discreet.domain.domain import Domain
from discreet.errors import InvalidNoise
from discreet.ledger.budget import PureBudget
from discreet.ledger.spend import UNITS
from discreet.noise.law import Exponential, Gaussian, Laplace
from discreet.query.plan import Measurement, Plan, exact_scale
from discreet.query.query import Count, Quantile, Sum

DOMAIN = Domain(
    "people",
    (
        Integer(name="age", source="s", low=0, high=9),
        Category(name="sex", source="s", values=("F", "M"), null=True),
    ),
)
BUDGET = PureBudget(Fraction(1), "add-remove")
YOUNG, WOMEN = DOMAIN.slab("age", 0, 4), DOMAIN.slab("sex", 0, 0)


def test_what_covers_the_domain_costs_one_number_and_the_rest_boxes():
    plan = Plan(
        (
            Measurement(Count(DOMAIN.everything, ("age", "sex")), Laplace(Fraction(10))),
            Measurement(Count(DOMAIN.everything), Laplace(Fraction(20))),
            Measurement(Count(YOUNG), Laplace(Fraction(5))),
        )
    )
    cost = plan.cost(DOMAIN, BUDGET)
    assert cost.everywhere == UNITS // 10 + UNITS // 20
    assert cost.regional == ((YOUNG.boxes[0], UNITS // 5),)


def test_measurements_of_one_plan_add_up_where_they_meet():
    plan = Plan((Measurement(Count(YOUNG), Laplace(Fraction(4))), Measurement(Count(WOMEN), Laplace(Fraction(4)))))
    cost = plan.cost(DOMAIN, BUDGET)
    spent = {point: cost.at(point) * 4 // UNITS for point in [(0, 0), (0, 1), (9, 0), (9, 1)]}
    assert spent == {(0, 0): 2, (0, 1): 1, (9, 0): 1, (9, 1): 0}
    assert cost.peak == UNITS // 2


def test_groups_of_one_query_cost_as_much_as_one_of_them():
    by_age, alone = (Plan((Measurement(Count(WOMEN, by), Laplace(Fraction(4))),)) for by in (("age",), ()))
    assert by_age.cost(DOMAIN, BUDGET) == alone.cost(DOMAIN, BUDGET)


def test_a_plan_comes_back_from_the_journal_as_it_was():
    plan = Plan(
        (
            Measurement(Count(YOUNG, ("sex",)), Laplace(Fraction(1, 3))),
            Measurement(Sum("age", WOMEN), Laplace(Fraction(10**12))),
            Measurement(Quantile("age", Fraction(1, 3), YOUNG), Exponential(Fraction(2))),
        )
    )
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (100, Fraction(100)),
        (0.1, Fraction(1, 10)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("2e3", Fraction(2000)),
        (" 5 ", Fraction(5)),
        (np.int64(7), Fraction(7)),
        (np.float64(0.5), Fraction(1, 2)),
    ],
)
def test_a_scale_is_the_number_that_people_write(written, meant):
    scale = exact_scale(written)
    assert scale == meant
    assert type(scale.numerator) is int


@pytest.mark.parametrize("written", [math.nan, math.inf, -math.inf, "nan", "1e999999999", "1/0", "", "many", None, [1]])
def test_a_scale_that_is_no_number_is_refused(written):
    with pytest.raises(InvalidNoise, match="scale must be a positive number such as 100 or 1/10"):
        exact_scale(written)


@pytest.mark.parametrize("written", [0, -1, "-0.5", Fraction(0), "-0"])
def test_a_scale_that_is_not_above_zero_is_refused(written):
    with pytest.raises(InvalidNoise, match="scale must be above 0"):
        exact_scale(written)


@pytest.mark.parametrize("scale", [0.5, Fraction(0), Fraction(-1), math.nan])
@pytest.mark.parametrize("law", [Laplace, Gaussian, Exponential])
def test_noise_takes_exact_numbers_above_zero_only(law, scale):
    with pytest.raises(InvalidNoise, match="must be"):
        law(scale)


@pytest.mark.parametrize(
    "mismatch",
    [(Count(YOUNG), Exponential(Fraction(1))), (Quantile("age", Fraction(1, 2), YOUNG), Laplace(Fraction(1)))],
    ids=["a count", "a quantile"],
)
def test_a_query_is_measured_with_noise_of_its_own_kind(mismatch):
    with pytest.raises(InvalidNoise, match="exponential mechanism"):
        Measurement(*mismatch)


def test_counts_that_differ_in_their_groups_alone_are_one_line_of_the_journal():
    laws = [Laplace(Fraction(1, 3)), Laplace(Fraction(1, 3)), Laplace(Fraction(2)), Laplace(Fraction(2))]
    queries = [Count(DOMAIN.everything, by) for by in ((), ("age",), ("sex",))] + [Count(YOUNG)]
    plan = Plan(
        (
            *(Measurement(query, law) for query, law in zip(queries, laws, strict=True)),
            Measurement(Sum("age", YOUNG), Laplace(Fraction(2))),
            Measurement(Sum("age", YOUNG), Laplace(Fraction(2))),
        )
    )
    lines = json.loads(json.dumps(plan.condensed()))
    assert [next(iter(line["query"])) for line in lines] == ["counts", "count", "count", "sum", "sum"]
    assert lines[0]["query"]["counts"]["by"] == [[], ["age"]]
    assert Plan.from_json(lines) == Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan
