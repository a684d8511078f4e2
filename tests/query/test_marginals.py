"""Marginals as one estimate: the closed form against least squares over all cells, solved as any linear equations."""

from collections import Counter
from functools import reduce
from itertools import combinations, permutations

import numpy as np
import pytest

from discreet.domain.region import Box
from discreet.query.marginals import MOST_WEIGHTS, Marginal, Marginals, subsets

SIZES = (3, 2, 4)
CELLS = np.random.default_rng(7).integers(0, 50, SIZES)
"""What is true of the table; facts say it, and noisy marginals something near it."""
BOXES = [
    Box((low, 0, first), (high, last, end))
    for low, high in combinations(range(4), 2)
    if high < 3
    for last in range(2)
    for first, end in [(0, 3), (1, 2), (0, 0)]
] + [Box((0, 0, 0), (2, 1, 3)), Box((0, 1, 0), (2, 1, 3)), Box((1, 0, 0), (1, 0, 3))]

TOLD = {
    "nothing": (),
    "one table": (((0, 1), 4.0),),
    "a table and its total": (((0, 2), 4.0), ((), 1.0)),
    "three that overlap": (((0, 1), 4.0), ((1, 2), 9.0), ((0,), 0.5)),
    "all pairs": (((0, 1), 4.0), ((1, 2), 9.0), ((0, 2), 1.0)),
    "the whole twice": (((0, 1, 2), 1.0), ((0, 1, 2), 3.0)),
    "a fact beside noise": (((0, 1), 4.0), ((0,), 0.0)),
    "facts that overlap": (((0, 1), 0.0), ((1, 2), 0.0), ((0, 1, 2), 2.0)),
    "residuals of all spaces": tuple((space, 5.0 + len(space), "residual") for space in subsets((0, 1, 2))),
    "a residual beside tables": (((0, 2), 3.0, "residual"), ((0, 1), 4.0), ((0, 2), 9.0), ((2,), 1.0)),
}
"""Marginals by their axes and the variance of their noise."""


def marginals_of(told):
    drawn = np.random.default_rng(3)
    tables = []
    for number, (axes, variance, *kind) in enumerate(told):
        exact = matrix_of(axes, bool(kind)) @ CELLS.reshape(-1)
        noise = np.rint(drawn.normal(0, variance**0.5, exact.shape)).astype(np.int64)
        sizes = tuple(SIZES[axis] for axis in axes)
        values = (exact + noise).reshape(sizes)
        tables.append(Marginal(axes, sizes, variance, (number, 0), values, is_residual=bool(kind)))
    return Marginals(SIZES, tuple(tables))


def matrix_of(axes, is_residual=False):
    """The numbers of a marginal as sums of cells; those of a residual of it."""
    added_up = reduce(np.kron, (np.eye(n) if axis in axes else np.ones((1, n)) for axis, n in enumerate(SIZES)))
    apart = reduce(np.kron, (SIZES[axis] * np.eye(SIZES[axis]) - 1 for axis in axes), np.eye(1))
    return np.rint((apart if is_residual else np.eye(len(apart))) @ added_up).astype(np.int64)


def in_box(box):
    inside = np.zeros(SIZES)
    inside[tuple(slice(low, high + 1) for low, high in zip(box.low, box.high, strict=True))] = 1
    return inside.reshape(-1)


def by_least_squares(marginals, box):
    """The weights of all numbers in the unbiased estimate of least variance of what the marginals tell of a box, and
    whether that is all of it."""
    if not marginals.tables:
        return [], False
    matrix = np.concatenate([matrix_of(table.axes, table.is_residual) for table in marginals.tables]).astype(float)
    variances = np.repeat([table.variance for table in marginals.tables], [table.size for table in marginals.tables])
    told = np.linalg.pinv(matrix) @ matrix @ in_box(box)  # the part of it that sums of numbers can be
    rank = len(matrix)
    equations = np.block([[np.diag(variances), matrix], [matrix.T, np.zeros((matrix.shape[1],) * 2)]])
    weights = (np.linalg.pinv(equations) @ np.concatenate([np.zeros(rank), told]))[:rank]
    ends = np.cumsum([table.size for table in marginals.tables])[:-1]
    return np.split(weights, ends), bool(np.allclose(told, in_box(box)))


def tally(draws):
    """How often each weight is there, but for those that are 0 as far as doubles tell."""
    found = Counter()
    for weight, source, count in draws:
        found[round(weight, 9), source] += count * (abs(weight) > 1e-9)
    return +found


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_values_variances_and_weights_are_those_of_least_squares_over_all_cells(told):
    marginals = marginals_of(told)
    for box in BOXES:
        weights, is_all = by_least_squares(marginals, box)
        tables = list(zip(marginals.tables, weights, strict=True))
        value = sum(float(of_table @ table.table.reshape(-1)) for table, of_table in tables)
        assert marginals.determine(marginals.cut(box)) == is_all
        assert marginals.value(box) == pytest.approx(value, abs=1e-6)
        noisy = [np.abs(of_table).max() if table.variance else 0 for table, of_table in tables]
        np.testing.assert_allclose(marginals.largest_weights(box), noisy, atol=1e-9)
        draws = [(of_table**2 * table.variance).max() for table, of_table in tables]
        assert marginals.largest_draw(box) == pytest.approx(max(draws, default=0), abs=1e-9)
        if is_all:
            variance = sum(float((of_table**2).sum() * table.variance) for table, of_table in tables)
            assert marginals.variance(box) == pytest.approx(variance, abs=1e-9)
            drawn = marginals.weights(box)
            ways = sum(1 << len({*marginals.cut(box)} & {*table.axes}) for table in marginals.tables if table.variance)
            assert (drawn is None) == (ways > MOST_WEIGHTS and marginals.sole(marginals.cut(box)) is None)
            if drawn is not None:
                expected = [
                    (weight, table.source, 1)
                    for table, of_table in tables
                    for weight in of_table.tolist()
                    if table.variance
                ]
                assert tally(drawn) == tally(expected)


def test_a_table_is_the_sole_one_where_no_other_tells_of_any_space_of_the_box():
    one, two = Marginal((0, 1), (3, 2), 4.0, (1, 0)), Marginal((2,), (4,), 1.0, (2, 0))
    residual = Marginal((0,), (3,), 1.0, (3, 0), is_residual=True)
    assert [Marginals(SIZES, (one,)).sole(cut) for cut in [(), (0,), (0, 1), (0, 2), (2,)]] == [
        one,
        one,
        one,
        None,
        None,
    ]
    assert Marginals(SIZES, (one, two)).sole((0,)) is None  # both tell the total
    assert Marginals(SIZES, (one, residual)).sole((1,)) is one
    assert Marginals(SIZES, (one, residual)).sole((0, 1)) is None
    assert Marginals(SIZES, (residual,)).sole((0,)) is None


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_joined_after_questions_it_says_the_same_as_made_at_once(told):
    at_once, grown = marginals_of(told), Marginals(SIZES)
    for table in at_once.tables:
        for box in BOXES:
            grown.value(box)
        grown = grown.joined(table)
    assert [grown.value(box) for box in BOXES] == pytest.approx([at_once.value(box) for box in BOXES])


@pytest.mark.parametrize("order", [*permutations([(0,), (2,), (0, 2), (1, 2), ()], 3)], ids=str)
def test_in_whatever_order_it_is_rolled_up_each_table_is_the_sum_over_the_others(order):
    table = Marginal((0, 1, 2), SIZES, 1.0, (1, 0), CELLS)
    for axes in order:
        rolled_up = table.rolled_up(axes)
        np.testing.assert_array_equal(rolled_up.reshape(-1), matrix_of(axes) @ CELLS.reshape(-1))
        assert rolled_up.shape == tuple(SIZES[axis] for axis in axes)
