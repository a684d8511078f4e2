"""Cubes, models, synthetic rows and running totals of one of several tables: each on the one budget, and audited."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app, present
from discreet.cube.cube import Cube
from discreet.errors import BudgetExceeded, EngineError, UnsupportedQuery, VaultError
from discreet.release.gate import Gate
from discreet.synthetic.rows import SyntheticRows
from discreet.vault import Vault

PEOPLE = """\
[tables.patients]
id = "patient"
[tables.patients.attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[tables.patients.attributes.age]
kind = "integer"
low = 0
high = 9
source = "form"
"""
BELOW = """\
[tables.{name}]
id = "patient"
parent = "patients"
max_rows = 3
[tables.{name}.attributes.{own}]
kind = "category"
values = ["a", "b", "c"]
source = "form"
[tables.{name}.attributes.{own}_month]
kind = "date"
low = 2026-01-01
high = 2026-04-30
period = "month"
source = "calendar"
"""
TEXT = PEOPLE + BELOW.format(name="visits", own="ward") + BELOW.format(name="bills", own="payer")
"""Two tables below the people whose points have the same shape: what is measured of one looks as of the other."""
TABLES = ("patients", "visits", "bills")
MONTHS = [f"2026-{month:02d}" for month in range(1, 5)]


def frames(people=90):
    chance = np.random.default_rng(7)

    def below(own, many):
        return pd.DataFrame(
            {
                "patient": chance.permutation(np.arange(3 * people) % people)[:many],
                own: chance.choice(list("abc"), many, p=[0.6, 0.3, 0.1]),
                f"{own}_month": [f"{month}-15" for month in chance.choice(MONTHS, many)],
            }
        )

    patients = pd.DataFrame(
        {
            "patient": np.arange(people),
            "sex": chance.choice(["F", "M"], people),
            "age": chance.integers(0, 10, people),
        }
    )
    return {"patients": patients, "visits": below("ward", 200), "bills": below("payer", 150)}


FILES = {name: f"{name}.parquet" for name in TABLES}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(present.out, "_width", 200)
    (tmp_path / "hospital.toml").write_text(TEXT)
    for name, frame in frames().items():
        frame.to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def made(path="vault", **budget):
    return Vault.init(path, table=FILES, domain="hospital.toml", **{"neighbours": "add-remove", **budget})


def whole(name):
    """The rows of a table, each with its patient's attributes."""
    found = frames()
    return found[name] if name == "patients" else found[name].merge(found["patients"], on="patient")


def counts(name, *by):
    rows = whole(name).astype(str)
    return {key if len(by) > 1 else (key,): int(many) for key, many in rows.groupby(list(by)).size().items()}


def cells(cuboid):
    found = {key if isinstance(key, tuple) else (key,): round(many) for key, many in cuboid.to_series().items()}
    return {key: many for key, many in found.items() if many}


def failures(vault, *but):
    return [check.name for check in audit_vault(vault.path).checks if check.findings and check.name not in but]


BUDGETS = [{"epsilon": 1}, {"rho": "1/2"}, {"mu": 1}, {"epsilon": 1, "delta": "1e-6"}]


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_cubes_of_several_tables_are_charged_a_person_together_and_the_audit_makes_each_again(budget, neighbours):
    vault = made(neighbours=neighbours, **budget)
    option, part = vault.ledger.budget.option, vault.ledger.budget.total / 10
    for name in TABLES:
        over = vault.table(name)
        cube = over.cubes.publish(over.cubes.plan(**{option: part}, dimensions=["sex", "age"]))
        assert part * Fraction(999, 1000) <= cube.guarantee.amount <= part
        assert cube.origin.table == name
        cube.save(name)
    plan = vault.table("bills").cubes.plan(**{option: part}, planner="all" if option == "epsilon" else "base")
    vault.table("bills").cubes.publish(plan).save("base")
    assert part * 4 * Fraction(999, 1000) <= vault.budget().spent <= part * 4
    assert failures(vault, "files") == []
    assert audit_vault(vault.path).spent == vault.budget().spent


def test_a_row_of_a_table_with_several_of_a_person_costs_as_many_times_as_much():
    """Of the same ε each cell has noise k times as wide; of the same ρ the variance is k² times as large."""
    for budget, power in (({"epsilon": 1}, 2), ({"rho": 1}, 2)):
        vault = made(f"of-{next(iter(budget))}", **budget)
        [[name, amount]] = budget.items()
        plans = [
            vault.table(one).cubes.plan(**{name: Fraction(amount, 100)}, dimensions=["sex"], planner="all")
            for one in ("patients", "visits")
        ]
        one, three = (plan.variances().max() for plan in plans)
        assert three / one == pytest.approx(3**power, rel=1e-3)


def test_a_cube_has_its_tables_own_counts():
    vault = made(epsilon=10**6)
    for name, by in (("patients", ("sex", "age")), ("visits", ("ward", "sex")), ("bills", ("payer", "age"))):
        over = vault.table(name)
        cube = over.cubes.publish(over.cubes.plan(epsilon=10**5, dimensions=by))
        assert cells(cube[by]) == counts(name, *by)


def test_what_was_measured_of_one_table_is_no_answer_of_another_that_looks_alike():
    vault = made(epsilon=10**6)
    published = {}
    for name in ("visits", "bills"):
        over = vault.table(name)
        published[name] = over.cubes.publish(over.cubes.plan(epsilon=10**4, dimensions=["sex", "age"]))
    visits, bills = (published[name].origin.charge for name in ("visits", "bills"))
    assert visits != bills
    for name, charge in (("visits", visits), ("bills", bills)):
        over = vault.table(name)
        again = over.cubes.publish(over.cubes.plan(epsilon=10**4, dimensions=["sex", "age"]))
        assert again.origin.charge == charge
        assert cells(again["sex", "age"]) == counts(name, "sex", "age")
        assert cells(over.cubes.publish(charge)["sex", "age"]) == counts(name, "sex", "age")
        [row] = vault.ask(f"SELECT COUNT(*) FROM {name}", scale=1000).rows
        assert round(row.value) == len(whole(name))
    with pytest.raises(VaultError, match=f"charge {bills} is of bills, and this is visits"):
        vault.table("visits").cubes.publish(bills)


def test_a_run_of_rounds_is_of_one_table_and_goes_on_there(monkeypatch):
    vault = made(epsilon=10**6)
    plans = {name: vault.table(name).cubes.plan(epsilon=10**4, planner="adaptive") for name in ("visits", "bills")}
    done = vault.table("visits").cubes.publish(plans["visits"])
    calls = []

    def cut_off(gate, *given):
        calls.append(given)
        if len(calls) > 1:
            raise RuntimeError
        return noisy(gate, *given)

    noisy = Gate._noisy
    with monkeypatch.context() as broken:
        broken.setattr(Gate, "_noisy", cut_off)
        with pytest.raises(EngineError):
            vault.table("bills").cubes.publish(plans["bills"])
    spent = vault.budget().spent
    cube = vault.table("bills").cubes.publish(plans["bills"])
    assert set(cube.origin.earlier).isdisjoint({*done.origin.earlier, done.origin.charge})
    assert vault.budget().spent > spent
    assert sum(cells(cube["sex",]).values()) == len(whole("bills"))
    for name, one in (("runs-of-visits", done), ("runs-of-bills", cube)):
        one.save(name)
    assert failures(vault, "files", "promise") == []
    again = vault.table("visits").cubes.publish(plans["visits"])
    assert (again.origin.charge, again.origin.earlier) == (done.origin.charge, done.origin.earlier)


def test_a_cube_that_was_cut_off_is_completed_in_its_own_table(monkeypatch):
    vault = made(epsilon=10**6)
    over = vault.table("bills")
    plan = over.cubes.plan(epsilon=10**4, dimensions=["payer", "sex"])
    with monkeypatch.context() as broken:
        broken.setattr(Gate, "_noisy", lambda *_: 1 / 0)
        with pytest.raises(EngineError) as failed:
            over.cubes.publish(plan)
    charge = int(str(failed.value).split("charge ")[1].split()[0])
    code, _, said = run(f"cube publish vault --charge {charge} --out again")
    assert code == 0, said
    assert cells(Cube.load("again")["payer", "sex"]) == counts("bills", "payer", "sex")


def test_a_budget_that_one_table_has_used_up_is_gone_for_cubes_of_the_others():
    vault = made(epsilon=1)
    vault.ask("SELECT COUNT(*) FROM patients WHERE sex = 'F'", scale="5/4", relax=False)
    over = vault.table("visits")
    plan = over.cubes.plan(epsilon="1/4", dimensions=["ward"])
    assert over.cubes.affordable(plan).at_most == Fraction(1, 5)
    with pytest.raises(BudgetExceeded, match=r"at most 0\.2"):
        over.cubes.publish(plan)
    over.cubes.publish(over.cubes.plan(epsilon="1/5", dimensions=["ward"]))
    assert vault.budget().spent == 1


def test_models_and_rows_are_of_one_table_each_and_their_copies_stand_beside_each_other():
    vault = made(epsilon=10**6)
    for name, by in (("patients", ("sex", "age")), ("visits", ("ward", "sex", "age"))):
        over = vault.table(name)
        cube = over.cubes.publish(over.cubes.plan(epsilon=10**4, dimensions=by), estimate="modelled")
        cube.save(f"cube-of-{name}")
    for _ in range(2):
        assert cells(vault.table("patients").model["sex",]) == counts("patients", "sex")
        assert cells(vault.table("visits").model["ward", "sex"]) == counts("visits", "ward", "sex")
    assert len(list((vault.path / "models").glob("public-visits-*-model"))) == 1
    assert len(list((vault.path / "models").glob("public-patients-*-model"))) == 1
    made_rows = vault.table("visits").rows.publish()
    assert len(made_rows) == len(whole("visits"))
    assert made_rows.table.column_names == ["ward", "sex", "age"]
    drawn = made_rows.to_pandas().astype(str).groupby(["ward", "sex"]).size()
    assert sum(abs(many - drawn.get(key, 0)) for key, many in counts("visits", "ward", "sex").items()) <= 8
    for file in ("rows.parquet", "rows.csv"):
        made_rows.save(file)
        again = SyntheticRows.load(file)
        assert (again.about["table"], again.about["domain_table"]) == ("visits", "visits")
        assert {name: len(own) for name, own in again.codes().items()} == dict.fromkeys(("ward", "sex", "age"), 200)
    [note] = [entry for entry in vault.entries() if entry["kind"] == "rows"]
    assert "of visits" in note["what"]
    assert note["body"]["table"] == "visits"
    assert failures(vault, "files", "promise") == []


def test_rows_may_buy_their_cube_first():
    vault = made(epsilon=10**6)
    rows = vault.table("bills").rows.publish(epsilon=10**4)
    assert set(rows.table.column_names) == {"payer", "payer_month", "sex", "age"}
    assert vault.budget().spent == 10**4


@pytest.mark.parametrize("budget", [{"epsilon": 10**6}, {"rho": 10**5}])
def test_running_totals_and_standing_cubes_of_a_table_are_set_aside_on_the_one_budget(budget):
    vault = made(**budget)
    option, total = vault.ledger.budget.option, vault.ledger.budget.total
    over, other = vault.table("visits"), vault.table("bills")
    running = over.running.declare(over.running.plan("month", by="sex", **{option: total / 10}))
    kept = vault.budget().spent
    assert 0 < kept <= total / 10
    assert other.running.declared() == []
    with pytest.raises(VaultError, match="declare them first"):
        other.running.publish(through="2026-01")
    standing = other.cubes.standing.declare(
        other.cubes.plan(**{option: total / 10}, dimensions=["payer", "sex"]), "month"
    )
    assert vault.budget().spent > kept
    kept = vault.budget().spent
    for month in MONTHS[:3]:
        running = over.running.publish(through=month)
        standing = other.cubes.standing.publish(through=month)
    assert vault.budget().spent == kept
    rows = whole("visits")
    for period, (sex,), value, _, _ in running.rows():
        assert round(value) == ((rows.ward_month.str[:7] <= period) & (rows.sex == sex)).sum()
    bills = whole("bills")
    for month, cube in standing.cubes.items():
        there = bills[bills.payer_month.str.startswith(month)]
        assert cells(cube["payer", "sex"]) == there.groupby(["payer", "sex"]).size().to_dict()
        cube.save(f"cube-{month}")
    assert failures(vault, "files", "promise") == []
    vault.refresh()  # the very same rows: nothing happened
    assert over.running.show().number == running.number


def test_what_another_table_set_aside_pays_for_nothing_of_this_one():
    vault = made(epsilon=1)
    over, other = vault.table("visits"), vault.table("bills")
    over.running.declare(over.running.plan("month", epsilon="9/10"))
    with pytest.raises(BudgetExceeded):
        other.cubes.publish(other.cubes.plan(epsilon="2/10", dimensions=["payer"]))
    other.cubes.publish(other.cubes.plan(epsilon="1/10", dimensions=["payer"]))
    with pytest.raises(VaultError, match="declare them first"):
        other.running.publish(vault.ledger.reserves[0], through="2026-01")
    assert failures(vault, "files") == []


def test_what_is_still_of_one_table_alone_is_refused():
    vault = made(epsilon=1)
    with pytest.raises(UnsupportedQuery, match="microdata is published in a vault over one table"):
        vault.table("visits").buckets  # noqa: B018 -- a property that refuses


def run(line):
    result = CliRunner().invoke(app, line.split())
    return result.exit_code, result.stdout, result.stderr


def test_the_command_line_plans_publishes_and_shows_a_table_of_several():
    made(rho=1000)
    options = "--rho 10 --table visits --dimensions ward,sex"
    code, shown, said = run(f"cube plan vault {options} --json")
    assert code == 0, said
    planned = json.loads(shown)
    assert planned["affordable"] is True
    assert ["ward", "sex"] in planned["sources"]
    assert run(f"cube publish vault {options} --out cube")[0] == 0
    published = json.loads(run(f"cube publish vault {options} --out again --json")[1])
    assert (published["repeated"], published["table"]) == (True, "visits")
    code, shown, _ = run("cube show cube ward sex --json")
    assert code == 0
    assert np.array(json.loads(shown)["count"]).shape == (3, 2)
    assert "ward" in run("release list vault --table visits")[1]
    assert "ward" not in run("release list vault --table bills")[1]
    charge = Cube.load("again").origin.charge
    assert "ward" in run(f"release show vault {charge}")[1]
    assert "the plan of a cube of visits" in run("ledger show vault")[1]
    code, shown, said = run("rows publish vault --table visits --rows 20 --out rows.csv --json")
    assert code == 0, said
    assert json.loads(shown)["domain_table"] == "visits"
    assert run("rows check rows.csv --against cube")[0] == 0
    code, shown, said = run("running declare vault --table visits --each month --rho 5")
    assert code == 0, said
    assert run("running publish vault --table visits --through 2026-02")[0] == 0
    assert json.loads(run("running show vault --table visits --json")[1])["published"] == 2
    each = "cube publish vault --table visits --rho 5 --dimensions sex --each month"
    assert run(f"{each} --through 2026-01 --out months")[0] == 0
    assert run(f"{each} --through 2026-02 --out months")[0] == 0
    assert run("audit vault vault")[0] == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("cube plan vault --epsilon 1 --table visit", "did you mean visits?"),
        ("cube plan --sizes 2,3 --neighbours replace --epsilon 1 --table visits", "--table is one of a vault"),
        ("cube publish vault --epsilon 1 --table visits --dimensions payer --out x", "payer"),
        ("rows publish vault --table bills --out rows.csv", "nothing that was released"),
        ("running plan vault --table patients --each month --epsilon 1", "no date attribute"),
        ("buckets publish vault --sensitive sex --limits max=1/2 --out x", "over one table"),
    ],
)
def test_what_is_not_right_is_refused_with_what_to_do(command, said):
    made(epsilon=10)
    code, _, told = run(command)
    assert code == 1
    assert said in " ".join(told.split())
