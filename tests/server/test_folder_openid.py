"""Signing in to a folder of vaults by a provider: once, and in each vault as what its own settings say."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient

from discreet.errors import AccessDenied
from discreet.server.auth import add_user, list_users
from discreet.server.folder import VaultFolder
from discreet.server.log import last_asked
from discreet.server.run import Pace, many
from discreet.server.sign_in import FolderSignIn, client_name, sign_in_of
from discreet.vault import Vault
from tests.server.provider import at_provider, office_at_work, sign_in_by
from tests.server.test_folder import COUNT, make_vault

ROLES = {
    "health": {"chiefs": "custodian", "statistics": "analyst"},
    "tax": {"statistics": "auditor"},
    "school": {"teachers": "analyst"},
}


@pytest.fixture
def office():
    with office_at_work() as made:
        yield made


@pytest.fixture
def offices(tmp_path, office):
    """Three vaults that name the provider, each with roles of its own, and one that names none."""
    folder = tmp_path / "offices"
    folder.mkdir()
    for name in (*ROLES, "closed"):
        vault = make_vault(folder, name)
        if name in ROLES:
            sign_in_by(vault, office, roles=ROLES[name], **({"quota": "1"} if name == "health" else {}))
    return folder


@pytest.fixture
def browser(offices):
    with TestClient(many(offices, Pace(rate=0, slot=0, deadline=0), None, "").app(), follow_redirects=False) as made:
        yield made


def signed_in(browser, onward="/", **at):
    sent = browser.get("/login/openid", params={"next": onward, **at})
    assert sent.status_code == 303, sent.text
    return browser.get(at_provider(sent.headers["location"]).removeprefix("http://testserver"))


def catalogue(browser):
    return {line["name"]: line["role"] for line in browser.get("/api/v1/vaults").json().get("vaults", ())}


def test_one_sign_in_opens_each_vault_in_the_role_that_it_gives(browser, offices):
    assert 'href="/login/openid?next=/v/tax/budget"' in browser.get("/login?next=/v/tax/budget").text
    entered = signed_in(browser, "/v/tax/budget")
    assert 'href="/v/tax/budget"' in entered.text
    assert catalogue(browser) == {"health": "analyst", "tax": "auditor"}
    here = {"origin": "http://testserver"}
    assert browser.post("/v/health/api/v1/ask", json=COUNT, headers=here).status_code == 200
    assert browser.post("/v/tax/api/v1/ask", json=COUNT, headers=here).status_code == 403
    assert browser.get("/v/tax/budget").status_code == 200
    for name in ("school", "closed"):
        assert browser.get(f"/v/{name}/budget").status_code == 303
        assert not list_users(offices / name)
    assert Vault.open(offices / "health").ledger.spent_by().keys() == {"ana"}
    assert [str(user.quota) for user in list_users(offices / "health")] == ["1"]


def test_a_role_that_is_taken_away_ends_in_every_vault_and_in_sessions_from_before(browser, office):
    signed_in(browser)
    old = browser.cookies["discreet"]
    office.person["groups"] = ["teachers"]
    signed_in(browser)
    assert catalogue(browser) == {"school": "analyst"}
    browser.cookies.clear()
    browser.cookies.set("discreet", old)
    assert catalogue(browser) == {}
    office.person["groups"] = ["cooks"]
    refused = signed_in(browser)
    assert (refused.status_code, "has no role here" in refused.text) == (401, True)
    assert "discreet=" not in refused.headers.get("set-cookie", "")


def test_vaults_come_and_go_and_change_without_a_restart(browser, offices, office):
    signed_in(browser)
    sign_in_by(make_vault(offices, "roads"), office, roles={"statistics": "custodian"})
    path = offices / "tax" / "vault.toml"
    path.write_text(path.read_text().partition("[sign_in]")[0])
    signed_in(browser)
    assert catalogue(browser) == {"health": "analyst", "roads": "custodian"}
    first = offices / "health" / "vault.toml"
    first.write_text(first.read_text().replace("[sign_in]", '[sign_in]\nlabel = "the new office"'))
    browser.cookies.clear()
    assert "Sign in with the new office<" in browser.get("/login").text
    signed_in(browser)
    assert office.asked.count("/keys") == 1, "the provider's keys are kept"


def test_somebody_else_of_that_name_keeps_one_vault_closed_and_its_custodian_reads_why(browser, offices):
    add_user(offices / "tax", "ana", "custodian")
    signed_in(browser)
    assert catalogue(browser) == {"health": "analyst"}
    [line] = last_asked(offices / "tax", 10)
    assert line["verb"] == "denied"
    assert "somebody else is called ana" in line["message"]
    assert not last_asked(offices / "school", 10), "nobody is denied where nobody was let in to begin with"


def test_a_vault_that_cannot_be_used_keeps_nobody_out_of_the_others(browser, offices):
    (offices / "tax" / "users.json").write_text("{")
    path = offices / "school" / "vault.toml"
    path.write_text(path.read_text().replace('"analyst"', '"king"'))
    signed_in(browser)
    assert catalogue(browser) == {"health": "analyst"}
    token = add_user(offices / "school", "ben", "custodian")
    shown = browser.get("/v/school/api/v1/describe", headers={"Authorization": f"Bearer {token}"})
    assert shown.status_code == 503
    assert "a role is one of" in shown.json()["error"]["message"]
    assert str(offices) not in shown.text


def test_two_providers_are_two_buttons_and_neither_speaks_for_the_other(offices, browser):
    with office_at_work() as other:
        path = offices / "tax" / "vault.toml"
        path.write_text(path.read_text().partition("[sign_in]")[0])
        sign_in_by(Vault.open(offices / "tax"), other, roles=ROLES["tax"], label="the ministry")
        names = {name: client_name(sign_in_of(offices / name)) for name in ROLES}
        assert names["health"] == names["school"] != names["tax"]
        shown = browser.get("/login").text
        assert shown.count("/login/openid?at=") == 2
        assert "the ministry" in shown
        signed_in(browser, at=names["tax"])
        assert catalogue(browser) == {"tax": "auditor"}
        signed_in(browser, at=names["health"])
        assert catalogue(browser) == {"health": "analyst"}
        refused = browser.get("/login/openid", params={"at": "0" * 16})
        assert (refused.status_code, "by this provider" in refused.text) == (401, True)


def test_an_answer_that_names_another_provider_is_not_taken_to_this_one(browser, office):
    sent = browser.get("/login/openid")
    back = at_provider(sent.headers["location"]).removeprefix("http://testserver")
    refused = browser.get(f"{back}&iss=https%3A%2F%2Fevil.example")
    assert (refused.status_code, "of another provider" in refused.text) == (401, True)
    assert "/token" not in office.asked
    assert browser.get(f"{back}&iss={office.issuer}").status_code == 200


def test_an_attempt_counts_in_its_own_browser_and_at_its_own_provider(browser, offices):
    sent = browser.get("/login/openid")
    back = at_provider(sent.headers["location"]).removeprefix("http://testserver")
    begun = browser.cookies["discreet_sign_in"]
    for cookie in (None, "", "x", begun.swapcase(), "." * 300, f"other.{begun.partition('.')[2]}", begun[1:]):
        browser.cookies.clear()
        if cookie is not None:
            browser.cookies.set("discreet_sign_in", cookie, path="/login")
        assert browser.get(back).status_code == 401
    assert not any(list_users(offices / name) for name in ROLES)


def test_a_vault_s_own_address_leads_to_the_folder_s_way_in(browser, office):
    assert browser.get("/v/health/login/openid").headers["location"] == "/login?next=/v/health"
    signed_in(browser)
    begun = len(office.asked)
    assert browser.get("/v/health/login/openid").status_code == 303
    assert browser.get("/v/health/login/return", params={"state": "x", "code": "y"}).status_code == 303
    assert len(office.asked) == begun


def test_what_one_provider_calls_somebody_is_nobody_at_another(offices, office):
    """A vault goes by its own provider alone: the same `sub` of another is somebody else."""
    folder = VaultFolder(offices, make_desk=None, make_app=None)
    entrance = FolderSignIn(folder)
    [name] = entrance.providers()
    assert set(entrance.users(name, {**office.person, "preferred_username": "ana"})) == {"health", "tax"}
    with pytest.raises(AccessDenied, match="no role in any vault"):
        entrance.users("f" * 16, office.person)
    path = offices / "health" / "vault.toml"
    path.write_text(path.read_text().replace(json.dumps(office.issuer), '"https://other.example"'))
    assert len(entrance.providers()) == 2
    other = client_name(sign_in_of(offices / "health"))
    with pytest.raises(AccessDenied, match="somebody else is called ana"):
        entrance.users(other, office.person)
    assert set(entrance.users(name, office.person)) == {"tax"}


def test_below_a_sub_path_the_provider_leads_back_below_it(offices):
    with TestClient(many(offices, Pace(rate=0, slot=0), None, "/data").app(), follow_redirects=False) as browser:
        assert 'href="/data/login/openid?next=/"' in browser.get("/data/login").text
        sent = browser.get("/data/login/openid")
        [back] = parse_qs(urlsplit(sent.headers["location"]).query)["redirect_uri"]
        assert back == "http://testserver/data/login/return"
        assert "Path=/data/login" in sent.headers["set-cookie"]
