"""Wide tables: the same numbers as from the one array, without it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cube.consistency import reconcile, roll_up
from discreet.cube.memory import needed_bytes
from discreet.cube.noise_model import LaplaceNoise
from discreet.cube.planning import plan_cube
from discreet.cube.wide import closure_cells, is_wide, reconcile_few, roll_up_few
from discreet.query.lattice import Lattice

WIDE = Lattice((11, 12, 13, 14, 15, 16, 17, 18, 19, 20))


@st.composite
def noisy_cubes(draw):
    """A lattice, noisy sources with variances, and published cuboids that they can compute."""
    lattice = Lattice(tuple(draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))))
    masks = draw(st.lists(st.integers(0, lattice.base), min_size=1, max_size=4, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    sources = [(mask, rng.integers(-50, 50, lattice.shape(mask))) for mask in masks]
    variances = {mask: draw(st.sampled_from([0.5, 1.0, 7.0, 90.0])) for mask in masks}
    published = sorted({subset for mask in masks for subset in lattice.ancestors(mask)})
    return lattice, sources, variances, published


@given(noisy_cubes())
def test_it_equals_the_one_array(case):
    lattice, sources, variances, published = case
    whole = reconcile(lattice, sources, variances)
    few = reconcile_few(lattice, sources, variances, published)
    for mask in published:
        np.testing.assert_allclose(few[mask], lattice.cuboid_of(whole, mask), atol=1e-9)


@pytest.mark.parametrize("planner", ["all", "bmaxg", "optimal"])
def test_without_consistency_it_equals_the_one_array_too(planner):
    lattice = Lattice((2, 3, 4))
    plan = plan_cube(lattice, LaplaceNoise(Fraction(1), "add-remove"), planner=planner, cuboids=2)
    rng = np.random.default_rng(1)
    sources = [(mask, rng.integers(-50, 50, lattice.shape(mask))) for mask in plan.source_masks]
    whole = roll_up(lattice, sources, plan.source_variances)
    for mask, cells in roll_up_few(plan, sources).items():
        np.testing.assert_array_equal(cells, lattice.cuboid_of(whole, mask))


def test_few_cuboids_of_many_dimensions_are_kept_one_by_one():
    noise = LaplaceNoise(Fraction(1), "add-remove")
    pairs = plan_cube(WIDE, noise, planner="bmaxg", cuboids=2)
    assert is_wide(pairs)
    assert needed_bytes(pairs) < 10_000_000 < WIDE.cube_bytes
    assert not is_wide(plan_cube(WIDE, noise, planner="base", cuboids=2))
    assert not is_wide(plan_cube(Lattice((2, 3, 4)), noise, planner="all"))


def test_the_closure_of_the_sources_has_at_most_so_many_cells():
    plan = plan_cube(Lattice((2, 3, 4)), LaplaceNoise(Fraction(1), "add-remove"), planner="all", cuboids=[(0, 1), (2,)])
    assert closure_cells(plan) == 3 * 4 + 5


def test_a_wide_cube_is_published_like_any_other(town):
    wide = town.widened(9, 30)
    plan = wide.plan(cuboids=2, planner="bmaxg")
    assert is_wide(plan)
    cube = wide.publish(plan)
    assert len(cube.cuboids) == 1 + 12 + 66
    np.testing.assert_allclose(cube["sex", "extra0"].sum("extra0"), cube["sex"], atol=1e-6)
    assert abs(cube["sex"].values.sum() - wide.base.sum()) < 20 * cube.variance() ** 0.5
