"""Released answers: what a measurement becomes, and how it is found again."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.answer.compound import Metric
from discreet.answer.index import MOST_CORNERS, Answers, corners
from discreet.answer.nearest import NearestBoxes
from discreet.answer.past import CountBlock, PastAnswer, past_answers
from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.query.query import Count

SHAPE = (6, 3, 4)
DOMAIN = Domain(
    "people",
    tuple(Integer(name=name, source="test", low=0, high=size - 1) for name, size in zip("abc", SHAPE, strict=True)),
)
TABLE = np.random.default_rng(7).integers(0, 50, SHAPE)


@st.composite
def boxes(draw, shape=SHAPE):
    ends = [sorted(draw(st.tuples(*[st.integers(0, size - 1)] * 2))) for size in shape]
    return Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))


def released(boxes_and_variances):
    past = Answers(SHAPE)
    for number, (box, variance) in enumerate(boxes_and_variances):
        past.add(PastAnswer(Region((box,)), number, variance, (number, 0)))
    return past


many = st.lists(st.tuples(boxes(), st.sampled_from([1.0, 2.0, 3.0])), max_size=40)


def groups(where, by):
    """The exact answer to a Count, as the table room gives it: an array over all codes of `by`, in that order."""
    inside = np.zeros(SHAPE, dtype=np.int64)
    for box in where.boxes:
        inside[box.slices] = TABLE[box.slices]
    axes = [DOMAIN.axis(name) for name in by]
    left = tuple(axis for axis in range(3) if axis not in axes)
    return np.transpose(inside.sum(axis=left), np.argsort(np.argsort(axes)))


BOX = Box((1, 0, 1), (4, 2, 2))


@pytest.mark.parametrize(
    ("where", "by", "kinds"),
    [
        (Region((BOX,)), (), [PastAnswer]),
        (Region((BOX,)), ("a",), [CountBlock]),
        (Region((BOX,)), ("c", "a"), [CountBlock]),
        (DOMAIN.everything, ("b", "c", "a"), [CountBlock]),
        (Region.of([Box((0, 0, 0), (1, 2, 3)), Box((4, 0, 0), (5, 2, 3))]), ("a",), [CountBlock, CountBlock]),
        (Region.of([Box((0, 0, 0), (5, 0, 3)), Box((0, 2, 1), (2, 2, 1))]), ("a",), [PastAnswer] * 6),
        (Region.of([Box((0, 0, 0), (5, 0, 3)), Box((0, 2, 1), (2, 2, 1))]), (), [PastAnswer]),
    ],
)
def test_a_measurement_becomes_blocks_or_answers_that_hold_the_counts_of_their_regions(where, by, kinds):
    found = list(past_answers(Count(where, by), groups(where, by), 2.5, (3, 1), DOMAIN))
    assert [type(one) for one in found] == kinds
    for one in found:
        if isinstance(one, CountBlock):
            one = one.total(one.where)
        assert one.value == sum(TABLE[box.slices].sum() for box in one.where.boxes)
        assert one.source == (3, 1)
    covered = Region.of(
        box for one in found for box in ((one.where,) if isinstance(one, CountBlock) else one.where.boxes)
    )
    assert covered == where


def test_groups_that_are_no_boxes_and_too_many_are_left_out(monkeypatch):
    monkeypatch.setattr("discreet.answer.past.PIECEMEAL_CELLS", 5)
    where = Region.of([Box((0, 0, 0), (5, 0, 3)), Box((0, 2, 1), (2, 2, 1))])
    assert list(past_answers(Count(where, ("a",)), groups(where, ("a",)), 2.5, (3, 1), DOMAIN)) == []


@given(boxes(), st.sets(st.integers(0, 2)), boxes())
def test_a_block_adds_up_the_groups_of_any_aligned_box(where, by, box):
    by = tuple(sorted(by))
    values = TABLE[where.slices].sum(axis=tuple(axis for axis in range(3) if axis not in by))
    block = CountBlock(where, by, values, 2.0, (0, 0))
    assert block.aligned(box) == (
        where.covers(box) and all(axis in by or box.slices[axis] == where.slices[axis] for axis in range(3))
    )
    if block.aligned(box):
        total = block.total(box)
        assert total.value == TABLE[box.slices].sum()
        assert total.variance == 2.0 * np.prod([box.high[axis] - box.low[axis] + 1 for axis in by])


def test_a_block_with_values_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="do not fit"):
        CountBlock(BOX, (0,), np.zeros(3, dtype=np.int64), 1.0, (0, 0))


@given(many, boxes(), st.integers(1, 5), st.sampled_from([(1.0, 1.0, 1.0), (5.0, 0.3, 1.0)]))
def test_the_nearest_answers_are_those_of_a_full_scan(listed, asked, count, weights):
    past, metric = released(listed), Metric(SHAPE, weights)
    past.nearest(asked, metric.step)
    past.add(PastAnswer(Region((BOX,)), 0, 9.0, (99, 0)))
    best = {}
    for box, variance in [*listed, (BOX, 9.0)]:
        best[box] = min(variance, best.get(box, variance))
    scanned = sorted((round(metric.error(asked, box), 9), variance) for box, variance in best.items())
    found = [(round(metric.error(asked, one.box), 9), one.variance) for one in past.nearest(asked, metric.step, count)]
    assert found == scanned[: 1 if asked in best else count]


@given(st.lists(boxes(), max_size=60), boxes(), st.integers(1, 5))
@settings(max_examples=80)
def test_trees_of_doubling_sizes_find_what_a_full_scan_finds(listed, asked, count):
    metric = Metric.even(SHAPE)
    nearest = NearestBoxes(metric.step, leaf=4)
    for box in listed:
        nearest.add(box)
    errors = [metric.error(asked, box) for box in listed]
    reach = sorted(errors)[:count][-1] + 1e-9 if errors else 0
    assert sorted(nearest.closest(asked, count)) == [row for row, error in enumerate(errors) if error <= reach]


@given(many, boxes())
def test_the_answers_beside_a_box_hold_every_one_that_could_patch_it(listed, box):
    found = {one.box for one in released(listed).beside(box)}
    for other, _ in listed:
        odd = [axis for axis in range(3) if other.slices[axis] != box.slices[axis]]
        if len(odd) != 1:
            assert other not in found or other == box
            continue
        [axis] = odd
        outside = other.low[axis] == box.high[axis] + 1 or other.high[axis] == box.low[axis] - 1
        inside = box.covers(other) and (other.low[axis] == box.low[axis] or other.high[axis] == box.high[axis])
        if outside or inside:
            assert other in found


def test_answers_to_the_same_region_are_kept_together_least_variance_first():
    past = released([(BOX, 3.0), (BOX, 1.0), (Box((0, 0, 0), (0, 0, 0)), 2.0), (BOX, 2.0)])
    assert [one.variance for one in past.same(Region((BOX,)))] == [1.0, 2.0, 3.0]
    assert past.same(DOMAIN.everything) == ()


@given(
    st.lists(st.tuples(boxes(), st.sets(st.integers(0, 2), min_size=1), st.sampled_from([1.0, 2.0])), max_size=40),
    boxes(),
)
def test_the_nearest_sum_of_groups_is_that_of_a_full_scan(listed, asked):
    past, metric, scanned = Answers(SHAPE), Metric.even(SHAPE), []
    every = [
        Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))
        for ends in itertools.product(*(itertools.combinations_with_replacement(range(size), 2) for size in SHAPE))
    ]
    for number, (where, by, variance) in enumerate(listed[:20]):
        by = tuple(sorted(by))
        values = TABLE[where.slices].sum(axis=tuple(axis for axis in range(3) if axis not in by))
        block = CountBlock(where, by, values, variance, (number, 0))
        past.add(block)
        scanned += [
            (round(metric.error(asked, box), 9), block.total(box).variance) for box in every if block.aligned(box)
        ]
    found = past.nearest(asked, metric.step)
    assert [(round(metric.error(asked, one.box), 9), one.variance) for one in found] == sorted(scanned)[:1]
    assert all(one.value == TABLE[one.box.slices].sum() for one in found)


def undone(turns):
    field = np.zeros(SHAPE, dtype=int)
    for corner, amount in turns.items():
        field.flat[corner] = amount
    for axis in range(field.ndim):
        field = field.cumsum(axis=axis)
    return field


@given(st.lists(boxes(), max_size=3))
def test_running_sums_of_a_regions_corners_are_its_indicator(listed):
    region = Region.of(listed)
    turns = corners(region, SHAPE)
    if turns is None:
        assert len(region.boxes) * 8 > MOST_CORNERS
        return
    indicator = np.zeros(SHAPE, dtype=int)
    for box in region.boxes:
        indicator[box.slices] = 1
    assert (undone(turns) == indicator).all()


def test_only_the_axes_that_restrict_a_box_make_corners():
    wide = (9,) * 30
    assert len(corners(Region((Box((0,) * 30, (8,) * 30),)), wide)) == 1
    assert len(corners(Region((Box((2,) * 3 + (0,) * 27, (4,) * 3 + (8,) * 27),)), wide)) == 8
    assert corners(Region((Box((2,) * 30, (4,) * 30),)), wide) is None


@given(st.lists(st.tuples(st.lists(boxes(), min_size=1, max_size=2), st.sampled_from([1.0, 2.0, 4.0])), max_size=12))
def test_a_corner_knows_the_precision_of_its_regions(listed):
    past = Answers(SHAPE)
    for number, (pieces, variance) in enumerate(listed):
        past.add(PastAnswer(Region.of(pieces), 0, variance, (number, 0)))
    at = {}
    for part in past.regions:
        for corner, turn in part.corners.items():
            at[corner] = at.get(corner, 0) + turn**2 / part.variance
    assert {corner: past.precision(corner) for corner in at} == pytest.approx(at)
    assert past.precision(-1) == 0


def test_readers_see_whole_answers_while_others_are_added():
    shape, past = (1000,), Answers((1000,))
    step = Metric.even(shape).step
    seen: list[Exception | int] = []

    def read():
        try:
            while not seen:
                for one in past.nearest(Box((500,), (500,)), step, 3):
                    assert one.value in (0, one.box.low[0])
                    assert all(past.same(other.where) for other in past.beside(one.box))
                    past.groups.aligned(one.box)
                    assert all(past.same(other.where) for other in past.linked(range(1000), 8))
        except Exception as failure:
            seen.append(failure)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1000):
        past.add(PastAnswer(Region((Box((number,), (number,)),)), number, 1.0, (number, 0)))
        past.add(CountBlock(Box((0,), (number,)), (0,), np.zeros(number + 1, dtype=np.int64), 1.0, (number, 1)))
    seen.append(0)
    reader.join()
    assert seen == [0]
