"""Whole rows: near the model in every marginal, and the same for the same bits."""

import numpy as np
import pytest

from discreet.model.log_linear import LogLinear
from discreet.model.rows import draw_rows, uniform
from discreet.noise.bits import SeededBits
from discreet.query.lattice import Lattice

LATTICE = Lattice((3, 4, 2, 5))
POTENTIALS = {
    3: np.sin(np.arange(12.0)).reshape(3, 4),
    10: np.cos(np.arange(20.0)).reshape(4, 5),
    4: np.array([0.0, -1.0]),
}
MODEL = LogLinear(LATTICE, 2000.0, POTENTIALS, (1.0,))


def table_of(codes: np.ndarray) -> np.ndarray:
    table = np.zeros(LATTICE.sizes)
    np.add.at(table, tuple(codes.T), 1)
    return table


def rolled_up(cells: np.ndarray, mask: int) -> np.ndarray:
    return cells.sum(axis=tuple(axis for axis in range(cells.ndim) if not mask >> axis & 1))


@pytest.mark.parametrize("rows", [1, 37, 2000, 10_001])
def test_marginals_of_rows_are_within_a_few_rows_of_the_models(rows):
    codes = draw_rows(MODEL, rows, SeededBits(3))
    assert codes.shape == (rows, 4)
    table = table_of(codes)
    for mask in range(1, LATTICE.base):
        if mask.bit_count() <= 2:
            assert np.abs(rolled_up(table, mask) - rows / 2000 * MODEL.cuboid(mask)).max() <= 3


def test_rounding_rows_is_far_nearer_to_the_model_than_drawing_them_one_by_one():
    rows = 2000
    rounded = table_of(draw_rows(MODEL, rows, SeededBits(3)))
    drawn = np.searchsorted(np.cumsum(MODEL.joint.reshape(-1)) / MODEL.total, uniform(rows, SeededBits(4)))
    sampled = np.bincount(drawn, minlength=rounded.size).reshape(LATTICE.sizes)
    for mask in (3, 5, 6, 9, 10, 12):
        wanted = MODEL.cuboid(mask)
        assert 3 * np.abs(rolled_up(rounded, mask) - wanted).sum() < np.abs(rolled_up(sampled, mask) - wanted).sum()


def test_rows_are_the_same_for_the_same_seed_and_others_for_another():
    first, again, other = (draw_rows(MODEL, 500, SeededBits(seed)) for seed in (7, 7, 8))
    assert (first == again).all()
    assert (first != other).any()


def test_no_row_is_where_the_model_has_nobody():
    empty = np.zeros((3, 4))
    empty[1, 2] = empty[0, 0] = -np.inf
    model = LogLinear(LATTICE, 300.0, {**POTENTIALS, 3: POTENTIALS[3] + empty}, (1.0,))
    table = rolled_up(table_of(draw_rows(model, 300, SeededBits(1))), 3)
    assert table[1, 2] == table[0, 0] == 0


def test_a_model_of_nobody_still_has_rows_where_they_are_asked_for():
    model = LogLinear(LATTICE, 0.0, {1: np.zeros(3)}, ())
    assert draw_rows(model, 12, SeededBits(1)).shape == (12, 4)
