"""One asker's spend: what a dense array over the whole domain says, however it was added up and looked at."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.ledger import own_spend
from discreet.ledger.own_spend import OwnSpend
from discreet.ledger.spend import MAX_UNITS, Cost

SHAPE = (7, 5, 4)
DOMAIN = Domain(
    "t",
    tuple(Integer(name=name, source="a test", low=0, high=size - 1) for name, size in zip("abc", SHAPE, strict=True)),
)


@st.composite
def boxes(draw):
    ends = [sorted(draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))) for n in SHAPE]
    return Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))


costs = st.builds(Cost, st.integers(0, 3), st.lists(st.tuples(boxes(), st.integers(0, 9)), max_size=3).map(tuple))


def dense(some):
    """The oracle: an array over every point."""
    field = np.zeros(SHAPE, np.int64)
    for cost in some:
        field += cost.everywhere
        for box, units in cost.regional:
            field[tuple(slice(low, high + 1) for low, high in zip(box.low, box.high, strict=True))] += units
    return field


@given(st.lists(costs, max_size=8), costs, boxes())
@settings(max_examples=120)
def test_it_says_what_an_array_over_every_point_says(some, more, box):
    spend = OwnSpend(DOMAIN)
    for cost in some:
        spend.add(cost)
    field, added = dense(some), dense([more])
    assert spend.peak == field.max()
    inside = tuple(slice(low, high + 1) for low, high in zip(box.low, box.high, strict=True))
    assert spend.most(Region((box,))) == field[inside].max()
    touched = (field + added)[added > 0]
    assert spend.peak_with(more) == (touched.max() if touched.size else 0)
    assert spend.peak == field.max()


@given(st.lists(costs, max_size=10), st.lists(st.booleans(), min_size=10, max_size=10), st.integers(1, 40))
def test_it_is_the_same_looked_at_after_each_charge_or_at_the_end_and_never_too_little(some, looks, cells):
    with pytest.MonkeyPatch.context() as small:
        small.setattr(own_spend, "MOST_CELLS", cells)
        often, once = OwnSpend(DOMAIN), OwnSpend(DOMAIN)
        for number, (cost, look) in enumerate(zip(some, looks, strict=False), start=1):
            often.add(cost)
            once.add(cost)
            if look:
                before = often.peak
                ahead = often.peak_with(cost)
                assert often.peak == before
                assert ahead >= (dense([*some[:number], cost])[dense([cost]) > 0]).max(initial=0)
        assert often.peak == once.peak
        assert dense(some).max() <= once.peak <= sum(cost.peak for cost in some)


def test_a_table_that_was_changed_levels_it():
    spend = OwnSpend(DOMAIN)
    spend.add(Cost(0, ((Box((0, 0, 0), (0, 0, 0)), 5),)))
    spend.level()
    elsewhere = Cost(0, ((Box((6, 4, 3), (6, 4, 3)), 2),))
    assert spend.peak_with(elsewhere) == 7
    spend.add(elsewhere)
    assert (spend.peak, spend.most(Region((Box((0, 0, 0), (0, 0, 0)),)))) == (7, 5)


def test_a_domain_of_very_many_attributes_is_as_cheap_as_those_that_were_asked_about():
    wide = Domain("t", tuple(Integer(name=f"a{i}", source="a test", low=0, high=9) for i in range(90)))
    spend = OwnSpend(wide)
    low, high = [0] * 90, [9] * 90
    for axis in (3, 50, 88):
        low[axis] = high[axis] = 4
        spend.add(Cost(0, ((Box(tuple(low), tuple(high)), 1),)))
        low[axis], high[axis] = 0, 9
    assert spend.peak == 3


@given(
    st.lists(costs, max_size=3),
    st.lists(st.tuples(boxes(), st.sampled_from([1, MAX_UNITS // 2, 2**62, 2**63, 10**40])), min_size=1, max_size=5),
    st.sampled_from([0, 1, MAX_UNITS, 10**40]),
)
def test_what_no_limit_lets_through_is_never_counted_for_less(some, pieces, everywhere):
    spend = OwnSpend(DOMAIN)
    for cost in some:
        spend.add(cost)
    more, before = Cost(everywhere, tuple(pieces)), dense(some)
    points = [point for point in np.ndindex(SHAPE) if more.at(point)]
    assert spend.peak_with(more) >= max(int(before[point]) + more.at(point) for point in points)
