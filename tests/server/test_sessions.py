"""What a browser holds instead of a token: when it ends, and what it is worth elsewhere."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from starlette.testclient import TestClient

from discreet.errors import AccessDenied
from discreet.server.app import create_app
from discreet.server.auth import add_user, authenticate, edit_user, list_users, revoke_user, rotate_user
from discreet.server.sessions import FOLDER, LIFE, begin_session, end_session, user_in

HERE = {"origin": "http://testserver"}


@pytest.fixture
def ana(people):
    return authenticate(people.path, add_user(people.path, "ana", "analyst"))


@pytest.fixture
def client(people):
    with TestClient(create_app(people, slot=0, rate=0, deadline=None), follow_redirects=False) as made:
        yield made


def sign_in(client, token):
    assert client.post("/login", data={"token": token}, headers=HERE).status_code == 303
    return client.cookies["discreet"]


def aged(people, by):
    [file] = (people.path / FOLDER).iterdir()
    began = json.loads(file.read_text())
    file.write_text(json.dumps({**began, "at": (datetime.now(UTC) - by).isoformat(timespec="seconds")}))


def test_the_cookie_is_no_token_and_the_disk_does_not_hold_it(people, client):
    token = add_user(people.path, "ana", "analyst")
    session = sign_in(client, token)
    assert session != token
    with pytest.raises(AccessDenied):
        authenticate(people.path, session)
    [file] = (people.path / FOLDER).iterdir()
    assert session not in file.name + file.read_text()
    assert token not in file.read_text()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with pytest.raises(AccessDenied):
        user_in(people.path, file.name)


def test_signing_out_ends_it_wherever_it_was_copied_to(people, client):
    copied = sign_in(client, add_user(people.path, "ana", "analyst"))
    assert client.get("/budget").status_code == 200
    client.get("/logout")
    client.cookies.set("discreet", copied)
    assert client.get("/budget").status_code == 303
    assert client.get("/api/v1/budget").status_code == 401


def test_it_ends_by_itself(people, ana):
    session = begin_session(people.path, ana)
    aged(people, LIFE - timedelta(minutes=5))
    assert user_in(people.path, session).name == "ana"
    aged(people, LIFE)
    with pytest.raises(AccessDenied, match="sign in again"):
        user_in(people.path, session)
    assert list((people.path / FOLDER).iterdir()) == []


def test_a_clock_that_was_set_back_does_not_make_it_last(people, ana):
    session = begin_session(people.path, ana)
    aged(people, timedelta(hours=-3))
    with pytest.raises(AccessDenied):
        user_in(people.path, session)


@pytest.mark.parametrize(
    "change",
    [
        lambda home: revoke_user(home, "ana"),
        lambda home: rotate_user(home, "ana"),
        lambda home: (revoke_user(home, "ana"), add_user(home, "ana", "custodian")),
    ],
    ids=["revoked", "rotated", "another of that name"],
)
def test_it_ends_with_the_token_that_it_was_begun_with(people, ana, change):
    session = begin_session(people.path, ana)
    change(people.path)
    with pytest.raises(AccessDenied):
        user_in(people.path, session)


def test_it_has_the_rights_of_now_not_those_that_it_began_with(people, ana):
    session = begin_session(people.path, ana)
    edit_user(people.path, "ana", quota="10%")
    assert user_in(people.path, session).quota == people.ledger.budget.total / 10


def test_sessions_that_have_ended_are_cleared_away_by_the_next(people, ana):
    import os

    begin_session(people.path, ana)
    [old] = (people.path / FOLDER).iterdir()
    long_ago = (datetime.now(UTC) - 2 * LIFE).timestamp()
    os.utime(old, (long_ago, long_ago))
    session = begin_session(people.path, ana)
    assert not old.exists()
    assert user_in(people.path, session).name == "ana"
    end_session(people.path, session)
    end_session(people.path, session)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"user": "ana"}', "\x00"])
def test_a_damaged_session_is_none(people, ana, content):
    session = begin_session(people.path, ana)
    [file] = (people.path / FOLDER).iterdir()
    file.write_text(content)
    with pytest.raises(AccessDenied):
        user_in(people.path, session)


def test_a_token_is_rotated_and_a_quota_edited_without_revoking(people, users):
    boss = users("boss", "custodian")
    old = boss.post("users", json={"name": "ana", "quota": "10%"}).json()["token"]
    new = boss.post("users/ana/token").json()["token"]
    with pytest.raises(AccessDenied):
        authenticate(people.path, old)
    assert authenticate(people.path, new).quota == people.ledger.budget.total / 10
    changed = boss.patch("users/ana", json={"quota": "20%", "expires": "1d"}).json()
    assert (changed["quota"], changed["expires"] is None) == ("2", False)
    assert authenticate(people.path, new).quota == people.ledger.budget.total / 5
    assert boss.patch("users/ana", json={"quota": "none", "expires": "never"}).json()["quota"] is None
    assert boss.patch("users/nobody", json={"quota": "1"}).status_code == 404
    assert boss.patch("users/boss", json={"quota": "1"}).status_code == 403
    assert boss.patch("users/ana", json={"quota": "much"}).status_code == 400
    eve = users("eve")
    assert eve.patch("users/eve", json={"quota": "none"}).status_code == 403
    assert eve.post("users/boss/token").status_code == 403
    assert [user.name for user in list_users(people.path)] == ["boss", "ana", "eve"]


def test_every_reply_is_nobody_elses_to_keep(people, client):
    token = add_user(people.path, "ana", "analyst")
    for path in ("/login", "/budget", "/nothing", "/api/v1/health", "/api/v1/budget", "/api/v1/nothing"):
        for headers in ({}, {"authorization": f"Bearer {token}"}):
            reply = client.get(path, headers=headers)
            assert (reply.headers["x-content-type-options"], reply.headers["cache-control"]) == ("nosniff", "no-store")
            assert "strict-transport-security" not in reply.headers
    secure = TestClient(client.app, base_url="https://testserver", follow_redirects=False)
    assert "max-age" in secure.get("/login").headers["strict-transport-security"]
