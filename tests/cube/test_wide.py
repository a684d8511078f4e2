"""Wide tables: the same numbers as from the one array, without it."""

from fractions import Fraction

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cube.consistency import reconcile, roll_up
from discreet.cube.cube import Cube
from discreet.cube.folder import CUBOIDS
from discreet.cube.memory import needed_bytes, require_memory
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.cube.wide import closure_cells, is_wide, reconcile_few, roll_up_few
from discreet.errors import UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.noise.bits import SeededBits
from discreet.query.lattice import Lattice
from tests.cube.conftest import DOMAIN, Town

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
    plan = plan_cube(lattice, NoiseModel(PureBudget(Fraction(1), "add-remove")), planner=planner, cuboids=2)
    rng = np.random.default_rng(1)
    sources = [(mask, rng.integers(-50, 50, lattice.shape(mask))) for mask in plan.source_masks]
    whole = roll_up(lattice, sources, plan.source_variances)
    for mask, cells in roll_up_few(plan, sources).items():
        np.testing.assert_array_equal(cells, lattice.cuboid_of(whole, mask))


def test_few_cuboids_of_many_dimensions_are_kept_one_by_one():
    noise = NoiseModel(PureBudget(Fraction(1), "add-remove"))
    pairs = plan_cube(WIDE, noise, planner="bmaxg", cuboids=2)
    assert is_wide(pairs)
    assert needed_bytes(pairs) < 10_000_000 < WIDE.cube_bytes
    assert not is_wide(plan_cube(WIDE, noise, planner="base", cuboids=2))
    assert not is_wide(plan_cube(Lattice((2, 3, 4)), noise, planner="all"))


def test_the_closure_of_the_sources_has_at_most_so_many_cells():
    plan = plan_cube(
        Lattice((2, 3, 4)), NoiseModel(PureBudget(Fraction(1), "add-remove")), planner="all", cuboids=[(0, 1), (2,)]
    )
    assert closure_cells(plan) == 3 * 4 + 5


def test_a_wide_cube_is_published_like_any_other(town):
    wide = town.widened(9, 30)
    plan = wide.plan(cuboids=2, planner="bmaxg")
    assert is_wide(plan)
    cube = wide.publish(plan)
    assert len(cube.cuboids) == 1 + 12 + 66
    np.testing.assert_allclose(cube["sex", "extra0"].sum("extra0"), cube["sex"], atol=1e-6)
    assert abs(cube["sex"].values.sum() - wide.base.sum()) < 20 * cube.variance() ** 0.5


def test_all_triples_of_eight_dimensions_are_the_same_on_both_paths():
    lattice = Lattice((10, 2, 7, 4, 3, 5, 2, 6))
    plan = plan_cube(lattice, NoiseModel(PureBudget(Fraction(1), "add-remove")), cuboids=3)
    rng = np.random.default_rng(2)
    sources = [(mask, rng.integers(-900, 90_000, lattice.shape(mask))) for mask in plan.source_masks]
    whole = reconcile(lattice, sources, plan.source_variances)
    for mask, cells in reconcile_few(lattice, sources, plan.source_variances, plan.published).items():
        np.testing.assert_allclose(cells, lattice.cuboid_of(whole, mask), rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def wide_cube(tmp_path_factory):
    """All pairs of 27 dimensions, published and saved."""
    counts = np.random.default_rng(5).integers(0, 400, DOMAIN.shape)
    wide = Town(DOMAIN, counts, SeededBits(11)).widened(24, 4)
    cube = wide.publish(wide.plan(cuboids=2))
    folder = tmp_path_factory.mktemp("wide") / "cube"
    cube.save(folder)
    return wide, cube, folder


def test_a_cube_of_very_many_dimensions_is_consistent_and_as_exact_as_it_says(wide_cube):
    wide, cube, _ = wide_cube
    assert len(cube.cuboids) == 1 + 27 + 27 * 26 / 2
    for pair in (("sex", "extra3"), ("extra1", "extra20"), ("age", "region")):
        for name, other in (pair, pair[::-1]):
            np.testing.assert_allclose(cube[pair].sum(other), cube[name], rtol=1e-9, atol=1e-9)
    errors = [
        ((cube.cells(*names) - wide.exact(*names)) ** 2).mean() / cube.variance(*names)
        for names in (cube.plan.lattice.names_of(mask) for mask in cube.plan.published)
        if len(names) == 2
    ]
    assert 0.9 < np.mean(errors) < 1.1


def test_it_comes_back_from_its_folder_as_it_was(wide_cube):
    _, cube, folder = wide_cube
    again = Cube.load(folder)
    assert again.plan == cube.plan
    for names in ((), ("sex",), ("extra7", "age")):
        np.testing.assert_array_equal(again[names], cube[names])
        assert again.halfwidth(*names) == cube.halfwidth(*names)
    with pytest.raises(UnsupportedQuery, match="no published cuboid holds sex, age, region"):
        again["sex", "age", "region"]


def test_its_files_name_the_values_of_each_cuboid(wide_cube):
    _, cube, folder = wide_cube
    rows = duckdb.sql(
        f"SELECT value1, value2, count, variance FROM '{folder / CUBOIDS}' WHERE cuboid = 'sex,extra3'"
    ).fetchall()
    labels = [(sex, str(extra)) for sex in ("F", "M") for extra in range(1, 5)]
    assert [row[:2] for row in rows] == labels
    assert [row[2] for row in rows] == cube["sex", "extra3"].values.ravel().tolist()
    assert {row[3] for row in rows} == {cube.variance("sex", "extra3")}
    alone = duckdb.sql(f"SELECT value1, value2 FROM '{folder / CUBOIDS}' WHERE cuboid = 'sex'").fetchall()
    assert alone == [("F", None), ("M", None)]


@pytest.mark.parametrize(
    ("there", "what"),
    [
        (400_000, "cuboids of at most 2 dimensions"),
        (20_000, "cuboids of at most 1 dimension,"),
        (1, "fewer dimensions"),
    ],
)
def test_a_closure_too_large_for_memory_is_refused_with_what_would_fit(there, what):
    plan = plan_cube(Lattice((10,) * 22), NoiseModel(PureBudget(Fraction(1), "add-remove")), cuboids=3)
    with pytest.raises(UnsupportedQuery, match=f"nothing was spent: choose {what}"):
        require_memory(plan, available=there)
    some = plan_cube(Lattice((10,) * 22), NoiseModel(PureBudget(Fraction(1), "add-remove")), cuboids=[(0, 1), (2, 3)])
    with pytest.raises(UnsupportedQuery, match="fewer dimensions or fewer cuboids"):
        require_memory(some, available=1)
