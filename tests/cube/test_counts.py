"""Cubes that could have been counted: never below 0, whole where asked, totals kept, and nearer the truth."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from discreet.cube.counts import _shared_out, countable

shapes = st.lists(st.integers(2, 5), min_size=1, max_size=4).map(tuple)
tables = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.floats(-50, 100)))
deviations = st.floats(1e-3, 100)


@given(tables, deviations, st.booleans())
@example(np.array([[-19.0, -11.0], [19.0, 15.0]]), 0.0625, False)  # the base is aimed at one cell, a column at others
@settings(max_examples=60)
def test_cells_are_nowhere_below_zero_and_add_up_to_the_total(base: np.ndarray, deviation: float, whole: bool) -> None:
    spread = dict.fromkeys(range(1 << base.ndim), deviation)
    cells = countable(base, spread, whole=whole)
    assert cells.shape == base.shape
    assert cells.min() >= 0
    total = max(base.sum(), 0)
    if whole:
        assert np.array_equal(cells, np.rint(cells))
        assert abs(cells.sum() - total) <= 0.5 + 1e-6
    else:
        assert cells.sum() == pytest.approx(total, rel=1e-9, abs=1e-9)


sizes = st.one_of(st.integers(-50, 100).map(float), st.floats(-1e18, 1e18), st.floats(-1e-6, 1e-6))
wide_tables = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=sizes))


@given(wide_tables, st.integers(-12, 5))
@example(np.array([1e16, -1e16, 1.0]), 0)  # what is left of 1e16 is lost if it is not taken off first
def test_large_and_small_numbers_together_add_up_and_leave_no_nan(base: np.ndarray, exponent: int) -> None:
    cells = countable(base, dict.fromkeys(range(1 << base.ndim), 2.0**exponent), whole=False)
    assert np.all(cells >= 0)
    assert cells.sum() == pytest.approx(max(base.sum(), 0), rel=1e-9)


@given(tables, deviations)
@settings(max_examples=40)
def test_whole_numbers_are_off_by_less_than_one_in_every_run_of_cells(base: np.ndarray, deviation: float) -> None:
    spread = dict.fromkeys(range(1 << base.ndim), deviation)
    exact, whole = (countable(base, spread, whole=choice) for choice in (False, True))
    assert np.abs(np.cumsum(whole) - np.cumsum(exact)).max() <= 0.5 + 1e-6
    assert np.abs(whole - exact).max() < 1 + 1e-6


@pytest.mark.parametrize("near", [[3.0, -4.0, 5.0], [-1.0, -2.0, -3.0], [1.0, 1.0, 1.0], [100.0, 0.0, -100.0]])
def test_one_dimension_is_shared_out_as_a_quadratic_program_would(near: list[float]) -> None:
    total = 7.0
    found = _shared_out(np.array(near), total)
    program = minimize(
        lambda parts: float(np.sum((parts - near) ** 2)),
        np.full(3, total / 3),
        bounds=[(0, None)] * 3,
        constraints={"type": "eq", "fun": lambda parts: parts.sum() - total},
        options={"ftol": 1e-12},
    )
    np.testing.assert_allclose(found, program.x, atol=1e-4)


def test_a_cube_that_is_known_exactly_stays_as_it_is() -> None:
    base = np.random.default_rng(2).integers(0, 40, (3, 4, 5)).astype(float)
    np.testing.assert_array_equal(countable(base, dict.fromkeys(range(8), 1e-09), whole=True), base)


def test_cuboids_that_are_known_well_are_kept_and_empty_cells_come_near_zero() -> None:
    """A thousand people in a corner of 6,000 cells: coarse cuboids stay, fine ones lose nearly all their noise."""
    rng = np.random.default_rng(4)
    truth = np.zeros((20, 15, 20))
    truth[:2, :3, :2] = rng.poisson(80, (2, 3, 2))
    noisy = truth + rng.laplace(scale=3.0, size=truth.shape)
    spread = {mask: 3.0 * np.sqrt(2) * np.sqrt(truth.size / truth.sum(axis=_others(mask)).size) for mask in range(8)}
    cells = countable(noisy, spread, whole=True)
    assert np.abs(cells - truth).mean() < 0.25 * np.abs(noisy - truth).mean()
    for axis in range(3):
        rolled_up = [table.sum(axis=_others(1 << axis)) for table in (cells, noisy, truth)]
        assert np.abs(rolled_up[0] - rolled_up[2]).mean() < 1.5 * np.abs(rolled_up[1] - rolled_up[2]).mean()


def _others(mask: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(3) if not mask >> axis & 1)


def test_a_total_below_zero_is_an_empty_cube() -> None:
    assert not countable(np.full((2, 3), -5.0), dict.fromkeys(range(4), 1.0), whole=True).any()
