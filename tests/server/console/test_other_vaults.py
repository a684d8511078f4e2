"""Vaults of other kinds have the pages of what they do."""

from starlette.testclient import TestClient

from discreet.server.app import create_app
from discreet.server.auth import USERS, add_user
from tests.server.hospital import make_hospital

HERE = {"origin": "http://testserver"}


def enter(vault):
    client = TestClient(create_app(vault, slot=0, rate=0, deadline=None), follow_redirects=False)
    client.post("/login", data={"token": add_user(vault.path, "ana", "analyst")}, headers=HERE)
    return client


def test_a_database_of_subset_counts_shows_its_budget_and_its_ledger(make_vault):
    vault = make_vault("hospital")
    vault.sulq.ask("everyone", "smoker")
    client = enter(vault)
    menu = client.get("/budget").text.split("<nav")[1].split("</nav>")[0]
    assert [path for path in ("/ask", "/cube", "/plan", "/budget", "/releases", "/ledger") if f'"{path}"' in menu] == [
        "/budget",
        "/releases",
        "/ledger",
    ]
    assert "counts over subsets of its roster, 49 more" in client.get("/").text
    assert "smoker" in client.get("/ledger").text
    assert "smoker" in client.get("/releases/2").text
    assert "make another vault with --epsilon" in client.get("/plan").text


def test_a_quota_that_is_spent_is_said_in_the_answer(vault_of_people):
    vault = vault_of_people
    client = TestClient(create_app(vault, slot=0, rate=0, deadline=None), follow_redirects=False)
    token = add_user(vault.path, "little", "analyst", quota="0.001")
    client.post("/login", data={"token": token}, headers=HERE)
    asked = client.post("/ask", data={"sql": "SELECT COUNT(*) FROM people", "mode": "sql"}, headers=HERE)
    assert "little has a quota of" in asked.text


def test_a_damaged_list_of_users_is_said_and_the_service_goes_on(vault_of_people):
    client = enter(vault_of_people)
    users = vault_of_people.path / USERS
    kept = users.read_text()
    users.write_text("{")
    assert client.get("/budget").status_code == 503
    assert client.post("/login", data={"token": "0" * 64}, headers=HERE).status_code == 503
    users.write_text(kept)
    assert "<h1>Budget" in client.get("/budget").text


def test_the_list_of_releases_says_who_asked(vault_of_people):
    client = enter(vault_of_people)
    client.post("/ask", data={"sql": "SELECT COUNT(*) FROM people WHERE age > 50", "mode": "sql"}, headers=HERE)
    assert "<td>ana</td>" in client.get("/releases").text


def test_facts_about_all_tables_are_listed_each_with_its_table(tmp_path):
    vault = make_hospital(tmp_path / "hospital")
    vault.facts.add("SELECT COUNT(*) FROM encounters WHERE ward = 'a'", 80)
    vault.facts.add(cuboid=["sex"], values=[60, 60])
    client = enter(vault)
    page = client.get("/facts").text
    assert page.index("of patients") < page.index("of encounters")
    assert '"/facts"' in client.get("/").text.split("<nav")[1].split("</nav>")[0]
