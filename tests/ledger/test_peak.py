"""The most that a charge spends at any one point."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.region import Box
from discreet.ledger import spend
from discreet.ledger.spend import Cost

SIZES = (4, 3, 5)


@st.composite
def pieces(draw):
    low = tuple(draw(st.integers(0, size - 1)) for size in SIZES)
    high = tuple(draw(st.integers(at, size - 1)) for at, size in zip(low, SIZES, strict=True))
    return Box(low, high), draw(st.sampled_from([0, 1, 7, 2**61]))


@pytest.mark.parametrize("points", [0, 6, 1 << 21], ids=["code by code", "both ways", "at once"])
@given(many=st.lists(pieces(), max_size=8), everywhere=st.integers(0, 3))
def test_it_is_the_largest_sum_over_all_points(points, many, everywhere):
    cost = Cost(everywhere, tuple(many))
    with pytest.MonkeyPatch.context() as here:
        here.setattr(spend, "MOST_POINTS", points)
        assert cost.peak == max(cost.at(point) for point in product(*map(range, SIZES)))
