"""Running totals of a vault: set aside once, published period by period, and never changed."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chi2
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.cube.running import RunningTotals
from discreet.errors import BudgetExceeded, DiscreetError, EngineError, InvalidBudget, UnsupportedQuery, VaultError
from discreet.ledger.spend import UNITS
from discreet.noise.law import Gaussian, Laplace
from discreet.noise.spread import Draws, halfwidth
from discreet.refinement.running_totals import GRAINS
from discreet.release.gate import Gate
from discreet.vault import Vault
from tests.audit.insider import Journal, failures, forget_receipts

pytestmark = pytest.mark.usefixtures("clinic")

WARDS, MONTHS, ROWS = 40, 12, 6000
DOMAIN = """\
name = "visits"
[attributes.seen]
kind = "date"
low = 2026-01-01
high = 2026-12-31
period = "month"
source = "a form"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "a form"
[attributes.ward]
kind = "integer"
low = 0
high = 39
source = "a plan of the house"
"""
CHANGE = {"month": [f"2026-{month:02d}" for month in range(1, MONTHS + 1)]}
BUDGETS: dict[str, dict[str, Any]] = {
    "ρ": {"rho": 2, "neighbours": "add-remove"},
    "ρ, replace": {"rho": 2, "neighbours": "replace"},
    "ρ, three rows": {"rho": 2, "neighbours": "replace", "id": "person", "max_rows": 3},
    "μ": {"mu": 2, "neighbours": "add-remove"},
    "ε and δ": {"epsilon": 4, "delta": "1e-6", "neighbours": "replace"},
    "ε": {"epsilon": 4, "neighbours": "add-remove"},
}


def rows() -> list[tuple[int, str, str, int]]:
    return [
        (i // 3, f"2026-{i * i % 12 + 1:02d}-{i % 28 + 1:02d}", "FM"[i % 7 % 2], i * 31 % WARDS) for i in range(ROWS)
    ]


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    person, seen, sex, ward = zip(*rows(), strict=True)
    pq.write_table(pa.table({"person": person, "seen": seen, "sex": sex, "ward": ward}), "visits.parquet")
    (tmp_path / "visits.toml").write_text(DOMAIN)
    return tmp_path


def make(**budget: Any) -> Vault:
    chosen = budget or BUDGETS["ρ"]
    text = ("null_ids = 'drop'\n" if "id" in chosen else "") + DOMAIN
    Path("visits.toml").write_text(text)
    return Vault.init("vault", table="visits.parquet", domain="visits.toml", **chosen)


def share_of(vault: Vault, share: Fraction = Fraction(1, 4)) -> dict[str, Any]:
    return {vault.ledger.budget.option: vault.ledger.budget.total * share}


def true_totals(sex: str) -> list[int]:
    months = [row[1][:7] for row in rows() if row[2] == sex]
    return [sum(month <= last for month in months) for last in CHANGE["month"]]


def by_sex(totals: RunningTotals) -> Iterator[tuple[str, np.ndarray]]:
    yield from (("F", totals.values[:, 0]), ("M", totals.values[:, 1]))


@pytest.mark.parametrize("name", BUDGETS)
def test_totals_are_published_one_by_one_and_never_change(name: str) -> None:
    vault = make(**BUDGETS[name])
    kept = vault.running.declare(vault.running.plan("month", by="sex", **share_of(vault)))
    assert kept.measured.shape == (0, 2)
    before = kept.values
    for through in ("2026-01", "2026-02", "2026-05", "2026-05", "2026-12"):
        kept = vault.running.publish(through=through)
        assert np.array_equal(kept.values[: len(before)], before)
        before = kept.values
    assert kept.values.shape == (12, 2)
    assert len(kept.charges) == MONTHS
    shown = Vault.open("vault").running.show()
    assert np.array_equal(shown.values, kept.values)
    deviations = kept.plan.deviations
    if "rows" not in name:  # otherwise rows of people who have too many are left out
        for sex, values in by_sex(kept):
            assert (np.abs(values - true_totals(sex)) < 6 * deviations).all()


@pytest.mark.parametrize("name", BUDGETS)
def test_what_is_set_aside_is_what_each_period_costs_and_no_more_than_was_said(name: str) -> None:
    vault = make(**BUDGETS[name])
    plan = vault.running.plan("seen", **share_of(vault))
    number = vault.running.declare(plan).number
    budget, reserve = vault.ledger.budget, vault.ledger.reserved(number)
    assert reserve is not None
    losses = []
    for period in range(MONTHS):
        column = [Fraction(int(weight), GRAINS) for weight in plan.strategy.weights[period:, period]]
        match plan.law:
            case Laplace(scale=scale):
                exact = sum(column) / scale
            case Gaussian(sigma_squared=square) if budget.symbol == "ρ":
                exact = sum(weight**2 for weight in column) / (2 * square)
            case _:
                exact = sum(
                    (budget.loss(plan.law, weight, True, Fraction(1, GRAINS)) for weight in column), Fraction(0)
                )
        paid = reserve.cost.at((period, 0, 0))
        assert exact * UNITS <= paid <= exact * UNITS + MONTHS
        losses.append(budget.amount_of(paid))
    assert max(losses) <= budget.total / 4
    assert max(losses) >= Fraction(999, 4000) * budget.total
    spent = vault.budget().spent
    assert spent == max(losses)
    vault.running.publish(through="2026-12")
    assert vault.budget().spent == spent
    assert vault.running.show().guarantee.amount == spent


@pytest.mark.parametrize("month", [1, 6, 12])
def test_a_row_moves_what_is_measured_by_its_column_exactly_and_pays_for_that(month: int) -> None:
    read = []
    for more in ([], [(9999, f"2026-{month:02d}-05", "M", 7)]):
        person, seen, sex, ward = zip(*rows(), *more, strict=True)
        pq.write_table(pa.table({"person": person, "seen": seen, "sex": sex, "ward": ward}), "visits.parquet")
        vault = Vault.init(f"vault {len(more)}", table="visits.parquet", domain="visits.toml", **BUDGETS["ρ"])
        plan = vault.running.plan("month", by="sex", rho=1)
        queries = [one.measurements[0].query for one in plan.measurements(vault.domain)]
        read.append(np.stack(vault._own.current().evaluate(queries)))
    moved = read[1] - read[0]
    assert moved[:, 0].tolist() == [0] * MONTHS
    assert moved[:, 1].tolist() == plan.strategy.weights[:, month - 1].tolist()
    assert isinstance(plan.law, Gaussian)
    exact = sum(Fraction(int(move), GRAINS) ** 2 for move in moved[:, 1]) / (2 * plan.law.sigma_squared)
    number = vault.running.declare(plan).number
    reserve = vault.ledger.reserved(number)
    assert reserve is not None
    assert exact * UNITS <= reserve.cost.at((month - 1, 1, 7)) <= exact * UNITS + MONTHS


def test_the_noise_of_totals_is_as_wide_as_is_said() -> None:
    # 40 wards × 12 totals: the first of every ward, and the last, have noise of their own; accepted at 10⁻⁹.
    vault = make()
    plan = vault.running.plan("month", by=["ward"], rho=1)
    vault.running.declare(plan)
    totals = vault.running.publish(through="2026-12")
    truth = np.zeros((MONTHS, WARDS))
    for _, day, _, ward in rows():
        truth[int(day[5:7]) - 1 :, ward] += 1
    for place in (0, 5, 11):
        squared = float((((totals.values - truth)[place] / plan.deviations[place]) ** 2).sum())
        assert chi2.ppf(1e-9, WARDS) < squared < chi2.ppf(1 - 1e-9, WARDS)
    widths = totals.halfwidths(0.95)
    inside = np.abs(totals.values - truth) <= widths[:, None]
    assert inside.mean() > 0.8
    assert np.allclose(widths / plan.deviations, 1.96, atol=0.02)


def test_widths_are_those_of_the_sums_of_draws_written_out() -> None:
    vault = make()
    plan = vault.running.plan("month", rho=1)
    for place in (0, 4, 11):
        own = plan.strategy.combinations[place, : place + 1]
        exact = halfwidth([Draws(float(weight), plan.law_in_grains) for weight in own], Fraction(95, 100))
        assert exact * 0.99 <= plan.halfwidth(place) <= exact * 1.001


def test_nothing_else_can_spend_what_was_set_aside() -> None:
    vault = make()
    vault.running.declare(vault.running.plan("month", first="2026-07", rho=2))
    assert vault.ask("SELECT COUNT(*) FROM visits WHERE seen < '2026-07-01'", scale=10).rows[0].value is not None
    with pytest.raises(BudgetExceeded):
        vault.measure(vault.count(seen="2026-08"), scale=10)
    before = vault.ledger.head
    with pytest.raises(BudgetExceeded):
        vault.running.declare(vault.running.plan("month", by="sex", rho=1))
    assert vault.ledger.head == before
    assert len(vault.running.publish(through="2026-12").values) == 6


def test_what_was_declared_or_published_before_is_handed_out_and_free() -> None:
    vault = make()
    plan = vault.running.plan("month", rho=1)
    first = vault.running.declare(plan).number
    assert vault.running.declare(plan).number == first
    vault.running.publish(through="2026-06")
    head = vault.ledger.head
    assert len(vault.running.publish(through="2026-03").values) == 6
    assert vault.ledger.head == head
    assert vault.running.declared() == [first]


def test_what_was_cut_off_is_finished_first(monkeypatch: pytest.MonkeyPatch) -> None:
    vault = make()
    vault.running.declare(vault.running.plan("month", rho=1))
    with monkeypatch.context() as patched:
        patched.setattr(Gate, "_draw", lambda *_: (_ for _ in ()).throw(EngineError("no")))
        with pytest.raises(EngineError):
            vault.running.publish(through="2026-02")
    assert len(vault.running.show().values) == 0
    assert len(vault.ledger.pending()) == 1
    totals = vault.running.publish(through="2026-04")
    assert len(totals.values) == 4
    assert len(totals.charges) == 4
    assert not vault.ledger.pending()
    assert not failures(audit_vault("vault"))


def test_a_refresh_ends_them_and_what_was_published_stays() -> None:
    vault = make()
    plan = vault.running.plan("month", rho=1)
    number = vault.running.declare(plan).number
    before = vault.running.publish(through="2026-02")
    vault.refresh()
    after = vault.running.show(number)
    assert np.array_equal(after.values, before.values)
    assert (before.open, after.open) == (True, False)
    with pytest.raises(BudgetExceeded, match="a refresh ends what was set aside"):
        vault.running.publish(number, through="2026-03")
    again = vault.running.declare(plan)
    assert again.number != number
    assert vault.running.publish(through="2026-01").number == again.number
    assert not failures(audit_vault("vault"))


def test_an_audit_counts_what_was_set_aside_and_finds_what_was_drawn_beyond_it() -> None:
    vault = make()
    vault.running.declare(vault.running.plan("month", by="sex", rho=1))
    vault.running.publish(through="2026-03")
    vault.running.publish(through="2026-04")
    audit = audit_vault("vault")
    assert not failures(audit)
    assert (audit["limit"].detail, audit["costs"].detail[:9]) == ("50.0% of it, at the most spent point", "4 charges")
    forget_receipts(vault)
    whole = Journal().entries
    for damage, check, words in (
        (lambda journal: journal[2]["cost"]["regional"].pop(0), "costs", "draws more than was left of entry 2"),
        (lambda journal: journal[3].update({"from": 9}), "costs", "charge 3 draws on what was not set aside"),
        (lambda journal: journal[3].update({"from": "2"}), "costs", "charge 3 draws on what was not set aside"),
        (lambda journal: journal[2].update(cost={"everywhere": -1, "regional": []}), "costs", "reserve 2: its cost"),
        (lambda journal: journal[2].update(snapshot={"number": 7, "digest": "x"}), "snapshots", "pays for snapshot 7"),
        (lambda journal: journal[3]["cost"]["regional"].pop(0), "costs", "a sum is not paid for"),
    ):
        journal = Journal()
        journal.entries = json.loads(json.dumps(whole))
        damage(journal)
        journal.write()
        found = audit_vault("vault")[check]
        assert found.outcome == "failed"
        assert any(words in finding.what for finding in found.findings), found.findings


def test_the_same_totals_twice_are_more_than_was_set_aside() -> None:
    vault = make()
    plan = vault.running.plan("month", rho=1)
    number = vault.running.declare(plan).number
    vault.running.publish(through="2026-12")
    with pytest.raises(BudgetExceeded, match="was drawn already"):
        vault.gate.measure(plan.measurement(3, vault.domain), reserve=number)


@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        ({"each": "day"}, UnsupportedQuery, r"the date attributes of visits: seen \(by month\)"),
        ({"each": "sex"}, UnsupportedQuery, "no date attribute is called, or has, periods 'sex'"),
        ({"each": "seen", "first": "2027-01"}, UnsupportedQuery, "goes from 2026-01 to 2026-12"),
        ({"each": "seen", "first": "2026-05", "last": "2026-04"}, UnsupportedQuery, "2026-04 is before 2026-05"),
        ({"each": "seen", "by": "seen"}, UnsupportedQuery, "other attributes than their periods"),
        ({"each": "seen", "by": ["sex", "sex"]}, UnsupportedQuery, "each once"),
        ({"each": "seen", "by": "sx"}, DiscreetError, "sx"),
        ({"each": "seen", "rho": None, "epsilon": 1}, InvalidBudget, "this vault's budget is ρ"),
        ({"each": "seen", "rho": "1e-14"}, InvalidBudget, "below what the ledger counts"),
        ({"each": "seen", "rho": "1e-11"}, InvalidBudget, "less than the ledger counts"),
    ],
)
def test_bad_input_is_refused_with_what_to_do_and_nothing_is_spent(asked: Any, kind: Any, words: str) -> None:
    vault = make()
    with pytest.raises(kind, match=words):
        vault.running.plan(**{"rho": 1, **asked})
    assert vault.ledger.head.seq == 1


def test_periods_that_were_not_declared_are_not_published() -> None:
    vault = make()
    with pytest.raises(VaultError, match="nothing was set aside in vault for running totals: declare them first"):
        vault.running.show()
    one = vault.running.declare(vault.running.plan("month", first="2026-03", last="2026-08", rho="1/2")).number
    with pytest.raises(UnsupportedQuery, match=r"'2026-09' is not one of the 6 periods 2026-03 to 2026-08"):
        vault.running.publish(through="2026-09")
    two = vault.running.declare(vault.running.plan("month", by="sex", rho="1/2")).number
    with pytest.raises(VaultError, match=f"say which running totals, .*: {one}, {two}"):
        vault.running.publish(through="2026-04")
    with pytest.raises(VaultError, match="1 is none of the running totals"):
        vault.running.show(1)
    assert len(vault.running.publish(one, through="2026-04").values) == 2


def run(*arguments: str) -> Any:
    result = CliRunner().invoke(app, ["running", *arguments, "--json"])
    return result.exit_code, json.loads(result.stdout)


def test_the_command_line_says_the_same_as_python() -> None:
    vault = make()
    code, planned = run("plan", "vault", "--each", "month", "--by", "sex", "--rho", "1")
    assert code == 0
    assert planned["periods"] == CHANGE["month"]
    assert max(planned["halfwidths"]) == pytest.approx(2.25, abs=0.02)
    code, declared = run("declare", "vault", "--each", "month", "--by", "sex", "--rho", "1")
    assert (code, declared["published"], declared["open"], declared["rows"]) == (0, 0, True, [])
    code, published = run("publish", "vault", "--through", "2026-02")
    assert code == 0
    assert [row["group"] for row in published["rows"]] == [["F"], ["M"]] * 2
    assert published == Vault.open("vault").running.show().to_json()
    assert run("show", "vault")[1] == published
    code, refused = run("publish", "vault", "--through", "2030-01")
    assert (code, refused["error"]) == (1, "UnsupportedQuery")
    shown = CliRunner().invoke(app, ["running", "show", "vault"]).stdout
    assert "10 of 12 periods are to come, and paid for" in shown
    assert "2026-02" in shown
    assert CliRunner().invoke(app, ["ledger", "show", "vault"]).stdout.count("set aside") == 1
    assert vault.ledger.charges == 2
