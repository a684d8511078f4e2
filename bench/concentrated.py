"""Gaussian noise: the convex planner against ResidualPlanner's optimum, and what (ε, δ) buys on the same cube: over
pure ε, and by way of μ over by way of ρ."""

from collections.abc import Iterator
from fractions import Fraction

from dp_accounting.pld.accountant import get_smallest_gaussian_noise
from dp_accounting.pld.common import DifferentialPrivacyParameters

from bench.figure import Figure
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.ledger.budget import PureBudget
from discreet.ledger.conversion import rho_for
from discreet.ledger.squared_budget import ConcentratedBudget, GaussianBudget
from discreet.query.lattice import Lattice
from experiments.wide.residual import residual_planner_largest

ADULT = Lattice((9, 16, 7, 15, 6, 5, 2, 2))
RESIDUAL_PLANNER = 56.47
"""The max variance of Adult's 256 cuboids at ρ = 0.5, as ResidualPlanner finds it: its optimum."""


def figures() -> Iterator[Figure]:
    half = plan_cube(
        ADULT, NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove")).as_continuous()
    ).max_variance_consistent
    note = f"max variance {half:.2f} against {RESIDUAL_PLANNER}"
    yield Figure("Gaussian plan of Adult / ResidualPlanner's", half / RESIDUAL_PLANNER, 1.01, "lower", "×", note)
    wide = plan_cube(Lattice((10,) * 50), NoiseModel(ConcentratedBudget(Fraction(1, 2), "add-remove")), cuboids=3)
    theirs = residual_planner_largest(50, 10, 3, 0.5)
    note = f"{len(wide.published):,} cuboids; max variance {wide.max_variance_consistent:,.0f} against {theirs:,.0f}"
    ratio = wide.max_variance_consistent / theirs
    yield Figure("Gaussian plan of 50 attributes / ResidualPlanner's", ratio, 1.01, "lower", "×", note)
    by_mu = {digits: _by_mu_and_rho(Fraction(1, 10**digits)) for digits in (5, 9)}
    pure = plan_cube(ADULT, NoiseModel(PureBudget(Fraction(1), "add-remove"))).max_variance_consistent
    note = f"max variance {by_mu[5][0]:.1f} at (ε = 1, δ = 1e-5); {pure:.1f} at pure ε = 1"
    yield Figure("Adult's cube, (ε, δ) / pure", by_mu[5][0] / pure, 1 / 8, "lower", "×", note)
    for digits, target in ((5, 0.87), (9, 0.92)):
        mu, rho = by_mu[digits]
        note = f"max variance {mu:.1f} by way of μ, {rho:.1f} by way of ρ"
        yield Figure(f"Adult's cube at (1, 1e-{digits}), by way of μ / of ρ", mu / rho, target, "lower", "×", note)
    for counts in (10, 100, 1000):
        yield _many_counts(counts)


def _by_mu_and_rho(delta: Fraction) -> tuple[float, float]:
    """The max variance of Adult's cube at ε = 1 and this δ, by way of μ and by way of ρ."""
    budgets = (
        GaussianBudget.of(Fraction(1), delta, "add-remove"),
        ConcentratedBudget(rho_for(Fraction(1), delta), "add-remove"),
    )
    mu, rho = (plan_cube(ADULT, NoiseModel(budget)).max_variance_consistent for budget in budgets)
    return mu, rho


def _many_counts(counts: int) -> Figure:
    """The noise of so many counts at (1, 1e-5) against dp-accounting's least for a Gaussian mechanism."""
    budget = GaussianBudget.of(Fraction(1), Fraction(1, 10**5), "add-remove")
    own = float(budget.noise_costing(budget.total / counts).scale)
    theirs = get_smallest_gaussian_noise(DifferentialPrivacyParameters(1.0, 1e-5), counts, 1.0)
    note = f"σ = {own:.3f} against {theirs:.3f}"
    return Figure(f"σ of {counts:,} counts at (1, 1e-5) / exact", own / theirs, 1.02, "lower", "×", note)
