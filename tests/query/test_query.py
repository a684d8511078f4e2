"""Queries: what the journal keeps of them, and the shape of their answers."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import UnsupportedQuery
from discreet.query.query import Count, Quantile, Sum, answer_shape, grain_of, query_from_json, query_to_json

AGE = Integer(name="age", source="s", low=0, high=9, null=True)
SEX = Category(name="sex", source="s", values=("F", "M"))
INCOME = Bins(name="income", source="s", edges=(Fraction(0), Fraction(1)), grain=Fraction(1, 4))
DOMAIN = Domain("people", (AGE, SEX, INCOME))


def boxes():
    codes = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=3, max_size=3)
    return codes.map(lambda ends: Box(tuple(map(min, ends)), tuple(map(max, ends))))


regions = st.lists(boxes(), max_size=4).map(Region.of)
groups = st.lists(st.sampled_from(["age", "sex", "income"]), unique=True).map(tuple)
queries = (
    st.builds(Count, regions, groups)
    | st.builds(Sum, st.just("income"), regions, groups)
    | st.builds(Quantile, st.just("age"), st.fractions(0, 1), regions, groups)
)


@given(query=queries)
def test_a_query_comes_back_from_the_journal_as_it_was(query):
    assert query_from_json(json.loads(json.dumps(query_to_json(query)))) == query


def test_the_journal_keeps_codes_in_this_form():
    where = DOMAIN.slab("age", 2, 5)
    assert query_to_json(Sum("income", where, ("sex",))) == {
        "sum": {"of": "income", "where": [[[2, 0, 0], [5, 1, 0]]], "by": ["sex"]}
    }
    assert query_to_json(Quantile("age", Fraction(1, 2), where)) == {
        "quantile": {"of": "age", "level": "1/2", "where": [[[2, 0, 0], [5, 1, 0]]], "by": []}
    }


def test_a_kind_of_a_later_version_is_refused_by_name():
    with pytest.raises(
        UnsupportedQuery, match="'covariance'; this version knows count, residual, sum, quantile and subset_count"
    ):
        query_from_json({"covariance": {"where": [], "by": []}})


def test_an_answer_has_an_axis_for_each_group_in_the_order_asked():
    assert answer_shape(Count(DOMAIN.everything), DOMAIN) == ()
    assert answer_shape(Count(DOMAIN.everything, ("sex", "age")), DOMAIN) == (2, 11)


@pytest.mark.parametrize(
    ("attribute", "grain"), [(AGE, Fraction(1)), (INCOME, Fraction(1, 4))], ids=["integer", "bins"]
)
def test_a_sum_counts_in_grains(attribute, grain):
    assert grain_of(attribute) == grain
