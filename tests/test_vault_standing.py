"""Standing cubes: one of every period, paid for once, published as periods end."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.cube.cube import Cube
from discreet.errors import BudgetExceeded, DiscreetError, EngineError, UnsupportedQuery, VaultError
from discreet.release.gate import Gate
from discreet.vault import Vault
from tests.audit.insider import failures

pytestmark = pytest.mark.usefixtures("clinic")

ROWS = 3000
DOMAIN = """\
name = "visits"
[attributes.seen]
kind = "date"
low = 2026-01-01
high = 2026-12-31
period = "quarter"
source = "a form"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "a form"
[attributes.ward]
kind = "integer"
low = 0
high = 4
source = "a plan of the house"
"""
QUARTERS = ["2026-Q1", "2026-Q2", "2026-Q3", "2026-Q4"]


def rows() -> list[tuple[str, str, int]]:
    return [(f"2026-{i * i % 12 + 1:02d}-{i % 28 + 1:02d}", "FM"[i % 7 % 2], i * 31 % 5) for i in range(ROWS)]


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    seen, sex, ward = zip(*rows(), strict=True)
    pq.write_table(pa.table({"seen": seen, "sex": sex, "ward": ward}), "visits.parquet")
    (tmp_path / "visits.toml").write_text(DOMAIN)
    return tmp_path


def make(**budget: Any) -> Vault:
    chosen = budget or {"rho": 1, "neighbours": "add-remove"}
    return Vault.init("vault", table="visits.parquet", domain="visits.toml", **chosen)


def true_counts(quarter: int) -> np.ndarray:
    found = np.zeros((2, 5))
    for day, sex, ward in rows():
        if (int(day[5:7]) - 1) // 3 == quarter:
            found["FM".index(sex), ward] += 1
    return found


@pytest.mark.parametrize(
    "budget",
    [
        {"rho": 1, "neighbours": "add-remove"},
        {"epsilon": 4, "neighbours": "replace"},
        {"epsilon": 4, "delta": "1e-6", "neighbours": "replace"},
    ],
    ids=str,
)
@pytest.mark.parametrize("planner", ["optimal", "model"])
def test_each_period_has_a_cube_that_never_changes_and_all_cost_what_one_does(budget: Any, planner: str) -> None:
    vault = make(**budget)
    share = {vault.ledger.budget.option: vault.ledger.budget.total / 4}
    plan = vault.cubes.plan(dimensions=["sex", "ward"], planner=planner, **share)
    kept = vault.cubes.standing.declare(plan, "quarter")
    assert (list(kept.periods), dict(kept.cubes)) == (QUARTERS, {})
    spent = vault.budget().spent
    assert 0.99 * vault.ledger.budget.total / 4 <= spent <= vault.ledger.budget.total / 4
    before: dict[str, Cube] = {}
    for through in ("2026-Q1", "2026-Q3", "2026-Q3", "2026-Q4"):
        kept = vault.cubes.standing.publish(through=through)
        for period, cube in before.items():
            assert all(np.array_equal(cube.cuboids[mask], kept.cubes[period].cuboids[mask]) for mask in cube.cuboids)
        before = dict(kept.cubes)
    assert list(before) == QUARTERS
    assert vault.budget().spent == spent == kept.guarantee.amount
    for quarter, cube in enumerate(before.values()):
        off = np.abs(cube["sex", "ward"].values - true_counts(quarter))
        assert (off < 7 * np.sqrt(cube.variance("sex", "ward"))).all()
        assert cube.origin.table == f"visits {QUARTERS[quarter]}"
    assert not failures(audit_vault("vault"))


def test_cubes_are_free_to_show_to_ask_about_and_to_publish_again() -> None:
    vault = make()
    plan = vault.cubes.plan(rho="1/4", dimensions=["sex"])
    number = vault.cubes.standing.declare(plan, "seen").number
    assert vault.cubes.standing.declare(plan, "seen").number == number
    vault.cubes.standing.publish(through="2026-Q2")
    head = vault.ledger.head
    shown = Vault.open("vault").cubes.standing.publish(through="2026-Q1")
    assert list(shown.cubes) == QUARTERS[:2]
    cube = shown.cubes["2026-Q2"]
    again = vault.cubes.publish(cube.origin.charge)
    assert all(np.array_equal(again.cuboids[mask], cube.cuboids[mask]) for mask in cube.cuboids)
    assert vault.ledger.head == head
    spent = vault.budget().spent
    vault.ask(
        "SELECT sex, COUNT(*) FROM visits WHERE seen BETWEEN '2026-04-01' AND '2026-06-30' GROUP BY sex", within=99
    )
    assert vault.budget().spent == spent
    assert vault.cubes.standing.declared() == [number]


def test_what_was_cut_off_is_finished_first_and_a_refresh_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    vault = make()
    number = vault.cubes.standing.declare(vault.cubes.plan(rho="1/4", dimensions=["sex"]), "seen").number
    with monkeypatch.context() as patched:
        patched.setattr(Gate, "_draw", lambda *_: (_ for _ in ()).throw(EngineError("no")))
        with pytest.raises(EngineError):
            vault.cubes.standing.publish(through="2026-Q1")
    assert not vault.cubes.standing.show().cubes
    assert list(vault.cubes.standing.publish(through="2026-Q2").cubes) == QUARTERS[:2]
    assert vault.ledger.charges == 2
    vault.refresh()
    assert not vault.cubes.standing.show(number).open
    with pytest.raises(BudgetExceeded, match="a refresh ends what was set aside"):
        vault.cubes.standing.publish(number, through="2026-Q3")
    assert not failures(audit_vault("vault"))


def test_what_a_standing_cube_cannot_be_is_refused_and_nothing_is_spent() -> None:
    vault = make()
    with_dates = vault.cubes.plan(rho="1/4", dimensions=["sex", "seen"])
    plan = vault.cubes.plan(rho="1/4", dimensions=["sex", "ward"])
    rounds = vault.cubes.plan(rho="1/4", dimensions=["sex", "ward"], planner="adaptive")
    for what, each, words in (
        (with_dates, "seen", "leave it out of the plan's"),
        (rounds, "seen", "choose another planner"),
        (plan, "month", r"the date attributes of visits: seen \(by quarter\)"),
    ):
        with pytest.raises(UnsupportedQuery, match=words):
            vault.cubes.standing.declare(what, each)
    with pytest.raises(VaultError, match="nothing was set aside in vault for standing cubes"):
        vault.cubes.standing.show()
    with pytest.raises(DiscreetError):
        vault.cubes.standing.declare(vault.cubes.plan(rho=2, dimensions=["sex"]), "seen")
    assert vault.ledger.head.seq == 1


def run(*more: str) -> Any:
    arguments = ["cube", "publish", "vault", "--out", "cubes", *more, "--json"]
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, json.loads(result.stdout)


def test_the_command_line_publishes_what_has_ended_into_a_folder_of_folders() -> None:
    make()
    asked = ["--each", "quarter", "--rho", "1/4", "--dimensions", "sex,ward", "--through"]
    code, first = run(*asked, "2026-Q1")
    assert (code, first["written"], first["open"], first["periods"]) == (0, ["2026-Q1"], True, QUARTERS)
    code, second = run(*asked, "2026-Q3")
    assert (code, second["number"], second["written"]) == (0, first["number"], ["2026-Q2", "2026-Q3"])
    assert Cube.load("cubes/2026-Q2").plan.within is not None
    assert run(*asked, "2026-Q2")[1]["written"] == []
    assert not failures(audit_vault("vault", published=[f"cubes/2026-Q{quarter}" for quarter in (1, 2, 3)]))
    shown = CliRunner().invoke(app, ["cube", "show", "cubes", "sex", "--json"])
    assert json.loads(shown.stdout)["message"].endswith("name one that is in it, cubes/2026-Q1")
    Path("cubes/2026-Q1").rename("cubes/2026-Q4")
    assert run(*asked, "2026-Q4")[1]["error"] == "ArchiveError"
    for wrong, words in (
        (["--each", "quarter", "--rho", "1/4"], "(--through)"),
        (["--rho", "1/4", "--through", "2026-Q1"], "--each month"),
        ([*asked, "2026-Q1", "--norm", "l1"], "leave such options out"),
        ([*asked, "2027-Q1"], "goes from 2026-Q1 to 2026-Q4"),
    ):
        code, refused = run(*wrong)
        assert (code, words in refused["message"]) == (1, True), refused


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--dimensions", "sex", "--through", "2026-Q2"], "has something in it"),
        (["--dimensions", "sex,ward", "--last", "2026-Q3", "--through", "2026-Q2"], "has something in it"),
        (["--dimensions", "sex", "--through", "2026-Q5", "--out", "new"], "goes from 2026-Q1 to 2026-Q4"),
        (
            ["--dimensions", "sex", "--last", "2026-Q2", "--through", "2026-Q3", "--out", "new"],
            "not one of the 2 periods",
        ),
        (["--dimensions", "sex", "--through", "2026-Q1", "--out", "visits.toml"], "is no folder"),
        (["--dimensions", "sex", "--through", "2026-Q1", "--out", "no/such"], "is not a folder that can be written to"),
    ],
)
def test_what_cannot_be_published_is_refused_before_it_is_paid_for(more: list[str], words: str) -> None:
    vault = make()
    asked = ["--each", "quarter", "--rho", "1/4"]
    assert run(*asked, "--dimensions", "sex,ward", "--through", "2026-Q1")[0] == 0
    spent = vault.budget().spent
    code, refused = run(*asked, *more)
    assert (code, words in refused["message"]) == (1, True), refused
    assert vault.budget().spent == spent
    vault.refresh(unless_same=False)
    code, refused = run(*asked, "--dimensions", "sex,ward", "--through", "2026-Q2")
    assert (code, "a refresh or an erasure ends them" in refused["message"]) == (1, True), refused
    assert vault.budget().spent == spent
