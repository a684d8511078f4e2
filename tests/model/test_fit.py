"""The fit against independent ways to compute it: the primal by SciPy, derivatives by refitting."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.model import dual as dual_module
from discreet.model import fit as fit_module
from discreet.model.dual import Dual
from discreet.model.fit import fit, needed_bytes, refit
from discreet.model.measured import Measured, of_order, residual_of, total_of
from discreet.model.signs import signs_of
from discreet.query.lattice import Lattice
from discreet.query.residual import residual_of as exact_residual_of

SIZES = (2, 3, 4)
LATTICE = Lattice(SIZES)
TRUTH = np.array([[[40, 5, 0, 1], [12, 30, 2, 0], [0, 1, 25, 3]], [[9, 9, 9, 9], [70, 2, 0, 0], [1, 1, 1, 60]]], float)


def rolled_up(cells: np.ndarray, mask: int) -> np.ndarray:
    return cells.sum(axis=tuple(axis for axis in range(cells.ndim) if not mask >> axis & 1))


def noisy(masks=(3, 5, 6), variance=100.0, residual=False) -> list[Measured]:
    """The truth with fixed noise."""
    made = []
    for mask in masks:
        counts = rolled_up(TRUTH, mask)
        values = residual_of(counts) if residual else counts
        noise = np.sqrt(variance) * np.sin(7.0 * mask + np.arange(1.0, values.size + 1)).reshape(values.shape)
        made.append(Measured(mask, values + 1.4 * noise, variance, residual))
    return made


def primal(measured: list[Measured], total: float, strength: float, reference: np.ndarray) -> np.ndarray:
    """The least of λ·n·KL(p ‖ q) + Σ‖n·M p − y‖²/(2v), over p = softmax(z) of the whole joint."""

    def value(z: np.ndarray) -> tuple[float, np.ndarray]:
        logs = z - np.logaddexp.reduce(z)
        p, above = np.exp(logs), logs - np.log(reference.reshape(-1))
        cost, slope = strength * total * float(p @ above), strength * total * (above + 1).reshape(SIZES)
        for one in measured:
            off = one.of(rolled_up(total * p.reshape(SIZES), one.mask)) - one.values
            cost += float((off**2).sum()) / (2 * one.variance)
            shape = [size if one.mask >> axis & 1 else 1 for axis, size in enumerate(SIZES)]
            slope = slope + total * one.back(np.asarray(off)).reshape(shape) / one.variance
        return cost, p * (slope.reshape(-1) - p @ slope.reshape(-1))

    found = minimize(value, np.log(reference.reshape(-1)), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    return total * np.exp(found - np.logaddexp.reduce(found)).reshape(SIZES)


def cells_of(dual: Dual, point: np.ndarray) -> np.ndarray:
    potentials = dual.potentials(point)
    log_z, _ = dual.joint.marginals(potentials)
    return dual.total * dual.joint.probabilities(potentials, log_z)


@pytest.fixture
def tight(monkeypatch):
    """Descents that go on to the end."""
    monkeypatch.setattr(dual_module, "NEAR", 1e-9)
    monkeypatch.setattr(dual_module, "EXACT", 1.0)


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize("strength", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("residual", [False, True])
def test_the_dual_has_the_solution_of_the_primal(strength, residual):
    measured = noisy((0, 3, 5, 6) if residual else (3, 5, 6), 100.0, residual)
    total = total_of(measured)
    dual = Dual(LATTICE, measured, total)
    found = cells_of(dual, dual.solve(strength, np.zeros(dual.size)).point)
    wanted = primal(measured, total, strength, np.full(SIZES, 1 / TRUTH.size))
    np.testing.assert_allclose(found, wanted, atol=2e-3)


@pytest.mark.usefixtures("tight")
def test_the_dual_is_relative_to_its_reference():
    measured, potentials = noisy(), {1: np.array([0.0, 0.7]), 6: np.cos(np.arange(12.0)).reshape(3, 4)}
    total = total_of(measured)
    reference = np.exp(potentials[1][:, None, None] + potentials[6][None])
    dual = Dual(LATTICE, measured, total, potentials)
    found = cells_of(dual, dual.solve(0.5, np.zeros(dual.size)).point)
    np.testing.assert_allclose(found, primal(measured, total, 0.5, reference / reference.sum()), atol=2e-3)


def test_facts_hold_exactly_and_cells_that_they_say_are_empty_are():
    by_last_two = rolled_up(TRUTH, 6)
    by_last_two[0, 2] = 0
    measured = [*noisy(), Measured(6, by_last_two, 0.0), Measured(0, by_last_two.sum(), 0.0)]
    model = fit(LATTICE, measured)
    assert model.total == by_last_two.sum()
    np.testing.assert_allclose(model.cuboid(6), by_last_two, atol=0.01)
    assert (model.joint[:, 0, 2] == 0).all()


def test_a_fit_adds_up_is_nowhere_below_zero_and_is_the_same_every_time():
    model, again = fit(LATTICE, noisy()), fit(LATTICE, noisy())
    assert (model.joint >= 0).all()
    assert model.joint.sum() == pytest.approx(model.total)
    assert (model.joint == again.joint).all()
    assert model.strengths == again.strengths


def test_without_noise_a_fit_meets_what_was_measured():
    measured = [Measured(mask, rolled_up(TRUTH, mask), 1e-4) for mask in (3, 5, 6)]
    model = fit(LATTICE, measured)
    for mask in (3, 5, 6):
        np.testing.assert_allclose(model.cuboid(mask), rolled_up(TRUTH, mask), atol=0.2)


def test_a_fit_is_nearer_the_truth_than_what_was_measured():
    measured = noisy(variance=400.0)
    model = fit(LATTICE, measured)
    for one in measured:
        truth = rolled_up(TRUTH, one.mask)
        assert np.abs(model.cuboid(one.mask) - truth).mean() < np.abs(one.values - truth).mean()


@pytest.mark.parametrize("total", [-30.0, 0.0])
def test_a_table_of_nobody_has_a_model_of_nobody(total):
    model = fit(LATTICE, [Measured(1, np.full(2, total / 2), 9.0)])
    assert model.total == 0
    assert not model.joint.any()
    assert not refit(model, [Measured(1, np.full(2, total / 2), 9.0)]).joint.any()


def test_a_replicate_from_the_same_numbers_is_the_model_itself():
    model = fit(LATTICE, noisy())
    np.testing.assert_allclose(refit(model, noisy()).joint, model.joint, atol=0.3)


@pytest.mark.usefixtures("tight")
def test_degrees_of_freedom_are_those_of_refitting_every_stage(monkeypatch):
    """The derivative by the probe, through a reference, is that of fitting numbers that were moved a little."""
    monkeypatch.setattr(fit_module, "SOLVED", 1e-9)
    monkeypatch.setattr(fit_module, "MOST_SOLVING", 500)
    measured, total, strengths = noisy(), 500.0, (0.05, 0.3)
    probe = [replace(one, values=signs_of(one, place)) for place, one in enumerate(measured)]

    def marginals(step: float) -> np.ndarray:
        moved = [Measured(m.mask, m.values + step * s.values, m.variance) for m, s in zip(measured, probe, strict=True)]
        first = Dual(LATTICE, of_order(LATTICE, moved, 1), total)
        ref = first.potentials(first.solve(strengths[0], np.zeros(first.size)).point)
        last = Dual(LATTICE, moved, total, ref)
        return last.expected(last.solve(strengths[1], np.zeros(last.size)).point)[1]

    signs = np.concatenate([one.values.reshape(-1) for one in probe])
    wanted = float(signs @ (marginals(1e-3) - marginals(-1e-3))) / 2e-3 / measured[0].variance

    first = Dual(LATTICE, of_order(LATTICE, measured, 1), total)
    stage = fit_module._at(first, strengths[0], np.zeros(first.size), of_order(LATTICE, probe, 1), {})
    tangent = first.as_potentials(stage.tangent)
    last = Dual(LATTICE, measured, total, first.potentials(stage.point))
    found = fit_module._at(last, strengths[1], np.zeros(last.size), probe, tangent)
    expected = last.expected(found.point)[1]
    residual = float(((expected - last.values) ** 2 / last.variances).sum())
    assert (found.criterion - residual) / 2 == pytest.approx(wanted, rel=1e-3)


def test_coarser_tables_are_means_by_precision():
    first, second = Measured(3, np.ones((2, 3)), 4.0), Measured(5, 2 * np.ones((2, 4)), 1.0)
    [rows, columns, last] = of_order(LATTICE, [first, second], 1)
    assert (rows.mask, columns.mask, last.mask) == (1, 2, 4)
    weights = np.array([1 / (3 * 4.0), 1 / (4 * 1.0)])
    np.testing.assert_allclose(rows.values, weights @ [3, 8] / weights.sum())
    assert rows.variance == pytest.approx(1 / weights.sum())
    assert columns.variance == pytest.approx(8.0)
    np.testing.assert_allclose(last.values, 4.0)


def test_the_residual_is_that_which_is_measured():
    whole = np.arange(24).reshape(SIZES) ** 2
    np.testing.assert_array_equal(residual_of(whole.astype(float)), exact_residual_of(whole))


def test_a_cuboid_is_the_same_from_a_pass_and_from_the_joint():
    model, again = fit(LATTICE, noisy()), fit(LATTICE, noisy())
    assert again.joint.shape == SIZES
    for mask in range(8):
        np.testing.assert_allclose(model.cuboids([mask])[mask], again.cuboid(mask), rtol=1e-9)
        assert model.cuboid(mask).shape == LATTICE.shape(mask)


def test_memory_is_known_before_it_is_taken():
    assert needed_bytes(LATTICE, [3, 5]) < 100_000
    assert needed_bytes(Lattice((100,) * 4), [3, 12]) > 8 * 100**4
