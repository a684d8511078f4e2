"""Cubes made of residuals: as exact as a dense least squares says, and as ResidualPlanner's optimum allows."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize

from discreet.cube.cube import Cube
from discreet.cube.cuboids import cuboids_of
from discreet.cube.measure import Measure
from discreet.cube.memory import needed_bytes
from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan
from discreet.cube.planners.few import Slopes, optimise_few
from discreet.cube.planners.residuals import can_measure_residuals, optimise_residuals, residual_slopes
from discreet.cube.planners.task import Task
from discreet.cube.planning import plan_cube
from discreet.cube.publish import measurements_of
from discreet.cube.record import plan_of, plan_record
from discreet.cube.wide import is_wide
from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.errors import ArchiveError, UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.query.lattice import Lattice
from discreet.query.query import Residual
from discreet.query.residual import residual_of
from discreet.vault import Vault
from experiments.wide.residual import residual_planner_largest

HALF = NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove"))
SMALL = Lattice((3, 2, 4))
OBJECTIVES = ("max", "mean", "mean-std")


def domain_of(lattice):
    attributes = (
        Integer(name=str(name), source="s", low=1, high=size)
        for name, size in zip(lattice.names, lattice.sizes, strict=True)
    )
    return Domain("t", tuple(attributes))


def matrix_of(lattice, mask, residual):
    """What every number of a cuboid, or of its residual, counts of every point."""
    rows = np.ones((1, 1))
    for axis, size in enumerate(lattice.sizes):
        kept = size * np.eye(size) - 1 if residual else np.eye(size)
        rows = np.kron(rows, kept if mask >> axis & 1 else np.ones((1, size)))
    return rows


def small_plan(seed=1, neighbours="add-remove", masks=range(8)):
    weights = np.random.default_rng(seed).integers(1, 20, len(masks)).tolist()
    return CubePlan(
        planner="optimal",
        lattice=SMALL,
        published=tuple(masks),
        weights=(1.0,) * len(masks),
        noise=NoiseModel(replace(HALF.budget, neighbours=neighbours)),
        source_masks=tuple(masks),
        shares=tuple(Fraction(weight, sum(weights)) for weight in weights),
        basis="residuals",
    )


def least_squares(plan, known=()):
    """Least squares by the pseudo-inverse: what turns the sources' numbers into points, and the points' covariance."""
    rows = [matrix_of(plan.lattice, mask, True) for mask in plan.source_masks]
    spread = [np.full(plan.lattice.cells(mask), plan.source_variances[mask] ** 0.5) for mask in plan.source_masks]
    for mask in known:
        rows.append(matrix_of(plan.lattice, mask, False))
        spread.append(np.full(len(rows[-1]), 1e-4))
    weights = 1 / np.concatenate(spread)
    inverse = np.linalg.pinv(np.vstack(rows) * weights[:, None], rcond=1e-13)
    return inverse * weights, inverse @ inverse.T


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_every_cell_has_the_value_and_the_variance_of_dense_least_squares(neighbours):
    plan = small_plan(neighbours=neighbours)
    rng = np.random.default_rng(3)
    sources = {
        mask: residual_of(rng.integers(0, 90, SMALL.shape(mask))) + rng.integers(-99, 99, SMALL.shape(mask))
        for mask in plan.source_masks
    }
    solve, covariance = least_squares(plan)
    points = solve @ np.concatenate([table.reshape(-1) for table in sources.values()])
    cuboids = cuboids_of(plan, sources.items(), consistent=True)
    for mask, variance in zip(plan.published, plan.variances(), strict=True):
        rows = matrix_of(SMALL, mask, False)
        np.testing.assert_allclose(cuboids[mask].reshape(-1), rows @ points, atol=1e-8)
        np.testing.assert_allclose(np.diag(rows @ covariance @ rows.T), variance, rtol=1e-9)


def test_variances_are_those_of_dense_least_squares_where_cuboids_are_known_exactly_too():
    plan = replace(small_plan(), known=((0b011, 4),))
    _, covariance = least_squares(plan, known=[0b011])
    for mask, variance in zip(plan.published, plan.variances(), strict=True):
        rows = matrix_of(SMALL, mask, False)
        np.testing.assert_allclose(np.diag(rows @ covariance @ rows.T), variance, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "noise", [NoiseModel(PureBudget(Fraction(1), "add-remove")), replace(HALF, measure=Measure("income", Fraction(9)))]
)
def test_residuals_are_of_counts_with_gaussian_noise(noise):
    with pytest.raises(UnsupportedQuery, match="residuals are measured of counts, and with Gaussian noise"):
        replace(small_plan(), noise=noise)


def test_a_cuboid_that_lacks_a_residual_cannot_be_computed():
    with pytest.raises(UnsupportedQuery, match="cannot be computed"):
        small_plan(masks=[0, 1, 3])
    assert small_plan(masks=[0, 1, 2, 3]).variance(0, 1) < np.inf


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_whole_budget_is_charged_to_the_last_unit(neighbours, rows):
    lattice = Lattice((3, 4, 5) * 6)
    noise = NoiseModel(ConcentratedBudget(Fraction(1, 7), neighbours, rows))
    shares = optimise_residuals(Task(lattice, lattice.choose(1), (1.0,) * 19, noise))
    exact = {mask: noise.exact_share(share) for mask, share in shares.items()}
    plan = replace(
        small_plan(), lattice=lattice, published=lattice.choose(1), weights=(1.0,) * 19, noise=noise,
        source_masks=tuple(exact), shares=tuple(exact.values()),
    )  # fmt: skip
    measured = measurements_of(plan, domain_of(lattice))
    assert all(isinstance(measurement.query, Residual) for measurement in measured.measurements)
    cost = measured.cost(domain_of(lattice), ConcentratedBudget(Fraction(9), neighbours, rows))
    assert cost.everywhere == sum(exact.values()) * noise.limit
    assert not cost.regional


class TestPlanner:
    def test_it_reaches_residual_planners_optimum(self):
        plan = plan_cube(Lattice((10,) * 20), HALF, cuboids=3)
        assert plan.basis == "residuals"
        assert plan.max_variance_consistent == pytest.approx(residual_planner_largest(20, 10, 3, 0.5), rel=1e-3)
        assert len(set(plan.shares)) <= 5

    @settings(max_examples=15)
    @given(st.sampled_from(OBJECTIVES), st.sampled_from([0.5, 1.0, 8.0]), st.integers(0, 99))
    def test_the_gradient_is_the_slope(self, objective, r, seed):
        rng = np.random.default_rng(seed)
        lattice = Lattice((2, 3, 5, 4))
        published = lattice.choose(2)
        slopes = residual_slopes(Task(lattice, published, tuple(rng.uniform(1, 3, len(published))), HALF, objective))
        point = rng.normal(size=len(slopes.closure.masks))
        assert check_grad(lambda x: slopes.evaluate(x, r)[0], lambda x: slopes.evaluate(x, r)[1], point) < 1e-6

    @pytest.mark.parametrize("objective", OBJECTIVES)
    def test_it_is_the_least_that_a_general_search_finds(self, objective):
        rng = np.random.default_rng(5)
        lattice = Lattice((4, 2, 7))
        task = Task(lattice, lattice.choose(2), tuple(rng.uniform(1, 3, 7)), HALF, objective)
        slopes = residual_slopes(task)
        ours = slopes.value(slopes.shares_by_number(optimise_residuals(task)))

        def objective_at(logits):
            shares = np.exp(logits - logits.max())
            return slopes.value(shares / shares.sum())

        theirs = minimize(objective_at, np.zeros(7), method="Powell", options={"maxiter": 20_000, "xtol": 1e-9}).fun
        assert ours <= theirs + 1e-3

    @pytest.mark.parametrize("objective", OBJECTIVES)
    @pytest.mark.parametrize("seed", range(3))
    def test_it_is_never_worse_than_whole_cuboids(self, objective, seed):
        rng = np.random.default_rng(seed)
        lattice = Lattice(tuple(rng.integers(2, 9, 24).tolist()))
        published = lattice.choose(2)
        task = Task(lattice, published, tuple(rng.uniform(1, 3, len(published))), HALF, objective)
        residuals, cuboids = residual_slopes(task), Slopes.of(task)
        best = residuals.value(residuals.shares_by_number(optimise_residuals(task)))
        assert best <= cuboids.value(cuboids.shares_by_number(optimise_few(task))) + 1e-3

    @pytest.mark.parametrize(("size", "basis"), [(2, "residuals"), (30, "cuboids")])
    def test_where_rows_are_replaced_the_better_of_both_is_measured(self, size, basis):
        plan = plan_cube(Lattice((size,) * 25), NoiseModel(replace(HALF.budget, neighbours="replace")), cuboids=2)
        assert plan.basis == basis
        whole = optimise_few(Task(plan.lattice, plan.published, plan.weights, plan.noise))
        shares = tuple(plan.noise.exact_share(share) for share in whole.values())
        cuboids = replace(plan, basis="cuboids", source_masks=tuple(whole), shares=shares)
        assert plan.max_variance_consistent <= cuboids.max_variance_consistent * (1 + 1e-3)

    @pytest.mark.parametrize(
        ("lattice", "noise", "choice"),
        [
            (Lattice((3,) * 18), NoiseModel(PureBudget(Fraction(1), "add-remove")), {}),
            (Lattice((3,) * 18), replace(HALF, measure=Measure("income", Fraction(9))), {}),
            (Lattice((3,) * 18), HALF, {"planner": "all"}),
            (Lattice((3,) * 18), HALF, {"objective": "most", "bound": 900.0}),
            (Lattice((3,) * 6), HALF, {}),
            (Lattice((3,) * 16 + (5000, 5000)), HALF, {}),
        ],
        ids=["Laplace noise", "sums", "another planner", "most", "few dimensions", "cuboids beyond whole numbers"],
    )
    def test_otherwise_cuboids_are_measured(self, lattice, noise, choice):
        assert plan_cube(lattice, noise, cuboids=2, **choice).basis == "cuboids"

    def test_a_task_that_is_one_for_residuals_says_so(self):
        lattice = Lattice((3,) * 18)
        task = Task(lattice, lattice.choose(2), (1.0,) * 172, HALF)
        assert can_measure_residuals(task)
        assert not can_measure_residuals(replace(task, noise=NoiseModel(PureBudget(Fraction(1), "add-remove"))))


NAMES = [f"q{place}" for place in range(18)]


@pytest.fixture(scope="module")
def survey():
    return pd.DataFrame(np.random.default_rng(8).integers(0, 3, (3000, 18)), columns=NAMES)


@pytest.fixture
def vault(tmp_path, survey):
    """18 questions of 3 answers each."""
    parts = [f'[attributes.{name}]\nkind = "integer"\nlow = 0\nhigh = 2\nsource = "form"' for name in NAMES]
    (tmp_path / "survey.toml").write_text("\n".join(['name = "survey"', *parts]))
    return Vault.init(tmp_path / "v", table=survey, domain=tmp_path / "survey.toml", neighbours="add-remove", rho=1)


class TestPublished:
    def test_it_is_consistent_and_as_exact_as_it_says(self, vault, survey):
        cube = vault.cubes.publish(vault.cubes.plan(cuboids=2, rho="1/2"))
        assert cube.plan.basis == "residuals"
        assert vault.budget().spent == Fraction(1, 2)
        ratios = []
        for mask in cube.plan.published:
            names = cube.plan.lattice.names_of(mask)
            if len(names) == 2:
                exact = np.zeros((3, 3))
                np.add.at(exact, tuple(survey[name].to_numpy() for name in names), 1)
                ratios.append(((cube.cells(*names) - exact) ** 2).mean() / cube.variance(*names))
                np.testing.assert_allclose(cube[names].sum(names[1]), cube[names[0]], atol=1e-8)
        # 153 pairs share their margins' noise: the mean of their ratios has a standard deviation of 0.06.
        assert 0.7 < np.mean(ratios) < 1.3

    def test_a_publish_that_was_cut_off_and_a_saved_folder_give_the_same_cube(self, vault, tmp_path):
        cube = vault.cubes.publish(vault.cubes.plan(cuboids=2, rho="1/2"))
        again = vault.cubes.publish(cube.origin.charge)
        cube.save(tmp_path / "cube")
        loaded = Cube.load(tmp_path / "cube")
        assert loaded.plan == again.plan == cube.plan
        for mask, cells in cube.cuboids.items():
            np.testing.assert_array_equal(again.cuboids[mask], cells)
            np.testing.assert_array_equal(loaded.cuboids[mask], cells)
            np.testing.assert_array_equal(loaded.least_squares.cuboids[mask], cells)

    @pytest.mark.parametrize(
        ("shape", "why"),
        [
            ({"consistent": False}, "measures residuals, and a cube of them is a consistent one"),
            ({"counts": "whole"}, "whole counts of this cube are read off a model: .* plan it with --for model"),
            ({"norm": "l1"}, "norm l1 are not made of residuals"),
        ],
    )
    def test_what_cannot_be_made_of_residuals_is_refused_and_unspent(self, vault, shape, why):
        plan = vault.cubes.plan(cuboids=2, rho="1/2")
        with pytest.raises(UnsupportedQuery, match=why):
            vault.cubes.publish(plan, **shape)
        assert vault.budget().spent == 0

    def test_ask_answers_from_it_for_nothing(self, vault):
        cube = vault.cubes.publish(vault.cubes.plan(cuboids=2, rho="1/2"))
        answer = vault.ask("SELECT q3, COUNT(*) FROM survey WHERE q7 = 1 GROUP BY q3", scale=1000)
        assert answer.cost == 0
        assert [row.value for row in answer.rows] == pytest.approx(cube.slice(q7=1)["q3"].values.tolist())
        assert [row.source.variance for row in answer.rows] == pytest.approx([cube.variance("q3", "q7")] * 3)

    def test_it_states_what_it_keeps_in_memory(self, vault):
        plan = vault.cubes.plan(cuboids=2, rho="1/2")
        assert is_wide(plan)
        cells = 1 + 18 * 3 + 153 * 9
        assert 2 * 8 * cells <= needed_bytes(plan) <= 2 * 8 * cells + 3000 * 172

    def test_the_plan_says_that_residuals_are_measured(self, vault):
        plan = vault.cubes.plan(cuboids=2, rho="1/2")
        assert plan.to_json()["basis"] == plan_record(plan)["basis"] == "residuals"
        assert plan_of(plan_record(plan)) == plan
        with pytest.raises(ArchiveError, match="damaged"):
            plan_of({**plan_record(plan), "basis": "wavelets"})
