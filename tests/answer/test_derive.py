"""Answers derived from answers: exact on a table without noise, and with the variance that another formula finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.answer import derive as derive_module
from discreet.answer.compound import Metric
from discreet.answer.derive import derive
from discreet.answer.index import Answers
from discreet.answer.past import CountBlock, PastAnswer
from discreet.answer.relax import relax
from discreet.domain.region import Box, Region

SHAPE = (5, 3, 4)
TABLE = np.random.default_rng(13).integers(0, 20, SHAPE)


def exact(region):
    return int(sum(TABLE[box.slices].sum() for box in region.boxes))


def released(*listed):
    """(region, variance) is a count; (box, by, variance) is a GROUP BY. All without noise."""
    past = Answers(SHAPE)
    for number, one in enumerate(listed):
        if len(one) == 2:
            past.add(PastAnswer(one[0], exact(one[0]), one[1], (number, 0)))
        else:
            where, by, variance = one
            left = tuple(axis for axis in range(3) if axis not in by)
            past.add(CountBlock(where, by, TABLE[where.slices].sum(axis=left), variance, (number, 0)))
    return past


def box(*intervals):
    return Box(tuple(low for low, _ in intervals), tuple(high for _, high in intervals))


def one(*intervals):
    return Region((box(*intervals),))


B, C = (0, 2), (0, 3)
LINE = [one((0, 1), B, C), one((2, 3), B, C), one((0, 3), B, C)]
L_SHAPE = Region.of([box((0, 2), (0, 0), C), box((0, 0), (1, 2), C)])


@pytest.mark.parametrize(
    ("listed", "target", "variance"),
    [
        pytest.param([(LINE[0], 1.0), (LINE[0], 3.0)], LINE[0], 0.75, id="the same, twice"),
        pytest.param([(LINE[0], 1.0), (LINE[1], 2.0)], LINE[2], 3.0, id="a union"),
        pytest.param([(LINE[2], 1.0), (LINE[1], 2.0)], LINE[0], 3.0, id="a difference"),
        pytest.param([(LINE[0], 1.0), (LINE[1], 1.0), (LINE[2], 1.0)], LINE[2], 2 / 3, id="two ways to the same"),
        pytest.param(
            [(one((a, a), (b, b), C), 1.0) for a in range(2) for b in range(2)], one((0, 1), (0, 1), C), 4.0, id="tiles"
        ),
        pytest.param([(L_SHAPE, 1.0), (one((0, 0), B, C), 1.0)], one((1, 2), (0, 0), C), 2.0, id="less a box"),
        pytest.param([(box((0, 4), B, C), (0, 1), 1.0)], one((1, 3), (0, 1), C), 6.0, id="groups"),
        pytest.param([(box((0, 4), B, C), (0, 1), 1.0)], L_SHAPE, 5.0, id="groups of several boxes"),
        pytest.param(
            [(box((0, 4), B, C), (0,), 1.0), (box((0, 4), B, C), (0, 1), 1.0)], LINE[0], 1.5, id="two GROUP BYs"
        ),
        pytest.param(
            [(box((0, 4), (0, 0), C), (0,), 1.0), (box((0, 4), (1, 2), C), (0,), 1.0)], LINE[0], 4.0, id="side by side"
        ),
        pytest.param([(box((0, 2), B, C), (0,), 1.0), (one((3, 4), B, C), 1.0)], one((1, 4), B, C), 3.0, id="mixed"),
        pytest.param([(LINE[0], 2.0)], Region(()), 0.0, id="nothing"),
    ],
)
def test_what_released_answers_make_up_is_derived(listed, target, variance):
    found = derive(target, released(*listed))
    assert found is not None
    assert found.value == pytest.approx(exact(target), abs=1e-6)
    assert found.variance == pytest.approx(variance)
    assert sum(share**2 * answer.variance for share, answer in found.terms) == pytest.approx(variance)


@pytest.mark.parametrize(
    ("listed", "target"),
    [
        ([], LINE[0]),
        ([(LINE[0], 1.0)], LINE[1]),
        ([(LINE[0], 1.0), (LINE[1], 1.0)], one((0, 4), B, C)),
        (
            [(one((a, a), (b, b), C), 1.0) for a in range(2) for b in range(2) if (a, b) != (1, 1)],
            one((0, 1), (0, 1), C),
        ),
        ([(box((0, 4), B, C), (0, 1), 1.0)], one((1, 3), (0, 1), (0, 1))),
    ],
)
def test_what_they_do_not_make_up_is_not(listed, target):
    assert derive(target, released(*listed)) is None


def test_a_region_with_too_many_corners_is_still_found_as_a_whole():
    checkers = Region.of(
        box((a, a), (b, b), (c, c)) for a in range(5) for b in range(3) for c in range(4) if (a + b + c) % 2
    )
    past = released((checkers, 1.0), (checkers, 1.0), (box((0, 4), B, C), (0, 1, 2), 1.0))
    found = derive(checkers, past)
    assert found.value == pytest.approx(exact(checkers))
    assert found.variance == pytest.approx(1 / (2 + 1 / 30))


def test_the_search_stops_at_the_given_number_of_regions():
    tiles = [(one((a, a), (b, b), C), 1.0) for a in range(5) for b in range(3)]
    target = one((0, 3), (0, 1), C)
    assert derive(target, released(*tiles)).variance == pytest.approx(8.0)
    assert derive(target, released(*tiles), most_regions=3) is None


@st.composite
def boxes(draw):
    return box(*(sorted(draw(st.tuples(*[st.integers(0, size - 1)] * 2))) for size in SHAPE))


counts = st.tuples(boxes().map(lambda found: Region((found,))), st.sampled_from([1.0, 2.0, 8.0]))
unions = st.tuples(st.lists(boxes(), min_size=2, max_size=3).map(Region.of), st.sampled_from([1.0, 3.0]))
marginals = st.tuples(
    boxes(), st.sets(st.integers(0, 2), min_size=1).map(lambda by: tuple(sorted(by))), st.sampled_from([1.0, 2.0])
)


def best_by_points(target, listed):
    """The least variance on the points of the domain, every released number a measurement of its own."""
    rows, noise = [], []
    for released_one in listed:
        regions = [released_one[0]] if len(released_one) == 2 else cells(released_one[0], released_one[1])
        for region in regions:
            indicator = np.zeros(SHAPE)
            for piece in region.boxes:
                indicator[piece.slices] = 1
            rows.append(indicator.ravel())
            noise.append(released_one[-1])
    wanted = np.zeros(SHAPE)
    for piece in target.boxes:
        wanted[piece.slices] = 1
    if not rows:
        return None
    scaled = np.array(rows) / np.sqrt(noise)[:, None]
    shares, *_ = np.linalg.lstsq(scaled.T, wanted.ravel(), rcond=1e-10)
    return float(shares @ shares) if np.allclose(scaled.T @ shares, wanted.ravel(), atol=1e-7) else None


def cells(where, by):
    for codes in np.ndindex(*(where.high[axis] - where.low[axis] + 1 for axis in by)):
        low, high = list(where.low), list(where.high)
        for axis, code in zip(by, codes, strict=True):
            low[axis] = high[axis] = where.low[axis] + code
        yield Region((Box(tuple(low), tuple(high)),))


@given(st.lists(counts | unions, max_size=25), boxes())
@settings(max_examples=80)
def test_with_counts_alone_the_least_variance_of_all_combinations_is_found(listed, asked):
    target = Region((asked,))
    found, best = derive(target, released(*listed)), best_by_points(target, listed)
    assert (found is None) == (best is None)
    if found is not None and best is not None:
        assert found.variance == pytest.approx(best, rel=1e-6)
        assert found.value == pytest.approx(exact(target), abs=1e-6)


@given(st.lists(counts | unions | marginals, max_size=12), st.lists(boxes(), min_size=1, max_size=2).map(Region.of))
@settings(max_examples=80)
def test_with_groups_it_is_unbiased_and_never_claims_less_than_the_least_variance(listed, target):
    found = derive(target, released(*listed))
    if found is not None:
        assert found.value == pytest.approx(exact(target), abs=1e-6)
        assert found.variance >= best_by_points(target, listed) * (1 - 1e-9)


@given(st.lists(counts | unions | marginals, max_size=20), boxes(), st.sampled_from([0.3, 1.0, 3.0]))
@settings(max_examples=80)
def test_what_is_sharp_enough_is_found_all_the_same_where_the_rest_is_given_up_early(listed, asked, enough):
    past, target = released(*listed), Region((asked,))
    best, found = derive(target, past), derive(target, past, enough=enough)
    if best is not None and best.variance <= enough:
        assert found == best
    else:
        assert found is None or found == best


def test_a_sharper_wish_than_any_corner_allows_is_given_up_before_the_search(monkeypatch):
    past = released((LINE[0], 1.0), (LINE[1], 1.0))
    monkeypatch.setattr(Answers, "linked", lambda *_, **__: pytest.fail("searched"))
    assert derive(LINE[2], past, enough=0.9) is None


def test_groups_that_stand_alike_to_what_was_released_are_solved_once():
    ends = [(0, 3), (1, 3), (0, 1), (2, 3), (1, 2), (0, 0)]
    past = released(*((box((0, 4), B, part), (0, 1), 1.0 + place) for place, part in enumerate(ends)))
    derive_module._best_shares.cache_clear()
    groups = [one((a, a), (b, b), C) for a in range(5) for b in range(3)]
    found = [derive(group, past) for group in groups]
    # Inside both axes, at the end of one of them, at the end of both: so many kinds of corners.
    assert derive_module._best_shares.cache_info().misses == 3
    assert [derived.value for derived in found] == pytest.approx([exact(group) for group in groups])
    assert [derived.variance for derived in found] == pytest.approx([found[0].variance] * 15, rel=1e-12)


@given(st.lists(counts | marginals, min_size=1, max_size=20), boxes(), st.integers(1, 4))
@settings(max_examples=80)
def test_it_is_never_worse_than_the_compound(listed, asked, most_answers):
    past = released(*listed)
    relaxed = relax(asked, past, Metric.even(SHAPE), most_answers, lambda *_: False, lambda _: pytest.fail("bought"))
    compound = relaxed.compound
    found = derive(Region((compound.difference,)), past, (*compound.plus, *compound.minus))
    assert found.variance <= compound.variance * (1 + 1e-9)
    assert found.value == pytest.approx(exact(Region((compound.difference,))), abs=1e-6)
    assert found.variance >= best_by_points(Region((compound.difference,)), listed) * (1 - 1e-9)


def test_a_sum_of_groups_that_is_known_already_is_no_second_answer():
    where = box((0, 4), B, C)
    past = released((where, (0, 1), 1.0))
    for known in [box((1, 3), (0, 1), C), box((1, 3), (0, 0), C)]:
        # The whole, of which the known sum is all or half: six groups, each of variance 1, whatever is looked at.
        [block] = past.groups.aligned(known)
        found = derive(one((1, 3), (0, 1), C), past, [block.total(known)])
        assert found is None or found.variance >= 6 * (1 - 1e-9)
    assert derive(one((1, 3), (0, 1), C), past, [block.total(box((1, 3), (0, 1), C))]).variance == pytest.approx(6)
