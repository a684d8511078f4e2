"""Explaining, by whoever may look, over HTTP, MySQL and pages: it spends nothing, and is logged as asking is."""

from dataclasses import replace
from fractions import Fraction

import pytest
from starlette.testclient import TestClient

from discreet.server.app import create_app
from discreet.server.auth import add_user, allow_mysql
from discreet.server.log import last_asked
from tests.server.mysql_clients import rows, served_over_mysql

SQL = "SELECT COUNT(*) FROM people WHERE age BETWEEN 30 AND 60"
HERE = {"origin": "http://testserver"}


def exhaust(vault):
    """Nothing is left at the ages 40 to 60, and what is public there can be patched at 30 to 39, by the policy too."""
    vault.measure(vault.sum("income", age=(40, 60)), 2 * 100_000 * vault.ledger.budget.factor / Fraction(10))
    vault.measure(vault.count(age=(40, 60)), 2 * vault.ledger.budget.factor / Fraction(10))
    assert vault.ledger.left(vault.count(age=(40, 60)).where) == 0
    vault.policy = replace(vault.policy, patches=True)
    return vault.ledger.head


def over_http(vault, token):
    client = TestClient(create_app(vault, slot=0, rate=0, deadline=None), headers={"Authorization": f"Bearer {token}"})
    told = client.post("/api/v1/explain", json={"sql": SQL, "within": 20})
    assert told.json()["aggregates"][0]["kinds"] == {"relaxed": 1}
    assert client.post("/api/v1/ask", json={"sql": SQL, "within": 20}).status_code == 403


def on_a_page(vault, token):
    client = TestClient(create_app(vault, slot=0, rate=0, deadline=None), follow_redirects=False)
    assert client.post("/login", data={"token": token}, headers=HERE).status_code == 303
    told = client.post("/ask/explain", data={"sql": SQL, "within": "20"}, headers=HERE)
    assert "relaxed" in told.text
    assert client.get("/ask", params={"sql": SQL, "within": "20"}).status_code == 200
    assert "may look but not ask" in client.post("/ask", data={"sql": SQL}, headers=HERE).text


@pytest.mark.parametrize("explain", [over_http, on_a_page])
def test_an_auditor_explains_what_patches_could_answer_and_buys_none(people, explain):
    head = exhaust(people)
    explain(people, add_user(people.path, "eve", "auditor"))
    assert people.ledger.head == head
    logged = [line for line in last_asked(people.path, 100) if line.get("within")]
    assert {(line["user"], line["verb"], line["sql"]) for line in logged} == {("eve", "explain", SQL)}


def test_an_auditor_explains_over_mysql_and_it_is_logged(folder):
    with served_over_mysql(folder) as server:
        head = exhaust(server.vault)
        allow_mysql(server.vault.path)
        with server.connect("eve", add_user(server.vault.path, "eve", "auditor")) as connection:
            rows(connection, "SET discreet_within = 20")
            [(_, made_from, *_)], _ = rows(connection, f"EXPLAIN {SQL}")
        assert made_from == "relaxed"
        assert server.vault.ledger.head == head
        [line] = last_asked(server.vault.path, 100)
        assert (line["user"], line["verb"], line["sql"]) == ("eve", "explain", SQL)


def test_what_an_analyst_may_ask_would_have_bought_patches(people):
    before = exhaust(people)
    without = replace(people, policy=replace(people.policy, patches=False))
    assert without.ask(SQL, within=20).cost == 0
    answer = people.ask(SQL, within=20)
    assert answer.kind == "relaxed"
    assert people.ledger.head.seq > before.seq
