"""Least squares in the one array, against the seed's two-stage algorithm and against a dense solve."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cube import axes
from discreet.cube.consistency import reconcile, roll_up
from discreet.cube.kronecker import best_source_variances, consistent_variances
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.query.lattice import Lattice


@st.composite
def noisy_sources(draw, whole=False, most=4):
    """A lattice of so many dimensions at most, some sources, their tables and variances; `whole` has the base too."""
    lattice = Lattice(tuple(draw(st.lists(st.integers(2, most), min_size=1, max_size=most))))
    masks = draw(st.sets(st.integers(0, lattice.base), min_size=1, max_size=6))
    masks = sorted(masks | {lattice.base}) if whole else sorted(masks)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tables = {mask: rng.integers(-100, 1000, lattice.shape(mask)) for mask in masks}
    variances = {mask: float(rng.uniform(0.5, 50)) for mask in masks}
    return lattice, tables, variances


def computable(lattice, masks):
    return [mask for mask in range(lattice.base + 1) if any(mask & ~source == 0 for source in masks)]


def over_all_axes(lattice, mask, table):
    """A cuboid's table with an axis of length 1 for each dimension it lacks, to be broadcast."""
    return np.reshape(table, [size if mask >> axis & 1 else 1 for axis, size in enumerate(lattice.sizes)])


def summed_to(lattice, mask, base_table):
    return base_table.sum(axis=tuple(axis for axis in range(lattice.dimensions) if not mask >> axis & 1))


def two_stages(lattice, tables, variances):
    """The seed's own algorithm: bottom-up (4.16, 4.7), then top-down (4.18 to 4.20). [cubes, Section 4.3.2]"""
    observed = np.zeros(lattice.sizes)
    for mask, table in tables.items():
        observed = observed + over_all_axes(lattice, mask, table) / variances[mask]
    estimates = {}
    for mask in sorted(computable(lattice, tables), key=int.bit_count):
        ratio = sum(lattice.degree(source) / variances[source] for source in tables if mask & ~source == 0)
        rest = over_all_axes(lattice, mask, summed_to(lattice, mask, observed))
        for source in tables:
            if mask & ~source:
                shared = over_all_axes(lattice, mask & source, estimates[mask & source])
                rest = rest - lattice.degree(mask | source) / variances[source] * shared
        estimates[mask] = (rest / ratio).reshape(lattice.shape(mask))
    return estimates


def design(lattice, mask):
    """The matrix that sums base cells to the cells of a cuboid."""
    numbers = np.arange(lattice.cells(mask)).reshape(lattice.shape(mask))
    cells = np.broadcast_to(over_all_axes(lattice, mask, numbers), lattice.sizes).ravel()
    return (np.arange(lattice.cells(mask))[:, None] == cells).astype(float)


def weighted_design(lattice, variances):
    return np.vstack([design(lattice, mask) / math.sqrt(variance) for mask, variance in variances.items()])


@given(noisy_sources())
def test_it_equals_the_two_stage_algorithm_of_the_seed(case):
    lattice, tables, variances = case
    cube = reconcile(lattice, tables.items(), variances)
    for mask, estimate in two_stages(lattice, tables, variances).items():
        np.testing.assert_allclose(lattice.cuboid_of(cube, mask), estimate, rtol=1e-8, atol=1e-8)


@given(noisy_sources(most=3))
def test_it_equals_a_dense_least_squares_solve(case):
    lattice, tables, variances = case
    cube = reconcile(lattice, tables.items(), variances)
    measured = np.concatenate([tables[mask].ravel() / math.sqrt(variance) for mask, variance in variances.items()])
    solved = np.linalg.lstsq(weighted_design(lattice, variances), measured, rcond=None)[0].reshape(lattice.sizes)
    for mask in computable(lattice, tables):
        np.testing.assert_allclose(lattice.cuboid_of(cube, mask), summed_to(lattice, mask, solved), atol=1e-8)


@given(noisy_sources(whole=True))
def test_every_roll_up_fits(case):
    lattice, tables, variances = case
    cube = reconcile(lattice, tables.items(), variances)
    base = lattice.cuboid_of(cube, lattice.base)
    for mask in range(lattice.base):
        np.testing.assert_allclose(lattice.cuboid_of(cube, mask), summed_to(lattice, mask, base), atol=1e-8)


@given(noisy_sources(whole=True))
def test_what_is_consistent_stays_as_it_is(case):
    lattice, tables, variances = case
    once = reconcile(lattice, tables.items(), variances)
    views = [(mask, lattice.cuboid_of(once, mask)) for mask in tables]
    np.testing.assert_allclose(reconcile(lattice, views, variances), once, atol=1e-8)


@given(noisy_sources())
def test_a_cuboid_that_no_source_can_compute_is_nan_and_the_others_are_not(case):
    lattice, tables, variances = case
    for compute in (reconcile, roll_up):
        cube = compute(lattice, tables.items(), variances)
        known = set(computable(lattice, tables))
        for mask in range(lattice.base + 1):
            assert np.isnan(lattice.cuboid_of(cube, mask)).all() == (mask not in known)
            assert np.isfinite(lattice.cuboid_of(cube, mask)).all() == (mask in known)


@given(noisy_sources(most=3))
def test_the_stated_variance_is_the_diagonal_of_the_dense_covariance(case):
    lattice, _, variances = case
    estimator = np.linalg.pinv(weighted_design(lattice, variances))
    precisions = np.zeros(lattice.base + 1)
    precisions[list(variances)] = [1 / variance for variance in variances.values()]
    stated = consistent_variances(precisions, lattice.sizes)
    for mask in range(lattice.base + 1):
        if mask not in computable(lattice, variances):
            assert stated[mask] == math.inf
            continue
        weights = design(lattice, mask) @ estimator
        np.testing.assert_allclose((weights**2).sum(axis=1), stated[mask], rtol=1e-8)


@given(noisy_sources())
def test_without_consistency_each_cuboid_comes_from_its_best_source(case):
    lattice, tables, variances = case
    cube = roll_up(lattice, tables.items(), variances)
    measured = np.full(lattice.base + 1, math.inf)
    measured[list(variances)] = list(variances.values())
    best = best_source_variances(measured, lattice.sizes)
    for mask in computable(lattice, tables):
        able = [source for source in tables if mask & ~source == 0]
        noise = {source: lattice.magnification(mask, source) * variances[source] for source in able}
        source = min(noise, key=noise.__getitem__)
        spread = np.broadcast_to(over_all_axes(lattice, source, tables[source]), lattice.sizes)
        expected = summed_to(lattice, mask, spread) / lattice.degree(source)
        np.testing.assert_allclose(lattice.cuboid_of(cube, mask), expected, atol=1e-8)
        assert best[mask] == pytest.approx(noise[source])


@pytest.mark.parametrize("near", [1, 7, 30, 2**13])
def test_how_axes_are_grouped_and_cores_are_used_changes_nothing(near, monkeypatch):
    lattice = Lattice((11, 2, 13, 3, 6, 2, 4))  # 400 thousand cells: more than one core's share, and odd tiles
    rng = np.random.default_rng(1)
    tables = {mask: rng.integers(0, 99, lattice.shape(mask)) for mask in (lattice.base, 0b1010101, 0b111, 0)}
    variances = {mask: float(rng.uniform(1, 9)) for mask in tables}
    monkeypatch.setattr(axes, "NEAR", near)
    cube = reconcile(lattice, tables.items(), variances)
    base = lattice.cuboid_of(cube, lattice.base)
    for mask, estimate in two_stages(lattice, tables, variances).items():
        if mask in (lattice.base, 0b1010101, 0b11, 0b1000000, 0):
            np.testing.assert_allclose(lattice.cuboid_of(cube, mask), estimate, atol=1e-6)
            np.testing.assert_allclose(lattice.cuboid_of(cube, mask), summed_to(lattice, mask, base), atol=1e-6)


def test_exact_tables_are_given_back():
    lattice = Lattice((3, 4, 2))
    truth = np.random.default_rng(3).integers(0, 9, lattice.sizes)
    sources = [(mask, summed_to(lattice, mask, truth)) for mask in range(8)]
    for compute in (reconcile, roll_up):
        cube = compute(lattice, sources, dict.fromkeys(range(8), 2.0))
        for mask, table in sources:
            np.testing.assert_allclose(lattice.cuboid_of(cube, mask), table, atol=1e-12)


def test_a_source_given_twice_is_refused():
    lattice = Lattice((2, 3))
    with pytest.raises(UnsupportedQuery, match="given twice"):
        reconcile(lattice, [(1, np.ones(2)), (1, np.ones(2))], {1: 1.0})


def test_sources_are_taken_one_at_a_time_and_memory_is_one_cube_and_one_source():
    lattice = Lattice((60, 40, 30, 20))
    sources = ((mask, np.ones(lattice.shape(mask), np.int64)) for mask in range(16))
    tracemalloc.start()
    reconcile(lattice, sources, dict.fromkeys(range(16), 2.0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.2 * lattice.cube_bytes + 8 * lattice.cells(lattice.base)


@pytest.mark.parametrize("planner", ["all", "bmaxg", "optimal"])
def test_the_spread_of_many_noisy_cubes_is_the_stated_variance(planner):
    lattice = Lattice((2, 3, 2))
    plan = plan_cube(lattice, NoiseModel(PureBudget(Fraction(1), "add-remove")), planner=planner)
    rng = np.random.default_rng(7)

    def draw(mask, share):
        # The difference of two geometric draws is discrete Laplace; this is test data, not private noise.
        p = 1 - math.exp(-float(share))
        return rng.geometric(p, lattice.shape(mask)) - rng.geometric(p, lattice.shape(mask))

    runs = 2000
    cells = {mask: [] for mask in plan.published}
    for _ in range(runs):
        sources = [(mask, draw(mask, share)) for mask, share in zip(plan.source_masks, plan.shares, strict=True)]
        cube = reconcile(lattice, sources, plan.source_variances)
        for mask in plan.published:
            cells[mask].append(lattice.cuboid_of(cube, mask).ravel()[0])
    for mask in plan.published:
        ratio = np.var(cells[mask]) / plan.variance(*lattice.names_of(mask))
        # A sample variance of 2000 Laplace draws (kurtosis 6) has a relative spread of √(5/2000): 4.4 of those.
        assert abs(ratio - 1) < 4.4 * math.sqrt(5 / runs)
        # cubes, Theorems 3.2.3 and 3.3.1: of counts of 0, no bias.
        assert abs(np.mean(cells[mask])) < 4.4 * math.sqrt(plan.variance(*lattice.names_of(mask)) / runs)
