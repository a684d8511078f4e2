"""Vaults with a budget of ρ, or of (ε, δ): Gaussian noise, and everything else as ever."""

from fractions import Fraction

import pytest

from discreet.errors import InvalidBudget, InvalidNoise
from discreet.ledger.conversion import rho_for
from discreet.noise.law import Gaussian, Laplace
from discreet.query.plan import Measurement, Plan

FEMALES = "SELECT COUNT(*) FROM people WHERE sex = 'F'"


@pytest.fixture(params=[{"rho": 2}, {"epsilon": 8, "delta": "1e-6"}], ids=["rho", "epsilon and delta"])
def vault(request, make_vault):
    return make_vault(**request.param)


def test_a_count_has_gaussian_noise_and_costs_its_rho(vault, people):
    answer = vault.ask(FEMALES, scale=5)
    [release] = vault.releases()
    assert release.plan.measurements[0].law == Gaussian(Fraction(25))
    assert answer.cost == release.guarantee.amount == Fraction(1, 50)
    low, high = answer.interval(0.9999)
    assert low <= (people.sex == "F").sum() <= high
    assert vault.budget().spent == Fraction(1, 50)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        (FEMALES, "repeated"),
        ("SELECT COUNT(*) FROM people WHERE sex = 'F' OR sex = 'M'", "derived"),
        ("SELECT sex, COUNT(*) FROM people GROUP BY sex", "mixed"),
    ],
)
def test_what_is_public_is_free_there_too(vault, sql, kind):
    vault.ask(FEMALES, scale=5)
    vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'M'", scale=5)
    answer = vault.ask(sql, scale=8)
    assert answer.kind == kind


def test_averages_and_quantiles_work(vault, people):
    answer = vault.ask("SELECT AVG(age), MEDIAN(age), SUM(income) FROM people", scale=3, confidence="0.999999")
    mean, median, total = answer.rows
    assert mean.low <= people.age.mean() <= mean.high
    assert median.value in (4, 5)
    assert total.low <= people.income.sum() <= total.high


def test_a_region_without_budget_is_relaxed(vault):
    for scale in ("0.8", "0.75"):
        vault.ask("SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 6", scale=scale)
    assert vault.ask("SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 5", scale="0.5").kind == "relaxed"


def test_a_cube_is_planned_by_the_convex_planner_and_published(vault, people):
    plan = vault.cubes.plan(rho="0.5", dimensions=["sex", "income"])
    cube = vault.cubes.publish(plan)
    assert cube.guarantee.amount == Fraction(1, 2)
    low, high = cube.interval("sex", confidence=0.999999)
    truth = [(people.sex == "F").sum(), (people.sex == "M").sum(), people.sex.isna().sum()]
    assert (low.values <= truth).all()
    assert (truth <= high.values).all()
    with pytest.raises(InvalidBudget, match="rho"):
        vault.cubes.plan(epsilon=1, dimensions=["sex"])


def test_laplace_noise_costs_half_its_square(vault):
    plan = Plan((Measurement(vault.count(sex="F"), Laplace(Fraction(10))),))
    assert vault.measure(plan).guarantee.amount == Fraction(1, 200)


def test_gaussian_noise_in_a_pure_vault_is_refused_and_spends_nothing(make_vault):
    vault = make_vault(epsilon=1)
    with pytest.raises(InvalidNoise, match="no pure guarantee"):
        vault.measure(Plan((Measurement(vault.count(sex="F"), Gaussian(Fraction(10))),)))
    assert vault.budget().charges == 0


def test_a_vault_of_epsilon_and_delta_says_both_and_the_rho_between(make_vault):
    vault = make_vault(epsilon=1, delta="1e-5", neighbours="replace")
    assert str(vault.ledger.guarantee).startswith("differential privacy, ε = 1, δ = 1e-05 (by ρ ≈ 0.03056 of zCDP)")
    assert vault.ledger.budget.total == rho_for(Fraction(1), Fraction(1, 10**5))


@pytest.mark.parametrize(
    "budget", [{}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": "1e-5"}, {"delta": "1e-5"}], ids=str
)
def test_a_vault_has_one_currency(make_vault, budget):
    with pytest.raises(InvalidBudget, match="one currency"):
        make_vault(**budget)
