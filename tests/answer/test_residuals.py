"""Answers from residuals, beside a dense least squares over all points of a small domain."""

from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest

from discreet.answer.derive import derive
from discreet.answer.index import Answers
from discreet.answer.past import PastAnswer
from discreet.answer.residuals import ReleasedResidual, ResidualRelease
from discreet.domain.region import Box, Region
from discreet.noise.law import Gaussian
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Residual

SIZES = (4, 3, 2)
SUBSETS = [*chain.from_iterable(combinations(range(3), count) for count in range(4))]
VARIANCES = {axes: float(7 + 20 * place) for place, axes in enumerate(SUBSETS)}
STEP = (0.1, 0.1, 0.1)


def matrix_of(axes):
    """What every number of a residual counts of every point."""
    rows = np.ones((1, 1))
    for axis, size in enumerate(SIZES):
        rows = np.kron(rows, size * np.eye(size) - 1 if axis in axes else np.ones((1, size)))
    return rows


def together(seed=1, subsets=SUBSETS):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 50, 24)
    tables = {}
    for place, axes in enumerate(subsets):
        exact = (matrix_of(axes) @ points).reshape([SIZES[axis] for axis in axes])
        noisy = np.rint(exact + rng.normal(0, 9, exact.shape)).astype(np.int64)
        tables[axes] = ReleasedResidual(noisy, VARIANCES[axes], (seed, place))
    return ResidualRelease(SIZES, tables)


def least_squares(released, region):
    """Value and variance by the pseudo-inverse."""
    rows = np.vstack([matrix_of(axes) for axes in released.tables])
    noisy = np.concatenate([table.units.reshape(-1) for table in released.tables.values()])
    spread = np.concatenate([np.full(table.units.size, table.variance**0.5) for table in released.tables.values()])
    target = np.zeros(SIZES)
    for box in region.boxes:
        target[box.slices] = 1
    coefficients = target.reshape(-1) @ np.linalg.pinv(rows / spread[:, None])
    return coefficients @ (noisy / spread), coefficients @ coefficients


def box(*sides):
    return Box(tuple(low for low, _ in sides), tuple(high for _, high in sides))


WHOLE = ((0, 3), (0, 2), (0, 1))
REGIONS = {
    "everything": Region((box(*WHOLE),)),
    "one axis": Region((box((1, 2), *WHOLE[1:]),)),
    "a point": Region((box((3, 3), (0, 0), (1, 1)),)),
    "two axes": Region((box((0, 2), (1, 2), (0, 1)),)),
    "two boxes": Region((box((0, 1), (1, 2), (0, 1)), box((3, 3), (0, 0), (0, 0)))),
}


@pytest.mark.parametrize("region", REGIONS.values(), ids=REGIONS)
def test_a_region_has_the_value_and_the_variance_of_least_squares(region):
    released = together()
    found = released.total(region)
    value, variance = least_squares(released, region)
    assert found.value == pytest.approx(value)
    assert found.variance == pytest.approx(variance)


def test_a_region_that_needs_a_missing_residual_has_none():
    pairs = together(subsets=SUBSETS[:-1])
    assert pairs.total(REGIONS["a point"]) is None
    assert pairs.total(REGIONS["two axes"]) is not None
    holey = together(subsets=[axes for axes in SUBSETS if axes != (1,)])
    assert holey.total(REGIONS["two axes"]) is None


def test_independent_answers_join_those_of_residuals_by_their_precision():
    past, released, region = Answers(SIZES), together(), REGIONS["two axes"]
    past.add(released)
    alone = derive(region, past)
    assert alone.value == pytest.approx(released.total(region).value)
    past.add(PastAnswer(region, 500, 3.0, (9, 0)))
    past.add(together(2))
    estimates = [released.total(region), together(2).total(region), PastAnswer(region, 500, 3.0, (9, 0))]
    weights = np.array([1 / one.variance for one in estimates])
    joined = derive(region, past)
    assert joined.variance == pytest.approx(1 / weights.sum())
    assert joined.value == pytest.approx(np.average([one.value for one in estimates], weights=weights))


def test_a_release_that_misses_a_residual_leaves_the_others_as_they_are():
    past, whole, region = Answers(SIZES), together(), REGIONS["a point"]
    past.add(together(2, subsets=SUBSETS[:-1]))
    assert derive(region, past) is None
    past.add(whole)
    past.add(PastAnswer(region, 500, 3.0, (9, 0)))
    estimates = [whole.total(region), PastAnswer(region, 500, 3.0, (9, 0))]
    weights = np.array([1 / one.variance for one in estimates])
    found = derive(region, past)
    assert found.variance == pytest.approx(1 / weights.sum())
    assert found.value == pytest.approx(np.average([one.value for one in estimates], weights=weights))


def test_a_release_whose_residuals_are_known_already_has_a_share_once():
    past, released, region = Answers(SIZES), together(), REGIONS["two axes"]
    past.add(released)
    [near] = past.nearest(region.boxes[0], STEP)
    assert near == released.total(region)
    assert derive(region, past, known=[near]).variance == pytest.approx(near.variance)


def test_the_nearest_box_has_the_asked_intervals_where_residuals_are():
    past = Answers(SIZES)
    past.add(together(subsets=[axes for axes in SUBSETS if len(axes) < 2 or axes == (0, 2)]))
    [near] = past.nearest(box((3, 3), (0, 1), (1, 1)), STEP)
    assert near.box == box((3, 3), (0, 2), (1, 1))
    # Of two axes that no table has together, the one on which all codes would be farther off keeps its interval.
    everything = [(0, size - 1) for size in SIZES]
    [near] = past.nearest(box((3, 3), (0, 1), everything[2]), STEP)
    assert near.box == box((3, 3), everything[1], everything[2])


@pytest.fixture
def released(make_vault):
    """A vault in which all residuals of pairs of attributes were released, and nothing else."""
    vault = make_vault(rho=10)
    every = [(), ("age",), ("sex",), ("income",), ("sex", "age"), ("age", "income"), ("sex", "income")]
    law = Gaussian(Fraction(90_000))
    plan = Plan(tuple(Measurement(Residual(vault.domain.everything, by), law) for by in every))
    vault.measure(plan)
    return vault


def test_ask_answers_from_residuals_for_nothing(released, people):
    asked = "SELECT sex, COUNT(*) FROM people WHERE age >= 5 GROUP BY sex"
    answer = released.ask(asked, scale=1000, confidence="0.999999")
    assert {row.kind for row in answer.rows} == {"derived"}
    assert answer.cost == 0
    true = people[people.age >= 5].groupby(people.sex.fillna("null")).size()
    assert all(row.low <= true[row.labels[0]] <= row.high for row in answer.rows if row.labels[0] in true)


def test_what_residuals_do_not_tell_is_measured(released):
    answer = released.ask("SELECT COUNT(*) FROM people WHERE age = 5 AND sex = 'F' AND income < 10", scale=10)
    assert {row.kind for row in answer.rows} == {"measured"}


def test_answers_of_residuals_are_sharper_with_a_further_count(released):
    asked = "SELECT COUNT(*) FROM people WHERE age >= 5 AND sex = 'F'"
    [derived] = released.ask(asked, scale=10_000).rows
    released.measure(Count(released.domain.slab("age", 5, 9)), "1/2")
    [sharper] = released.ask(asked, scale=10_000).rows
    assert sharper.high - sharper.low < derived.high - derived.low


def test_with_nothing_left_the_nearest_answer_is_made_of_residuals(make_vault):
    vault = make_vault(rho="1/2")
    law = Gaussian(Fraction(10))
    plan = Plan(tuple(Measurement(Residual(vault.domain.everything, by), law) for by in ((), ("sex",))))
    vault.measure(plan)
    left = vault.ledger.budget.amount_of(vault.ledger.left(vault.domain.everything))
    vault.measure(Plan((Measurement(vault.count(by="income"), Gaussian(1 / (2 * left))),)))
    [row] = vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'F'", scale=1).rows
    assert row.kind == "derived"
    assert row.relaxation_error == 0
