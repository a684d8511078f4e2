"""The parts of the cube experiments that figures rest on."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.domain.read import parse_domain
from discreet.query.lattice import Lattice
from experiments.cubes.techniques import BASE, TECHNIQUES, errors_of, exact_cube
from experiments.tables.tables import HERE, domain_text, synthetic


def test_the_exact_cube_holds_every_roll_up():
    base = np.random.default_rng(1).integers(0, 9, (2, 3, 4))
    cube, lattice = exact_cube(base), Lattice(base.shape)
    for mask in range(8):
        gone = lattice.axes(lattice.base & ~mask)
        np.testing.assert_array_equal(lattice.cuboid_of(cube, mask), base.sum(axis=gone))


def test_errors_are_those_of_the_noise_that_the_plan_states():
    sizes = (2, 3, 4)
    errors = errors_of(BASE.plan(sizes, Fraction(1, 20)), exact_cube(np.zeros(sizes, np.int64)), runs=400)
    # Base is one source: consistency changes nothing, and the mean |Laplace| of scale 20 is 20.
    np.testing.assert_allclose(errors.rough, errors.consistent)
    assert errors.rough[-1] == pytest.approx(20, rel=0.05)
    assert errors.of_dimensions(3).rough.tolist() == [errors.rough[-1]]


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda technique: technique.name)
def test_cuboids_of_few_cells_have_the_errors_that_whole_releases_have(technique, monkeypatch):
    sizes = (2, 3, 4)
    plan, exact = technique.plan(sizes, Fraction(1, 4)), exact_cube(np.zeros(sizes, np.int64))
    alone = errors_of(plan, exact, runs=1)
    monkeypatch.setattr("experiments.cubes.techniques.FEW", 0)
    whole = errors_of(plan, exact, runs=1500)
    np.testing.assert_allclose(alone.rough, whole.rough, rtol=0.08)
    np.testing.assert_allclose(alone.consistent, whole.consistent, rtol=0.08)


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda technique: technique.name)
def test_every_technique_plans_and_publishes(technique):
    sizes = (2, 3, 4)
    errors = errors_of(technique.plan(sizes, Fraction(1)), exact_cube(np.ones(sizes, np.int64)), runs=2)
    assert np.isfinite(errors.rough).all()
    assert np.isfinite(errors.consistent).all()


def test_a_synthetic_table_is_counted_and_written(tmp_path):
    table = synthetic((2, 3), rows=50).with_random_columns((4,))
    assert table.sizes == (2, 3, 4)
    assert table.base_cuboid().sum() == 50
    assert table.first(2).base_cuboid().tolist() == table.base_cuboid().sum(axis=2).tolist()
    rows, domain = table.write(tmp_path)
    assert rows.exists()
    assert parse_domain(domain.read_text()).shape == (2, 3, 4)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        # cubes, Section 6.1
        ("adult", (9, 16, 7, 15, 6, 5, 2, 2)),
        ("nursery", (3, 5, 4, 4, 3, 2, 3, 3, 5)),
    ],
)
def test_the_real_tables_have_the_seeds_dimensions(name, sizes):
    domain = parse_domain((HERE / f"{name}.toml").read_text())
    assert domain.shape == sizes
    assert parse_domain(domain_text(domain)).shape == sizes
