"""Subsets of a roster, and counts over them: what they may be, how they are written down, what they cost."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.read import parse_domain
from discreet.errors import InvalidNoise, UnsupportedQuery
from discreet.ledger.budget import PureBudget, QueryBudget
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.noise.law import Binomial, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, SubsetCount, answer_shape, query_from_json, query_to_json, require_in_domain
from discreet.query.subset import Everyone, Listed, Seeded, subset_from_json, subset_of, subset_to_json

DOMAIN = parse_domain("""
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a test"
""")
BUDGET = QueryBudget(10, Fraction(1), 1044, "exact", Fraction(1, 10**6), Fraction(1, 10**8), 101)

SUBSETS = st.one_of(
    st.just(Everyone()),
    st.builds(Seeded, st.integers(0, 2**64 - 1), st.fractions(Fraction(1, 10**6), 1)),
    st.builds(Listed, st.lists(st.text(max_size=9), max_size=5).map(tuple)),
)


@pytest.mark.parametrize(
    ("meant", "subset"),
    [
        ("everyone", Everyone()),
        ((7, "1/2"), Seeded(7, Fraction(1, 2))),
        ((7, 0.1), Seeded(7, Fraction(1, 10))),
        ((0, 1), Seeded(0, Fraction(1))),
        ((2**64 - 1, Fraction(1, 3)), Seeded(2**64 - 1, Fraction(1, 3))),
        (["007", 7, "é"], Listed(("007", "7", "é"))),
        ([], Listed(())),
        (range(2), Listed(("0", "1"))),
        (Seeded(1), Seeded(1, Fraction(1, 2))),
    ],
)
def test_people_write_subsets_as_words_pairs_and_lists(meant, subset):
    assert subset_of(meant) == subset


@pytest.mark.parametrize(
    "meant",
    ["nobody", 7, None, (7,), (1, 2, 3), (7, 0), (7, 2), (7, -1), (7, "half"), (7, "1e999999999"), (-1, "1/2"),
     (2**64, "1/2"), (1.5, "1/2"), (True, "1/2"), (7, True), (7, None), [None], [True], [["a"]], {"seed": 7}],
)  # fmt: skip
def test_anything_else_is_refused(meant):
    with pytest.raises(UnsupportedQuery, match=r"subset|seed|rate|record id"):
        subset_of(meant)


@given(SUBSETS)
def test_a_subset_is_the_same_after_it_was_written_down(subset):
    assert subset_from_json(json.loads(json.dumps(subset_to_json(subset)))) == subset


@pytest.mark.parametrize(
    "body", ["all", 3, None, {}, {"seed": "7"}, {"seed": 7, "rate": []}, {"ids": "7"}, {"ids": [7], "seed": 1},
             {"seed": 7, "of": 3}, {"seed": 2**64}, {"seed": True}]
)  # fmt: skip
def test_malformed_json_of_a_subset_is_refused(body):
    with pytest.raises(UnsupportedQuery):
        subset_from_json(body)


@given(st.lists(SUBSETS, min_size=1, max_size=4))
def test_a_count_over_subsets_has_a_number_for_each_and_survives_the_journal(subsets):
    query = SubsetCount(tuple(subsets), DOMAIN.slab("age", 20, 50))
    assert query_from_json(json.loads(json.dumps(query_to_json(query)))) == query
    assert answer_shape(query, DOMAIN) == (len(subsets),)
    require_in_domain(query, DOMAIN)


def test_a_count_over_no_subset_or_by_groups_is_refused():
    with pytest.raises(UnsupportedQuery, match="1 to"):
        SubsetCount((), DOMAIN.everything)
    with pytest.raises(UnsupportedQuery, match="no groups"):
        SubsetCount((Everyone(),), DOMAIN.everything, ("age",))


def plan(law, *counts, where=DOMAIN.everything):
    return Plan(tuple(Measurement(SubsetCount((Everyone(),) * count, where), law) for count in counts))


@pytest.mark.parametrize("where", [DOMAIN.everything, DOMAIN.slab("age", 3, 3)])
def test_every_subset_is_one_query_for_everybody_wherever_the_predicate_holds(where):
    cost = plan(Binomial(1044), 3, 4, where=where).cost(DOMAIN, BUDGET)
    assert (cost.everywhere, cost.regional) == (7, ())


@pytest.mark.parametrize(
    "budget", [PureBudget(Fraction(1), "replace"), ConcentratedBudget(Fraction(1), "replace")], ids=["ε", "ρ"]
)
def test_other_budgets_refuse_counts_over_subsets_and_binomial_noise(budget):
    with pytest.raises(UnsupportedQuery, match="budget of queries"):
        plan(Binomial(1044), 1).cost(DOMAIN, budget)
    with pytest.raises(InvalidNoise, match="binomial"):
        Plan((Measurement(Count(DOMAIN.everything), Binomial(1044)),)).cost(DOMAIN, budget)


def test_a_budget_of_queries_refuses_other_questions_and_other_noise():
    with pytest.raises(UnsupportedQuery, match="sulq ask"):
        Plan((Measurement(Count(DOMAIN.everything), Laplace(Fraction(1))),)).cost(DOMAIN, BUDGET)
    for law in (Binomial(1042), Laplace(Fraction(100))):
        with pytest.raises(InvalidNoise, match="1,044 coins"):
            plan(law, 1).cost(DOMAIN, BUDGET)
