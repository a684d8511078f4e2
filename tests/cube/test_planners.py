"""The seed's planners: its examples, and a prototype's figures at ε = 1 for continuous noise and add-remove."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan
from discreet.cube.planners.bmax import feasible, smallest_bound
from discreet.cube.planners.coverage import cover_of
from discreet.cube.planners.task import Task
from discreet.cube.planning import PLANNERS, plan_cube
from discreet.errors import InvalidBudget, UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.query.lattice import Lattice

CONTINUOUS = NoiseModel(PureBudget(Fraction(1), "add-remove"), continuous=True)
SEED = Lattice((2, 7, 5), ("sex", "age", "salary"))  # cubes, Example 2.1.1

TABLES = {
    "adult": Lattice((9, 16, 7, 15, 6, 5, 2, 2)),
    "nursery": Lattice((3, 5, 4, 4, 3, 2, 3, 3, 5)),
    "seven sevens": Lattice((7,) * 7),
    "seed": SEED,
}


def task_of(lattice, cuboids="all", weights=None, noise=CONTINUOUS, **choice):
    published = lattice.choose(cuboids)
    return Task(lattice, published, lattice.weigh(published, weights), noise, **choice)


def plan_with(sources, shares):
    published = SEED.choose("all")
    masks = tuple(SEED.mask(*names) for names in sources)
    return CubePlan("by hand", SEED, published, (1.0,) * 8, CONTINUOUS, masks, tuple(shares))


def test_example_3_2_1_all_and_base():
    everything, base = plan_cube(SEED, CONTINUOUS, planner="all"), plan_cube(SEED, CONTINUOUS, planner="base")
    assert everything.variance("age", consistent=False) == 128
    assert base.variance("sex", consistent=False) == 70
    assert base.variance(consistent=False) == 140


def test_examples_3_2_1_and_3_2_2_four_sources_give_the_apex_64():
    sources = [("sex", "age", "salary"), ("sex", "age"), ("sex", "salary"), ("sex",)]
    plan = plan_with(sources, [Fraction(1, 4)] * 4)
    assert plan.source_variances[SEED.mask("sex")] == 32
    assert plan.variance(consistent=False) == 64
    assert plan.best_source(0) == SEED.mask("sex")
    assert SEED.magnification(0, SEED.mask("sex", "age")) * plan.source_variances[SEED.mask("sex", "age")] == 448


def test_example_3_2_3_two_greedy_sources_keep_80():
    found = feasible(cover_of(task_of(SEED), weighted=True), 8, magnification=80 / (2 * 2**2), most=2)
    assert found == (SEED.mask("sex", "age", "salary"), SEED.mask("sex", "salary"))


def test_example_3_2_3_bound_max_finds_64_with_four_sources():
    plan = plan_cube(SEED, CONTINUOUS, planner="bmax")
    assert set(plan.sources) == {("sex", "age", "salary"), ("sex", "age"), ("sex", "salary"), ("sex",)}
    assert plan.shares == (Fraction(1, 4),) * 4
    assert plan.max_variance == 64
    assert smallest_bound(task_of(SEED))[1] == 64


def test_example_3_2_4_publish_most_within_40():
    plan = plan_cube(SEED, CONTINUOUS, planner="pmost", bound=40)
    assert set(plan.sources) == {("sex", "age", "salary"), ("sex", "salary")}
    assert (plan.variances(consistent=False) <= 40).sum() == 6


def test_example_3_3_1_shares_in_proportion_to_what_sources_serve():
    plan = plan_cube(SEED, CONTINUOUS, planner="bmaxg")
    assert set(plan.sources) == {("sex", "age", "salary"), ("sex",)}
    scales = {names: float(1 / share) for names, share in zip(plan.sources, plan.shares, strict=True)}
    assert scales["sex", "age", "salary"] == pytest.approx(1.375, rel=0.006)
    assert scales["sex",] == pytest.approx(3.666, rel=0.006)
    assert plan.max_variance == pytest.approx(53.758, rel=0.012)  # printed from rounded shares
    assert plan.max_variance == pytest.approx(2 * (math.sqrt(14) + math.sqrt(2)) ** 2, rel=1e-9)


@pytest.mark.parametrize(
    ("table", "planner", "consistent", "largest", "mean", "tolerance"),
    [
        ("adult", "all", False, 131072, 131072, 0.001),
        ("adult", "all", True, 28912.9, 28912.9, 0.001),
        ("adult", "base", False, 3628800, 64260, 0.001),
        ("adult", "bmax", False, 32768, 18432, 0.02),
        ("adult", "bmax", True, 16263.5, 9148.2, 0.02),
        ("adult", "bmaxg", False, 23455.9, 13160.2, 0.02),
        ("adult", "bmaxg", True, 14620.4, 5899.4, 0.02),
        ("nursery", "all", False, 524288, 524288, 0.001),
        ("nursery", "all", True, 49152, 49152, 0.001),
        ("nursery", "base", False, 129600, 2700, 0.001),
        ("nursery", "bmax", False, 26460, 5157, 0.02),
        ("nursery", "bmax", True, 11914.4, 2461.9, 0.02),
        ("nursery", "bmaxg", False, 20200.3, 7985.9, 0.02),
        ("nursery", "bmaxg", True, 7250.9, 2725.0, 0.02),
        ("seven sevens", "all", False, 32768, 32768, 0.001),
        ("seven sevens", "all", True, 12867.9, 12867.9, 0.001),
        ("seven sevens", "base", False, 1647086, 32768, 0.001),
        ("seven sevens", "bmax", False, 13454, 10661, 0.02),
        ("seven sevens", "bmax", True, 8431, 5223, 0.02),
        ("seven sevens", "bmaxg", False, 11069, 8136, 0.02),
        ("seven sevens", "bmaxg", True, 6374.5, 4279.1, 0.02),
        ("seed", "all", False, 128, 128, 0.001),
        ("seed", "all", True, 62.2, 62.2, 0.001),
        ("seed", "base", False, 140, 36, 0.001),
        ("seed", "bmax", False, 64, 48, 0.02),
        ("seed", "bmax", True, 46.7, 35.0, 0.02),
        ("seed", "bmaxg", False, 53.2, 28.5, 0.02),
        ("seed", "bmaxg", True, 44.3, 24.3, 0.02),
    ],
)
def test_the_seeds_planners_land_on_the_prototypes_figures(table, planner, consistent, largest, mean, tolerance):
    plan = plan_cube(TABLES[table], CONTINUOUS, planner=planner)
    variances = plan.variances(consistent)
    assert variances.max() == pytest.approx(largest, rel=tolerance)
    assert variances.mean() == pytest.approx(mean, rel=tolerance)


def test_a_set_that_costs_more_than_the_budget_is_never_a_whole_plan():
    # Half of what one source needs to be precise: every set overspends, and Algorithm 4's line 8 would return one.
    plan = plan_cube(SEED, CONTINUOUS, planner="pmostg", bound=1)
    assert sum(plan.shares) <= 1
    assert plan.variances(consistent=False).min() > 1
    assert plan.max_variance <= plan_cube(SEED, CONTINUOUS, planner="bmax").max_variance


def test_publish_most_generally_counts_weights():
    heavy = {(): 100.0}
    for planner in ("pmost", "pmostg"):
        plan = plan_cube(SEED, CONTINUOUS, planner=planner, bound=10, weights=heavy)
        assert plan.variance(consistent=False) <= 10 * (1 + 1e-9)


def test_without_a_bound_publish_most_takes_half_of_what_bound_max_keeps():
    for planner in ("pmost", "pmostg"):
        assert plan_cube(SEED, CONTINUOUS, planner=planner) == plan_cube(SEED, CONTINUOUS, planner=planner, bound=32)


def test_bound_max_weighs_variances():
    weights = {(): 9.0, ("sex",): 2.0}
    for planner in ("bmax", "bmaxg"):
        weighted = plan_cube(SEED, CONTINUOUS, planner=planner, weights=weights)
        plain = plan_cube(SEED, CONTINUOUS, planner=planner)
        assert weighted.score("max", consistent=False) < max(9 * plain.variance(consistent=False), 2 * 26)


@st.composite
def tasks(draw):
    sizes = draw(st.lists(st.integers(2, 9), min_size=1, max_size=4))
    lattice = Lattice(tuple(sizes))
    chosen = draw(st.sets(st.integers(0, lattice.base), min_size=1))
    cuboids = [lattice.names_of(mask) for mask in sorted(chosen)]
    weights = {names: draw(st.floats(0.1, 10)) for names in cuboids if draw(st.booleans())}
    return lattice, cuboids, weights


@settings(max_examples=40)
@given(tasks(), st.sampled_from(sorted(PLANNERS)), st.sampled_from([PureBudget, ConcentratedBudget]))
def test_every_plan_can_compute_what_it_publishes_and_spends_at_most_everything(case, planner, family):
    lattice, cuboids, weights = case
    plan = plan_cube(
        lattice, NoiseModel(family(Fraction(1, 3), "replace")), cuboids=cuboids, planner=planner, weights=weights
    )
    assert sum(plan.shares) <= 1
    assert sum(plan.shares) >= 1 - Fraction(1, 10**9)
    assert np.isfinite(plan.variances(consistent=False)).all()
    assert (plan.variances() <= plan.variances(consistent=False) * (1 + 1e-9)).all()


@settings(max_examples=40)
@given(tasks())
def test_bound_max_is_no_worse_than_all_and_base(case):
    lattice, cuboids, weights = case
    scores = {
        planner: plan_cube(lattice, CONTINUOUS, cuboids=cuboids, planner=planner, weights=weights).score("max", False)
        for planner in ("all", "base", "bmax")
    }
    assert scores["bmax"] <= min(scores.values()) * (1 + 1e-6)  # cubes, Theorem 3.2.6


@settings(max_examples=40)
@given(tasks(), st.floats(2, 500))
def test_publish_most_makes_no_less_precise_than_all_and_base(case, bound):
    lattice, cuboids, weights = case

    def precise(planner, **choice):
        plan = plan_cube(lattice, CONTINUOUS, cuboids=cuboids, planner=planner, weights=weights, **choice)
        within = plan.variances(consistent=False) <= bound * (1 + 1e-6)
        return float(np.array(plan.weights)[within].sum())

    most = precise("pmost", bound=bound)
    assert most >= max(precise("all"), precise("base")) - 1e-9  # cubes, Theorem 3.2.7


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"planner": "best"}, "no planner 'best'; there are all, base"),
        ({"objective": "least"}, "no objective 'least'"),
        ({"objective": "weighted"}, "needs a weight"),
        ({"planner": "pmost", "bound": 0}, "must be above 0"),
        ({"planner": "pmost", "bound": math.nan}, "must be above 0"),
        ({"planner": "bmax", "bound": 5}, "takes no bound"),
        ({"cuboids": [("age",), ("age",)]}, "given twice"),
    ],
)
def test_an_impossible_wish_is_refused(choice, message):
    with pytest.raises(UnsupportedQuery, match=message):
        plan_cube(SEED, CONTINUOUS, **choice)


def test_a_lattice_too_large_for_a_greedy_is_refused_with_what_works():
    with pytest.raises(UnsupportedQuery, match="plan with optimal or all"):
        plan_cube(Lattice((2,) * 17), CONTINUOUS, planner="bmaxg")


def test_a_budget_too_small_to_share_is_refused():
    with pytest.raises(InvalidBudget, match="too small to be shared among 8 sources"):
        plan_cube(SEED, NoiseModel(PureBudget(Fraction(1, 10**11), "add-remove")), planner="all")
