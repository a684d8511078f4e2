"""Cuboids by groups of hierarchies: sums that fit, with the variances that a second way of computing finds."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.cube.cube import Cube
from discreet.cube.cuboids import cuboids_of
from discreet.cube.grouped import Run, groups_named
from discreet.cube.interval import variance_of
from discreet.cube.noise_model import NoiseModel
from discreet.cube.plan import CubePlan
from discreet.domain.attribute import Category
from discreet.errors import UnsupportedQuery
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.query.lattice import Lattice

REGION = Category(
    name="region",
    source="atlas",
    values=("north", "east", "south", "isle", "exclave"),
    hierarchy=(
        ("land", (("cold", ("north", "east")), ("warm", ("south",)))),
        ("sea", (("warm", ("isle",)),)),
        "exclave",
    ),
    null=True,
)
PLANNERS = [{"planner": name} for name in ("all", "base", "bmaxg")]
GROUPS = [(0, 2), (2, 1), (3, 1), (4, 1), (5, 1)]
"""The narrowest groups of regions, and what is in none: the first code of each, and how many."""


@pytest.fixture
def grouped_town(town):
    attributes = (*town.domain.attributes[:2], REGION)
    domain = replace(town.domain, attributes=attributes)
    counts = np.random.default_rng(6).integers(0, 400, domain.shape)
    return replace(town, domain=domain, base=counts)


def weights_by_pushing(plan, consistent, mask):
    """What each number of each source weighs in each cell of a cuboid: by asking for it with a one in one place."""
    found = {}
    sizes = {one: plan.lattice.shape(one) for one in plan.source_masks}
    for source, shape in sizes.items():
        for place in np.ndindex(*shape):
            tables = {one: np.zeros(sizes[one], np.int64) for one in sizes}
            tables[source][place] = 10**9  # whole numbers are what is measured
            cuboids = cuboids_of(plan, tables.items(), consistent)
            found[source, place] = cuboids[mask] / 10**9
    return found


@pytest.mark.parametrize("choice", PLANNERS, ids=str)
@pytest.mark.parametrize("consistent", [True, False])
def test_sums_fit_and_variances_are_those_of_the_draws_in_them(grouped_town, choice, consistent):
    plan = grouped_town.plan(**choice)
    cube = grouped_town.publish(plan, consistent)
    found = cube.grouped("region_group", "sex")
    cells = cube["region", "sex"].values
    assert found.sums.shape == (5, 2)
    by_hand = [cells[first : first + codes].sum(axis=0) for first, codes in GROUPS]
    np.testing.assert_allclose(found.sums.values, by_hand)
    np.testing.assert_allclose(found.sums.sum("region_group").values, cells.sum(axis=0))

    mask = plan.lattice.mask("sex", "region")
    pushed = weights_by_pushing(plan, consistent, mask)
    for line, (first, codes) in enumerate(GROUPS):
        weights = {at: cells[0, first : first + codes].sum() for at, cells in pushed.items()}
        variance = sum(plan.source_variances[source] * weight**2 for (source, _), weight in weights.items())
        np.testing.assert_allclose(found.variance.values[line, 0], variance, rtol=1e-6)


def test_sums_of_a_cube_of_residuals_have_the_variances_of_their_draws(grouped_town):
    lattice = Lattice(grouped_town.domain.shape, grouped_town.domain.names)
    masks = range(8)
    plan = CubePlan(
        lattice=lattice,
        noise=NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove")),
        planner="optimal",
        source_masks=tuple(masks),
        shares=tuple(Fraction(mask + 1, 36) for mask in masks),
        published=tuple(masks),
        weights=(1.0,) * len(masks),
        basis="residuals",
    )
    mask = lattice.mask("sex", "region")
    pushed = weights_by_pushing(plan, True, mask)
    for codes in (1, 2, 5, 6):
        weights = {at: cells[0, :codes].sum() for at, cells in pushed.items()}
        variance = sum(plan.source_variances[source] * weight**2 for (source, _), weight in weights.items())
        np.testing.assert_allclose(variance_of(plan, mask, True, {2: codes} if codes > 1 else {}), variance, rtol=1e-6)


@pytest.mark.parametrize("choice", PLANNERS, ids=str)
def test_intervals_hold_the_truth_and_are_narrower_than_sums_of_the_cells_own(grouped_town, choice):
    cube = grouped_town.publish(grouped_town.plan("1/10", **choice))
    found = cube.grouped("region_group", "sex", "age", confidence=0.95)
    exact = np.add.reduceat(grouped_town.base.transpose(2, 0, 1), [first for first, _ in GROUPS], axis=0)
    inside = (found.low.values <= exact) & (exact <= found.high.values)
    assert inside.mean() > 0.8
    width = (found.high - found.low).values[0, 0, 0] / 2
    one = cube.halfwidth("region", "sex", "age")
    assert width < 2 * one
    if choice["planner"] == "base":
        assert width > one


def test_levels_are_from_the_widest_groups_to_the_narrowest_and_names_that_repeat_have_their_paths(grouped_town):
    cube = grouped_town.publish(grouped_town.plan(planner="all"))
    own = {dimension.name: dimension for dimension in cube.dimensions}
    assert groups_named(own, "region_group") == (
        "region",
        (
            Run("cold", 0, 2),
            Run("land / warm", 2, 1),
            Run("sea / warm", 3, 1),
            Run("exclave", 4, 1),
            Run("(missing)", 5, 1),
        ),
    )
    wide = ("region", (Run("land", 0, 3), Run("sea", 3, 1), Run("exclave", 4, 1), Run("(missing)", 5, 1)))
    assert groups_named(own, "region_group1") == wide
    assert groups_named(own, "region_group2") == groups_named(own, "region_group")
    for unknown in ("region_group3", "region_group0", "region_groupx", "sex_group", "town_group", "region_group9999"):
        assert groups_named(own, unknown) is None
        with pytest.raises(UnsupportedQuery, match=r"there are sex, age, region, region_group$"):
            cube.grouped(unknown)
    with pytest.raises(UnsupportedQuery, match="cannot be told apart"):
        cube.grouped("region", "region_group")


def test_groups_are_saved_with_a_cube_and_a_cube_without_any_has_none(grouped_town, town, tmp_path):
    cube = grouped_town.publish(grouped_town.plan(planner="all"))
    cube.save(tmp_path / "cube")
    loaded = Cube.load(tmp_path / "cube")
    assert loaded.dimensions == cube.dimensions
    np.testing.assert_array_equal(loaded.grouped("region_group1").sums, cube.grouped("region_group1").sums)
    plain = town.publish(town.plan(planner="all"))
    assert all(dimension.groups == () for dimension in plain.dimensions)


def test_a_slice_and_whole_counts_have_groups_too(grouped_town):
    cube = grouped_town.publish(grouped_town.plan(planner="all"))
    women = cube.slice(sex="F").grouped("region_group1")
    np.testing.assert_allclose(women.sums.values, cube.grouped("region_group1", "sex").sums.values[:, 0])
    whole = cube.reshaped(counts="nonnegative").grouped("region_group")
    assert (whole.low.values >= 0).all()


def test_the_width_of_every_sum_is_that_of_its_own_number_of_codes(grouped_town):
    cube = grouped_town.publish(grouped_town.plan(planner="bmaxg"))
    found = cube.grouped("region_group", "sex")
    widths = ((found.high - found.low) / 2).values
    same = [line for line, (_, codes) in enumerate(GROUPS) if codes == 1]
    for line, column in product(same, range(2)):
        assert widths[line, column] == pytest.approx(cube.halfwidth("region", "sex"))
