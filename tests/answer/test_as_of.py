"""After an erasure the same statement is repeated as of its snapshot, whole or not at all, and nothing newer in it."""

import json

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.errors import BudgetExceeded
from discreet.ledger import checkpoint
from discreet.remote.results import RemoteAnswer
from discreet.vault import Vault

DOMAIN = """\
name = "visits"
[attributes.ward]
kind = "category"
values = ["A", "B", "C"]
source = "a test"
[attributes.age]
kind = "integer"
low = 0
high = 9
source = "a test"
"""
PEOPLE = 300
STATEMENTS = {
    "a count": "SELECT COUNT(*) FROM visits WHERE ward = 'A'",
    "groups": "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
    "an average": "SELECT AVG(age) FROM visits",
    "people": "SELECT COUNT(DISTINCT person) FROM visits",
    "a quantile": "SELECT MEDIAN(age) FROM visits",
    "lines that are chosen": "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 3",
    "shares": "SELECT ward, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY ward",
}


@pytest.fixture
def vault(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.toml").write_text(DOMAIN)
    rows = range(PEOPLE)
    table = pd.DataFrame({"person": rows, "ward": ["ABC"[n % 3] for n in rows], "age": [n % 10 for n in rows]})
    given = {"id": "person", "max_rows": 2, "neighbours": "add-remove", "epsilon": 1000}
    table.to_parquet("visits.parquet")
    return Vault.init("vault", table="visits.parquet", domain="visits.toml", **given)


def erase(vault, *ids):
    return vault.erase(pa.table({"person": pa.array([str(each) for each in ids], pa.string())}))


def numbers(answer):
    return [(row.labels, row.column, row.value, row.low, row.high) for row in answer.rows]


@pytest.mark.parametrize("sql", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_the_very_same_answer_for_nothing_and_it_says_of_which_snapshot(vault, sql):
    vault.ask(sql, scale=3)
    same = vault.ask(sql, scale=3)
    erase(vault, 0)
    head = vault.ledger.head
    foreseen, found = vault.explain(sql, scale=3), vault.ask(sql, scale=3)
    assert numbers(found) == numbers(same)
    assert (found.kind, found.cost, foreseen.cost, found.as_of, same.as_of) == ("repeated", 0, 0, 1, None)
    assert any(note.startswith("as of snapshot 1: people were taken out since") for note in found.notes)
    assert any(note.startswith("as of snapshot 1") for note in foreseen.notes)
    assert vault.ledger.head == head
    assert found.guarantee == same.guarantee


def test_with_less_noise_it_is_measured_anew_and_that_is_what_is_repeated_then(vault):
    sql = STATEMENTS["a count"]
    vault.ask(sql, scale=3)
    erase(vault, 0)
    assert (vault.ask(sql, scale=2).kind, vault.ask(sql, scale=2).as_of) == ("measured", None)
    found = vault.ask(sql, scale=3)
    assert (found.kind, found.as_of) == ("repeated", None)


def test_of_two_snapshots_it_is_the_later_one(vault):
    sql = STATEMENTS["groups"]
    for scale in (3, 2):
        vault.ask(sql, scale=scale)
        erase(vault, scale)
    assert [vault.ask(sql, scale=scale).as_of for scale in (3, 2)] == [2, 2]


def test_answers_of_two_snapshots_are_never_put_together(vault):
    vault.ask(STATEMENTS["a count"], scale=3)
    erase(vault, 0)
    vault.ask("SELECT COUNT(*) FROM visits WHERE ward = 'B'", scale=3)
    both = vault.ask("SELECT ward, COUNT(*) FROM visits WHERE ward IN ('A', 'B') GROUP BY ward", scale=3)
    assert ([row.kind for row in both.rows], both.as_of) == (["measured", "repeated"], None)
    total = vault.ask("SELECT COUNT(*) FROM visits WHERE ward <> 'C'", within=40)
    assert total.as_of is None
    assert all(charge > 3 for row in total.rows for charge, _ in row.source.sources)


def test_what_only_follows_from_what_was_released_is_not_repeated(vault):
    vault.ask(STATEMENTS["groups"], scale=3)
    erase(vault, 0)
    assert vault.ask("SELECT COUNT(*) FROM visits", scale=30).kind == "measured"


def test_a_statement_in_steps_is_asked_anew(vault):
    sql = "SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits)"
    vault.ask(sql, scale=3)
    erase(vault, 0)
    assert vault.ask(sql, scale=3).as_of is None


def test_a_refresh_ends_it(vault):
    sql = STATEMENTS["a count"]
    vault.ask(sql, scale=3)
    erase(vault, 0)
    vault.refresh()
    found = vault.ask(sql, scale=3)
    assert (found.kind, found.as_of) == ("measured", None)


def test_facts_about_a_snapshot_are_not_in_what_is_repeated_of_an_earlier_one(vault):
    sql = STATEMENTS["a count"]
    before = vault.ask(sql, scale=3).value
    erase(vault, 0)
    vault.facts.add(sql, PEOPLE // 3 - 1)
    assert vault.ask(sql, scale=3).as_of is None  # it is known now
    assert vault.ask("SELECT COUNT(*) FROM visits", scale=3).as_of is None
    assert vault.release(2).answers[0].units == before


def test_it_is_there_where_nothing_is_left_to_spend(vault):
    sql = STATEMENTS["a count"]
    first = vault.ask(sql, scale=3).value
    erase(vault, 0)
    left = 1000 - 2 * 2 / 3
    vault.measure(vault.count(ward="A"), scale=2 / left + 1e-6)
    assert vault.ask(sql, scale=3).as_of is None  # the newer one is sharper
    with pytest.raises(BudgetExceeded):
        vault.measure(vault.count(ward="A"), scale=1)
    assert first


def test_it_is_known_again_from_a_checkpoint(vault, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 3)
    sql = STATEMENTS["groups"]
    vault.ask(sql, scale=3)
    erase(vault, 0)
    for n in range(8):
        vault.ask(STATEMENTS["a count"], scale=0.5 - n / 100)
    again = Vault.open("vault")
    assert again.ledger._followed.state.begun_at.seq > 4
    assert (again.ask(sql, scale=3).as_of, again.ledger.eras) == (1, vault.ledger.eras)
    assert audit_vault(again).holds


def test_the_command_and_its_json_say_so(vault):
    sql = STATEMENTS["a count"]
    vault.ask(sql, scale=3)
    erase(vault, 0)
    line = ["ask", "vault", sql, "--scale", "3"]
    shown = " ".join(CliRunner().invoke(app, line).output.split())
    assert "as of snapshot 1: people were taken out since" in shown
    assert "spent nothing" in shown
    body = json.loads(CliRunner().invoke(app, [*line, "--json"]).output)
    assert (body["as_of"], RemoteAnswer.of(body).as_of) == (1, 1)
    assert "as_of" not in json.loads(CliRunner().invoke(app, [*line[:-1], "2", "--json"]).output)
