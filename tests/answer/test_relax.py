"""Relaxation, against the paper's example and against sets of points."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.answer.compound import Metric, patch_check
from discreet.answer.index import Answers
from discreet.answer.past import CountBlock, PastAnswer
from discreet.answer.relax import missing_slabs, relax
from discreet.domain.region import Box, Region
from discreet.errors import BudgetExceeded


class Database:
    """A table with room for `limit` counts at every point, and exact answers: the noise is for others to test."""

    def __init__(self, table, limit=0):
        self.table, self.limit = table, limit
        self.spent = np.zeros(table.shape, dtype=int)
        self.past = Answers(table.shape)
        self.count = 0

    def can_measure(self, *boxes):
        spent = self.spent.copy()
        for box in boxes:
            spent[box.slices] += 1
        return max(spent[box.slices].max() for box in boxes) <= self.limit

    def measure(self, box, variance=1.0):
        self.spent[box.slices] += 1
        self.count += 1
        answer = PastAnswer(Region((box,)), int(self.table[box.slices].sum()), variance, (self.count, 0))
        self.past.add(answer)
        return answer

    def group(self, where, by, variance=1.0):
        left = tuple(axis for axis in range(self.table.ndim) if axis not in by)
        self.count += 1
        self.past.add(CountBlock(where, by, self.table[where.slices].sum(axis=left), variance, (self.count, 0)))

    def relax(self, asked, most_answers=3, starts=4, weights=None):
        metric = Metric(self.table.shape, weights or (1.0,) * self.table.ndim)
        return relax(asked, self.past, metric, most_answers, self.can_measure, self.measure, starts)


def census():
    # relaxation, Table 1 and Section 1.1, with ages 0 … 89 and incomes in thousands.
    database = Database(np.random.default_rng(3).integers(0, 9, (90, 100)), limit=3)
    queries = {
        "q1": Box((20, 40), (50, 70)),
        "q2": Box((30, 0), (69, 39)),
        "q3": Box((30, 40), (69, 99)),
        "q4": Box((0, 40), (89, 99)),
    }
    return database, {name: database.measure(box) for name, box in queries.items()}


def test_the_fifth_query_is_answered_by_two_counts_less_a_new_one():
    # relaxation, Example 7, with the paper's single start: P+ = {q2, q3}, P− = {q6}, and q6 is measured.
    database, answers = census()
    asked = Box((30, 0), (69, 79))
    assert not database.can_measure(asked)
    relaxed = database.relax(asked, starts=1)
    [q6] = relaxed.measured
    assert relaxed.compound.plus == (answers["q2"], answers["q3"])
    assert relaxed.compound.minus == (q6,)
    assert q6.box == Box((30, 80), (69, 99))
    assert q6 in database.past.same(q6.where)
    assert relaxed.compound.difference == asked
    assert relaxed.error == 0
    assert relaxed.compound.value == database.table[asked.slices].sum()


def test_only_the_kept_compound_is_paid_for():
    database, _ = census()
    before = database.count
    relaxed = database.relax(Box((30, 0), (69, 79)))
    assert relaxed.error == 0
    assert database.count == before + len(relaxed.measured)


def test_budget_that_went_elsewhere_in_between_leaves_the_smaller_compound():
    database, answers = census()

    def too_late(_box):
        raise BudgetExceeded("gone")

    metric = Metric.even((90, 100))
    relaxed = relax(Box((30, 0), (69, 79)), database.past, metric, 3, database.can_measure, too_late, 1)
    assert relaxed.compound.plus == (answers["q2"], answers["q3"])
    assert relaxed.compound.minus == relaxed.measured == ()
    assert relaxed.error == metric.error(relaxed.asked, Box((30, 0), (69, 99)))


@pytest.mark.parametrize(("limit", "answered"), [(2, Box((2, 0), (5, 1))), (3, Box((2, 1), (5, 1)))])
def test_patches_are_planned_only_where_all_of_them_fit_together(limit, answered):
    database = Database(np.ones((6, 2), dtype=int), limit)
    database.measure(Box((3, 0), (5, 1)))
    database.spent[2] = 1
    relaxed = database.relax(Box((2, 1), (5, 1)), weights=(20.0, 1.0))  # the slab at 2 first, then all that is at 0
    assert relaxed.compound.difference == answered
    assert database.spent.max() == limit


def test_nothing_released_gives_no_answer():
    assert Database(np.zeros((3, 3), dtype=int)).relax(Box((0, 0), (1, 1))) is None


def test_of_equally_near_answers_the_less_noisy_one_is_given():
    database = Database(np.zeros((9,), dtype=int))
    database.measure(Box((1,), (3,)), variance=4.0)
    database.measure(Box((3,), (5,)), variance=2.0)
    database.measure(Box((3,), (5,)), variance=3.0)
    relaxed = database.relax(Box((2,), (4,)))
    assert relaxed.compound.difference == Box((3,), (5,))
    assert relaxed.compound.variance == 2.0


@pytest.mark.parametrize(
    ("difference", "asked", "slabs"),
    [
        # relaxation, Section 4.3: a face moves in or out, and belongs to one side only.
        ((2, 6), (4, 6), [(2, 3)]),
        ((4, 6), (2, 6), [(2, 3)]),
        ((2, 6), (2, 8), [(7, 8)]),
        ((2, 8), (2, 6), [(7, 8)]),
        ((2, 6), (3, 7), [(2, 2), (7, 7)]),
        ((2, 6), (2, 6), []),
    ],
)
def test_a_missing_slab_lies_between_two_faces(difference, asked, slabs):
    one, two = Box((difference[0], 5), (difference[1], 9)), Box((asked[0], 0), (asked[1], 9))
    assert [(slab.low[0], slab.high[0]) for slab in missing_slabs(one, two, 0)] == slabs
    assert all((slab.low[1], slab.high[1]) == (5, 9) for slab in missing_slabs(one, two, 0))


@pytest.mark.parametrize(
    ("blocks", "asked", "answered", "cells"),
    [
        # A GROUP BY holds every range of its groups.
        ([(Box((0, 0), (8, 8)), (0, 1))], Box((2, 3), (5, 7)), Box((2, 3), (5, 7)), 20),
        ([(Box((0, 0), (8, 8)), (0,))], Box((2, 0), (5, 7)), Box((2, 0), (5, 8)), 4),
        # Two that lie side by side, and one less a part of another.
        ([(Box((0, 0), (3, 8)), (1,)), (Box((4, 0), (8, 8)), (1,))], Box((0, 2), (8, 3)), Box((0, 2), (8, 3)), 4),
        ([(Box((0, 0), (8, 8)), (1,)), (Box((0, 0), (3, 8)), (1,))], Box((4, 2), (8, 3)), Box((4, 2), (8, 3)), 4),
    ],
)
def test_sums_of_groups_take_part_with_the_noise_of_every_group(blocks, asked, answered, cells):
    database = Database(np.random.default_rng(5).integers(0, 9, (9, 9)))
    for where, by in blocks:
        database.group(where, by)
    relaxed = database.relax(asked)
    assert relaxed.compound.difference == answered
    assert relaxed.compound.value == database.table[answered.slices].sum()
    assert relaxed.compound.variance == cells


SHAPE = (5, 3, 4)
TABLE = np.random.default_rng(11).integers(0, 20, SHAPE)


@st.composite
def boxes(draw):
    ends = [sorted(draw(st.tuples(*[st.integers(0, size - 1)] * 2))) for size in SHAPE]
    return Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))


@st.composite
def databases(draw):
    """Counts of boxes, some GROUP BYs, and room for more in some places."""
    database = Database(TABLE, limit=1)
    database.spent[...] = 1
    database.spent[draw(boxes()).slices] = 0
    for box in draw(st.lists(boxes(), min_size=1, max_size=25)):
        database.measure(box, draw(st.sampled_from([1.0, 2.0])))
    for where in draw(st.lists(boxes(), max_size=2)):
        database.group(where, tuple(sorted(draw(st.sets(st.integers(0, 2), min_size=1)))))
    return database


def popularity(answers):
    counts = np.zeros(SHAPE, dtype=int)
    for answer in answers:
        counts[answer.box.slices] += 1
    return counts


@given(databases(), boxes(), st.integers(1, 5), st.integers(1, 3))
@settings(max_examples=70)
def test_every_relaxed_answer_is_a_compound_no_worse_than_the_nearest_count(database, asked, most_answers, starts):
    metric = Metric.even(SHAPE)
    nearest = min(metric.error(asked, one.box) for one in database.past.nearest(asked, metric.step))
    relaxed = database.relax(asked, most_answers, starts)
    compound = relaxed.compound
    indicator = np.zeros(SHAPE, dtype=int)
    indicator[compound.difference.slices] = 1
    assert (popularity(compound.plus) - popularity(compound.minus) == indicator).all()  # Definition 7
    sources = [answer.source for answer in (*compound.plus, *compound.minus)]
    assert len(set(sources)) == compound.size <= most_answers
    assert compound.value == TABLE[compound.difference.slices].sum()
    assert relaxed.error == metric.error(asked, compound.difference) <= nearest + 1e-12


@given(st.lists(boxes(), max_size=40), boxes(), boxes())
@settings(max_examples=70)
def test_the_index_finds_the_patches_that_a_scan_finds(listed, difference, asked):
    database, metric = Database(TABLE), Metric.even(SHAPE)
    for box in listed:
        database.measure(box)
    found = [one.box for one in database.past.beside(difference) if patch_check(difference, one.box, asked, metric)]
    assert sorted(found, key=str) == sorted(
        {box for box in listed if patch_check(difference, box, asked, metric)}, key=str
    )


def errors_by_scan(database, listed, asked):
    """Figure 9 with ξ = 2 and Figure 6 on every answer, from every nearest one: the errors that it may end with."""
    metric = Metric.even(SHAPE)
    least = min(metric.error(asked, box) for box in listed)
    for start in listed:
        if metric.error(asked, start) <= least + 1e-12:
            slabs = [slab for axis in range(3) for slab in missing_slabs(start, asked, axis)]
            patches = listed + [slab for slab in slabs if database.can_measure(slab)]
            found = [check for box in patches if (check := patch_check(start, box, asked, metric))]
            yield round(min([metric.error(asked, start), *(metric.error(asked, after) for _, after in found)]), 9)


@given(st.lists(boxes(), min_size=1, max_size=25), boxes(), boxes())
@settings(max_examples=70)
def test_the_first_patch_is_the_best_that_a_scan_finds(listed, asked, room):
    database = Database(TABLE, limit=100)
    for box in listed:
        database.measure(box)
    database.spent[...] = 100
    database.spent[room.slices] = 0
    expected = set(errors_by_scan(database, listed, asked))
    assert round(database.relax(asked, most_answers=2, starts=1).error, 9) in expected
