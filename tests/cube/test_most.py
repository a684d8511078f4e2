"""Objectives beyond the largest variance: expectations, bounds on what is precise, relative errors."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan
from discreet.cube.planning import plan_cube
from discreet.cube.relative import mean_squares
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.query.lattice import Lattice

NOISES = {
    "laplace": NoiseModel(PureBudget(Fraction(1), "add-remove"), continuous=True),
    "gaussian": NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove"), continuous=True),
}
SEED = Lattice((2, 7, 5), ("sex", "age", "salary"))
SEVEN = Lattice((7,) * 5)


@pytest.fixture(params=NOISES.values(), ids=NOISES.keys())
def noise(request):
    return request.param


def precise(plan: CubePlan, bound: float) -> int:
    return int((plan.variances() <= bound * (1 + 1e-9)).sum())


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9, 1.0])
@pytest.mark.parametrize("lattice", [SEVEN, Lattice((9, 16, 7, 2, 2))], ids=["equal", "unequal"])
def test_most_makes_no_fewer_cuboids_precise_than_any_other_planner(noise, lattice, part):
    bound = part * plan_cube(lattice, noise).max_variance_consistent
    most = plan_cube(lattice, noise, objective="most", bound=bound)
    others = [plan_cube(lattice, noise, planner=planner) for planner in ("all", "base", "bmax", "bmaxg", "optimal")]
    others += [plan_cube(lattice, noise, planner=planner, bound=bound) for planner in ("pmost", "pmostg")]
    assert precise(most, bound) >= max(precise(other, bound) for other in others)
    assert most.precise_weight() == precise(most, bound)
    assert (precise(most, bound) == len(most.published)) == (part == 1.0)


def test_most_prefers_the_cuboids_that_weigh_more(noise):
    bound = 0.5 * plan_cube(SEVEN, noise).max_variance_consistent
    heavy = {(0, 1): 50.0, (0, 1, 2, 3, 4): 50.0}
    plan = plan_cube(SEVEN, noise, objective="most", bound=bound, weights=heavy)
    assert all(plan.variance(*names) <= bound for names in heavy)
    assert plan.precise_weight() >= 100


def test_most_of_very_many_dimensions(noise):
    lattice = Lattice((2,) * 8 + (10,) * 14)
    bound = 0.6 * plan_cube(lattice, noise, cuboids=2).max_variance_consistent
    most = plan_cube(lattice, noise, cuboids=2, objective="most", bound=bound)
    assert precise(most, bound) > precise(plan_cube(lattice, noise, cuboids=2), bound)
    assert np.isfinite(most.variances()).all()
    with pytest.raises(UnsupportedQuery, match="say up to which variance a cuboid is precise"):
        plan_cube(lattice, noise, cuboids=2, objective="most")


def test_without_a_bound_half_of_what_bmax_keeps_is_precise(noise):
    plan = plan_cube(SEED, noise, objective="most")
    assert plan.bound == pytest.approx(plan_cube(SEED, noise, planner="bmax").max_variance / 2)


@pytest.mark.parametrize("planner", ["bmax", "bmaxg", "optimal"])
def test_problem_6_is_the_largest_variance_with_weights_of_one_over_the_expectation(noise, planner):
    # cubes, Problem 6: Algorithm 3 with mag'(C_i, C) = mag(C_i, C)/VAR.
    expected = {("sex",): 20.0, ("age", "salary"): 200.0, "others": 80.0}
    weights = {SEED.names_of(mask): 1 / expected.get(SEED.names_of(mask), 80.0) for mask in range(8)}
    ratio = plan_cube(SEED, noise, planner=planner, expected=expected)
    weighed = plan_cube(SEED, noise, planner=planner, weights=weights)
    assert ratio.source_masks == weighed.source_masks
    assert ratio.shares == weighed.shares
    assert ratio.score("max") == pytest.approx(weighed.score("max"))
    assert ratio.to_json()["max_ratio_consistent"] == pytest.approx(ratio.score("max"))


def test_what_is_expected_to_be_exact_is_and_the_ratio_falls(noise):
    expected = {("sex",): 1.0, "others": 100.0}
    ratio, plain = plan_cube(SEED, noise, expected=expected), plan_cube(SEED, noise)
    assert ratio.variance("sex") < plain.variance("sex") / 2
    assert ratio.score("max") < (plain.variances() / np.array(ratio.expected)).max()


@pytest.mark.parametrize("objective", ["mean", "mean-std"])
def test_means_are_of_ratios_too(noise, objective):
    expected = {("sex",): 1.0, ("age",): 10.0, "others": 100.0}
    ratio, plain = (plan_cube(SEED, noise, objective=objective, expected=e) for e in (expected, None))
    roots = plain.variances() / np.array(ratio.expected)
    assert ratio.score(objective) < (roots if objective == "mean" else np.sqrt(roots)).mean()


def test_pmost_counts_ratios_where_something_is_expected(noise):
    expected = {("sex",): 20.0, "others": 80.0}
    plan = plan_cube(SEED, noise, planner="pmostg", bound=1.0, expected=expected)
    assert plan.precise_weight(consistent=False) == (plan.variances(False) / np.array(plan.expected) <= 1).sum()


def test_an_objective_without_what_it_needs_is_refused(noise):
    with pytest.raises(UnsupportedQuery, match="takes no bound; pmost, pmostg and the objective most do"):
        plan_cube(SEED, noise, bound=4.0)
    for planner, objective in [("optimal", "max"), ("base", "most"), ("optimal", "mean")]:
        with pytest.raises(UnsupportedQuery, match="takes no bound"):
            plan_cube(SEED, noise, planner=planner, objective=objective, bound=4.0)
    with pytest.raises(UnsupportedQuery, match="must be above 0"):
        plan_cube(SEED, noise, objective="most", bound=0.0)
    with pytest.raises(UnsupportedQuery, match="no expected variance"):
        plan_cube(SEED, noise, expected={("sex",): 20.0})


def test_the_bias_of_squared_noise_is_removed_from_the_first_estimate(town):
    # cubes, Section 3.4.1, with the noise's variance subtracted: over many first cubes the mean is Σ c² / |C|.
    lattice = Lattice(town.domain.shape, town.domain.names)
    published = lattice.choose(2)
    cubes = [town.publish(town.plan(epsilon="1/4", planner="all")) for _ in range(200)]
    found = [mean_squares(cube, lattice, published) for cube in cubes]
    for mask in published:
        names = lattice.names_of(mask)
        truth = float(np.mean(np.square(town.exact(*names))))
        estimates = np.array([estimate[names] for estimate in found])
        assert abs(estimates.mean() - truth) < 5 * estimates.std() / np.sqrt(len(cubes))
        biased = np.mean([np.mean(np.square(cube.cells(*names))) for cube in cubes])
        assert biased - estimates.mean() == pytest.approx(cubes[0].variance(*names), rel=1e-2)


def test_an_estimate_that_noise_drowns_stays_above_what_the_number_of_rows_implies(town):
    lattice = Lattice(town.domain.shape, town.domain.names)
    cube = town.publish(town.plan(epsilon="1/1000", planner="all"))
    estimates = mean_squares(cube, lattice, lattice.choose("all"))
    squared_rows = max(1.0, float(cube[()].values) ** 2 - cube.variance())
    for names, estimate in estimates.items():
        assert estimate >= squared_rows / lattice.cells(lattice.mask(*names)) ** 2 > 0


def test_planning_for_relative_errors_lowers_the_largest_one(town):
    lattice = Lattice(town.domain.shape, town.domain.names)
    first = town.publish(town.plan(epsilon="1/4"))
    expected = mean_squares(first, lattice, lattice.choose("all"))
    noise = NOISES["laplace"]
    relative, plain = plan_cube(lattice, noise, expected=expected), plan_cube(lattice, noise)
    truths = [np.mean(np.square(town.exact(*lattice.names_of(mask)))) for mask in plain.published]
    assert (relative.variances() / truths).max() < 0.7 * (plain.variances() / truths).max()
