"""Queries: what the journal keeps of them, and the shape of their answers."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.attribute import Bins, Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.errors import DomainError, UnsupportedQuery
from discreet.query import query as query_module
from discreet.query.query import (
    Count,
    Quantile,
    SubsetCount,
    Sum,
    answer_shape,
    grain_of,
    grains_of,
    query_from_json,
    query_to_json,
    require_in_domain,
)
from discreet.query.subset import subset_of

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
        UnsupportedQuery, match="'covariance'; this version knows count, residual, sum, distinct, people, profiles, "
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


def test_an_open_bin_has_no_grain_whatever_unit_it_names():
    pieces = Bins(name="income", source="s", edges=(Fraction(0), Fraction(1), None), grain=Fraction(1, 4))
    with pytest.raises(UnsupportedQuery, match="income has an open bin, so a sum has no bound"):
        grain_of(pieces)
    for edge in pieces.edges:
        with pytest.raises(UnsupportedQuery, match="income has an open bin, so a sum has no bound"):
            grains_of(edge, pieces)


@pytest.mark.parametrize(
    ("edge", "grain", "grains"), [("0.5", "1", 1), ("-0.5", "1", -1), ("7", "2", 4), ("-7", "2", -4), ("0.3", "0.1", 3)]
)
def test_edges_are_whole_grains_halves_away_from_0(edge, grain, grains):
    bins = Bins(name="x", source="s", edges=(Fraction(edge), Fraction(100)), grain=Fraction(grain))
    assert grains_of(Fraction(edge), bins) == grains


@given(st.lists(boxes(), max_size=3))
def test_a_region_is_the_domain_s_own_where_each_of_its_codes_is(listed):
    inside = all(high < size for box in listed for high, size in zip(box.high, DOMAIN.shape, strict=True))
    query = Count(Region(tuple(listed)))
    if inside:
        require_in_domain(query, DOMAIN)
    else:
        with pytest.raises(UnsupportedQuery, match="a region reaches out of the domain people"):
            require_in_domain(query, DOMAIN)


@pytest.mark.parametrize("other", [Box((0, 0), (1, 1)), Box((-1, 0, 0), (1, 1, 0)), Box((0, 0, 0), (11, 1, 0))])
def test_one_box_that_reaches_out_is_enough_for_a_refusal(other):
    with pytest.raises(UnsupportedQuery, match="reaches out of the domain"):
        require_in_domain(Count(Region((Box((0, 0, 0), (1, 1, 0)), other))), DOMAIN)


def test_attributes_group_once_and_are_the_domain_s_own():
    require_in_domain(Count(DOMAIN.everything, ("sex", "age")), DOMAIN)
    with pytest.raises(UnsupportedQuery, match="an attribute or an expression groups an answer once"):
        require_in_domain(Count(DOMAIN.everything, ("sex", "age", "sex")), DOMAIN)
    for query in [
        Count(DOMAIN.everything, ("height",)),
        Sum("height", DOMAIN.everything),
        Quantile("height", Fraction(1, 2), DOMAIN.everything),
    ]:
        with pytest.raises(DomainError, match="no attribute 'height'"):
            require_in_domain(query, DOMAIN)


def test_a_query_over_subsets_names_one_to_the_most_and_no_groups(monkeypatch):
    everyone = subset_of("everyone")
    monkeypatch.setattr(query_module, "MOST_SUBSETS", 3)
    for number in (1, 3):
        assert answer_shape(SubsetCount((everyone,) * number, DOMAIN.everything), DOMAIN) == (number,)
    for number in (0, 4):
        with pytest.raises(UnsupportedQuery, match=f"a query names 1 to 3 subsets, not {number}"):
            SubsetCount((everyone,) * number, DOMAIN.everything)
    with pytest.raises(UnsupportedQuery, match="a count over subsets has no groups"):
        SubsetCount((everyone,), DOMAIN.everything, ("sex",))
