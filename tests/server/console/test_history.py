"""Histories are for whom they concern; what is kept is for its user alone, in the vault's folder."""

import stat

import pytest
from starlette.testclient import TestClient

from discreet.errors import UnsupportedQuery, VaultError
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.server.log import last_asked
from discreet.server.saved import FOLDER, SavedQuestion, forget_question, save_question, saved_questions

HERE = {"origin": "http://testserver"}
SQL = "SELECT COUNT(*) FROM people WHERE age > 50"


@pytest.fixture
def enter(people):
    app = create_app(people, slot=0, rate=0, deadline=None)

    def signed_in(name, role="analyst"):
        client = TestClient(app, follow_redirects=False)
        client.post("/login", data={"token": add_user(people.path, name, role)}, headers=HERE)
        return client

    return signed_in


def ask(client, sql=SQL):
    return client.post("/ask", data={"sql": sql, "mode": "sql", "within": "60"}, headers=HERE)


def test_a_question_stands_in_its_users_history_with_its_cost_and_how_often(people, enter):
    ana, eve = enter("ana"), enter("eve")
    ask(ana)
    ask(ana)
    ask(ana, "SELECT nothing FROM people")
    page = ana.get("/history").text
    assert page.count(f"<code>{SQL.replace('>', '&gt;')}</code>") == 1
    [charge] = [entry["seq"] for entry in people.entries(0) if entry["kind"] == "charge"]
    assert f'href="/releases/{charge}"' in page
    assert people.ledger.budget.in_words(people.budget().by_user["ana"]) in page
    assert 'class="kind relaxed"' in page
    assert "You have asked nothing yet" in eve.get("/history").text


def test_the_audit_log_names_the_charges_of_a_question(people, enter):
    ask(enter("ana"))
    [line] = [line for line in last_asked(people.path, 10) if line["verb"] == "ask"]
    [charge] = [entry["seq"] for entry in people.entries(0) if entry["kind"] == "charge"]
    assert line["charges"] == [charge]


def test_kept_questions_are_a_file_of_their_user_alone(people, enter):
    ana, eve = enter("ana"), enter("eve")
    said = {"query": "sql=SELECT+1&within=60&sure=1&page=3", "name": "<b>old</b>", "note": "over 50"}
    assert ana.post("/history/keep", data=said, headers=HERE).status_code == 303
    assert saved_questions(people.path, "ana") == [SavedQuestion("<b>old</b>", "over 50", "sql=SELECT+1&within=60")]
    page = ana.get("/history").text
    assert "&lt;b&gt;old&lt;/b&gt;" in page
    assert "over 50" in page
    assert "over 50" not in eve.get("/history").text
    files = [people.path / FOLDER, *(people.path / FOLDER).iterdir()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o700, 0o600}
    eve.post("/history/forget", data={"name": "<b>old</b>"}, headers=HERE)
    assert len(saved_questions(people.path, "ana")) == 1
    ana.post("/history/forget", data={"name": "<b>old</b>"}, headers=HERE)
    assert saved_questions(people.path, "ana") == []


@pytest.mark.parametrize("path", ["/history/keep", "/history/forget"])
def test_a_form_of_another_site_keeps_and_forgets_nothing(people, enter, path):
    ana = enter("ana")
    save_question(people.path, "ana", SavedQuestion("one", "", "sql=x"))
    data = {"query": "sql=y", "name": "one"}
    assert ana.post(path, data=data, headers={"origin": "http://evil.example"}).status_code == 403
    assert saved_questions(people.path, "ana") == [SavedQuestion("one", "", "sql=x")]


def test_what_is_kept_has_a_name_and_an_end(people):
    for name, note, query in (
        ("", "", "a"),
        ("a\nb", "", "a"),
        ("a" * 81, "", "a"),
        ("a", "n" * 2001, "a"),
        ("a", "", "q" * 20_001),
    ):
        with pytest.raises(UnsupportedQuery):
            save_question(people.path, "ana", SavedQuestion(name, note, query))
    for number in range(200):
        save_question(people.path, "ana", SavedQuestion(f"{number}", "", "a"))
    with pytest.raises(UnsupportedQuery, match="forget one"):
        save_question(people.path, "ana", SavedQuestion("more", "", "a"))
    forget_question(people.path, "ana", "7")
    save_question(people.path, "ana", SavedQuestion("more", "", "a"))
    (people.path / FOLDER / "ana.json").write_text("{")
    with pytest.raises(VaultError, match="restore"):
        saved_questions(people.path, "ana")


def test_a_keeper_without_a_name_is_told_what_is_missing_and_keeps_what_was_typed(enter):
    page = enter("ana").post("/history/keep", data={"query": "sql=SELECT", "note": "mine"}, headers=HERE).text
    assert "has a name" in page
    assert "mine</textarea>" in page
