"""Region algebra against sets of points, enumerated."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.region import Box, Region
from tests.steps import calls_of

SIDE = 5
Point = tuple[int, ...]


def points(region: Region) -> set[Point]:
    return {point for box in region.boxes for point in points_of_box(box)}


def points_of_box(box: Box) -> set[Point]:
    return set(itertools.product(*(range(low, high + 1) for low, high in zip(box.low, box.high, strict=True))))


def box_strategy(axes: int) -> st.SearchStrategy[Box]:
    interval = st.tuples(st.integers(0, SIDE - 1), st.integers(0, SIDE - 1)).map(sorted)
    return st.lists(interval, min_size=axes, max_size=axes).map(
        lambda intervals: Box(tuple(low for low, _ in intervals), tuple(high for _, high in intervals))
    )


@st.composite
def box_lists(draw: st.DrawFn, lists: int) -> tuple[list[Box], ...]:
    axes = draw(st.integers(1, 4))
    return tuple(draw(st.lists(box_strategy(axes), max_size=6)) for _ in range(lists))


@given(box_lists(1))
def test_a_union_of_boxes_has_exactly_their_points(lists: tuple[list[Box]]) -> None:
    assert points(Region.of(lists[0])) == set().union(*map(points_of_box, lists[0]))


@given(box_lists(2))
def test_boxes_of_a_result_are_disjoint_and_its_volume_counts_points(lists: tuple[list[Box], list[Box]]) -> None:
    one, two = map(Region.of, lists)
    for region in (one, one.union(two), one.intersect(two), one.subtract(two)):
        assert region.volume == len(points(region)) == sum(len(points_of_box(box)) for box in region.boxes)
        assert bool(region) == (region.volume > 0)


@given(box_lists(2))
def test_set_operations_agree_with_sets_of_points(lists: tuple[list[Box], list[Box]]) -> None:
    one, two = map(Region.of, lists)
    assert points(one.union(two)) == points(one) | points(two)
    assert points(one.intersect(two)) == points(one) & points(two)
    assert points(one.subtract(two)) == points(one) - points(two)
    assert one.covers(two) == (points(one) >= points(two))


@given(box_lists(1), st.randoms(use_true_random=False))
def test_equal_sets_are_equal_regions_however_they_are_put_together(lists, chance) -> None:
    region = Region.of(lists[0])
    single_points = [Box(point, point) for point in points(region)]
    chance.shuffle(single_points)
    assert Region.of(single_points) == region
    assert hash(Region.of(single_points)) == hash(region)
    assert Region.of([*lists[0], *reversed(lists[0])]) == region
    one_by_one = Region(())
    for box in lists[0]:
        one_by_one = one_by_one.union(Region((box,)))
    assert one_by_one == region


@given(box_lists(2))
def test_results_of_operations_are_canonical(lists: tuple[list[Box], list[Box]]) -> None:
    one, two = map(Region.of, lists)
    for region in (one.union(two), one.intersect(two), one.subtract(two)):
        assert Region.of(region.boxes) == region


@given(box_lists(3))
def test_algebra_of_sets_holds(lists: tuple[list[Box], list[Box], list[Box]]) -> None:
    a, b, c = map(Region.of, lists)
    assert a.subtract(b).union(a.intersect(b)) == a
    assert a.intersect(b.union(c)) == a.intersect(b).union(a.intersect(c))
    assert a.subtract(b.union(c)) == a.subtract(b).subtract(c)
    assert a.union(b).covers(a)
    assert a.covers(a.intersect(b))


@given(box_lists(1), st.integers(0, 3))
def test_sections_are_what_a_region_has_at_each_code_of_an_axis(lists: tuple[list[Box]], place: int) -> None:
    region = Region.of(lists[0])
    axes = len(region.boxes[0].low) if region else 1
    axis, whole = place % axes, Box((0,) * axes, (SIDE - 1,) * axes)
    assert list(region.sections(axis, SIDE)) == [
        region.intersect(Region((whole.at(axis, code),))) for code in range(SIDE)
    ]


@given(box_lists(1))
def test_membership_is_that_of_the_points(lists: tuple[list[Box]]) -> None:
    region = Region.of(lists[0])
    axes = len(lists[0][0].low) if lists[0] else 1
    inside = points(region)
    for point in itertools.product(range(SIDE), repeat=axes):
        assert (point in region) == (point in inside)


@given(st.integers(1, 4).flatmap(lambda axes: st.tuples(box_strategy(axes), box_strategy(axes))))
def test_box_operations_agree_with_sets_of_points(boxes: tuple[Box, Box]) -> None:
    one, two = boxes
    common = one.intersect(two)
    assert (points_of_box(common) if common else set()) == points_of_box(one) & points_of_box(two)
    pieces = one.subtract(two)
    assert len(pieces) <= 2 * len(one.low)
    assert sum(piece.volume for piece in pieces) == len(points_of_box(one) - points_of_box(two))
    assert set().union(*map(points_of_box, pieces)) == points_of_box(one) - points_of_box(two)
    assert one.covers(two) == (points_of_box(one) >= points_of_box(two))
    assert one.volume == len(points_of_box(one))


@given(st.integers(1, 4).flatmap(box_strategy))
def test_slices_of_a_box_index_its_points_in_an_array(box: Box) -> None:
    array = np.zeros((SIDE,) * len(box.low), dtype=bool)
    array[box.slices] = True
    assert set(map(tuple, np.argwhere(array).tolist())) == points_of_box(box)


def test_touching_intervals_become_one_box() -> None:
    assert Region.of([Box((0,), (2,)), Box((3,), (4,))]).boxes == (Box((0,), (4,)),)


def test_the_first_axis_is_cut_first() -> None:
    cross = Region.of([Box((1, 0), (1, 2)), Box((0, 1), (2, 1))])
    assert cross.boxes == (Box((0, 1), (0, 1)), Box((1, 0), (1, 2)), Box((2, 1), (2, 1)))


def test_the_empty_region_is_false_and_covered_by_all() -> None:
    empty, one = Region.of([]), Region.of([Box((0,), (1,))])
    assert not empty
    assert empty.volume == 0
    assert one.covers(empty)
    assert empty.covers(empty)
    assert not empty.covers(one)
    assert one.subtract(one) == empty
    assert empty.union(one) == one


@pytest.mark.parametrize(("low", "high"), [((1,), (0,)), ((0, 0), (1,)), ((0, 3), (5, 2))])
def test_an_empty_or_ragged_box_is_refused(low: Point, high: Point) -> None:
    with pytest.raises(ValueError, match="not a box"):
        Box(low, high)


def test_boxes_with_different_axes_do_not_make_a_region() -> None:
    with pytest.raises(ValueError, match="same axes"):
        Region.of([Box((0,), (1,)), Box((0, 0), (1, 1))])


def test_volumes_beyond_64_bits_are_exact() -> None:
    huge = Box((0,) * 50, (99,) * 50)
    assert huge.volume == 100**50
    corner = Region.of([Box((0,) * 50, (0,) * 50)])
    assert Region.of([huge]).subtract(corner).volume == 100**50 - 1


def test_many_boxes_in_three_dimensions_are_combined_with_less_work_than_there_are_pairs_of_them() -> None:
    generator = np.random.default_rng(20261115)
    lows = generator.integers(0, 90, size=(400, 3))
    highs = lows + generator.integers(0, 10, size=(400, 3))
    boxes = [Box(tuple(low), tuple(high)) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]
    filled = np.zeros((100, 100, 100), dtype=bool)
    for box in boxes:
        filled[box.slices] = True
    one, other = Region.of(boxes[:200]), Region.of(boxes[200:])
    assert calls_of(lambda: one.intersect(other)) < len(one.boxes) * len(other.boxes) / 10
    assert calls_of(lambda: Region.of(boxes)) < 3 * calls_of(lambda: Region.of(boxes[:200]))  # four times if by pairs
    region = Region.of(boxes)
    assert region.volume == filled.sum()
    assert region.covers(one.intersect(other))
