"""The grid against an account that keeps one number for each point in a dictionary."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.ledger.grid import MAX_POINTS, GridSpend
from discreet.ledger.spend import MAX_UNITS, Cost

LIMIT = 20

pytestmark = pytest.mark.usefixtures("either_way")


@st.composite
def boxes(draw: st.DrawFn, sizes: tuple[int, ...]) -> Box:
    ends = [sorted(draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))) for n in sizes]
    return Box(tuple(a for a, _ in ends), tuple(b for _, b in ends))


@st.composite
def stories(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Cost]]:
    """The sizes of a domain, and charges on it."""
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    piece = st.tuples(boxes(sizes), st.integers(0, 9))
    cost = st.builds(Cost, st.integers(0, 3), st.lists(piece, max_size=4).map(tuple))
    return sizes, draw(st.lists(cost, max_size=8))


@given(stories())
def test_the_grid_decides_as_the_account_by_points_does(
    domain_of: Callable[..., Domain], story: tuple[tuple[int, ...], list[Cost]]
) -> None:
    sizes, costs = story
    grid = GridSpend(domain_of(*sizes), LIMIT)
    spent = dict.fromkeys(product(*map(range, sizes)), 0)
    for cost in costs:
        refusal = grid.refusal(cost)
        assert (refusal is None) == all(spent[p] + cost.at(p) <= LIMIT for p in spent)
        if refusal is None:
            grid.add(cost)
            spent = {p: spent[p] + cost.at(p) for p in spent}
        else:
            inside = [p for p in spent if p in refusal.where]
            assert refusal.left == min(LIMIT - spent[p] for p in inside)
            assert all(cost.at(p) >= refusal.needed > LIMIT - spent[p] for p in inside)
        assert grid.spent_max == max(spent.values())
        everything = grid.left_by(range(len(sizes)))
        assert all(everything[p] == LIMIT - spent[p] for p in spent)


@given(stories(), st.data())
def test_what_is_left_in_a_region_is_the_least_of_its_points(
    domain_of: Callable[..., Domain], story: tuple[tuple[int, ...], list[Cost]], data: st.DataObject
) -> None:
    sizes, costs = story
    grid = GridSpend(domain_of(*sizes), 200)
    for cost in costs:
        grid.add(cost)
    region = Region.of(data.draw(st.lists(boxes(sizes), max_size=3)))
    points = [p for p in product(*map(range, sizes)) if p in region]
    left = [max(200 - sum(cost.at(p) for cost in costs), 0) for p in points]
    assert grid.left(region) == min(left, default=200)


@given(stories(), st.integers(1, 3))
def test_a_replay_in_bulk_equals_adding_one_by_one(
    domain_of: Callable[..., Domain], story: tuple[tuple[int, ...], list[Cost]], before: int
) -> None:
    sizes, costs = story
    everywhere = Box((0,) * len(sizes), tuple(size - 1 for size in sizes))
    many = [*costs, *[Cost(0, ((everywhere, 1),))] * (len(sizes) + 3)]  # more to pass over box by box than in bulk
    one_by_one, bulk = GridSpend(domain_of(*sizes), 1000), GridSpend(domain_of(*sizes), 1000)
    for cost in many:
        one_by_one.add(cost)
    bulk.replay(many[:before])
    bulk.replay(many[before:])
    axes = range(len(sizes))
    assert np.array_equal(one_by_one.left_by(axes), bulk.left_by(axes))
    assert one_by_one.spent_max == bulk.spent_max


def test_projections_keep_the_order_of_the_axes_asked_for(domain_of: Callable[..., Domain]) -> None:
    grid = GridSpend(domain_of(3, 4, 5), 10)
    grid.add(Cost(1, ((Box((1, 2, 3), (1, 2, 4)), 6),)))
    expected = np.full((5, 3), 9)
    expected[3:5, 1] = 3
    assert np.array_equal(grid.left_by((2, 0)), expected)
    assert np.array_equal(grid.left_by((0, 2)), expected.T)
    assert grid.left_by((1,)).tolist() == [9, 9, 3, 9]


def test_sums_beyond_64_bits_are_counted_exactly_in_a_replay(domain_of: Callable[..., Domain]) -> None:
    grid = GridSpend(domain_of(200), MAX_UNITS)
    grid.replay(Cost(0, ((Box((i,), (i,)), MAX_UNITS - i),)) for i in range(100))
    assert grid.left_by((0,))[:100].tolist() == list(range(100))
    assert grid.refusal(Cost(0, ((Box((5,), (5,)), 5),))) is None
    assert grid.refusal(Cost(0, ((Box((5,), (5,)), 6),))) is not None


@pytest.mark.parametrize("units", [LIMIT + 1, 2**63, 10**40])
def test_a_charge_above_the_whole_limit_is_refused_whatever_its_size(
    domain_of: Callable[..., Domain], units: int
) -> None:
    grid = GridSpend(domain_of(3, 3), LIMIT)
    grid.add(Cost(0, ((Box((0, 0), (1, 1)), 5),)))
    for cost in (Cost(units), Cost(0, ((Box((1, 1), (2, 2)), units),))):
        refusal = grid.refusal(cost)
        assert refusal is not None
        assert (refusal.left, refusal.needed) == (15, units)


def test_a_lowered_limit_leaves_nothing_where_more_was_spent(domain_of: Callable[..., Domain]) -> None:
    grid = GridSpend(domain_of(2), LIMIT)
    grid.add(Cost(0, ((Box((0,), (0,)), 15),)))
    grid.limit = 10
    assert grid.left_by((0,)).tolist() == [0, 10]
    assert grid.refusal(Cost(0, ((Box((1,), (1,)), 10),))) is None
    assert grid.refusal(Cost(1)) is not None


@pytest.mark.parametrize("box", [Box((0, 0), (3, 1)), Box((-1, 0), (0, 0)), Box((0,), (1,))])
def test_a_box_that_reaches_out_of_the_domain_is_refused_before_it_is_written(
    domain_of: Callable[..., Domain], box: Box
) -> None:
    grid = GridSpend(domain_of(3, 3), LIMIT)
    for use in (grid.refusal, grid.add):
        with pytest.raises(ValueError, match=r"domain|reshape"):
            use(Cost(0, ((box, 1),)))


def test_a_domain_with_too_many_points_has_no_grid(domain_of: Callable[..., Domain]) -> None:
    with pytest.raises(ValueError, match="dense"):
        GridSpend(domain_of(MAX_POINTS, 2), LIMIT)


def test_a_replay_on_many_small_axes_equals_adding_one_by_one(domain_of: Callable[..., Domain]) -> None:
    """On twelve axes of two codes a small box has more corners than points, a large one fewer."""
    random = np.random.default_rng(5)
    costs = []
    for _ in range(1000):
        ends = np.sort(random.integers(0, 2, (2, 12)), axis=0)
        costs.append(Cost(0, ((Box(tuple(ends[0].tolist()), tuple(ends[1].tolist())), int(random.integers(1, 9))),)))
    one_by_one, bulk = GridSpend(domain_of(*[2] * 12), 100_000), GridSpend(domain_of(*[2] * 12), 100_000)
    for cost in costs:
        one_by_one.add(cost)
    bulk.replay(costs)
    assert np.array_equal(one_by_one.left_by(range(12)), bulk.left_by(range(12)))
