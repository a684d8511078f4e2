"""Best linear unbiased estimates, against closed forms and against another formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.refinement import linear
from discreet.refinement.linear import BIAS, best_estimate


def estimate(rows, variances, target):
    return best_estimate(np.array(rows, float), np.array(variances, float), np.array(target, float))


@pytest.mark.parametrize(
    ("rows", "variances", "target", "coefficients", "variance"),
    [
        # The same thing measured twice: by precision.
        ([[1], [1]], [1, 3], [1], [0.75, 0.25], 0.75),
        # A sum of two, and the same sum measured at once.
        ([[1, 0], [0, 1], [1, 1]], [1, 1, 1], [1, 1], [1 / 3, 1 / 3, 2 / 3], 2 / 3),
        # A difference.
        ([[1, 1], [0, 1]], [2, 5], [1, 0], [1, -1], 7),
        # What does not help has no share.
        ([[1, 0, 0], [0, 1, 1]], [2, 1], [1, 0, 0], [1, 0], 2),
        # Nothing asked, nothing needed.
        ([[1, 0]], [2], [0, 0], [0], 0),
    ],
)
def test_closed_forms(rows, variances, target, coefficients, variance):
    found = estimate(rows, variances, target)
    assert found is not None
    assert np.allclose(found.coefficients, coefficients, atol=1e-12)
    assert found.variance == pytest.approx(variance, abs=1e-12)


def test_a_target_that_no_combination_makes_has_no_estimate():
    assert estimate([[1, 1, 0], [0, 0, 1]], [1, 1], [1, 0, 1]) is None


def test_no_measurements_estimate_nothing_but_0():
    assert best_estimate(np.zeros((0, 2)), np.zeros(0), np.array([1.0, 0.0])) is None
    assert best_estimate(np.zeros((0, 2)), np.zeros(0), np.zeros(2)).variance == 0


@pytest.mark.parametrize("ratio", [1e6, 1e12, 1e18])
def test_variances_of_very_different_sizes_are_no_dependence(ratio):
    # Two exact parts, and a noisy whole that must not count.
    found = estimate([[1, 0], [0, 1], [1, 1]], [1, 1, ratio], [1, 1])
    assert found.variance == pytest.approx(2 * ratio / (2 + ratio), rel=1e-9)
    # A very exact whole, less a noisy part.
    found = estimate([[1, 1], [0, 1]], [1 / ratio, 1], [1, 0])
    assert found.variance == pytest.approx(1 + 1 / ratio, rel=1e-9)


def test_what_a_solver_could_not_compute_is_no_estimate(monkeypatch):
    monkeypatch.setattr(linear._Solved, "__call__", lambda *_: np.full(2, np.nan))
    assert estimate([[1, 0], [1, 1]], [1, 1], [0, 1]) is None


def test_what_shares_no_atom_with_the_target_has_no_share():
    rows = [[1, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 0, 0]]
    found = estimate(rows, np.ones(5), [1, 0, 0, 0, 0])
    assert found.coefficients == pytest.approx([1 / 3, 2 / 3, -1 / 3, 0, 0], abs=1e-12)
    assert estimate(rows, np.ones(5), [1, 0, 0, 1, 0]).variance == pytest.approx(2 / 3 + 2)
    assert estimate(rows, np.ones(5), [0, 0, 0, 0, 1]) is None  # nothing measures the last atom


systems = st.integers(1, 7).flatmap(
    lambda atoms: st.tuples(
        st.lists(st.lists(st.integers(-1, 1), min_size=atoms, max_size=atoms), min_size=1, max_size=9),
        st.lists(st.sampled_from([0.5, 1.0, 2.0, 8.0]), min_size=9, max_size=9),
        st.lists(st.integers(-2, 2), min_size=9, max_size=9),
    )
)


@given(systems)
def test_no_combination_has_less_variance(system):
    # Another formula: V⁻¹M(MᵀV⁻¹M)⁺t, with a target that some combination makes.
    rows, variances, mix = system
    matrix, noise = np.array(rows, float), np.array(variances[: len(rows)])
    target = np.array(mix[: len(rows)], float) @ matrix
    weighted = matrix / noise[:, None]
    expected = weighted @ np.linalg.pinv(matrix.T @ weighted, hermitian=True) @ target
    found = best_estimate(matrix, noise, target)
    assert found is not None
    assert np.abs(found.coefficients @ matrix - target).max() <= BIAS
    assert np.allclose(found.coefficients, expected, atol=1e-8)


@given(systems, st.lists(st.integers(-1, 1), min_size=7, max_size=7))
def test_an_estimate_is_found_exactly_where_the_ranks_say_there_is_one(system, wanted):
    rows, variances, _ = system
    matrix = np.array(rows, float)
    target = np.array(wanted[: matrix.shape[1]], float)
    spanned = np.linalg.matrix_rank(np.vstack((matrix, target))) == np.linalg.matrix_rank(matrix)
    found = best_estimate(matrix, np.array(variances[: len(rows)]), target)
    assert (found is not None) == spanned


def test_a_larger_system_has_the_variance_of_generalised_least_squares():
    generator = np.random.default_rng(5)
    rows = (generator.random((120, 80)) < 0.1).astype(float)
    noise = generator.choice([1.0, 4.0], 120)
    target = generator.integers(-1, 2, 120) @ rows
    expected = target @ np.linalg.pinv(rows.T @ (rows / noise[:, None])) @ target
    assert best_estimate(rows, noise, target).variance == pytest.approx(expected, rel=1e-9)


def test_an_exact_measurement_costs_no_variance():
    # Of two counts with noise and their known sum, each is (x1 + c − x2)/2, as in Example 1 of the refinement seed.
    found = estimate([[1, 0], [0, 1], [1, 1]], [1, 1, 0], [1, 0])
    assert found.coefficients == pytest.approx([0.5, -0.5, 0.5], abs=1e-9)
    assert found.variance == pytest.approx(0.5, rel=1e-9)


def test_what_exact_measurements_make_up_has_no_variance():
    found = estimate([[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 0, 1]], [3, 0, 0, 2], [1, 2, 1])
    assert found.variance == 0
    assert found.coefficients == pytest.approx([0, 1, 1, 0], abs=1e-9)
    assert estimate([[1, 1]], [0], [2, 2]).variance == 0
    assert estimate([[1, 1]], [0], [1, 0]) is None


@given(systems, st.integers(0, 2**9 - 1))
def test_exact_measurements_give_what_a_projection_onto_them_gives(system, exact):
    # Another formula: least squares within the null space of the exact rows.
    rows, variances, mix = system
    matrix = np.array(rows, float)
    noise = np.array([0.0 if exact >> row & 1 else variances[row] for row in range(len(rows))])
    target = np.array(mix[: len(rows)], float) @ matrix
    free = np.round(np.eye(matrix.shape[1]) - np.linalg.pinv(matrix[noise == 0]) @ matrix[noise == 0], 12)
    seen = np.round(matrix[noise > 0] @ free, 11)
    weighted = seen / noise[noise > 0, None]
    information = seen.T @ weighted
    variance = (free @ target) @ np.linalg.pinv(information, rcond=1e-10, hermitian=True) @ (free @ target)
    found = best_estimate(matrix, noise, target)
    assert found is not None
    assert found.variance == pytest.approx(variance, rel=1e-7, abs=1e-9)
