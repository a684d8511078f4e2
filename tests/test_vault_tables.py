"""A vault over several tables of the same people, from declaration to audit: in Python and on the command line."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app, present
from discreet.errors import (
    BudgetExceeded,
    DomainError,
    EngineError,
    InvalidBudget,
    QuotaExceeded,
    TableError,
    UnknownTable,
    UnsupportedQuery,
    VaultError,
)
from discreet.ledger import checkpoint
from discreet.ledger.asker import Asker
from discreet.release.gate import Gate
from discreet.vault import Vault
from tests.domain.test_read_tables import ALL, ENCOUNTERS, PATIENTS, PRESCRIPTIONS

EXACT = "1/100"
"""A scale of noise that is 0 but once in e¹⁰⁰ draws."""


def hospital(people=120, seed=5):
    chance = np.random.default_rng(seed)
    visits, drugs = 2 * people, 3 * people
    return {
        "patients": pd.DataFrame(
            {
                "patient": np.arange(people),
                "sex": chance.choice(["F", "M"], people),
                "age": chance.integers(0, 10, people),
            }
        ),
        "encounters": pd.DataFrame(
            {
                "patient": np.arange(visits) % (people + 6),
                "encounter": np.arange(visits),
                "ward": chance.choice(list("abc"), visits),
            }
        ),
        "prescriptions": pd.DataFrame(
            {"encounter": chance.integers(0, visits + 9, drugs), "drug": chance.choice(list("xy"), drugs)}
        ),
    }


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(present.out, "_width", 200)
    (tmp_path / "hospital.toml").write_text(ALL)
    for name, frame in hospital().items():
        frame.to_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


FILES = {name: f"{name}.parquet" for name in ("patients", "encounters", "prescriptions")}


def made(path="vault", **budget):
    return Vault.init(path, table=FILES, domain="hospital.toml", **{"neighbours": "add-remove", **budget})


@pytest.fixture
def vault():
    return made(epsilon=10**6)


def value(vault, sql, scale=EXACT):
    [row] = vault.ask(sql, scale=scale).rows
    return row.value


def joined():
    frames = hospital()
    visits = frames["encounters"].merge(frames["patients"], on="patient")
    return frames["patients"], visits, frames["prescriptions"].merge(visits, on="encounter")


def test_every_table_is_asked_by_its_name(vault):
    patients, visits, drugs = joined()
    assert visits.groupby("patient").size().max() <= 3
    assert drugs.groupby("patient").size().max() <= 20
    assert value(vault, "SELECT COUNT(*) FROM patients") == len(patients)
    assert value(vault, "SELECT COUNT(*) FROM encounters") == len(visits)
    assert value(vault, "SELECT COUNT(*) FROM encounters WHERE sex = 'F' AND age < 5") == len(
        visits.query("sex == 'F' and age < 5")
    )
    assert (
        value(vault, "SELECT COUNT(DISTINCT patient) FROM encounters WHERE ward = 'a'")
        == visits.query("ward == 'a'").patient.nunique()
    )
    assert (
        value(vault, "SELECT SUM(p.age) FROM encounters e JOIN patients p ON e.patient = p.patient") == visits.age.sum()
    )


def test_of_more_rows_than_are_kept_a_persons_first_lots_count(vault):
    drugs = joined()[2]
    kept = int(drugs.groupby("patient").size().clip(upper=5).sum())
    assert value(vault, "SELECT COUNT(*) FROM prescriptions") == kept
    assert value(vault, "SELECT COUNT(DISTINCT patient) FROM prescriptions") == drugs.patient.nunique()


def test_every_answer_says_that_rows_were_cut_off(vault):
    notes = vault.ask("SELECT COUNT(*) FROM encounters", scale=EXACT).notes
    assert any("at most 3 rows" in note for note in notes)


@pytest.mark.parametrize("budget", [{"epsilon": 1}, {"rho": 1}, {"mu": 1}, {"epsilon": 1, "delta": "1e-6"}])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_person_pays_for_their_rows_of_all_tables_and_the_audit_agrees(budget, neighbours):
    vault = made(neighbours=neighbours, **budget)
    for sql in (
        "SELECT sex, COUNT(*) FROM patients GROUP BY sex",
        "SELECT COUNT(*) FROM encounters WHERE ward = 'a' AND sex = 'F'",
        "SELECT drug, COUNT(*) FROM prescriptions WHERE age < 4 GROUP BY drug",
        "SELECT SUM(age) FROM encounters WHERE sex = 'M'",
        "SELECT MEDIAN(age) FROM patients",
        "SELECT COUNT(DISTINCT patient) FROM encounters GROUP BY ward",
    ):
        vault.ask(sql, scale=100)
    audit = audit_vault(vault.path)
    assert [check for check in audit.checks if check.findings] == []
    assert audit.spent == vault.budget().spent == audit.vault_spent
    assert audit.name == "patients, encounters, prescriptions"


def test_what_a_question_costs_is_the_rows_of_a_person_in_its_table():
    vault = made(epsilon=1)
    costs = [vault.explain(f"SELECT COUNT(*) FROM {name}", scale=100).cost for name in vault.tables]
    assert [float(cost) for cost in costs] == [0.01, 0.03, 0.05]
    assert vault.budget().spent == 0


def test_what_is_spent_in_one_table_is_gone_in_the_others_for_the_same_people():
    vault = made(epsilon=1)
    vault.ask("SELECT COUNT(*) FROM patients WHERE sex = 'F'", scale=1)
    with pytest.raises(BudgetExceeded):
        vault.ask("SELECT COUNT(*) FROM encounters WHERE sex = 'F'", scale=10, relax=False)
    vault.ask("SELECT COUNT(*) FROM encounters WHERE sex = 'M'", scale=10, relax=False)


def test_tables_share_no_answers(vault):
    for name, frame in zip(vault.tables, joined(), strict=True):
        women = frame.query("sex == 'F'")
        kept = int(women.groupby("patient").size().clip(upper={"prescriptions": 5}.get(name, 3)).sum())
        assert value(vault, f"SELECT COUNT(*) FROM {name} WHERE sex = 'F'") == kept
    assert [len(list(vault.table(name).releases())) for name in vault.tables] == [1, 1, 1]


def test_an_answer_is_free_the_second_time(vault):
    for _ in range(2):
        answer = vault.ask("SELECT COUNT(*) FROM encounters", scale=EXACT)
    assert not answer.cost


def test_a_model_of_what_is_public_is_of_one_table(vault):
    for name in ("encounters", "patients"):
        vault.ask(f"SELECT sex, COUNT(*) FROM {name} GROUP BY sex", scale=EXACT)
    for name, frame in zip(vault.tables, joined()[:2], strict=False):
        [row] = vault.ask(f"SELECT COUNT(*) FROM {name} WHERE sex = 'F'", estimate="modelled").rows
        assert row.value == pytest.approx(len(frame.query("sex == 'F'")), abs=1)


def test_the_guarantee_says_how_many_rows_of_a_person_and_of_which_tables():
    vault = made(epsilon=1)
    words = str(vault.ask("SELECT COUNT(*) FROM encounters", scale=10).guarantee)
    assert "1 row of patients, 3 rows of encounters, 5 rows of prescriptions" in words
    assert "ε = 3/10" in words


def test_it_is_opened_again_as_it_was(vault):
    vault.ask("SELECT COUNT(*) FROM encounters", scale=EXACT)
    again = Vault.open(vault.path)
    assert again.budget() == vault.budget()
    assert again.tables == ("patients", "encounters", "prescriptions")
    assert again.ask("SELECT COUNT(*) FROM encounters", scale=EXACT).cost == 0
    assert again.table("Encounters").domain.name == "encounters"
    with pytest.raises(UnknownTable, match="did you mean encounters"):
        again.table("encounter")


def test_a_quota_holds_over_all_tables():
    vault = made(epsilon=1).asked_by(Asker("ann", Fraction(1, 10)))
    vault.ask("SELECT COUNT(*) FROM patients", scale=20)
    assert vault.table("encounters").gate.asker is vault.gate.asker
    with pytest.raises(QuotaExceeded):
        vault.ask("SELECT COUNT(*) FROM encounters", scale=20, relax=False)


def test_a_charge_without_an_answer_is_completed_in_its_own_table(vault, monkeypatch):
    with monkeypatch.context() as broken:
        broken.setattr(Gate, "_noisy", lambda *_: 1 / 0)
        with pytest.raises(EngineError):
            vault.ask("SELECT COUNT(*) FROM encounters", scale=EXACT)
    [release] = vault.complete()
    assert int(release.only.units) == len(joined()[1])
    assert vault.release(release.charge).only.units == release.only.units
    assert vault.ask("SELECT COUNT(*) FROM encounters", scale=EXACT).cost == 0


def test_a_refresh_takes_all_tables_anew_and_a_table_alone_keeps_the_others_sources(vault, place):
    value(vault, "SELECT COUNT(*) FROM encounters")
    spent = vault.budget().spent
    assert vault.refresh(unless_same=True) == vault.ledger.head
    assert vault.ledger.snapshot.number == 1
    hospital()["patients"].head(60).to_parquet(place / "fewer.parquet")
    vault.refresh({"patients": "fewer.parquet"})
    assert vault.ledger.snapshot.number == 2
    assert value(vault, "SELECT COUNT(*) FROM patients") == 60
    assert value(vault, "SELECT COUNT(*) FROM encounters") == len(joined()[1].query("patient < 60"))
    assert vault.budget().spent > spent
    again = Vault.open(vault.path)
    assert again.table("patients").location.endswith("fewer.parquet")
    assert again.table("encounters").location.endswith("encounters.parquet")
    found = [check.name for check in audit_vault(vault.path).checks if check.findings]
    assert found == ["promise"]  # which an ε of a million is not


def test_a_backup_has_all_tables(vault):
    value(vault, "SELECT COUNT(*) FROM encounters")
    vault.backup("vault.backup")
    Vault.restore("vault.backup", "again")
    assert value(Vault.open("again"), "SELECT COUNT(*) FROM prescriptions") > 0


def test_an_entry_is_told_in_the_words_of_its_table(vault):
    value(vault, "SELECT COUNT(*) FROM encounters WHERE ward = 'b'")
    words = [entry["what"] for entry in vault.entries()]
    assert words[0].startswith("a vault over patients, encounters, prescriptions: differential privacy")
    assert words[1].startswith("SELECT COUNT(*) FROM encounters WHERE ward = 'b'")


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"table": "patients.parquet"}, TableError, "say where each is, by its name"),
        ({"table": {"patients": "patients.parquet"}}, TableError, "where is the table encounters?"),
        ({"table": {**FILES, "visits": "x.csv"}}, TableError, "declares no table 'visits'"),
        ({"id": "patient", "max_rows": 2}, UnsupportedQuery, "takes no id and no max_rows"),
        ({"live": True}, UnsupportedQuery, "takes no live"),
        ({"queries": 10, "delta": 1}, UnsupportedQuery, "takes no queries"),
        ({"discover": 0.1}, InvalidBudget, "declares all its values"),
        ({"through": "2026-12"}, DomainError, "through is about a table that grows"),
        ({"epsilon": None}, InvalidBudget, "one currency"),
    ],
)
def test_what_makes_no_vault_over_several_tables_is_refused_and_leaves_nothing(place, settings, error, said):
    with pytest.raises(error, match=said):
        Vault.init(
            "vault", **{"table": FILES, "domain": "hospital.toml", "epsilon": 1, "neighbours": "replace", **settings}
        )
    assert not (place / "vault").exists()


def test_a_mapping_of_tables_needs_a_domain_of_several(place):
    attributes = PATIENTS[PATIENTS.index("[tables.patients.attributes") :].replace("tables.patients.", "")
    (place / "one.toml").write_text('name = "patients"\n' + attributes)
    with pytest.raises(DomainError, match="declares one table"):
        Vault.init("vault", table=FILES, domain="one.toml", epsilon=1, neighbours="replace")


def test_what_is_not_done_over_several_tables_is_refused(vault):
    for refused in (
        lambda: vault.buckets,
        lambda: vault.sulq.ask("everyone", "sex = 'F'"),
    ):
        with pytest.raises((UnsupportedQuery, VaultError)):
            refused()


def run(line):
    result = CliRunner().invoke(app, line.split())
    return result.exit_code, result.stdout, result.stderr


INIT = (
    "init vault --table patients=patients.parquet --table encounters=encounters.parquet "
    "--table prescriptions=prescriptions.parquet --domain hospital.toml --epsilon 1 --neighbours add-remove "
    "--accept-loss 1"
)


def test_the_command_line_makes_asks_and_shows_several_tables():
    assert run(INIT)[0] == 0
    code, shown, _ = run("describe vault --table encounters")
    assert code == 0
    assert "encounters: at most 3 of one person, each with its row of patients by patient" in shown
    assert "ward" in shown
    code, shown, _ = run("describe vault --table prescriptions --json")
    assert [each["name"] for each in json.loads(shown)["tables"]] == ["patients", "encounters", "prescriptions"]
    result = CliRunner().invoke(app, ["ask", "vault", "SELECT ward, COUNT(*) FROM encounters GROUP BY ward", "--json"])
    assert result.exit_code == 0
    assert len(json.loads(result.stdout)["rows"]) == 3
    assert "encounters" in run("ledger show vault")[1]
    assert "encounters" in run("release list vault --table encounters")[1]
    assert "ward" in run("release show vault 2")[1]
    assert run("budget vault --table encounters")[0] == 0
    assert run("audit vault vault")[0] == 0
    assert run("describe vault --table visits")[0] == 1
    assert "Receipt" in run("refresh vault --again --table patients=patients.parquet")[1]


def test_the_command_line_says_what_to_write_instead():
    assert "--table patients=patients.csv" in run(INIT.replace("encounters=", ""))[2]
    assert "two sources" in run(INIT.replace("encounters=", "patients="))[2]
    assert run(INIT)[0] == 0
    assert "--table patients=patients.csv" in run("refresh vault --table patients.parquet")[2]


def test_a_domain_of_several_tables_is_checked_before_a_vault_is_made(place):
    code, shown, _ = run("domain check hospital.toml")
    assert code == 0
    assert all(name in shown for name in (*FILES, "ward", "drug", "sex"))
    told = json.loads(run("domain check hospital.toml --json")[1])
    assert [[each["name"], each["points"]] for each in told["tables"]] == [
        ["patients", 20],
        ["encounters", 60],
        ["prescriptions", 120],
    ]
    (place / "hospital.toml").write_text(ALL.replace("max_rows = 3", "max_rows = 0"))
    assert "hospital.toml: line 15: tables.encounters.max_rows" in run("domain check hospital.toml")[2]


def test_a_public_table_is_joined_with_any_of_them_and_has_no_name_of_theirs(vault, place):
    (place / "wards.csv").write_text("code,floor\na,1\nb,1\nc,2\n")
    with pytest.raises(VaultError, match="choose another"):
        vault.lookups.add("wards.csv", name="encounters", key="code")
    vault.lookups.add("wards.csv", name="wards", key="code")
    sql = (
        "SELECT w.floor, COUNT(*) AS n FROM prescriptions r JOIN encounters e ON r.encounter = e.encounter "
        "JOIN wards w ON e.ward = w.code GROUP BY w.floor"
    )
    joined_rows = joined()[2]
    expected = value(vault, "SELECT COUNT(*) FROM prescriptions WHERE ward = 'c'")
    [_, row] = vault.ask(sql, scale=EXACT).rows
    assert row.value == expected <= len(joined_rows)


def test_people_are_asked_by_what_their_rows_in_a_table_come_to_and_the_audit_agrees(vault):
    visits = joined()[1].groupby("patient").size()
    sql = (
        "SELECT n, COUNT(*) AS people FROM (SELECT patient, COUNT(*) AS n FROM encounters GROUP BY patient) GROUP BY n"
    )
    found = {row.labels[0]: row.value for row in vault.ask(sql, scale=EXACT).rows}
    assert {str(n): count for n, count in found.items() if count} == {
        str(n): int(count) for n, count in visits.value_counts().items()
    }
    assert [check.name for check in audit_vault(vault.path).checks if check.findings] == ["promise"]


def test_it_is_opened_from_a_checkpoint_as_it_was(vault, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 4)
    for scale in range(20, 40):
        vault.ask("SELECT COUNT(*) FROM encounters WHERE sex = 'F'", scale=Fraction(1, scale))
    again = Vault.open(vault.path)
    assert again.ledger._followed.state.begun_at.seq > 1
    assert again.budget() == vault.budget()
    assert "3 rows of encounters" in str(again.ledger.guarantee)
    assert (
        again.table("encounters").ledger.left_by([1]).tolist() == vault.table("encounters").ledger.left_by([1]).tolist()
    )


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("append vault encounters=encounters.parquet", "encounters does not grow"),
        ("buckets publish vault --sensitive sex --limits 0.5 --out x", "make a vault over one of them"),
    ],
)
def test_what_is_not_done_over_several_tables_is_refused_with_what_to_do_instead(command, instead):
    assert run(INIT)[0] == 0
    code, _, said = run(command)
    assert (code, instead in " ".join(said.split())) == (1, True), said


def test_an_attack_is_refused_in_words():
    assert run(INIT)[0] == 0
    for kind in ("averaging", "inference"):
        code, _, said = run(f"audit attack vault --kind {kind}")
        assert code == 1
        assert "over one table" in said


WIDE = """
[tables.{name}.attributes.{name}_{column}]
kind = "integer"
low = 0
high = 999
source = "form"
"""


def test_tables_too_large_together_for_a_dense_map_share_a_histogram_that_never_counts_less(place):
    columns = {name: [f"{name}_{column}" for column in "ab"] for name in FILES}
    text = "".join(
        part + "".join(WIDE.format(name=name, column=column) for column in "ab")
        for name, part in zip(FILES, (PATIENTS, ENCOUNTERS, PRESCRIPTIONS), strict=True)
    )
    (place / "hospital.toml").write_text(text)
    for number, (name, frame) in enumerate(hospital().items()):
        chance = np.random.default_rng(number)
        frame.assign(**{column: chance.integers(0, 1000, len(frame)) for column in columns[name]}).to_parquet(
            place / FILES[name]
        )
    vault = made(epsilon=1)
    vault.ask("SELECT COUNT(*) FROM patients WHERE sex = 'F' AND patients_a < 500", scale=2)
    vault.ask("SELECT COUNT(*) FROM encounters WHERE sex = 'F' AND encounters_b > 900", scale=10)
    with pytest.raises(BudgetExceeded):
        vault.ask("SELECT COUNT(*) FROM prescriptions WHERE sex = 'F' AND patients_a = 3", scale=20, relax=False)
    vault.ask("SELECT COUNT(*) FROM prescriptions WHERE sex = 'M'", scale=10, relax=False)
    audit = audit_vault(vault.path)
    assert [check.name for check in audit.checks if check.findings] == []
    assert audit.spent == Fraction(8, 10)
