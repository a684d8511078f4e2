"""Plans for cuboids of a few of very many dimensions: as good as those of a whole lattice, where both can be made."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from discreet.cube.noise_model import NoiseModel
from discreet.cube.planners.few import Slopes, is_few, optimise_few
from discreet.cube.planners.most import ratios_of
from discreet.cube.planners.optimal import optimise
from discreet.cube.planners.task import Task
from discreet.cube.planning import plan_cube
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.query.lattice import Lattice

LAPLACE = NoiseModel(PureBudget(Fraction(1), "add-remove"), continuous=True)
GAUSSIAN = NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove"), continuous=True)
OBJECTIVES = ("max", "mean", "mean-std")


def task_of(lattice, cuboids, noise, objective="max", seed=None):
    published = lattice.choose(cuboids)
    rng = np.random.default_rng(seed)
    ones = np.ones(len(published))
    weights, expected = (
        (ones, ones) if seed is None else (rng.uniform(0.5, 3, len(ones)), rng.uniform(5, 50, len(ones)))
    )
    return Task(lattice, published, tuple(weights), noise, objective, expected=tuple(expected))


def value(task, shares):
    """What an objective makes small, weights and expectations included."""
    ratios, weights = ratios_of(task, shares), np.array(task.weights)
    match task.objective:
        case "max":
            return (ratios * weights).max()
        case "mean":
            return np.average(ratios, weights=weights)
    return np.average(np.sqrt(ratios), weights=weights)


@settings(max_examples=20)
@given(
    st.sampled_from([LAPLACE, GAUSSIAN]),
    st.sampled_from(OBJECTIVES),
    st.sampled_from([0.5, 1.0, 8.0]),
    st.integers(0, 99),
)
def test_the_gradient_is_the_slope(noise, objective, r, seed):
    slopes = Slopes.of(task_of(Lattice((2, 3, 5, 4)), 2, noise, objective, seed))
    point = np.random.default_rng(seed).normal(size=len(slopes.closure.masks))
    off = check_grad(lambda x: slopes.evaluate(x, r)[0], lambda x: slopes.evaluate(x, r)[1], point)
    assert off < 1e-6


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", [None, 1])
def test_under_gaussian_noise_it_reaches_the_optimum_of_the_whole_lattice(objective, seed):
    task = task_of(Lattice((2, 7, 5, 3)), "all", GAUSSIAN, objective, seed)
    assert value(task, optimise_few(task)) == pytest.approx(value(task, optimise(task)), rel=5e-3)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_it_is_no_worse_than_equal_shares_for_all_or_for_the_finest(noise, objective):
    lattice = Lattice(tuple(np.random.default_rng(3).integers(2, 15, 24).tolist()))
    task = task_of(lattice, 2, noise, objective)
    finest = [mask for mask in task.published if mask.bit_count() == 2]
    shares = optimise_few(task)
    assert sum(shares.values()) == pytest.approx(1)
    for sources in (task.published, finest):
        assert value(task, shares) <= value(task, dict.fromkeys(sources, 1 / len(sources))) * (1 + 1e-3)


def test_sources_that_are_alike_have_one_share():
    shares = optimise_few(task_of(Lattice((10,) * 30), 2, LAPLACE))
    assert len(set(shares.values())) <= 3


def test_it_is_used_where_the_lattice_is_much_larger_than_what_is_published():
    cases = [((10,) * 50, 3, True), ((4,) * 18, 2, True), ((4,) * 16, 2, False), ((2,) * 18, "all", False)]
    for sizes, cuboids, few in cases:
        assert is_few(task_of(Lattice(sizes), cuboids, LAPLACE)) == few, sizes


def test_a_plan_of_few_dimensions_among_many_states_the_variances_of_those_alone():
    sizes, names = (2, 7, 5, 3), ("a", "b", "c", "d")
    alone = plan_cube(Lattice(sizes, names), LAPLACE, planner="all", cuboids=2)
    more = tuple(f"x{place}" for place in range(40))
    wide = Lattice((*sizes, *(9,) * 40), (*names, *more))
    cuboids = [alone.lattice.names_of(mask) for mask in alone.published]
    among = plan_cube(wide, LAPLACE, planner="all", cuboids=cuboids)
    for consistent in (True, False):
        np.testing.assert_allclose(among.variances(consistent), alone.variances(consistent), rtol=1e-12)
    assert among.best_source(0) == alone.best_source(0)


def test_planners_that_need_the_whole_lattice_are_refused_with_what_works():
    lattice = Lattice((10,) * 40)
    for planner in ("bmax", "bmaxg", "pmostg"):
        with pytest.raises(UnsupportedQuery, match=r"plan with optimal or all|say up to which variance"):
            plan_cube(lattice, LAPLACE, cuboids=2, planner=planner)
    with pytest.raises(UnsupportedQuery, match="too many subsets to plan with"):
        plan_cube(lattice, LAPLACE, cuboids=2, planner="base")


def test_the_budget_is_spent_whole_whatever_the_number_of_sources():
    plan = plan_cube(Lattice((10,) * 40), replace(LAPLACE, continuous=False), cuboids=2)
    assert sum(plan.shares) == 1
    assert len(plan.sources) == 780
