"""What to measure, chosen as one goes: rounds that cost what they say, go on after a crash, and follow noise alone."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.cube import runs
from discreet.cube.adaptive import choice_costing
from discreet.cube.cube import Cube
from discreet.cube.folder import write_cube
from discreet.cube.noise_model import NoiseModel
from discreet.cube.planning import plan_cube
from discreet.cube.runs import charges_of, run_holding
from discreet.errors import BudgetExceeded, InvalidBudget, Refreshed, UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.ledger.spend import UNITS, units_up
from discreet.ledger.squared_budget import ConcentratedBudget, GaussianBudget
from discreet.query.lattice import Lattice
from discreet.query.query import Choice
from discreet.release.gate import Gate
from discreet.vault.vault import Vault

DOMAIN = """
name = "people"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[attributes.job]
kind = "integer"
low = 0
high = 2
source = "form"
[attributes.wage]
kind = "integer"
low = 0
high = 2
source = "form"
"""
CURRENCIES = {
    "epsilon": ({"epsilon": 50}, {"epsilon": 2}),
    "rho": ({"rho": 50}, {"rho": "1/2"}),
    "mu_squared": ({"epsilon": 50, "delta": "1e-9"}, {"mu_squared": "1/2"}),
}


def made_up(rows=800, more=0) -> pa.Table:
    """Wages depend on jobs, and on nothing else."""
    rng = np.random.default_rng(5)
    job = rng.integers(0, 3, rows)
    wage = np.where(rng.random(rows) < 0.8, job, rng.integers(0, 3, rows))
    columns = {"sex": rng.choice(["F", "M"], rows).tolist(), "job": job.tolist(), "wage": wage.tolist()}
    for name, value in (("sex", "F"), ("job", 2), ("wage", 0)):
        columns[name] += [value] * more
    return pa.table(columns)


def vault_in(folder, neighbours="add-remove", more=0, **budget) -> Vault:
    folder.mkdir(exist_ok=True)
    pq.write_table(made_up(more=more), folder / "people.parquet")
    (folder / "people.toml").write_text(DOMAIN)
    return Vault.init(
        folder / "vault",
        table=folder / "people.parquet",
        domain=folder / "people.toml",
        neighbours=neighbours,
        **(budget or {"epsilon": 50}),
    )


@pytest.fixture
def vault(tmp_path) -> Vault:
    return vault_in(tmp_path)


def charges(vault):
    return [entry.seq for entry in vault.ledger.entries() if entry.kind == "charge"]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("budget", "spends"), CURRENCIES.values(), ids=CURRENCIES)
def test_a_run_spends_its_budget_and_no_more_and_its_promise_is_for_all_of_its_steps(
    tmp_path, budget, spends, neighbours
):
    vault = vault_in(tmp_path, neighbours, **budget)
    plan = vault.cubes.plan(planner="adaptive", **spends)
    cube = vault.cubes.publish(plan)
    spent = vault.ledger.spent_max
    assert plan.noise.limit * 0.999 < spent <= plan.noise.limit
    assert cube.guarantee == vault.ledger.promise(spent)
    assert (*cube.origin.earlier, cube.origin.charge) == tuple(charges(vault))
    assert cube.guarantee.amount <= Fraction(next(iter(spends.values())))
    assert audit_vault(vault.path).holds


def test_what_depends_on_each_other_is_chosen_first(vault):
    cube = vault.cubes.publish(vault.cubes.plan(planner="adaptive", epsilon=10), estimate="modelled")
    assert cube.plan.sources[3] == ("job", "wage")
    truth = np.histogram2d(*(made_up()[name].to_numpy() for name in ("job", "wage")), bins=3)[0]
    assert np.abs(cube.modelled["job", "wage"].values - truth).max() < 20


def test_published_again_a_run_spends_nothing_and_anew_it_does(vault):
    plan = vault.cubes.plan(planner="adaptive", epsilon=2)
    cube = vault.cubes.publish(plan)
    spent = vault.ledger.spent_max
    assert vault.cubes.publish(plan).origin == cube.origin
    for charge in charges(vault):
        assert vault.cubes.publish(charge).origin == cube.origin
    assert vault.ledger.spent_max == spent
    assert vault.cubes.publish(plan, again=True).origin.charge > cube.origin.charge
    assert vault.ledger.spent_max == 2 * spent


class Dies(Exception):
    pass


def dying(real, lives, after):
    """A function that ends badly once it was called so many times: before it does anything, or after."""
    left = iter(range(lives))

    def call(*args, **named):
        if next(left, None) is not None:
            return real(*args, **named)
        if after:
            real(*args, **named)
        raise Dies

    return call


CUTS = {
    "before a charge": ("measure", 1, False),
    "after a charge": ("_draw", 1, False),
    "after a record": ("measure", 0, True),
}


@pytest.mark.parametrize(("name", "lives", "after"), CUTS.values(), ids=CUTS)
def test_a_run_that_is_cut_off_at_every_step_goes_on_and_pays_for_nothing_twice(vault, monkeypatch, name, lives, after):
    plan = vault.cubes.plan(planner="adaptive", epsilon=2)
    cuts, cube = 0, None
    while cube is None:
        with monkeypatch.context() as patch:
            patch.setattr(Gate, name, dying(getattr(Gate, name), lives, after))
            try:
                cube = vault.cubes.publish(plan)
            except Dies:
                cuts += 1
    assert cuts >= len(charges(vault)) - 1
    assert (*cube.origin.earlier, cube.origin.charge) == tuple(charges(vault))
    assert vault.ledger.spent_max == plan.noise.limit
    assert not vault.ledger.pending()
    assert audit_vault(vault.path).holds


def test_which_steps_come_next_depends_on_what_was_released_and_on_nothing_else(tmp_path, monkeypatch):
    """Two neighbouring tables, the same answers: the same journals, entry by entry."""
    journals = []
    for name, more in (("one", 0), ("other", 1)):
        vault = vault_in(tmp_path / name, more=more)
        rng = np.random.default_rng(8)

        def draw(self, plan, _table, _charge, rng=rng):
            return [
                np.array(rng.integers(0, len(each.query.candidates)))
                if isinstance(each.query, Choice)
                else rng.integers(-5, 400, [self.domain[group].size for group in each.query.by])
                for each in plan.measurements
            ]

        with monkeypatch.context() as patch:
            patch.setattr(Gate, "_draw", draw)
            vault.cubes.publish(vault.cubes.plan(planner="adaptive", epsilon=2))
        entries = list(vault.ledger.entries(1))
        journals.append([(entry.kind, entry.parsed()["content"], entry.parsed().get("cost")) for entry in entries])
    assert journals[0] == journals[1]


def test_a_choice_costs_what_it_may_and_hardly_less():
    for neighbours in ("add-remove", "replace"):
        for budget in (
            PureBudget(Fraction(1), neighbours),
            ConcentratedBudget(Fraction(1), neighbours),
            GaussianBudget(Fraction(1), neighbours),
        ):
            for units in (UNITS // 100, 7_207_201, 1_000_003):
                law = choice_costing(units, NoiseModel(budget))
                assert 0.999 * units < units_up(budget.loss(law, Fraction(1), True)) <= units


def test_a_folder_that_leaves_out_what_its_choices_cost_is_found(vault, tmp_path):
    cube = vault.cubes.publish(vault.cubes.plan(planner="adaptive", epsilon=2), estimate="modelled")
    cube.save(tmp_path / "honest")
    assert Cube.load(tmp_path / "honest").origin == cube.origin
    assert audit_vault(vault.path, published=[tmp_path / "honest"]).holds
    own = vault.ledger.charge_at(cube.origin.charge).cost.peak
    less = replace(cube, origin=replace(cube.origin, earlier=(), guarantee=vault.ledger.promise(own)))
    write_cube(less, tmp_path / "less")
    report = audit_vault(vault.path, published=[tmp_path / "less"])
    assert not report.holds
    assert "does not name all the charges" in str(report.to_json())


def test_the_model_of_everything_public_has_its_steps_and_the_promise_of_all_of_them(vault):
    cube = vault.cubes.publish(vault.cubes.plan(planner="adaptive", epsilon=2), estimate="modelled")
    for _ in range(2):
        found = Vault.open(vault.path).model
        assert found.guarantee == cube.guarantee
        assert found.of.all_releases == (*cube.origin.earlier, cube.origin.charge)
        assert len(found.of.measured) == len(cube.plan.source_masks)
        np.testing.assert_allclose(found.cells("sex"), cube.modelled.cells("sex"), rtol=0.05)
        # Without its copy, the model is made again from what was released.
        for file in sorted((vault.path / "models").rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()


def test_a_run_does_not_go_on_over_another_snapshot(vault, tmp_path, monkeypatch):
    plan = vault.cubes.plan(planner="adaptive", epsilon=2)
    with monkeypatch.context() as patch:
        patch.setattr(Gate, "measure", dying(Gate.measure, 2, False))
        with pytest.raises(Dies):
            vault.cubes.publish(plan)
    [first, second] = charges(vault)
    pq.write_table(made_up(more=1), tmp_path / "people.parquet")
    vault.refresh()
    with pytest.raises(Refreshed, match="Plan the cube anew"):
        vault.cubes.publish(first)
    assert charges(vault) == [first, second]
    cube = vault.cubes.publish(vault.cubes.plan(planner="adaptive", epsilon=2))
    assert cube.origin.earlier[0] > second
    assert charges_of(run_holding(vault.ledger.charge_at(first), vault.ledger), vault.ledger)[0].id == first


def test_a_step_that_was_noted_and_never_charged_is_not_somebody_s_answer_about_another_table(
    vault, tmp_path, monkeypatch
):
    plan, measure = vault.cubes.plan(planner="adaptive", epsilon=2), Gate.measure
    asked = []

    def dies_before_a_measurement(gate, step, over=None):
        if asked and "count" in step.condensed()[0]["query"]:
            asked.append(step)
            raise Dies
        asked.append(step)
        return measure(gate, step, over)

    with monkeypatch.context() as patch:
        patch.setattr(Gate, "measure", dies_before_a_measurement)
        with pytest.raises(Dies):
            vault.cubes.publish(plan)
    before = charges(vault)
    pq.write_table(made_up(more=1), tmp_path / "people.parquet")
    vault.refresh()
    other = vault.gate.measure(asked[-1]).charge
    assert [
        one.id for one in charges_of(run_holding(vault.ledger.charge_at(before[0]), vault.ledger), vault.ledger)
    ] == before
    assert run_holding(vault.ledger.charge_at(other), vault.ledger) is None
    with pytest.raises(Refreshed):
        vault.cubes.publish(before[0])
    assert charges(vault) == [*before, other]


def test_a_refresh_between_two_looks_of_a_run_leaves_nothing_that_is_of_no_table(vault, tmp_path, monkeypatch):
    begin = runs.begin_run
    pq.write_table(made_up(more=1), tmp_path / "people.parquet")

    def refreshed(*of):
        vault.refresh()
        return begin(*of)

    monkeypatch.setattr("discreet.vault.cubes.begin_run", refreshed)
    with pytest.raises(Refreshed):
        vault.cubes.publish(vault.cubes.plan(planner="adaptive", epsilon=2))
    assert charges(vault) == []
    assert "round" not in {entry.kind for entry in vault.ledger.entries()}


def test_what_makes_no_sense_is_refused_before_anything_is_spent(vault):
    def plan(**choice):
        return vault.cubes.plan(planner="adaptive", epsilon=1, **choice)

    for refused, match in (
        ({"dimensions": ["sex"]}, "nothing to choose among"),
        ({"cuboids": 1}, "nothing to choose among"),
        ({"measure": "sum(wage)"}, "a model of counts"),
        ({"weights": {("sex",): 2.0}}, "no weights"),
        ({"bound": 3.0}, "no bound"),
    ):
        with pytest.raises(UnsupportedQuery, match=match):
            plan(**refused)
    noise = NoiseModel(PureBudget(Fraction(1), "add-remove"))
    with pytest.raises(UnsupportedQuery, match="planner model"):
        plan_cube(Lattice((100,) * 5), noise, planner="adaptive")
    with pytest.raises(InvalidBudget, match="too small"):
        vault.cubes.plan(planner="adaptive", epsilon="1/100000000000")
    with pytest.raises(BudgetExceeded, match="at most"):
        vault.cubes.publish(vault.cubes.plan(planner="adaptive", epsilon=51))
    assert not charges(vault)


def test_a_run_from_the_command_line_says_what_it_costs_and_how_to_go_on(vault, tmp_path):
    run = CliRunner().invoke
    planned = run(app, ["cube", "plan", str(vault.path), "--planner", "adaptive", "--epsilon", "2"])
    assert planned.exit_code == 0
    assert "90.0% of ε" in planned.output.replace("\n", " ")
    told = json.loads(
        run(app, ["cube", "plan", str(vault.path), "--planner", "adaptive", "--epsilon", "2", "--json"]).output
    )
    assert told["candidates"] == [["sex", "job"], ["sex", "wage"], ["job", "wage"]]
    assert sum(told["shares"]) == pytest.approx(0.1)
    out = ["--out", str(tmp_path / "cube"), "--estimate", "modelled", "--json"]
    made = run(app, ["cube", "publish", str(vault.path), "--planner", "adaptive", "--epsilon", "2", *out])
    assert made.exit_code == 0, made.output
    about = json.loads(made.output)
    assert about["charges"] == charges(vault)
    assert about["planner"] == "adaptive"
    assert not about["repeated"]
