"""Released answers in their indexes, looked at in between and at the end, against what a look at each of them finds."""

from collections import Counter
from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.answer import links
from discreet.answer.index import Answers, corners
from discreet.answer.past import PastAnswer
from discreet.domain.region import Box, Region

SHAPE = (5, 4, 3)
VARIANCES = (1.0, 1.0, 2.0, 1 / 3, 0.7)


@st.composite
def boxes(draw):
    ends = [sorted(draw(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)))) for size in SHAPE]
    return Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))


@st.composite
def histories(draw):
    """Answers to a few regions, some of them several times, each followed by a look or not."""
    regions = [Region((box,)) for box in draw(st.lists(boxes(), min_size=1, max_size=12))]
    drawn = draw(st.lists(st.tuples(st.sampled_from(regions), st.sampled_from(VARIANCES), st.booleans()), max_size=30))
    return [
        (PastAnswer(where, number, variance, (number, 0)), is_looked_at)
        for number, (where, variance, is_looked_at) in enumerate(drawn)
    ]


@pytest.fixture(autouse=True)
def few_wait(monkeypatch):
    """Regions are entered into columns in the midst of a history too, and not only when they are looked for."""
    monkeypatch.setattr(links, "AT_ONCE", 3)


def indexed(history, box):
    past = Answers(SHAPE)
    for answer, is_looked_at in history:
        past.add(answer)
        if is_looked_at:
            looked_at(past, box)
    return past


def looked_at(past, box):
    """All that is said of a box."""
    own = corners(Region((box,)), SHAPE)
    joint = past.joint
    return (
        [(one.where, one.variance, one.answers, dict(one.corners)) for one in past.linked(own, 20)],
        [past.precision(corner) for corner in own],
        past.nearest(box, (1.0, 1.0, 1.0), 3),
        list(past.beside(box)),
        [(part.terms, part.value, part.variance, part.draws) for part in joint.parts],
    )


def by_region(history):
    """The answers to each region, least variance first and in their order where they are as sharp."""
    found = {}
    for answer, _ in history:
        found.setdefault(answer.where, []).append(answer)
    return {where: sorted(answers, key=lambda answer: answer.variance) for where, answers in found.items()}


@given(histories(), boxes())
def test_what_is_looked_at_in_between_changes_nothing(history, box):
    unseen = [(answer, False) for answer, _ in history]
    assert looked_at(indexed(history, box), box) == looked_at(indexed(unseen, box), box)


@given(histories(), boxes())
def test_answers_to_one_region_stand_together_and_act_as_their_average(history, box):
    past, told = indexed(history, box), by_region(history)
    assert [(one.where, list(one.answers)) for one in past.regions] == list(told.items())
    for one in past.regions:
        assert one.variance == pytest.approx(1 / sum(1 / answer.variance for answer in told[one.where]), rel=1e-12)


@given(histories(), boxes())
def test_estimates_are_made_of_the_sharpest_regions_first(history, box):
    joint, told = indexed(history, box).joint, by_region(history)
    told.pop(Region((Box((0, 0, 0), tuple(size - 1 for size in SHAPE)),)), None)  # that is a marginal
    variances = [1 / sum(1 / answer.variance for answer in answers) for answers in told.values()]
    assert [part.variance for part in joint.parts] == pytest.approx(sorted(variances), rel=1e-12)
    assert {part.terms[0][1]: len(part.draws) for part in joint.parts} == {
        where.boxes[0]: len(answers) for where, answers in told.items()
    }


@given(histories(), boxes())
def test_the_precision_at_a_corner_is_that_of_all_answers_with_it(history, box):
    past = indexed(history, box)
    for corner in range(prod(SHAPE)):
        told = sum(corners(answer.where, SHAPE).get(corner, 0) ** 2 / answer.variance for answer, _ in history)
        assert past.precision(corner) == pytest.approx(told, rel=1e-12)


@given(histories(), boxes())
def test_beside_a_box_are_those_that_share_a_face_with_it(history, box):
    past = indexed(history, box)
    wanted = Counter(
        where.boxes[0]
        for where, axis in product(by_region(history), range(len(SHAPE)))
        for _ in range(faces(where.boxes[0], box, axis))
    )
    assert Counter(answer.box for answer in past.beside(box)) == wanted


def faces(one, other, axis):
    """How many ways a box lies at the faces of another one across an axis, with the same intervals on all others."""
    (low, high), (start, end) = (one.low[axis], one.high[axis]), (other.low[axis], other.high[axis])
    elsewhere = [each for each in range(len(SHAPE)) if each != axis]
    if high - low + 1 == SHAPE[axis] or any(
        (one.low[each], one.high[each]) != (other.low[each], other.high[each]) for each in elsewhere
    ):
        return 0
    return (low == end + 1) + (high == start - 1) + (low == start) + (high == end)
