"""Vaults with a budget of ρ, of μ, or of (ε, δ): Gaussian noise, and everything else as ever."""

import json
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import InvalidBudget, InvalidNoise
from discreet.ledger.conversion import rho_for
from discreet.ledger.gaussian_conversion import mu_squared_for
from discreet.ledger.gaussian_price import gaussian_price
from discreet.ledger.squared_budget import ConcentratedBudget
from discreet.noise.law import Gaussian, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.vault import Vault

FEMALES = "SELECT COUNT(*) FROM people WHERE sex = 'F'"


def earlier(monkeypatch):
    """Vaults of (ε, δ) as they were made before μ: by way of ρ."""

    def by_rho(epsilon, delta, _rho, _mu, neighbours, max_rows):
        epsilon, delta = Fraction(epsilon), Fraction(delta)
        return ConcentratedBudget(rho_for(epsilon, delta), neighbours, max_rows, epsilon, delta)

    monkeypatch.setattr("discreet.vault.making.budget_of", by_rho)


@pytest.fixture(params=["rho", "mu", "epsilon and delta", "epsilon and delta, earlier"])
def vault(request, make_vault, monkeypatch):
    if request.param.endswith("earlier"):
        earlier(monkeypatch)
    return make_vault(**{"rho": {"rho": 2}, "mu": {"mu": 2}}.get(request.param, {"epsilon": 8, "delta": "1e-6"}))


def test_a_count_has_gaussian_noise_and_costs_its_part_of_the_budget(vault, people):
    answer = vault.ask(FEMALES, scale=5)
    [release] = vault.releases()
    assert release.plan.measurements[0].law == Gaussian(Fraction(25))
    price = Fraction(1, 50) if vault.ledger.budget.symbol == "ρ" else gaussian_price(Fraction(25))
    assert answer.cost == release.guarantee.amount == pytest.approx(price, rel=1e-9)
    assert answer.cost >= price
    low, high = answer.interval(0.9999)
    assert low <= (people.sex == "F").sum() <= high
    assert vault.budget().spent == answer.cost


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
    option = vault.ledger.budget.option
    plan = vault.cubes.plan(**{option: "0.5"}, dimensions=["sex", "income"])
    cube = vault.cubes.publish(plan)
    assert cube.guarantee.amount == Fraction(1, 2)
    low, high = cube.interval("sex", confidence=0.999999)
    truth = [(people.sex == "F").sum(), (people.sex == "M").sum(), people.sex.isna().sum()]
    assert (low.values <= truth).all()
    assert (truth <= high.values).all()
    with pytest.raises(InvalidBudget, match=option):
        vault.cubes.plan(epsilon=1, dimensions=["sex"])


def test_laplace_noise_costs_half_its_square_or_eleven_sevenths_of_it(vault):
    plan = Plan((Measurement(vault.count(sex="F"), Laplace(Fraction(10))),))
    price = Fraction(1, 200) if vault.ledger.budget.symbol == "ρ" else Fraction(11, 700)
    assert vault.measure(plan).guarantee.amount == price


def test_gaussian_noise_in_a_pure_vault_is_refused_and_spends_nothing(make_vault):
    vault = make_vault(epsilon=1)
    with pytest.raises(InvalidNoise, match="no pure guarantee"):
        vault.measure(Plan((Measurement(vault.count(sex="F"), Gaussian(Fraction(10))),)))
    assert vault.budget().charges == 0


def test_a_vault_of_epsilon_and_delta_says_both_and_the_mu_between(make_vault):
    vault = make_vault(epsilon=1, delta="1e-5", neighbours="replace")
    stated = "differential privacy, ε = 1, δ = 1e-05 (by μ² ≈ 0.07185 of Gaussian DP)"
    assert str(vault.ledger.guarantee).startswith(stated)
    assert vault.ledger.budget.total == mu_squared_for(Fraction(1), Fraction(1, 10**5))
    assert str(vault.ask(FEMALES, scale=40).guarantee).startswith("Gaussian differential privacy, μ² ≈ 0.00125")


def test_a_vault_of_epsilon_and_delta_that_was_made_by_way_of_rho_goes_on_so(make_vault, monkeypatch):
    earlier(monkeypatch)
    vault = make_vault(epsilon=1, delta="1e-5", neighbours="replace")
    assert str(vault.ledger.guarantee).startswith("differential privacy, ε = 1, δ = 1e-05 (by ρ ≈ 0.03056 of zCDP)")
    assert vault.ledger.budget.total == rho_for(Fraction(1), Fraction(1, 10**5))


@pytest.mark.parametrize(
    "budget",
    [{}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": "1e-5"}, {"delta": "1e-5"}, {"rho": 1, "mu": 1}],
    ids=str,
)
def test_a_vault_has_one_currency(make_vault, budget):
    with pytest.raises(InvalidBudget, match="one currency"):
        make_vault(**budget)


class TestCurrency:
    """A vault keeps the currency that it was made with, whichever door is tried: in Python and on the command line.
    The service has no refresh."""

    @pytest.mark.parametrize(
        ("made", "wanted", "why"),
        [
            (
                {"epsilon": 1, "delta": "1e-5", "earlier": True},
                "mu",
                "this vault promises ρ ≈ 0.03056 of zCDP beside ε = 1, δ = 1e-05, and says so with every release; "
                "counted in μ², that ε and δ allow a ρ ≈ 0.03593, which would loosen it; the μ² that keeps this ρ is "
                "2ρ, and gives no count less noise; nothing was changed, it stays in ρ",
            ),
            (
                {"rho": "1/2"},
                "mu",
                "this vault promises ρ = 0.5 of zCDP; the μ² that keeps this ρ is 2ρ, and gives no count less noise; "
                "nothing was changed, it stays in ρ",
            ),
            ({"mu": 1}, "rho", "charged in μ², and all that it released is promised in it; nothing was changed"),
            ({"epsilon": 1, "delta": "1e-5"}, "epsilon", "was charged in μ², and"),
            ({"epsilon": 1}, "mu", "was charged in ε, and"),
            ({"epsilon": 1}, "euros", "a currency is one of epsilon, rho, mu, queries"),
        ],
    )
    def test_another_one_is_refused_with_the_reason_and_nothing_is_changed(
        self, make_vault, monkeypatch, made, wanted, why
    ):
        if made.pop("earlier", False):
            earlier(monkeypatch)
        vault = make_vault(**made)
        vault.ask(FEMALES, scale=30)
        before = vault.ledger.head, vault.ledger.snapshot, vault.ledger.guarantee
        with pytest.raises(InvalidBudget, match=re.escape(why)):
            vault.refresh(currency=wanted)
        typed = CliRunner().invoke(app, ["refresh", str(vault.path), "--currency", wanted, "--json"])
        assert typed.exit_code == 1
        assert why in json.loads(typed.stdout)["message"]
        again = Vault.open(vault.path).ledger
        assert (again.head, again.snapshot, again.guarantee) == before

    @pytest.mark.parametrize(
        ("made", "own"), [({"epsilon": 1}, "epsilon"), ({"rho": 1}, "rho"), ({"epsilon": 1, "delta": "1e-5"}, "mu")]
    )
    def test_its_own_is_no_change(self, make_vault, made, own):
        vault = make_vault(**made)
        promised = vault.ledger.guarantee
        vault.refresh(currency=own)
        assert vault.ledger.guarantee.to_json() == {
            **promised.to_json(),
            "remarks": ["one budget for all 2 versions of the table"],
        }

    @given(st.fractions(Fraction(1, 200), Fraction(10**6)))
    def test_no_count_has_less_noise_by_the_mu_that_keeps_rho(self, sigma_squared):
        """Of 2ρ, a count takes at least the part that it takes of ρ."""
        assert gaussian_price(sigma_squared) >= 1 / sigma_squared
