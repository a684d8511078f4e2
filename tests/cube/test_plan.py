"""Plans: what they state, and what they refuse to be."""

from fractions import Fraction

import pytest

from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan
from discreet.cube.planning import plan_cube
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.query.lattice import Lattice

NOISE = NoiseModel(PureBudget(Fraction(1), "add-remove"))
SEED = Lattice((2, 7, 5), ("sex", "age", "salary"))


def plan_of(sources, shares, published=(0b111,), noise=NOISE):
    return CubePlan("by hand", SEED, published, (1.0,) * len(published), noise, sources, shares)


@pytest.mark.parametrize(
    ("sources", "shares", "message"),
    [
        ((7,), (Fraction(10**12 + 1, 10**12),), "together at most 1"),
        ((7, 3), (Fraction(1), Fraction(0)), "above 0"),
        ((7, 7), (Fraction(1, 2), Fraction(1, 2)), "given twice"),
        ((3, 5), (Fraction(1, 2), Fraction(1, 2)), "cuboid sex,age,salary cannot be computed"),
        ((), (), "above 0"),
    ],
)
def test_a_plan_that_overspends_or_cannot_compute_what_it_publishes_is_refused(sources, shares, message):
    with pytest.raises(UnsupportedQuery, match=message):
        plan_of(sources, shares)


def test_a_variance_that_no_source_gives_is_refused_and_one_that_is_not_published_is_stated():
    plan = plan_of((0b011,), (Fraction(1),), published=(0b001,))
    assert plan.variance("sex", consistent=False) == pytest.approx(7 * 1.8413, rel=1e-3)
    assert plan.variance("sex", "age") > 0
    with pytest.raises(UnsupportedQuery, match="cannot be computed"):
        plan.variance("salary")
    with pytest.raises(UnsupportedQuery, match="did you mean salary"):
        plan.variance("salery")


def test_one_source_is_as_exact_with_consistency_as_without():
    plan = plan_cube(SEED, NOISE, planner="base")
    assert plan.variances() == pytest.approx(plan.variances(consistent=False))


def test_variances_grow_with_the_inverse_square_of_epsilon_and_fourfold_under_replace():
    def largest(epsilon, neighbours):
        return plan_cube(
            SEED, NoiseModel(PureBudget(Fraction(epsilon), neighbours), continuous=True)
        ).max_variance_consistent

    assert largest("1/10", "add-remove") == pytest.approx(100 * largest("1", "add-remove"), rel=1e-6)
    assert largest("1", "replace") == pytest.approx(4 * largest("1", "add-remove"), rel=1e-6)


def test_the_discrete_variances_are_below_the_continuous_ones_and_near_them_at_large_scales():
    discrete = plan_cube(SEED, NOISE, planner="bmaxg")
    continuous = plan_cube(SEED, NOISE.as_continuous(), planner="bmaxg")
    assert discrete.shares == continuous.shares
    ratios = discrete.variances() / continuous.variances()
    assert (ratios < 1).all()
    assert (ratios > 0.9).all()


def test_json_has_the_documented_fields():
    plan = plan_cube(SEED, NOISE.as_continuous(), planner="bmax")
    assert plan.to_json() == {
        "planner": "bmax",
        "sources": [["sex"], ["sex", "age"], ["sex", "salary"], ["sex", "age", "salary"]],
        "shares": [0.25, 0.25, 0.25, 0.25],
        "max_variance": 64,
        "mean_variance": 48,
        "max_variance_consistent": pytest.approx(46.67, abs=0.01),
        "mean_variance_consistent": pytest.approx(35),
    }
    assert plan_cube(Lattice((2, 7, 5)), NOISE, planner="base").to_json()["sources"] == [[0, 1, 2]]


def test_scores_weigh_and_plain_figures_do_not():
    weights = {("age",): 3.0}
    plan = plan_cube(SEED, NOISE.as_continuous(), planner="all", cuboids=1, weights=weights)
    assert plan.max_variance == plan.mean_variance == 32
    assert plan.score("max", consistent=False) == 96
    assert plan.score("mean", consistent=False) == pytest.approx(32)
    assert plan.score("mean-std", consistent=False) == pytest.approx(32**0.5)
    with pytest.raises(UnsupportedQuery, match="an objective is max, mean, weighted or mean-std"):
        plan.score("median")
