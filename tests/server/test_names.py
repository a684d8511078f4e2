"""Names of users are for whom they concern, and texts in CSV are no formulas."""

import csv
import io

import pytest
from fastapi.testclient import TestClient

from discreet.cli.mine import _read_tokens
from discreet.errors import PartyError
from discreet.ledger import checkpoint
from discreet.plain import cells_of_text
from discreet.server.app import create_app
from discreet.server.auth import add_user

SQL = "SELECT COUNT(*) FROM people WHERE age < 30"
SEEN_BY_ALL = ("/api/v1/budget", "/api/v1/ledger", "/api/v1/releases", "/api/v1/jobs", "/api/v1/me", "/budget",
               "/ledger", "/releases", "/ask", "/facts", "/api/v1/facts", "/api/v1/describe")  # fmt: skip


@pytest.fixture
def clients(people, monkeypatch):
    """Clients by name: two analysts with long names, who have both asked, an auditor and a custodian. The journal has a
    checkpoint, which names who has asked."""
    monkeypatch.setattr(checkpoint, "EVERY", 3)
    app = create_app(people, slot=0, rate=0, deadline=None)
    roles = {"annabella": "analyst", "benedictus": "analyst", "keeper": "custodian", "looker": "auditor"}
    tokens = {name: add_user(people.path, name, role) for name, role in roles.items()}
    found = {name: TestClient(app, headers={"Authorization": f"Bearer {token}"}) for name, token in tokens.items()}
    for number, name in enumerate(("annabella", "benedictus")):
        assert found[name].post("/api/v1/ask", json={"sql": f"{SQL} AND age > {number}", "scale": 30}).is_success
    assert "a checkpoint: what the entries before it add up to" in found["annabella"].get("/api/v1/ledger").text
    return found


@pytest.mark.parametrize("path", SEEN_BY_ALL)
def test_an_analyst_sees_no_other_users_name(clients, path):
    shown = clients["annabella"].get(path)
    assert shown.status_code == 200
    assert not [name for name in ("benedictus", "keeper", "looker") if name in shown.text]


@pytest.mark.parametrize("name", ["keeper", "looker"])
def test_custodians_and_auditors_see_everybodys(clients, name):
    client = clients[name]
    assert set(client.get("/api/v1/budget").json()["by_user"]) == {"annabella", "benedictus"}
    assert {line["by"] for line in client.get("/api/v1/releases").json()["releases"]} == {"annabella", "benedictus"}
    assert "asked by benedictus" in client.get("/api/v1/ledger").text


def test_an_analyst_sees_their_own_name_and_that_there_are_others(clients):
    ana = clients["annabella"]
    assert set(ana.get("/api/v1/budget").json()["by_user"]) == {"annabella"}
    assert [line["by"] for line in ana.get("/api/v1/releases").json()["releases"]] == ["annabella", "another user"]


CELLS = [("=1+1", "'=1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"), ("-x", "'-x"),
         ("\t=1", "'\t=1"), ("-5", "-5"), ("+1.5e3", "+1.5e3"), ("a=b", "a=b"), ("", ""), (None, None)]  # fmt: skip


@pytest.mark.parametrize(("text", "cell"), CELLS)
def test_a_text_that_a_spreadsheet_would_run_is_marked_as_text(text, cell):
    assert cells_of_text([text]) == [cell]


def test_names_of_an_answers_columns_and_labels_are_no_formulas(people):
    asked = (
        "SELECT CASE WHEN age < 50 THEN '=1+1' ELSE 'old' END AS \"@age\", COUNT(*) AS \"=n\" FROM people GROUP BY 1"
    )
    lines = list(csv.reader(io.StringIO(people.ask(asked, scale=30).to_csv())))
    cells = [cell for line in lines for cell in line]
    assert "'=1+1" in cells
    assert not [cell for cell in cells if cells_of_text([cell]) != [cell]]


def test_tokens_of_parties_are_read_from_a_file(tmp_path):
    (tmp_path / "tokens").write_text("one\ntwo\n")
    assert _read_tokens(f"@{tmp_path / 'tokens'}") == ["one", "two"]
    assert _read_tokens("three") == ["three"]
    with pytest.raises(PartyError, match="cannot be read"):
        _read_tokens(f"@{tmp_path / 'none'}")
