"""Quotas, expiry and a full disk, over HTTP."""

import json
import os
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from discreet.errors import AccessDenied, InvalidBudget
from discreet.server import log
from discreet.server.auth import USERS, add_user, authenticate, list_users, revoke_user


def count(age, scale=20):
    return {"sql": f"SELECT COUNT(*) FROM people WHERE age <= {age}", "scale": scale}


def test_a_quota_ends_one_analyst_and_not_the_others(people, users):
    ana, ben = users("ana", quota="0.2"), users("ben")
    assert [ana.post("ask", json=count(age)).json()["kind"] for age in (1, 2, 3)] == ["measured", "measured", "relaxed"]
    assert ana.post("ask", json=count(1)).json()["kind"] == "repeated"
    assert ben.post("ask", json=count(3)).status_code == 200
    assert ana.post("ask", json=count(3)).json()["kind"] == "repeated"  # all answers are public to all
    assert people.budget().by_user == {"ana": Fraction(2, 10), "ben": Fraction(1, 10)}


def test_a_quota_is_kept_for_a_name_that_was_revoked_and_added_again(people, users):
    users("ana", quota="0.1").post("ask", json=count(1))
    revoke_user(people.path, "ana")
    assert users("ana", quota="0.1").post("ask", json=count(1)).status_code == 401
    token = add_user(people.path, "ana", "analyst", quota="0.1")
    again = users("ben").post("ask", json=count(2), headers={"Authorization": f"Bearer {token}"})
    assert again.json()["kind"] == "relaxed"


def test_a_quota_that_is_gone_stops_no_free_answer_and_says_why_it_is_none_other(people, users):
    ana, ben = users("ana", quota="0.1"), users("ben")
    assert ana.post("ask", json=count(5)).json()["kind"] == "measured"
    relaxed = ana.post("ask", json=count(4)).json()
    assert (relaxed["kind"], relaxed["cost"], relaxed["answered"]) == ("relaxed", "0", "age <= 5")
    assert any("ana has a quota of ε = 0.1, and too little of it is left there" in note for note in relaxed["notes"])
    told = ana.post("explain", json=count(4)).json()
    assert (told["left"], told["more"], told["aggregates"][0]["kinds"]) == ("0", 0, {"relaxed": 1})
    assert ben.post("explain", json=count(4)).json()["more"] > 0
    assert ben.post("ask", json=count(4)).json()["kind"] == "measured"  # not what ana was given
    assert ana.post("ask", json=count(4)).json()["kind"] == "repeated"
    assert people.ledger.charges == 2


def test_a_question_beyond_any_budget_is_refused_to_who_has_a_quota_as_to_others(people, users):
    ana, ben = users("ana", quota="0.1"), users("ben")
    asked = {"sql": "SELECT COUNT(*) FROM people WHERE age < 5 OR sex = 'F' AND age > 7", "scale": "1e-30"}
    for route in ("ask", "explain"):
        assert [who.post(route, json=asked).status_code for who in (ana, ben)] == [409, 409]
    assert people.ledger.charges == 0


def test_a_quota_is_by_region_as_the_budget_is(people, users):
    ana = users("ana", quota="0.1")
    for age in (10, 20, 30):
        where = f"SELECT COUNT(*) FROM people WHERE age BETWEEN {age} AND {age + 9}"
        assert ana.post("ask", json={"sql": where, "scale": 20}).json()["kind"] == "measured"
    assert ana.get("me").json()["spent"] == "0.1"
    assert people.ledger.charges == 3


def test_a_quota_is_refused_in_words_only_where_nothing_was_released(people, users):
    refused = users("ana", quota="0.1").post("ask", json=count(1, scale=2))
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "QuotaExceeded")
    assert (
        "a quota of ε = 0.1, of which ε = 0.1 is left there, and this needs ε = 1" in refused.json()["error"]["message"]
    )
    assert people.ledger.charges == 0


@pytest.mark.parametrize("quota", ["0", "-1", "x", "nan", "1e999", "0%", "x%", "%"])
def test_a_quota_that_is_no_amount_is_refused(people, quota):
    with pytest.raises(InvalidBudget):
        add_user(people.path, "ana", "analyst", quota=quota)


@pytest.mark.parametrize("role", ["custodian", "auditor"])
def test_a_quota_is_for_analysts(tmp_path, role):
    with pytest.raises(AccessDenied, match="for analysts"):
        add_user(tmp_path, "x", role, quota=1)


@pytest.mark.parametrize("expires", ["", "0d", "30", "d", "-1d", "1y", "1.5d", "999999d"])
def test_a_length_of_time_that_is_none_is_refused(tmp_path, expires):
    with pytest.raises(AccessDenied, match="no length of time"):
        add_user(tmp_path, "ana", "analyst", expires=expires)


def test_an_expired_token_opens_nothing(people, users):
    ana = users("ana", expires="1h")
    assert ana.get("me").status_code == 200
    file = people.path / USERS
    body = json.loads(file.read_text())
    body["users"][0]["expires"] = (datetime.now(UTC) - timedelta(seconds=1)).isoformat(timespec="seconds")
    file.write_text(json.dumps(body))
    reply = ana.get("me")
    assert reply.status_code == 401
    assert "expired" in reply.json()["error"]["message"]


def test_a_file_of_users_from_before_quotas_is_read(tmp_path):
    token = add_user(tmp_path, "ana", "analyst")
    body = json.loads((tmp_path / USERS).read_text())
    for key in ("quota", "expires"):
        del body["users"][0][key]
    (tmp_path / USERS).write_text(json.dumps(body))
    assert authenticate(tmp_path, token).quota is None
    assert list_users(tmp_path)[0].expires is None


def test_a_log_that_cannot_be_written_answers_nothing_and_then_goes_on(people, users, monkeypatch):
    ana = users("ana")
    with monkeypatch.context() as full:
        full.setattr(log.os, "write", _full)
        reply = ana.post("ask", json=count(1))
        assert reply.status_code == 503
        assert "audit log cannot be written" in reply.json()["error"]["message"]
        assert ana.get("budget").status_code == 200
    assert people.budget().spent == 0
    assert ana.post("ask", json=count(1)).status_code == 200


def _full(*_):
    raise OSError(28, os.strerror(28))


def test_a_full_disk_under_the_journal_is_a_clear_answer_and_the_service_goes_on(people, users):
    ana = users("ana")
    assert ana.post("ask", json=count(1)).status_code == 200
    connection = people.ledger._followed.journal._connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    replies = [ana.post("ask", json=count(age)) for age in range(2, 60)]
    failed = [reply for reply in replies if reply.status_code != 200]
    assert failed
    for reply in failed:
        assert reply.status_code == 503
        assert "disk is full" in reply.json()["error"]["message"]
        assert str(people.path) not in reply.text
    assert ana.post("ask", json=count(1)).json()["kind"] == "repeated"
    assert ana.get("budget").status_code == 200
    connection.execute("PRAGMA max_page_count = 1000000")
    assert ana.post("ask", json=count(70)).status_code == 200
