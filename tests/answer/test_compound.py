"""Compounds and patches, against the paper's examples and against sets of points."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.answer.compound import Compound, Metric, joined, patch_check, without
from discreet.answer.past import PastAnswer
from discreet.domain.region import Box, Region

SHAPE = (5, 4)


def answer(low, high, value=0, variance=1.0, source=0):
    return PastAnswer(Region((Box(low, high),)), value, variance, (source, 0))


def popularity(answers, shape):
    counts = np.zeros(shape, dtype=int)
    for one in answers:
        counts[one.box.slices] += 1
    return counts


@st.composite
def boxes(draw, shape=SHAPE):
    ends = [sorted(draw(st.tuples(*[st.integers(0, size - 1)] * 2))) for size in shape]
    return Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))


def test_a_compound_of_one_region_less_three_answers_for_what_is_left():
    # relaxation, Example 5: P+ = {q_D}, P− = {q_A, q_B, q_C}; the grey area is what A, B and C leave of D.
    a, b = answer((0, 0), (3, 9), 11, 2.0, 1), answer((4, 0), (9, 2), 7, 3.0, 2)
    c, d = answer((4, 7), (9, 9), 5, 4.0, 3), answer((0, 0), (9, 9), 100, 5.0, 4)
    grey = Box((4, 3), (9, 6))
    compound = Compound((d,), (a, b, c), grey)
    expected = np.zeros((12, 12), dtype=int)
    expected[grey.slices] = 1
    assert (popularity(compound.plus, (12, 12)) - popularity(compound.minus, (12, 12)) == expected).all()
    assert compound.value == 100 - (11 + 7 + 5)
    assert compound.variance == 2.0 + 3.0 + 4.0 + 5.0  # Lemma 4: the noises are independent
    assert compound.size == 4


ASKED, START = Box((2, 2), (8, 6)), Box((2, 2), (5, 6))


@pytest.mark.parametrize(
    ("difference", "patch", "expected"),
    [
        # relaxation, Example 6, Figure 7a: r_B does not fit onto r_A, r_C does.
        (START, Box((6, 3), (8, 6)), None),
        (START, Box((6, 2), (9, 6)), ("plus", Box((2, 2), (9, 6)))),
        # Figure 7b: r_B lies in the middle of r_A, r_C along its side.
        (Box((0, 2), (8, 6)), Box((3, 3), (4, 4)), None),
        (Box((0, 2), (8, 6)), Box((0, 2), (1, 6)), ("minus", ASKED)),
        # A patch has to bring it nearer.
        (START, Box((0, 2), (1, 6)), None),
        (ASKED, Box((2, 2), (3, 6)), None),
        # Neither a box that leaves nothing, nor one that only overlaps, nor one further off.
        (START, START, None),
        (START, Box((4, 2), (8, 6)), None),
        (START, Box((7, 2), (8, 6)), None),
    ],
)
def test_a_patch_joins_or_leaves_along_a_whole_face_and_brings_the_region_nearer(difference, patch, expected):
    assert patch_check(difference, patch, ASKED, Metric.even((12, 12))) == expected


@pytest.mark.parametrize(
    ("shape", "weights", "expected"),
    [
        ((11, 21), (1.0, 1.0), ((1 + 2) / 10 + (3 + 1) / 20) / 2),  # relaxation, Equation 13
        ((11, 21), (4.0, 0.5), (4 * (1 + 2) / 10 + 0.5 * (3 + 1) / 20) / 2),
        ((11, 21, 1), (1.0, 1.0, 9.0), ((1 + 2) / 10 + (3 + 1) / 20) / 3),  # an axis with one code adds nothing
    ],
)
def test_the_relaxation_error_is_equation_13(shape, weights, expected):
    one = Box((2, 5, 0)[: len(shape)], (6, 9, 0)[: len(shape)])
    two = Box((3, 2, 0)[: len(shape)], (8, 10, 0)[: len(shape)])
    assert math.isclose(Metric(shape, weights).error(one, two), expected)
    assert Metric(shape, weights).error(one, one) == 0


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 0.0), (1.0, -1.0), (1.0, math.inf), (1.0, math.nan)])
def test_weights_are_positive_numbers_one_for_each_axis(weights):
    with pytest.raises(ValueError, match="positive"):
        Metric((3, 4), weights)


def as_box(points):
    """The box that a set of points is, if it is one."""
    if not points:
        return None
    low = tuple(map(min, zip(*points, strict=True)))
    high = tuple(map(max, zip(*points, strict=True)))
    return Box(low, high) if Box(low, high).volume == len(points) else None


def points_of(box):
    return set(itertools.product(*(range(low, high + 1) for low, high in zip(box.low, box.high, strict=True))))


@given(boxes(), boxes())
def test_unions_and_differences_are_those_of_the_sets_of_points(one, two):
    first, second = points_of(one), points_of(two)
    assert joined(one, two) == (None if first & second else as_box(first | second))
    assert without(one, two) == (as_box(first - second) if second < first else None)
