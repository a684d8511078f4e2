"""Passes over the joint against the joint written down."""

from itertools import product

import numpy as np
import pytest

from discreet.model import joint as joint_module
from discreet.model.joint import Joint
from discreet.query.lattice import Lattice

LATTICES = [
    ((2,), (1,)),
    ((7,), (0, 1)),
    ((2, 3), (1, 2, 3)),
    ((3, 2, 4), (0, 3, 5, 6)),
    ((5, 2, 3, 2), (1, 6, 12, 15, 9)),
    ((30, 20, 3), (3, 5, 6)),
    ((2,) * 11, tuple(1 << a | 1 << b for a in range(11) for b in range(a))),
]


def written_down(lattice: Lattice, potentials: dict[int, np.ndarray]) -> np.ndarray:
    logs = np.zeros(lattice.sizes)
    for mask, own in potentials.items():
        logs = logs + own.reshape([size if mask >> axis & 1 else 1 for axis, size in enumerate(lattice.sizes)])
    return np.exp(logs)


def some_potentials(lattice: Lattice, masks: tuple[int, ...], spread: float) -> dict[int, np.ndarray]:
    waves = np.sin(np.arange(1, 1 + sum(lattice.cells(mask) for mask in masks)) ** 1.5)
    made, first = {}, 0
    for mask in masks:
        made[mask] = spread * waves[first : first + lattice.cells(mask)].reshape(lattice.shape(mask))
        first += lattice.cells(mask)
    return made


@pytest.mark.parametrize(("sizes", "masks"), LATTICES)
@pytest.mark.parametrize("spread", [0.0, 1.0, 20.0])
def test_a_pass_gives_the_marginals_and_the_sum_of_the_joint_written_down(sizes, masks, spread):
    lattice = Lattice(sizes)
    potentials = some_potentials(lattice, masks, spread)
    cells = written_down(lattice, potentials)
    log_z, marginals = Joint(lattice, tuple(sorted(masks))).marginals(potentials)
    assert log_z == pytest.approx(np.log(cells.sum()), abs=1e-9)
    for mask in masks:
        gone = tuple(axis for axis in range(len(sizes)) if not mask >> axis & 1)
        assert marginals[mask].shape == lattice.shape(mask)
        np.testing.assert_allclose(marginals[mask], cells.sum(axis=gone) / cells.sum(), rtol=1e-9, atol=1e-14)
    joint = Joint(lattice, tuple(sorted(masks))).probabilities(potentials, log_z)
    np.testing.assert_allclose(joint, cells / cells.sum(), rtol=1e-9, atol=1e-14)


def test_a_pass_does_not_depend_on_how_axes_are_split_into_prefix_and_block(monkeypatch):
    lattice, masks = Lattice((5, 2, 3, 2)), (1, 6, 9, 12, 15)
    potentials = some_potentials(lattice, masks, 1.0)
    found = []
    for block in (1, 5, 15, 1000):
        monkeypatch.setattr(joint_module, "BLOCK", block)
        found.append(Joint(lattice, masks).marginals(potentials))
    for log_z, marginals in found[1:]:
        assert log_z == pytest.approx(found[0][0], abs=1e-12)
        for mask in masks:
            np.testing.assert_allclose(marginals[mask], found[0][1][mask], rtol=1e-12)


def test_nobody_is_where_a_potential_is_minus_infinity():
    lattice = Lattice((3, 4))
    potentials = {1: np.array([0.0, -np.inf, 1.0]), 2: np.zeros(4), 3: np.zeros((3, 4))}
    _, marginals = Joint(lattice, (1, 2, 3)).marginals(potentials)
    assert marginals[1][1] == 0
    assert (marginals[3][1] == 0).all()
    assert marginals[1].sum() == pytest.approx(1)


def test_potentials_that_leave_nobody_anywhere_have_no_marginals():
    lattice = Lattice((2, 2))
    nowhere = {1: np.array([0.0, -np.inf]), 3: np.array([[-np.inf, -np.inf], [0.0, 0.0]])}
    assert Joint(lattice, (1, 3)).marginals(nowhere)[0] == np.inf


def test_far_potentials_neither_overflow_nor_vanish():
    lattice = Lattice((4, 4, 4))
    far = {mask: 300.0 * np.cos(np.arange(16.0)).reshape(4, 4) for mask in (3, 5, 6)}
    logs = sum(
        far[mask][np.ix_(range(4), range(4))].reshape(shape)
        for mask, shape in ((3, (4, 4, 1)), (5, (4, 1, 4)), (6, (1, 4, 4)))
    )
    log_z, marginals = Joint(lattice, (3, 5, 6)).marginals(far)
    assert log_z == pytest.approx(float(np.logaddexp.reduce(logs.reshape(-1))), rel=1e-12)
    assert all(np.isfinite(own).all() for own in marginals.values())


def test_the_order_of_a_pass_covers_every_cell_once():
    lattice = Lattice((3, 2, 2))
    base = Joint(lattice, (7,))
    for cell in product(*map(range, lattice.sizes)):
        alone = np.full(lattice.sizes, -np.inf)
        alone[cell] = 0.0
        log_z, marginals = base.marginals({7: alone})
        assert log_z == pytest.approx(0.0, abs=1e-9)
        assert marginals[7][cell] == pytest.approx(1.0)
