"""What only a custodian does on pages: for nobody else, from no other site, and only with what was said to be known."""

import pytest
from starlette.testclient import TestClient

from discreet.errors import DomainError
from discreet.microdata.buckets import Buckets
from discreet.server.app import create_app
from discreet.server.auth import add_user, authenticate, list_users
from discreet.server.console.plan import PLANNERS, require_quick

HERE = {"origin": "http://testserver"}
DEEDS = {
    "/users": {"name": "eve", "role": "custodian"},
    "/users/revoke": {"name": "boss"},
    "/facts": {"sql": "SELECT COUNT(*) FROM people", "value": "600", "sure": "1"},
    "/buckets/publish": {"sensitive": "income", "limits": "0.9", "columns": "age", "as": "b", "sure": "1"},
}


@pytest.fixture
def enter(people):
    """A session of a user of each role, with the pages of one application."""
    app = create_app(people, slot=0, rate=0, deadline=None)
    tokens = {role: add_user(people.path, role, role) for role in ("custodian", "analyst", "auditor")}
    add_user(people.path, "boss", "custodian")

    def signed_in(role):
        client = TestClient(app, follow_redirects=False)
        assert client.post("/login", data={"token": tokens[role]}, headers=HERE).status_code == 303
        return client

    return signed_in


@pytest.mark.parametrize("role", ["analyst", "auditor"])
@pytest.mark.parametrize("path", DEEDS)
def test_nobody_else_does_it(people, enter, role, path):
    reply = enter(role).post(path, data=DEEDS[path], headers=HERE)
    assert (reply.status_code, "only a custodian may" in reply.text) == (403, True)
    assert "boss" not in reply.text
    assert len(list_users(people.path)) == 4
    assert people.ledger.head.seq == 1


@pytest.mark.parametrize("path", DEEDS)
@pytest.mark.parametrize("headers", [{}, {"origin": "http://evil.example"}, {**HERE, "sec-fetch-site": "cross-site"}])
def test_a_form_of_another_site_does_nothing(people, enter, path, headers):
    reply = enter("custodian").post(path, data=DEEDS[path], headers=headers)
    assert (reply.status_code, "another server" in reply.text) == (403, True)
    assert len(list_users(people.path)) == 4
    assert people.ledger.head.seq == 1


def test_a_fact_is_shown_with_what_it_would_do_before_it_is_final(people, enter):
    page = enter("custodian")
    shown = page.post("/facts", data={**DEEDS["/facts"], "look": "1"}, headers=HERE).text
    assert "What it would do" in shown
    assert people.ledger.head.seq == 1
    people.facts.add("SELECT COUNT(*) FROM people WHERE sex = 'F'", 200)
    people.measure(people.count(), scale=people.ledger.budget.factor / people.ledger.budget.total)
    stopping = {"sql": "SELECT COUNT(*) FROM people WHERE age < 50", "value": "300", "sure": "1"}
    assert "This would stop the vault" in page.post("/facts", data={**stopping, "look": "1"}, headers=HERE).text
    assert "would stop the vault" in page.post("/facts", data=stopping, headers=HERE).text
    assert len(people.ledger.facts) == 1
    assert "is accounted for" in page.post("/facts", data={**stopping, "accept": "1"}, headers=HERE).text


@pytest.mark.parametrize("path", ["/facts", "/buckets/publish"])
def test_what_cannot_be_taken_back_takes_a_tick(people, enter, path):
    unsure = {key: value for key, value in DEEDS[path].items() if key != "sure"}
    assert "tick that you know it" in enter("custodian").post(path, data=unsure, headers=HERE).text
    assert people.ledger.head.seq == 1


def test_a_token_is_shown_once_and_stored_by_no_browser(people, enter):
    reply = enter("custodian").post("/users", data={"name": "ana", "role": "analyst"}, headers=HERE)
    assert reply.headers["cache-control"] == "no-store"
    token = reply.text.partition('id="new-token" readonly value="')[2][:64]
    assert authenticate(people.path, token).name == "ana"
    assert token not in enter("custodian").get("/users").text


def test_pages_are_there_for_whom_they_are(enter):
    custodian, analyst, auditor = (enter(role).get("/budget").text for role in ("custodian", "analyst", "auditor"))
    for page in ("/users", "/facts", "/buckets"):
        assert f'<a href="{page}"' in custodian
        assert f'<a href="{page}"' not in analyst
    assert '<a href="/users"' in auditor
    assert enter("analyst").get("/users").status_code == 403
    assert enter("custodian").get("/buckets").headers["location"] == "/buckets/publish"


def test_names_in_the_log_and_in_forms_are_text_and_no_markup(people, enter):
    evil = "<img src=x onerror=alert(1)>"
    page = enter("custodian")
    page.post("/ask", data={"mode": "sql", "sql": f"SELECT {evil}"}, headers=HERE)
    assert evil not in page.get("/users").text
    assert evil not in page.post("/users", data={"name": evil, "role": "analyst"}, headers=HERE).text
    assert evil not in page.get("/buckets/publish", params={"own": evil, "limits": evil, "as": evil}).text
    assert evil not in page.post("/facts", data={"sql": evil, "value": evil, "sure": "1"}, headers=HERE).text
    assert len(list_users(people.path)) == 4


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_lattice_that_takes_long_is_refused_with_what_to_do(planner):
    require_quick(8, planner, "all")
    with pytest.raises(DomainError, match="`discreet cube plan` waits"):
        require_quick(18, planner, "2")
    if planner in ("optimal", "all"):
        require_quick(50, planner, "2")


def test_estimates_from_buckets_say_what_their_range_is_and_what_it_is_not(people, enter):
    (people.path / "buckets").mkdir()
    people.buckets.publish(sensitive="income", limits="0.9", out=people.path / "buckets" / "b", columns=["age"])
    asked = {"name": "b", "sql": "SELECT COUNT(*) FROM people WHERE age < 50 AND income < 20000"}
    page = enter("analyst").get("/buckets", params=asked).text
    assert "95% of all pairings" in page
    assert "truth may lie far outside" in page
    published = Buckets.load(people.path / "buckets" / "b")
    assert f"<dd>{published.loss:,}; at least {published.least:,} with any sizes that were allowed</dd>" in page
    told = enter("analyst").get("/api/v1/buckets/b").json()
    assert (told["loss"], told["least"]) == (published.loss, published.least)
