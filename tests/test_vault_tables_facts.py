"""Facts about tables of the same people: they lower the one limit, and answer for their own table alone."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.errors import BudgetExceeded, InvalidFact, UnknownTable
from discreet.ledger import checkpoint
from discreet.vault import Vault
from tests.audit.insider import Journal, failures, forget_receipts
from tests.test_vault_tables_cubes import counts, made, place, run, whole

__all__ = ["place"]

EXACT = Fraction(1, 100)


def found(vault):
    return [check.name for check in audit_vault(vault.path).checks if check.findings and check.name != "files"]


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": "1/2"}, {"mu": 1}])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_fact_about_one_table_lowers_the_limit_of_all_and_the_audit_finds_the_same(budget, neighbours):
    vault, patients = made(neighbours=neighbours, **budget), len(whole("patients"))
    vault.ask("SELECT COUNT(*) FROM visits WHERE sex = 'F'", scale=100)
    before, spent = vault.ledger.budget.factor, vault.budget().spent
    would = vault.facts.preview("SELECT COUNT(*) FROM patients", patients)
    added = vault.facts.add("SELECT COUNT(*) FROM patients", patients)
    assert added.sensitivity == would.sensitivity == 2
    assert vault.budget().spent == spent * would.costs == spent * vault.ledger.budget.factor / before
    assert {vault.table(name).ledger.budget.limit for name in vault.tables} == {vault.ledger.budget.limit}
    assert "subject to 1 public fact" in str(vault.table("bills").ledger.guarantee)
    vault.ask("SELECT COUNT(*) FROM bills", scale=1000)
    assert found(vault) == []


def test_a_fact_answers_for_its_own_table_and_for_no_other():
    vault = made(epsilon=10**6)
    for name in ("visits", "bills"):
        vault.facts.add(f"SELECT COUNT(*) FROM {name} WHERE sex = 'F'", counts(name, "sex")["F",])
    for name in ("visits", "bills"):
        answer = vault.ask(f"SELECT COUNT(*) FROM {name} WHERE sex = 'F'")
        assert (answer.cost, answer.rows[0].value) == (0, counts(name, "sex")["F",])
        own = [fact.number for fact in vault.table(name).facts.current()]
        assert own == [fact.number for fact in vault.table(name).ledger.facts]
    assert vault.table("patients").facts.current() == ()
    assert len(vault.ledger.all_facts) == 2
    assert vault.ask("SELECT COUNT(*) FROM patients WHERE sex = 'F'", scale=EXACT).cost > 0
    assert Vault.open(vault.path).ask("SELECT COUNT(*) FROM bills WHERE sex = 'F'").cost == 0
    assert found(vault) == ["promise"]


def test_a_cube_of_a_table_agrees_with_the_facts_about_it():
    vault = made(epsilon=10**4)
    by_sex = [counts("visits", "sex")[sex,] for sex in "FM"]
    vault.table("visits").facts.add(cuboid=["sex"], values=by_sex)
    over = vault.table("visits")
    cube = over.cubes.publish(over.cubes.plan(epsilon=1, dimensions=["ward", "sex"], facts="vault"))
    assert cube["sex",].values.tolist() == by_sex
    cube.save("agrees")
    other = vault.table("bills")
    plain = other.cubes.publish(other.cubes.plan(epsilon=1, dimensions=["payer", "sex"], facts="vault"))
    assert plain.plan.known == ()
    plain.save("plain")
    assert found(vault) == ["promise"]


def test_facts_about_two_tables_are_weighed_together():
    vault = made(epsilon=10**6)
    vault.table("patients").facts.add(cuboid=["sex"], values=[counts("patients", "sex")[sex,] for sex in "FM"])
    alone = vault.ledger.budget.induced.people
    added = vault.facts.add("SELECT COUNT(*) FROM bills", len(whole("bills")))
    assert added.sensitivity > alone == 2
    with pytest.raises(InvalidFact, match="Give fewer facts, or coarser ones"):
        vault.table("visits").facts.preview(cuboid=["sex", "ward"], values=[[1] * 3] * 2)
    [line] = vault.table("bills").facts.report().facts
    assert line.sensitivity <= added.sensitivity
    assert found(vault) == ["promise"]


def test_a_fact_that_leaves_too_little_stops_all_tables_where_it_is_accepted():
    vault, patients = made(epsilon=1), len(whole("patients"))
    vault.ask("SELECT COUNT(*) FROM visits", scale="10/3", relax=False)
    with pytest.raises(InvalidFact, match="would stop the vault"):
        vault.facts.add("SELECT COUNT(*) FROM patients", patients)
    vault.facts.add("SELECT COUNT(*) FROM patients", patients, accept=True)
    with pytest.raises(BudgetExceeded):
        vault.ask("SELECT COUNT(*) FROM bills WHERE sex = 'M'", scale=1000, relax=False)
    assert found(vault) == ["limit"]


def test_facts_are_there_after_a_checkpoint_as_before(monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 4)
    vault = made(epsilon=10**6)
    vault.facts.add("SELECT COUNT(*) FROM visits", len(whole("visits")))
    for scale in range(20, 40):
        vault.ask("SELECT COUNT(*) FROM bills WHERE sex = 'F'", scale=Fraction(1, scale))
    again = Vault.open(vault.path)
    assert again.ledger._followed.state.begun_at.seq > 1
    assert again.table("visits").ledger.facts == vault.table("visits").ledger.facts != ()
    assert again.ledger.budget == vault.ledger.budget


def test_what_is_no_fact_is_refused():
    vault = made(epsilon=10)
    with pytest.raises(UnknownTable):
        vault.facts.add("SELECT COUNT(*) FROM nowhere", 1)
    vault.facts.add("SELECT COUNT(*) FROM visits", 200)
    with pytest.raises(InvalidFact, match="says the same already"):
        vault.facts.add("SELECT COUNT(*) FROM visits", 200)
    with pytest.raises(InvalidFact):
        vault.facts.add("SELECT COUNT(*) FROM visits WHERE sex = 'F'", 201)
    vault.facts.preview("SELECT COUNT(*) FROM bills WHERE sex = 'F'", 201)  # of another table


def test_a_fact_whose_table_was_changed_in_the_journal_is_found():
    vault = made(epsilon=10)
    vault.facts.add("SELECT COUNT(*) FROM visits", 200)
    forget_receipts(vault)
    journal = Journal()
    content = journal[journal.first("fact")]["content"]
    assert (content["table"], content["induced"][0]) == ("visits", 5)
    for change in ({"table": "patients"}, {"table": "nowhere"}, {"induced": [2, 2]}):
        said = dict(content)
        content.update(change)
        journal.write()
        assert "facts" in failures(audit_vault(vault.path))
        content.update(said)


def test_the_command_line_adds_shows_and_lists_facts_of_a_table():
    made(epsilon=10)
    code, shown, said = run("fact list vault --table visits --json")
    assert (code, json.loads(shown)["facts"]) == (0, []), said
    sql, value = "SELECT COUNT(*) FROM visits WHERE ward = 'a'", str(counts("visits", "ward")["a",])
    previewed = CliRunner().invoke(app, ["fact", "add", "vault", sql, value, "--dry-run"])
    assert previewed.exit_code == 0
    assert "the at most 3 rows of each person that the vault keeps in visits" in " ".join(previewed.stdout.split())
    assert CliRunner().invoke(app, ["fact", "add", "vault", sql, value]).exit_code == 0
    assert len(json.loads(run("fact list vault --table visits --json")[1])["facts"]) == 1
    assert json.loads(run("fact list vault --table bills --json")[1])["facts"] == []
    assert "a fact of visits" in run("ledger show vault")[1]
    by_sex = "".join(f"{sex},{counts('patients', 'sex')[sex,]}\n" for sex in "FM")
    Path("sex.csv").write_text("sex,count\n" + by_sex)
    code, _, said = run("fact add vault sex.csv --cuboid sex --table patients --json")
    assert code == 0, said
    assert len(json.loads(run("fact list vault --table patients --json")[1])["facts"]) == 1
