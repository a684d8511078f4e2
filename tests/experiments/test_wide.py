"""The parts of the wide experiment that its table rests on."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.query.lattice import Lattice
from experiments.wide import table
from experiments.wide.residual import residual_planner_largest
from experiments.wide.run import run


@pytest.fixture(autouse=True)
def receipts(tmp_path, monkeypatch):
    """A run keeps its receipts in a folder of its own: what was set before comes back."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_residual_planners_optimum_is_the_one_by_hand_and_never_above_ours():
    # One attribute of ten values and its total: w₀ + 0.9·w₁ = 1, and 1/w₀ = 0.9/w₁ + 0.01/w₀ where both are alike.
    assert residual_planner_largest(1, 10, 1, 0.5) == pytest.approx(20 / 11, rel=1e-4)
    # CUBES.md: no mechanism with Gaussian noise is below it, so neither is ours.
    for attributes in (4, 8):
        ours = plan_cube(
            Lattice((10,) * attributes),
            NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove"), continuous=True),
            cuboids=3,
        ).max_variance_consistent
        assert residual_planner_largest(attributes, 10, 3, 0.5) <= ours * (1 + 1e-3)


def test_a_small_wide_table_is_published_as_exactly_as_it_says(monkeypatch):
    monkeypatch.setattr("experiments.wide.run.VALUES", 4)
    found = run(22, "rho", "1/2", rows=500)
    assert found.cuboids == 1 + 22 + 231 + 1540
    assert found.roll_up_gap < 1e-9
    assert found.relative_error == pytest.approx(1, abs=0.25)
    assert found.folder_bytes > 0


def test_the_table_names_what_was_measured(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.page.DOCS", tmp_path)
    found = run(5, "epsilon", "1", rows=50)
    table.write([("Laplace, ε = 1", found), ("Gaussian, ρ = ½", found)])
    header, first, second = (tmp_path / "wide" / "wide.csv").read_text().splitlines()
    assert header.startswith("attributes,noise,cuboids")
    assert first.endswith(",")
    assert float(second.split(",")[-1]) == pytest.approx(residual_planner_largest(5, 10, 3, 0.5), rel=1e-4)
    assert np.isfinite(found.largest_variance)
