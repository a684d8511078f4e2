"""A mixture of products: against the joint written down, derivatives by differences, and tables that it never saw."""

from itertools import combinations

import numpy as np
import pytest

from discreet.model import mixture_fit
from discreet.model.measured import Measured
from discreet.model.mixture import ProductMixture
from discreet.model.mixture_fit import fit_mixture, mixture_bytes, refit_mixture
from discreet.model.rows import draw_rows
from discreet.model.signs import signs_of
from discreet.noise.bits import SeededBits
from discreet.query.lattice import Lattice

LATTICE = Lattice((2, 3, 4))


def a_mixture(lattice=LATTICE, groups=5, total=900.0, seed=1) -> ProductMixture:
    rng = np.random.default_rng(seed)
    tables = np.concatenate([rng.dirichlet(np.full(size, 0.4), groups) for size in lattice.sizes], axis=1)
    return ProductMixture(lattice, total, rng.dirichlet(np.ones(groups)), tables, (), ())


def joint_of(mixture: ProductMixture) -> np.ndarray:
    """Cell by cell."""
    made = np.zeros(mixture.lattice.sizes)
    for cell in np.ndindex(*mixture.lattice.sizes):
        places = [start + code for start, code in zip(mixture.starts, cell, strict=True)]
        made[cell] = mixture.total * sum(
            share * np.prod(own[places]) for share, own in zip(mixture.shares, mixture.tables, strict=True)
        )
    return made


def rolled_up(cells: np.ndarray, mask: int) -> np.ndarray:
    return cells.sum(axis=tuple(axis for axis in range(cells.ndim) if not mask >> axis & 1))


@pytest.mark.parametrize("mask", range(8))
def test_every_cuboid_is_that_of_the_joint(mask):
    mixture = a_mixture()
    np.testing.assert_allclose(mixture.cuboid(mask), rolled_up(joint_of(mixture), mask), rtol=1e-12)


@pytest.mark.parametrize("masks", [(3, 5, 6), (3, 3), (1, 4), (7,), (7, 3, 2)])
def test_slopes_are_what_small_moves_make(masks):
    """By shares and by each entry of the tables, whether pairs, single attributes or triples were measured."""
    truth, mixture = joint_of(a_mixture(seed=2)), a_mixture(seed=3)
    measured = [Measured(mask, rolled_up(truth, mask), 50.0 + place) for place, mask in enumerate(masks)]
    loss = mixture_fit._Loss.of(LATTICE, measured, mixture.total)

    def value(shares: np.ndarray, tables: np.ndarray) -> float:
        here = ProductMixture(LATTICE, mixture.total, shares, tables, (), ())
        return sum(float(((here.cuboid(one.mask) - one.values) ** 2).sum()) / (2 * one.variance) for one in measured)

    by_share, by_table = loss.slopes(mixture.shares, mixture.tables)
    for found, place in [(by_share, 0), (by_table, 1)]:
        for entry in np.ndindex(found.shape):
            moves = []
            for step in (1e-6, -1e-6):
                here = [mixture.shares.copy(), mixture.tables.copy()]
                here[place][entry] += step
                moves.append(value(*here))
            assert found[entry] == pytest.approx((moves[0] - moves[1]) / 2e-6, rel=1e-4, abs=1e-3)


WIDE = Lattice((5,) * 9)


def pairs_of(mixture: ProductMixture, variance: float, seed: int) -> list[Measured]:
    rng = np.random.default_rng(seed)
    masks = [1 << a | 1 << b for a, b in combinations(range(mixture.lattice.dimensions), 2)]
    noise = {mask: rng.normal(0, variance**0.5, mixture.lattice.shape(mask)) for mask in masks}
    return [Measured(mask, mixture.cuboid(mask) + noise[mask], variance) for mask in masks]


def variation(found: ProductMixture, truth: ProductMixture, order: int) -> float:
    masks = [sum(1 << axis for axis in axes) for axes in combinations(range(found.lattice.dimensions), order)]
    shares = [np.abs(found.cuboid(m) / found.total - truth.cuboid(m) / truth.total).sum() / 2 for m in masks]
    return float(np.mean(shares))


@pytest.fixture(autouse=True, scope="module")
def few_groups():
    """A test's table has no more."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mixture_fit, "GROUPS", 60)
        yield


@pytest.fixture(scope="module")
def fitted():
    """Groups of people, pairs of whose attributes were measured with noise; and the fit to that."""
    truth = a_mixture(WIDE, groups=9, total=20_000.0)
    measured = pairs_of(truth, 2500.0, seed=5)
    return truth, measured, fit_mixture(WIDE, measured)


def test_a_fit_is_nearer_to_the_truth_than_what_was_measured_and_than_independence(fitted):
    truth, measured, found = fitted
    noise = np.mean([np.abs(np.maximum(m.values, 0) - truth.cuboid(m.mask)).sum() / 40_000 for m in measured])
    alone = mixture_fit._Path.start(WIDE, measured, 20_000.0).mixture()
    assert variation(found, truth, 2) < 0.7 * noise
    assert variation(found, truth, 2) < 0.4 * variation(alone, truth, 2)
    assert variation(found, truth, 3) < 0.5 * variation(alone, truth, 3)  # of which none was measured
    assert found.shares.sum() == pytest.approx(1)
    assert (found.tables > 0).all()


def test_the_criterion_tells_the_error_of_a_fit_without_knowing_the_truth(fitted):
    truth, measured, found = fitted
    probe = [Measured(one.mask, signs_of(one, place), one.variance) for place, one in enumerate(measured)]
    moved = [Measured(one.mask, one.values + s.values, one.variance) for one, s in zip(measured, probe, strict=True)]
    criterion = mixture_fit._criterion(found, refit_mixture(found, moved), measured, probe)
    number = sum(one.values.size for one in measured)
    error = sum(float(((found.cuboid(m.mask) - truth.cuboid(m.mask)) ** 2).sum()) / m.variance for m in measured)
    assert (criterion - number) / number == pytest.approx(error / number, abs=4 * (2 / number) ** 0.5)


def test_the_same_numbers_make_the_same_mixture_again(fitted):
    _, measured, found = fitted
    again = refit_mixture(found, measured)
    np.testing.assert_allclose(again.tables, found.tables, atol=1e-9)
    np.testing.assert_allclose(again.shares, found.shares, atol=1e-9)
    assert (again.strengths, again.steps) == (found.strengths, found.steps)


def test_rows_have_the_mixtures_marginals(fitted):
    _, _, found = fitted
    codes = draw_rows(found, 5000, SeededBits(3))
    assert codes.shape == (5000, 9)
    for axes in combinations(range(9), 2):
        mask = 1 << axes[0] | 1 << axes[1]
        counted = np.bincount(codes[:, axes[0]] * 5 + codes[:, axes[1]], minlength=25).reshape(5, 5)
        assert np.abs(counted - found.cuboid(mask) * 5000 / found.total).max() < 6
    again, other = draw_rows(found, 300, SeededBits(4)), draw_rows(found, 300, SeededBits(5))
    assert (again == draw_rows(found, 300, SeededBits(4))).all()
    assert (again != other).any()


def test_no_row_has_a_value_that_its_group_does_not():
    tables = np.array([[1.0, 0, 1, 0, 0, 0.5, 0.5, 0, 0], [0, 1.0, 0, 0.5, 0.5, 0, 0, 0.25, 0.75]])
    mixture = ProductMixture(LATTICE, 80.0, np.array([0.25, 0.75]), tables, (), ())
    codes = draw_rows(mixture, 80, SeededBits(1))
    assert (codes[:, 0] == 0).sum() == 20
    assert set(map(tuple, codes[codes[:, 0] == 0, 1:])) <= {(0, 0), (0, 1)}
    assert (codes[codes[:, 0] == 1, 2] >= 2).all()


def test_nobody_is_modelled_as_nobody():
    measured = [Measured(mask, np.full(WIDE.shape(mask), -1.0), 100.0) for mask in (3, 5, 6)]
    found = fit_mixture(WIDE, measured)
    assert found.total == 0
    assert not found.cuboid(3).any()
    assert draw_rows(found, 7, SeededBits(1)).shape == (7, 9)


def test_memory_grows_with_values_and_not_with_the_joint():
    pairs = [1 << a | 1 << b for a, b in combinations(range(50), 2)]
    assert 10_000_000 < mixture_bytes(Lattice((10,) * 50), pairs) < 100_000_000
