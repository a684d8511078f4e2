"""The server seen from outside: metrics, the access log, and what the audit log says of how things ended."""

import json

import pymysql
import pytest
from fastapi.testclient import TestClient
from starlette.requests import ClientDisconnect
from typer.testing import CliRunner

from discreet.cli import app as cli
from discreet.server import seen
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.server.log import last_asked
from tests.server.mysql_clients import rows, served_over_mysql

SQL = "SELECT COUNT(*) FROM people WHERE age < 30"


@pytest.fixture
def client(people, tmp_path):
    """Requests of ana, an analyst, unless another token is given."""
    token = add_user(people.path, "ana", "analyst")
    app = create_app(people, slot=0, rate=0, access_log=tmp_path / "access.jsonl", deadline=None)
    return TestClient(app, headers={"Authorization": f"Bearer {token}"}, base_url="http://testserver/api/v1")


def test_the_audit_log_says_from_where_each_question_came_and_what_became_of_it(client, people):
    client.post("ask", json={"sql": SQL, "scale": 30})
    client.post("ask", json={"sql": "DROP TABLE people"})
    client.post("explain", json={"sql": "SELECT COUNT(*) FROM elsewhere"})
    told = last_asked(people.path, 9)
    assert [(line["verb"], line["outcome"], line["address"]) for line in told] == [
        ("ask", "answered", "testclient"),
        ("ask", "UnsupportedQuery", "testclient"),
        ("explain", "UnknownTable", "testclient"),
    ]
    assert len({line["id"] for line in told}) == 3
    assert told[0]["at"] <= told[0]["over"]


def test_who_is_turned_away_is_in_the_audit_log(client, people, monkeypatch):
    client.post("users", json={"name": "eve"})
    client.get("me", headers={"Authorization": "Bearer wrong"})
    client.post("http://testserver/login", data={"token": "wrong"}, headers={"Sec-Fetch-Site": "same-origin"})
    told = [(line["user"], line["verb"], line["path"], line["status"]) for line in last_asked(people.path, 9)]
    assert told == [
        ("ana", "denied", "/api/v1/users", 403),
        (None, "denied", "/api/v1/me", 401),
        (None, "denied", "/login", 401),
    ]
    monkeypatch.setattr(seen.Seen, "_is_told", lambda _, user: user is not None)
    client.get("me", headers={"Authorization": "Bearer wrong"})
    assert len(last_asked(people.path, 9)) == 3


def test_people_without_a_token_cannot_fill_the_audit_log(client, people):
    for _ in range(200):
        client.get("me", headers={"Authorization": "Bearer wrong"})
    assert len(last_asked(people.path, 1000)) < 150


@pytest.mark.parametrize(
    ("error", "status", "outcome"), [(RuntimeError, 500, "500"), (ClientDisconnect, 499, "the client has gone")]
)
def test_a_failure_is_a_failure_in_every_log_and_no_client_that_has_gone(
    people, tmp_path, monkeypatch, error, status, outcome
):
    token = add_user(people.path, "ana", "analyst")
    app = create_app(people, slot=0, rate=0, access_log=tmp_path / "access.jsonl", deadline=None)
    client = TestClient(app, headers={"Authorization": f"Bearer {token}"}, raise_server_exceptions=False)

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("discreet.vault.vault.Vault.ask", fail)
    assert client.post("/api/v1/ask", json={"sql": SQL, "scale": 30}).status_code == 500
    assert [line["outcome"] for line in last_asked(people.path, 9)] == [outcome]
    [line] = map(json.loads, (tmp_path / "access.jsonl").read_text().splitlines())
    assert line["status"] == status
    auditor = add_user(people.path, "aud", "auditor")
    told = client.get("/api/v1/metrics", headers={"Authorization": f"Bearer {auditor}"}).text
    assert any(f'status="{status}"' in counted for counted in told.splitlines())


def test_the_audit_log_is_copied_as_lines_of_json(client, people):
    client.post("ask", json={"sql": SQL, "scale": 30})
    client.get("log")
    lines = CliRunner().invoke(cli, ["user", "log", str(people.path), "--jsonl"]).output.splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == ["answered", "AccessDenied"]
    lines = CliRunner().invoke(cli, ["user", "log", str(people.path), "--jsonl", "--user", "ben"]).output
    assert lines == ""


def test_each_request_is_a_line_of_the_access_log_without_a_token_in_it(client, tmp_path):
    client.get("budget/map?rows=age&columns=sex")
    client.get("me", headers={"Authorization": "Bearer wrong"})
    client.get("health")
    written = (tmp_path / "access.jsonl").read_text()
    lines = [json.loads(line) for line in written.splitlines()]
    assert [(line["user"], line["method"], line["path"], line["status"]) for line in lines] == [
        ("ana", "GET", "/api/v1/budget/map", 200),
        (None, "GET", "/api/v1/me", 401),
        (None, "GET", "/api/v1/health", 200),
    ]
    assert "wrong" not in written
    assert "Bearer" not in written
    assert all(line["bytes"] > 0 and line["seconds"] >= 0 and line["address"] == "testclient" for line in lines)
    assert (tmp_path / "access.jsonl").stat().st_mode & 0o077 == 0


def test_metrics_count_requests_refusals_and_the_budget_for_who_oversees(client, people):
    auditor = {"Authorization": f"Bearer {add_user(people.path, 'aud', 'auditor')}"}
    client.post("ask", json={"sql": SQL, "scale": 30})
    client.post("ask", json={"sql": "DROP TABLE people"})
    client.get("releases/77")
    client.get('nothing"here')
    assert client.get("metrics").status_code == 403
    reply = client.get("metrics", headers=auditor)
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = {}
    for line in reply.text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name.replace(name[name.find('worker="') : name.find('",') + 2], "")] = float(value)
    assert found['discreet_requests_total{method="POST",route="/api/v1/ask",status="200"}'] == 1
    assert found['discreet_requests_total{method="POST",route="/api/v1/ask",status="400"}'] == 1
    assert found['discreet_refusals_total{kind="NotFound"}'] == 1
    assert found['discreet_refusals_total{kind="UnsupportedQuery"}'] == 1
    assert found['discreet_request_seconds_count{route="/api/v1/ask"}'] == 2
    assert found['discreet_request_seconds_bucket{route="/api/v1/ask",le="+Inf"}'] == 2
    assert found["discreet_charges"] == 1
    assert found["discreet_budget_left"] == pytest.approx(10 - 2 / 30)


def test_statements_over_mysql_have_their_address_and_outcome_and_failed_sign_ins_their_line(folder):
    with served_over_mysql(folder) as server:
        with server.connect() as ada:
            rows(ada, SQL)
            with pytest.raises(pymysql.Error, match="DomainError"):
                rows(ada, "SELECT COUNT(*) FROM people WHERE weight = 3")
        with pytest.raises(pymysql.Error, match="access denied"):
            server.connect(password="wrong")
        lines = last_asked(server.vault.path, 9)
    told = [(line["user"], line["verb"], line["outcome"], line["address"]) for line in lines]
    assert told[0] == ("ada", "ask", "answered", "127.0.0.1")
    assert [outcome for *_, outcome, _ in told[1:-1] if outcome != "answered"] == ["DomainError"]
    assert told[-1] == (None, "denied", "AccessDenied", "127.0.0.1")
