"""The console says what things cost where they are bought, what its words mean, and what to do first."""

import re

import pytest
from starlette.testclient import TestClient

from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.server.console.words import WORDS
from discreet.server.log import last_asked

HERE = {"origin": "http://testserver"}
LARGE = {"sql": "SELECT COUNT(*) FROM people", "within": "2", "mode": "sql"}


@pytest.fixture
def enter(people):
    app = create_app(people, slot=0, rate=0, deadline=None)

    def signed_in(role, quota=None):
        client = TestClient(app, follow_redirects=False)
        client.post("/login", data={"token": add_user(people.path, role, role, quota=quota)}, headers=HERE)
        return client

    return signed_in


def test_what_spends_much_is_asked_back_for_and_bought_at_the_price_that_was_said(people, enter):
    client = enter("analyst")
    asked = client.post("/ask", data=LARGE, headers=HERE).text
    assert "more than 10% of the whole budget" in re.sub(r"\s+", " ", asked)
    assert people.ledger.charges == 0
    assert [line["verb"] for line in last_asked(people.path, 5)] == ["explain"]
    price = re.search(r'name="sure" value="([^"]+)"', asked)[1]
    assert "asked back for" in client.post("/ask", data={**LARGE, "sure": "0.001"}, headers=HERE).text
    assert people.ledger.charges == 0
    assert "Answer</h2>" in client.post("/ask", data={**LARGE, "sure": price}, headers=HERE).text
    assert people.ledger.charges == 1
    again = client.post("/ask", data=LARGE, headers=HERE).text
    assert "spent nothing" in again


def test_the_button_says_what_it_spends(enter):
    client = enter("analyst")
    page = client.get("/ask?sql=SELECT+COUNT(*)+FROM+people&within=60").text
    assert re.search(r"Ask<span data-price> · ε 0\.\d+", page)
    client.post("/ask", data={**LARGE, "within": "60"}, headers=HERE)
    assert "Ask<span data-price> · free" in client.get("/ask?sql=SELECT+COUNT(*)+FROM+people&within=60").text


def test_the_curve_has_the_price_of_each_accuracy_and_falls(people, enter):
    part = enter("analyst").get("/ask/curve?sql=SELECT+COUNT(*)+FROM+people&within=60", headers={"X-Part": "1"}).text
    withins = [float(text) for text in re.search(r'data-values="([^"]+)"', part)[1].split()]
    costs = [float(text) for text in re.findall(r"<title>± [\d.]+: ε ([\d.]+)</title>", part)]
    assert len(withins) == len(costs) == 7
    assert withins == sorted(withins)
    assert costs == sorted(costs, reverse=True)
    assert people.ledger.charges == 0


def test_the_start_page_says_what_is_here_who_may_ask_and_what_to_do_first(people, enter):
    client = enter("analyst", quota="0.5")
    page = client.get("/").text
    for words in ("Begin here", "What it has cost", "What is published here", "Who may ask", "none yet", "ε 0.5"):
        assert words in page
    first = re.search(r'href="(/ask\?sql=[^"]+)"', page)[1]
    assert client.get(first).status_code == 200
    assert people.ledger.charges == 0
    assert "Users, and who asked what" not in page


def test_every_word_with_a_hint_is_in_the_glossary(enter):
    client = enter("custodian")
    glossary = client.get("/glossary").text
    places = set(re.findall(r'<dt id="([^"]+)"', glossary))
    assert len(places) == len(WORDS)
    for path in ("/", "/ask", "/budget", "/plan"):
        assert set(re.findall(r'class="word" href="/glossary#([^"]+)"', client.get(path).text)) <= places
