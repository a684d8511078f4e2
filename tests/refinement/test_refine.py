"""Refinement under linear constraints, against dense formulas and the seed's own numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import discreet
from discreet.errors import InvalidFact
from discreet.refinement import factored
from discreet.refinement.iterated import Iterated
from discreet.refinement.refine import refine

WAYS = pytest.mark.parametrize("converges", [False, True], ids=["factored", "iterated"])


def keep_from_converging(monkeypatch):
    """An iteration leaves responses as they are, so that a factor is made."""
    monkeypatch.setattr(Iterated, "refine", lambda _, responses: responses)


def projected(responses, constraints, constants, covariance):
    """By another formula: a pseudoinverse of the constraints, whitened by a root of the covariance."""
    root = np.linalg.cholesky(covariance)
    back = root @ np.linalg.pinv(constraints @ root, rcond=1e-11)
    left = covariance - back @ constraints @ covariance
    return responses + back @ (constants - constraints @ responses), np.diag(left)


@WAYS
def test_example_1_is_refined_as_in_the_paper(converges, monkeypatch):
    # refinement, (4): X̂1 = (X1 + c − X2)/2, X̂2 = (X2 + c − X1)/2
    if not converges:
        keep_from_converging(monkeypatch)
    refined = refine([7.0, 4.0], [[1, 1]], [10])
    assert refined.estimates.tolist() == [6.5, 3.5]
    assert refined.variances == pytest.approx([0.5, 0.5])
    assert refined.unbiased
    assert refined.residuals == pytest.approx([0.0])


systems = st.integers(1, 9).flatmap(
    lambda responses: st.tuples(
        st.lists(st.lists(st.integers(-2, 2), min_size=responses, max_size=responses), min_size=1, max_size=6),
        st.lists(st.integers(-50, 50), min_size=responses, max_size=responses),
        st.lists(st.integers(-9, 9), min_size=responses, max_size=responses),
        st.sampled_from(["alike", "independent", "very different", "correlated"]),
        st.integers(0, 99),
    )
)


def covariance_of(kind, size, seed):
    generator = np.random.default_rng(seed)
    if kind == "correlated":
        mixed = generator.normal(size=(size, size))
        return mixed @ mixed.T + np.eye(size)
    exponents = {"alike": 0.0, "independent": 0.5, "very different": 3.0}[kind]
    return 10.0 ** generator.uniform(-exponents, exponents, size)


@given(systems)
def test_it_equals_a_dense_solve(system):
    rows, truth, noise, kind, seed = system
    constraints, truth = np.array(rows, float), np.array(truth, float)
    responses, constants = truth + noise, constraints @ truth
    given_covariance = covariance_of(kind, len(truth), seed)
    matrix = np.diag(given_covariance) if given_covariance.ndim == 1 else given_covariance
    estimates, variances = projected(responses, constraints, constants, matrix)
    refined = refine(responses, constraints, constants, given_covariance)
    assert np.allclose(refined.estimates, estimates, rtol=1e-9, atol=1e-7)
    assert np.allclose(refined.variances, variances, rtol=1e-7, atol=1e-9 * matrix.max())
    assert np.allclose(refined.variances_of(np.eye(len(truth))), refined.variances, atol=1e-9 * matrix.max())


@pytest.mark.parametrize("seed", range(2))
def test_it_equals_a_dense_solve_to_nine_digits_with_some_hundred_constraints(seed, monkeypatch):
    generator = np.random.default_rng(seed)
    matrix = sparse.random_array(
        (150, 400), density=0.02, rng=generator, data_sampler=lambda size: np.ones(size)
    ).tocsr()
    matrix = sparse.vstack([matrix, matrix[[3]] + matrix[[50]]]).tocsr()
    truth = generator.integers(1, 1000, 400).astype(float)
    responses, variances = truth + generator.laplace(scale=10, size=400), generator.choice([1.0, 4.0, 25.0], 400)
    estimates, exact = projected(responses, matrix.toarray(), matrix @ truth, np.diag(variances))
    for converges in (True, False):
        if not converges:
            keep_from_converging(monkeypatch)
        refined = refine(responses, matrix, matrix @ truth, variances)
        assert np.allclose(refined.estimates, estimates, rtol=1e-9, atol=1e-9 * np.abs(estimates).max())
        assert np.allclose(refined.variances, exact, rtol=1e-9, atol=1e-9 * variances.max())


@pytest.mark.parametrize("kind", ["alike", "very different", "correlated"])
def test_constraints_on_most_responses_are_solved_as_a_full_matrix(kind):
    generator = np.random.default_rng(4)
    matrix = generator.integers(0, 3, (12, 200)).astype(float)
    matrix[11] = matrix[0] - matrix[5]
    truth = generator.integers(1, 1000, 200).astype(float)
    responses, covariance = truth + generator.laplace(scale=10, size=200), covariance_of(kind, 200, 1)
    whole = np.diag(covariance) if covariance.ndim == 1 else covariance
    estimates, exact = projected(responses, matrix, matrix @ truth, whole)
    refined = refine(responses, matrix, matrix @ truth, covariance)
    assert factored.Factored(refined.constraints, refined.covariance)._dense
    assert np.allclose(refined.estimates, estimates, rtol=1e-9, atol=1e-9 * np.abs(estimates).max())
    assert np.allclose(refined.variances, exact, rtol=1e-9, atol=1e-9 * whole.max())


def test_variances_of_combinations_do_not_need_a_factor(monkeypatch):
    rows, variances = [[1, 1, 0, -1], [0, 1, 1, 0]], [1.0, 2.0, 3.0, 4.0]
    combinations = [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, -2]]
    expected = refine([1, 2, 3, 4], rows, [0, 5], variances).variances_of(combinations)
    monkeypatch.setattr(factored, "MOST_CORE", -1)
    refined = refine([1, 2, 3, 4], rows, [0, 5], variances)
    assert refined.variances_of(combinations) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(InvalidFact, match=r"too entangled for all variances at once.*variances_of"):
        _ = refined.variances


def test_a_response_without_variance_stays_as_it_is():
    refined = refine([10.0, 3.0, 4.0], [[1, -1, -1]], [0], covariance=[0, 1, 3])
    assert refined.estimates == pytest.approx([10, 3.75, 6.25])
    assert refined.variances == pytest.approx([0, 0.75, 0.75])


def test_a_known_response_is_its_constant_and_has_no_variance():
    refined = refine([10.0, 3.0], [[1, 0]], [8])
    assert refined.estimates.tolist() == [8, 3]
    assert refined.variances.tolist() == [0, 1]


def test_without_constraints_nothing_changes():
    refined = refine([1.5, 2.5], covariance=[4.0, 9.0])
    assert refined.estimates.tolist() == [1.5, 2.5]
    assert refined.variances.tolist() == [4.0, 9.0]


def test_very_different_variances_are_not_taken_for_a_dependence():
    refined = refine([5.0, 5.0], [[1, 1], [0, 1]], [7, 3], covariance=[1e-14, 1.0])
    assert refined.estimates == pytest.approx([4, 3], rel=1e-9)


def test_constraints_that_follow_from_others_change_nothing():
    once = refine([3.0, 4.0, 9.0], [[1, 1, -1]], [0])
    again = refine([3.0, 4.0, 9.0], [[1, 1, -1], [2, 2, -2], [0, 0, 0], [-1, -1, 1]], [0, 0, 0, 0])
    assert again.estimates == pytest.approx(once.estimates, rel=1e-12)
    assert again.variances == pytest.approx(once.variances, rel=1e-12)


@WAYS
@pytest.mark.parametrize(
    ("constraints", "constants", "message"),
    [
        (
            [[1, 1, 0], [0, 1, 1], [1, 2, 1]],
            [3, 4, 9],
            "constraint 2 says 9, but constraints 0 and 1 make it 7: off by 2",
        ),
        ([[1, 0, 0], [1, 0, 0]], [1, 2.5], "off by 1.5"),
        ([[0, 0, 0]], [5], "constraint 0 says 5, but it is always 0: off by 5"),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]], [1, 2, 3, 7], "off by 1"),
    ],
)
def test_contradictory_constraints_are_named_with_how_far_they_are_off(
    constraints, constants, message, converges, monkeypatch
):
    if not converges:
        keep_from_converging(monkeypatch)
    with pytest.raises(InvalidFact, match="no numbers meet all constraints") as error:
        refine([1.0, 2.0, 3.0], constraints, constants)
    assert message in str(error.value)


def test_a_contradiction_is_named_without_a_factor_as_well(monkeypatch):
    monkeypatch.setattr(factored, "MOST_CORE", -1)
    with pytest.raises(InvalidFact, match=r"constraint \d says \d, but constraints \d and \d make it \d: off by 2"):
        refine([1.0, 2.0, 3.0], [[1, 1, 0], [0, 1, 1], [1, 2, 1]], [3, 4, 9])


def test_badly_conditioned_constraints_are_factored_where_the_iteration_does_not_converge():
    size = 4000
    steps = sparse.diags_array([-np.ones(size), np.ones(size)], offsets=[0, 1], shape=(size, size + 1))
    generator = np.random.default_rng(3)
    truth = np.cumsum(generator.integers(0, 9, size + 1)).astype(float)
    responses = truth + generator.laplace(scale=5, size=size + 1)
    refined = refine(responses, steps, steps @ truth)
    # All differences are known, so that one number is left to estimate: the level.
    assert np.allclose(refined.estimates, truth + np.mean(responses - truth), atol=1e-6)
    assert np.allclose(refined.variances, 1 / (size + 1), rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, float("nan")],), "responses: number 1 is nan"),
        ((["a"],), "responses must be numbers"),
        (([[1, 2]],), r"responses must be a vector; these have the shape \(1, 2\)"),
        (([1, 2], [[1, 1, 1]], [3]), "constraints have 3 columns for 2 responses"),
        (([1, 2], [[1, float("nan")]], [3]), "constraints: row 0 has nan at column 1"),
        (([1, 2], [[1, 1]], [float("inf")]), "constants: number 0 is inf"),
        (([1, 2], [[1, 1]], [3, 4]), "there are 1 constraints and 2 constants"),
        (([1, 2], [[1, 1]]), "constraints and constants go together"),
        (([1, 2], [1, 1], [3]), "constraints must be a matrix"),
        (([1, 2], None, None, [1]), "there are 2 responses and 1 variances"),
        (([1, 2], None, None, [1, -1]), "the variance of response 1 is -1"),
        (([1, 2], None, None, [[1, 2], [0, 1]]), "covariance is not symmetric"),
        (([1, 2], None, None, [[1.0]]), r"covariance has the shape \(1, 1\) for 2 responses"),
    ],
)
def test_bad_input_is_refused_with_what_is_wrong(arguments, message):
    with pytest.raises(InvalidFact, match=message):
        refine(*arguments)


def test_a_covariance_that_is_symmetric_but_for_rounding_is_taken():
    exact, rounded = [[2.0, 1.0], [1.0, 2.0]], [[2.0, 1.0], [1.0 + 1e-12, 2.0]]
    known = ([1, 2], [[1, 1]], [4])
    assert refine(*known, rounded).estimates == pytest.approx(refine(*known, exact).estimates, rel=1e-9)


def test_variances_are_those_of_repeated_refinements():
    # Two-sided: within 4 standard errors of the stated variances, for Laplace noise of different scales.
    generator = np.random.default_rng(8)
    constraints, scales = np.array([[1, 1, -1, 0], [0, 1, 1, -1]]), np.array([1.0, 2.0, 3.0, 4.0])
    truth = np.array([10.0, 20.0, 30.0, 50.0])
    rule = refine(truth, constraints, constraints @ truth, 2 * scales**2).rule()
    draws = truth + generator.laplace(scale=scales, size=(40_000, 4))
    refined = draws @ rule.on_responses.T + rule.on_constants @ (constraints @ truth)
    stated = refine(truth, constraints, constraints @ truth, 2 * scales**2).variances
    squares = (refined - truth) ** 2
    errors = squares.std(axis=0) / 200
    assert np.all(np.abs(squares.mean(axis=0) - stated) < 4 * errors)
    assert np.all(np.abs((refined - truth).mean(axis=0)) < 4 * refined.std(axis=0) / 200)


def test_the_public_name_is_at_the_root():
    assert discreet.refine([7.0, 4.0], [[1, 1]], [10]).estimates.tolist() == [6.5, 3.5]
    with pytest.raises(AttributeError, match="no attribute 'refind'"):
        _ = discreet.refind


def test_of_many_contradictions_the_first_few_are_named_and_all_are_counted():
    with pytest.raises(InvalidFact, match=r"constraint 1 says 1,.*; and 4 more; correct the constants"):
        refine([1.0, 2.0], [[1, 0]] * 8, range(8))


def test_a_covariance_that_no_noise_has_is_refused_with_the_pair():
    with pytest.raises(InvalidFact, match="2 between responses 0 and 1 is more than their variances 1 and 3 allow"):
        refine([4.0, 1.0, 6.0], [[1, 1, 1]], [10], covariance=[[1, 2, 0], [2, 3, 0], [0, 0, 1]])
