"""Order, bounds and signs, against closed forms, another solver and an enumeration of active sets."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from discreet.errors import InvalidFact
from discreet.refinement import constrained
from discreet.refinement.constrained import pool
from discreet.refinement.refine import refine

numbers = st.lists(st.tuples(st.integers(-20, 20), st.sampled_from([0.5, 1.0, 4.0])), min_size=1, max_size=12)


@given(numbers)
def test_pooling_is_the_max_of_mins_of_averages(pairs):
    # Robertson, Wright and Dykstra 1988, Theorem 1.4.4
    values, weights = np.array(pairs, float).T
    size = len(values)
    expected = [
        max(
            min(np.average(values[j : k + 1], weights=weights[j : k + 1]) for k in range(i, size)) for j in range(i + 1)
        )
        for i in range(size)
    ]
    assert pool(values, weights) == pytest.approx(expected, abs=1e-12)


def nearest_of_active_sets(responses, equal, constants, rows, limits, covariance):
    """By brute force: the nearest feasible point on any choice of inequalities taken as equalities."""
    root = np.linalg.cholesky(covariance)
    best, least = None, np.inf
    for count in range(len(limits) + 1):
        for active in combinations(range(len(limits)), count):
            matrix = np.vstack([equal, rows[list(active)]])
            sides = np.concatenate([constants, limits[list(active)]])
            point = responses + root @ np.linalg.pinv(matrix @ root) @ (sides - matrix @ responses)
            met = np.allclose(matrix @ point, sides, atol=1e-9) and np.all(rows @ point <= limits + 1e-9)
            distance = np.linalg.norm(np.linalg.solve(root, point - responses))
            if met and distance < least - 1e-12:
                best, least = point, distance
    return best


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_the_solver_finds_the_nearest_point(seed, correlated):
    generator = np.random.default_rng(seed)
    truth = np.sort(generator.uniform(0, 5, 5))
    responses = truth + generator.normal(scale=4, size=5)
    equal = generator.integers(-1, 2, (1, 5)).astype(float)
    mixed = generator.normal(size=(5, 5))
    covariance = mixed @ mixed.T + np.eye(5) if correlated else np.diag(generator.uniform(0.5, 4, 5))
    rows = np.vstack([-np.eye(5), np.eye(5)[:-1] - np.eye(5)[1:]])
    expected = nearest_of_active_sets(responses, equal, equal @ truth, rows, np.zeros(9), covariance)
    given_covariance = covariance if correlated else np.diag(covariance)
    refined = refine(responses, equal, equal @ truth, given_covariance, nonnegative=True, order="ascending")
    assert refined.estimates == pytest.approx(expected, abs=1e-7)
    assert not refined.unbiased
    assert abs(refined.residuals).max() < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_pooling_and_the_solver_agree(seed, monkeypatch):
    generator = np.random.default_rng(seed)
    responses, variances = generator.normal(scale=10, size=30), generator.uniform(0.5, 4, 30)
    chains = [list(range(10)), list(range(25, 12, -1))]
    asked = {"covariance": variances, "bounds": (-4, 6), "order": chains}
    pooled = refine(responses, **asked).estimates
    monkeypatch.setattr(constrained.Shape, "separable", False)
    assert refine(responses, **asked).estimates == pytest.approx(pooled, abs=1e-9)


def test_bounds_alone_clip():
    refined = refine([-3.0, 4.0, 12.0], bounds=([0, 5, 0], 10))
    assert refined.estimates.tolist() == [0, 5, 10]


def test_the_simplex_is_projected_onto_as_by_another_solver():
    generator = np.random.default_rng(1)
    responses = generator.normal(scale=3, size=200)
    refined = refine(responses, np.ones((1, 200)), [50.0], nonnegative=True)
    # The equality as a very heavy row of a bounded least squares.
    heavy = lsq_linear(np.vstack([np.eye(200), 1e4 * np.ones(200)]), np.append(responses, 50e4), (0, np.inf), tol=1e-14)
    assert refined.estimates == pytest.approx(heavy.x, abs=1e-5)
    assert refined.estimates.sum() == pytest.approx(50, rel=1e-12)
    assert refined.estimates.min() == 0


def test_order_across_chains_that_meet_is_a_partial_order():
    refined = refine([5.0, 3.0, 1.0], order=[[0, 2], [1, 2]])
    assert refined.estimates == pytest.approx([3, 3, 3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"constraints": [[1, 1]], "constants": [-3], "nonnegative": True}, "constraint 0 would be off by 3"),
        ({"bounds": ([1, 1], [0, 5])}, "number 0 cannot be both at least 1 and at most 0"),
        ({"bounds": ([3, 0], [5, 1]), "order": "ascending"}, "the bound or order of 0 and 1 would be off by 2"),
        ({"order": "up"}, 'order is "ascending", "descending" or chains of places, not \'up\''),
        ({"order": [[0, 1], [0, 2]]}, "chain 1 must be different places from 0 to 1"),
        ({"order": [[0.5, 1]]}, "chain 0 must be different places"),
        ({"order": [[0, 0]]}, "chain 0 must be different places"),
        ({"bounds": ([1, 2, 3], None)}, "the lower bounds must be a number, or one for each of 2 responses"),
        ({"bounds": (None, float("nan"))}, "the upper bounds: number 0 is nan"),
        ({"covariance": [[1, 1], [1, 1]], "nonnegative": True}, "covariance is not positive definite"),
    ],
)
def test_what_cannot_be_met_is_refused_with_the_reason(arguments, message):
    with pytest.raises(InvalidFact, match=message):
        refine([1.0, 2.0], **arguments)


def test_a_solver_that_stops_short_is_not_believed(monkeypatch):
    solve = constrained._interior_point

    def stops_short(*program):
        moved, duals, slacks = solve(*program)
        return moved * 0.9, duals * 0, slacks  # its word is "solved", its numbers are not

    monkeypatch.setattr(constrained, "_interior_point", stops_short)
    with pytest.raises(InvalidFact, match="the solver did not reach"):
        refine([3.0, -1.0, 5.0], [[1, 1, 1]], [4], nonnegative=True)


def test_a_nearer_point_that_breaks_a_single_bound_is_not_taken(monkeypatch):
    solve = constrained._interior_point

    def sees_no_bound(*program):
        moved, duals, slacks = solve(*program)
        return moved, duals, slacks + 1e9  # so that the polished point is (2, -2, 4)

    monkeypatch.setattr(constrained, "_interior_point", sees_no_bound)
    refined = refine([3.0, -1.0, 5.0], [[1, 1, 1]], [4], nonnegative=True)
    assert refined.estimates == pytest.approx([1, 0, 3], abs=1e-5)


@pytest.mark.parametrize("asked", ["variances", "rule"])
def test_estimates_that_are_not_linear_have_no_stated_variance(asked):
    refined = refine([1.0, -2.0], nonnegative=True)
    with pytest.raises(InvalidFact, match="not linear"):
        refined.variances if asked == "variances" else refined.rule()


def laws_of(refined, truth, reach):
    """The chance of each refined value, over responses within reach, with discrete Laplace noise of scale 1."""
    law: dict[tuple[float, ...], float] = {}
    for response in product(range(-reach, reach + 1), repeat=len(truth)):
        chance = np.prod([np.exp(-abs(one - true)) for one, true in zip(response, truth, strict=True)])
        value = tuple(np.round(refined(response), 6).tolist())
        law[value] = law.get(value, 0.0) + float(chance)
    return law


# refinement, Section 4 leaves open whether knowledge of order and range can breach privacy
@pytest.mark.parametrize(
    "known",
    [{"order": "ascending"}, {"nonnegative": True}, {"bounds": (0, 3)}, {"order": "ascending", "nonnegative": True}],
)
def test_order_range_and_signs_that_hold_for_both_tables_cost_nothing(known):
    tables = [laws_of(lambda y: refine(y, **known).estimates, truth, 6) for truth in ((1, 2), (1, 3))]
    assert tables[0].keys() == tables[1].keys()
    ratios = [tables[0][value] / tables[1][value] for value in tables[0]]
    assert max(ratios) <= np.exp(1) * (1 + 1e-9)
    assert min(ratios) >= np.exp(-1) * (1 - 1e-9)


def test_a_range_that_differs_between_neighbours_tells_them_apart():
    here, there = (
        laws_of(lambda y, most=most: refine(y, bounds=(None, most)).estimates, (most,), 20) for most in (5, 4)
    )
    assert here[5.0,] / sum(here.values()) > 0.5
    assert (5.0,) not in there
