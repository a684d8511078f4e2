"""Linear refinements as matrices: A, D and h."""

import numpy as np
import pytest

from discreet.errors import InvalidFact
from discreet.refinement.linear_refinement import LinearRefinement
from discreet.refinement.refine import refine

GRADES = [[1, 1, 1, 1, 0, -1, 0], [0, 0, 0, 0, 1, 1, -1], [1, 1, 0, 0, 0, 0, 0]]  # refinement, (11)


def test_example_1_as_matrices():
    # refinement, formula 5
    best = LinearRefinement.best([[1, 1]])
    assert np.allclose(best.on_responses, [[0.5, -0.5], [-0.5, 0.5]])
    assert np.allclose(best.on_constants, [[0.5], [0.5]])
    assert best.offset.tolist() == [0, 0]


def test_the_best_refinement_is_theorem_3():
    # refinement, (16), whose B is the transpose of ours
    b = np.array(GRADES, float).T
    best = LinearRefinement.best(GRADES)
    assert np.allclose(best.on_responses, np.eye(7) - b @ np.linalg.inv(b.T @ b) @ b.T)
    assert np.allclose(best.on_constants, b @ np.linalg.inv(b.T @ b))
    assert best.unbiased
    assert best.constrained


def test_the_best_refinement_is_what_refine_applies():
    responses, constants, variances = [50.0, 33, 60, 40, 12, 180, 201], [0.0, 0.0, 80.0], [1, 1, 1, 4, 4, 9, 9]
    refined = refine(responses, GRADES, constants, variances)
    rule = refined.rule()
    assert np.allclose(rule(responses, constants), refined.estimates)
    assert np.allclose(rule.variances(variances), refined.variances)


@pytest.mark.parametrize("seed", range(5))
def test_no_unbiased_linear_refinement_has_less_variance(seed):
    # Any other one is A = 1 − DB with another D.
    generator = np.random.default_rng(seed)
    b, variances = np.array(GRADES, float), generator.uniform(0.5, 5, 7)
    best = LinearRefinement.best(b, variances)
    d = best.on_constants + generator.normal(size=(7, 3))
    other = LinearRefinement.of(np.eye(7) - d @ b, d, constraints=b)
    assert other.unbiased
    assert np.all(other.variances(variances) >= best.variances(variances) - 1e-12)


def test_biased_and_unconstrained_refinements_say_so():
    appendix = LinearRefinement.of([[1 / 3, 1 / 3], [0, 1]], [[1 / 3], [0]], constraints=[[2, -1]])
    assert appendix.unbiased
    assert not appendix.constrained
    shifted = LinearRefinement.of(np.eye(2), np.zeros((2, 1)), [1, 0], constraints=[[2, -1]])
    assert not shifted.unbiased
    assert not shifted.constrained


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearRefinement.of(np.eye(2), np.zeros((3, 1))), r"D has the shape \(3, 1\); it must be \(2, 1\)"),
        (lambda: LinearRefinement.of(np.eye(2), np.zeros((2, 1)), [1]), r"h has the shape \(1,\)"),
        (lambda: LinearRefinement.of(np.eye(2), np.zeros((2, 1)), None, [[1]]), "constraints has the shape"),
        (lambda: LinearRefinement.of(np.eye(2), np.zeros((2, 1)), None, None, [[1]]), "queries has the shape"),
        (lambda: LinearRefinement.best([[1, 1]])([1, 2, 3], [1]), "responses has the shape"),
        (lambda: LinearRefinement.best([[1, 1]])([1, 2], [1, 2]), "constants has the shape"),
        (lambda: LinearRefinement.best(np.ones((1, 3000))), "3000 responses is not written out; 2000 is the most"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(make, message):
    with pytest.raises(InvalidFact, match=message):
        make()
