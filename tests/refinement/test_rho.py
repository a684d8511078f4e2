"""ρ on refinement: the seed's examples, by the program, by densities, and against all subsets of outputs."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import discreet
from discreet.errors import InvalidFact, InvalidNoise
from discreet.refinement.linear_refinement import LinearRefinement
from discreet.refinement.rho import calibrate, rho

GRADES = np.array([[1, 1, 1, 1, 0, -1, 0], [0, 0, 0, 0, 1, 1, -1], [1, 1, 0, 0, 0, 0, 0]])  # refinement, (11)
STUDENTS = np.vstack([np.eye(5), [1, 1, 1, 1, 0], np.ones(5)])  # what a student with each grade adds to the responses


def appendix(k):
    """refinement, (17) and (18): X̂1 = (X1 + X2 + c)/(k + 1), X̂2 = X2, with c = k·μ1 − μ2."""
    return LinearRefinement.of([[1 / (k + 1), 1 / (k + 1)], [0, 1]], [[1 / (k + 1)], [0]], constraints=[[k, -1]])


def test_example_1_doubles_epsilon():
    # refinement, Example 1: σ = 1/ε, and 2ε on refinement
    found = rho(LinearRefinement.best([[1, 1]]), "add-remove", scale=1 / 0.3)
    assert found.value == pytest.approx(0.6, rel=1e-9)
    assert found.epsilon == pytest.approx(0.3)
    assert found.factor == pytest.approx(2)
    assert len(found.outputs) == 1
    assert found.told_apart


@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_the_appendix(k):
    # refinement, Appendix: σ = 2/ε; the first count alone (k + 1)/2·ε. Both together: t2 = −1, t1 = k + 2.
    pair = [([1, -1], [k + 1])]
    assert rho(appendix(k).only(0), pair, scale=2).value == pytest.approx((k + 1) / 2, rel=1e-9)
    both = rho(appendix(k), pair, scale=2)
    assert both.value == pytest.approx((k + 3) / 2, rel=1e-9)
    assert both.outputs == (0, 1)
    assert not both.told_apart
    assert rho(appendix(k), "replace", scale=2).value == pytest.approx((k + 3) / 2, rel=1e-9)


def sum_density(y, one, other):
    """Of a sum of two independent Laplace draws with these scales, in closed form."""
    y = np.abs(y)
    if np.isclose(one, other):
        return (1 + y / one) * np.exp(-y / one) / (4 * one)
    return (one * np.exp(-y / one) - other * np.exp(-y / other)) / (2 * (one**2 - other**2))


@pytest.mark.parametrize(
    ("refinement", "pair", "scale"),
    [
        (LinearRefinement.best([[1, 1]]).only(0), ([1, 0], [1]), 2.0),
        (appendix(3).only(0), ([1, -1], [4]), 4.0),
        (LinearRefinement.of([[0.3, -0.8]], [[2.0]]), ([1, 0], [0.5]), 3.0),
    ],
    ids=["example 1", "appendix", "any"],
)
def test_density_ratios_approach_rho_and_never_exceed_it(refinement, pair, scale):
    found = rho(refinement, [pair], scale).value
    moved = float((refinement.on_responses @ pair[0] + refinement.on_constants @ pair[1])[0])
    scales = np.abs(refinement.on_responses[0]) * scale
    outputs = np.linspace(-400, 400, 80_001) * scales.max()
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.log(sum_density(outputs - moved, *scales)) - np.log(sum_density(outputs, *scales))
    largest = np.nanmax(np.abs(ratios[np.isfinite(ratios)]))
    assert largest <= found * (1 + 1e-9)
    assert largest >= found * 0.99


def test_the_density_ratio_of_both_outputs_of_the_appendix_is_rho():
    # A is invertible, so that the outputs' density is the responses' own, moved.
    refinement, (moved, constants), scale = appendix(3), (np.array([1.0, -1.0]), np.array([4.0])), 4.0
    shift = np.linalg.solve(
        refinement.on_responses, refinement.on_responses @ moved + refinement.on_constants @ constants
    )
    noise = np.stack(np.meshgrid(*[np.linspace(-30, 30, 121)] * 2), axis=-1)
    ratios = (np.abs(noise).sum(axis=-1) - np.abs(noise - shift).sum(axis=-1)) / scale
    assert rho(refinement, [(moved, constants)], scale).value == pytest.approx(ratios.max(), rel=1e-9)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_constants_that_do_not_differ_cost_nothing(neighbours):
    # refinement, after Theorem 2: ρ = ε when c = c′. The first two constraints of (11) hold by definition.
    found = rho(LinearRefinement.best(GRADES[:2], queries=STUDENTS), neighbours)
    assert found.factor <= 1 + 1e-9
    assert not found.told_apart


@given(st.lists(st.lists(st.integers(-2, 2), min_size=4, max_size=4), min_size=1, max_size=3), st.integers(0, 99))
@settings(max_examples=40)
def test_a_least_squares_refinement_with_the_same_constants_never_exceeds_epsilon(constraints, seed):
    moved = np.random.default_rng(seed).integers(-2, 3, 4)
    found = rho(LinearRefinement.best(constraints), [(moved, np.zeros(len(constraints)))])
    assert found.value <= np.abs(moved).sum() * (1 + 1e-9)


def rho_over_all_subsets(refinement, moved, constants):
    """Definition 5 as it stands: every subset of outputs whose program is feasible."""
    a = refinement.on_responses
    target = a @ moved + refinement.on_constants @ constants
    largest, columns = 0.0, a.shape[1]
    for size in range(1, len(target) + 1):
        for subset in map(list, combinations(range(len(target)), size)):
            reached = a[subset] @ np.linalg.pinv(a[subset]) @ target[subset]
            if np.allclose(reached, target[subset], atol=1e-8):
                program = linprog(np.ones(2 * columns), A_eq=np.hstack([a[subset], -a[subset]]), b_eq=reached)
                largest = max(largest, program.fun)
    return largest


@given(
    st.integers(2, 5).flatmap(
        lambda responses: st.tuples(
            st.lists(st.lists(st.integers(-1, 2), min_size=responses, max_size=responses), min_size=1, max_size=3),
            st.lists(st.integers(-1, 1), min_size=responses, max_size=responses),
        )
    )
)
@settings(max_examples=40)
def test_the_largest_sets_are_enough(system):
    constraints, moved = np.array(system[0], float), np.array(system[1], float)
    refinement = LinearRefinement.best(constraints)
    expected = rho_over_all_subsets(refinement, moved, constraints @ moved)
    assert rho(refinement, [(moved, constraints @ moved)]).value == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_calibrated_noise_keeps_rho_within_epsilon():
    refinement = LinearRefinement.best(GRADES, queries=STUDENTS)
    scale = calibrate(refinement, "1/2", "replace")
    assert rho(refinement, "replace", scale).value <= 0.5
    assert rho(refinement, "replace", 0.99 * scale).value > 0.5
    # Where refinement costs nothing, it is the classical scale: Δ/ε.
    assert calibrate(LinearRefinement.best(GRADES[:2], queries=STUDENTS), 0.5, "add-remove") == pytest.approx(6)


def test_each_response_may_have_its_own_scale():
    refinement = LinearRefinement.best([[1, 1]])
    # x̂1 moves by 1 = (t1 − t2)/2: cheapest is the response with the larger scale, t2 = −2.
    assert rho(refinement, [([1, 0], [1])], scale=[1.0, 10.0]).value == pytest.approx(0.2)


def test_outputs_that_constants_determine_are_not_counted():
    found = rho(LinearRefinement.of([[0.0]], [[1.0]], constraints=[[1.0]]), "add-remove")
    assert found.value == 0
    assert found.outputs == ()
    assert found.told_apart


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rho(LinearRefinement.best([[1, 1]]), "sideways"), "neighbours are"),
        (lambda: rho(LinearRefinement.best([[1, 1]]), []), "at least one pair"),
        (
            lambda: rho(LinearRefinement.best([[1, 1]]), [([1, 0], [1, 2])]),
            "2 differences of responses and 1 of constants",
        ),
        (lambda: rho(LinearRefinement.of([[1.0]], [[1.0]]), "replace"), "give the refinement its constraints"),
        (lambda: rho(LinearRefinement.best(np.eye(30)[:15] + np.eye(30)[15:]), "add-remove"), "too many to look at"),
        (lambda: rho(LinearRefinement.best(np.ones((1, 600))), "replace"), "179,700 pairs of neighbours"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_the_reason(call, message):
    with pytest.raises(InvalidFact, match=message):
        call()


@pytest.mark.parametrize("scale", [0, -1, float("nan"), [1.0], [1.0, 0.0]])
def test_a_scale_is_above_0(scale):
    with pytest.raises((InvalidNoise, InvalidFact)):
        rho(LinearRefinement.best([[1, 1]]), "add-remove", scale)


@pytest.mark.parametrize("epsilon", [0, -1, "x", float("inf"), "1/0"])
def test_epsilon_is_above_0(epsilon):
    with pytest.raises(InvalidNoise, match="epsilon must be a number above 0"):
        calibrate(LinearRefinement.best([[1, 1]]), epsilon, "add-remove")


def test_the_public_names_are_at_the_root():
    refinement = discreet.LinearRefinement.best([[1, 1]])
    assert discreet.rho(refinement, "add-remove").factor == pytest.approx(2)
    assert discreet.calibrate(refinement, 1, "add-remove") == pytest.approx(2)
