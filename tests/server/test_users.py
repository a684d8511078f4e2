"""Users and buckets over HTTP: who may add, revoke and publish; what is said, and what is not."""

import json

import pytest

from discreet.server.auth import authenticate, list_users
from discreet.server.log import last_asked
from tests.server.conftest import finished

BUCKETS = {"sensitive": "income", "limits": "0.9", "columns": ["age"]}


def test_a_custodian_adds_and_revokes_and_the_token_is_in_no_log(people, users):
    boss = users("boss", "custodian")
    reply = boss.post("users", json={"name": "ana", "quota": "0.2", "expires": "1d"})
    added = reply.json()
    assert (reply.status_code, reply.headers["cache-control"]) == (201, "no-store")
    assert authenticate(people.path, added["token"]).name == "ana"
    assert (added["role"], added["quota"]) == ("analyst", "0.2")
    listed = boss.get("users").json()["users"]
    assert [user["name"] for user in listed] == ["boss", "ana"]
    assert "token" not in listed[1]
    assert boss.delete("users/ana").json() == {"revoked": "ana"}
    assert [user.name for user in list_users(people.path)] == ["boss"]
    assert [line["verb"] for line in last_asked(people.path, 9)] == ["user add", "user revoke"]
    assert added["token"] not in json.dumps(last_asked(people.path, 9))


@pytest.mark.parametrize("role", ["analyst", "auditor"])
def test_nobody_else_adds_revokes_or_publishes(people, users, role):
    eve = users("eve", role)
    assert eve.post("users", json={"name": "mallory", "role": "custodian"}).status_code == 403
    assert eve.delete("users/eve").status_code == 403
    assert eve.post("buckets/b", json=BUCKETS).status_code == 403
    assert eve.post("facts", json={"sql": "SELECT COUNT(*) FROM people", "value": 600}).status_code == 403
    assert eve.post("cubes/c", json={"epsilon": "0.1"}).status_code == 403
    assert eve.get("users").status_code == (200 if role == "auditor" else 403)
    assert [user.name for user in list_users(people.path)] == ["eve"]
    assert {line["verb"] for line in last_asked(people.path, 9)} == {"denied"}
    assert people.ledger.head.seq == 1


@pytest.mark.parametrize(
    ("new", "status", "words"),
    [
        ({"name": "a b"}, 403, "a user's name"),
        ({"name": "boss"}, 403, "there is a user boss already"),
        ({"name": "x", "role": "king"}, 400, "not understood at role"),
        ({"name": "x", "role": "auditor", "quota": 1}, 403, "a quota is for analysts"),
        ({"name": "x", "quota": "much"}, 400, "a quota"),
        ({"name": "x", "expires": "soon"}, 403, "no length of time"),
        ({"name": "x", "token": "mine"}, 400, "not understood at token"),
    ],
)
def test_a_user_that_makes_no_sense_is_refused_in_words(people, users, new, status, words):
    reply = users("boss", "custodian").post("users", json=new)
    assert (reply.status_code, words in reply.json()["error"]["message"]) == (status, True), reply.text
    assert len(list_users(people.path)) == 1


def test_buckets_are_published_in_the_background_and_every_guarantee_says_so(people, users):
    boss = users("boss", "custodian")
    job = boss.post("buckets/b", json=BUCKETS)
    assert (job.status_code, job.json()["what"]) == (202, "buckets")
    assert finished(boss, "b")["state"] == "done"
    assert "not differential privacy" in boss.get("buckets/b").json()["guarantee"]
    assert "microdata was published" in str(people.ledger.guarantee)
    assert boss.post("buckets/b", json=BUCKETS).json()["error"]["message"].startswith("there are buckets 'b' already")
    assert "published before" in boss.post("buckets/c", json=BUCKETS).json()["error"]["message"]
    assert boss.post("buckets/c", json={**BUCKETS, "again": True}).status_code == 202
    assert finished(boss, "c")["state"] == "done"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limits": "f*f"}, "not understood"),
        ({"limits": "0.1"}, "No table meets these limits"),
        ({"own": {"nobody": "0.5"}}, "no value 'nobody'"),
        ({"own": {"[0, 10)": "x"}}, "no finite number"),
        ({"columns": ["income"]}, "is sensitive"),
        ({"sensitive": "wealth"}, "no attribute"),
        ({"sizes": "many"}, "not understood at sizes"),
    ],
)
def test_what_makes_no_sense_whatever_the_rows_is_refused_before_anything_is_journalled(people, users, change, words):
    reply = users("boss", "custodian").post("buckets/b", json={**BUCKETS, **change})
    assert reply.status_code == 400
    assert words in reply.json()["error"]["message"], reply.text
    assert people.ledger.head.seq == 1


def test_why_rows_do_not_meet_their_limits_is_for_custodians_only(users):
    boss, ana = users("boss", "custodian"), users("ana")
    boss.post("buckets/b", json={**BUCKETS, "limits": "0.26"})
    job = finished(boss, "b")
    assert (job["state"], job["error"]["kind"]) == ("failed", "InvalidLimits")
    assert "/600" in job["error"]["message"]
    for seen in (ana.get("jobs/b").json(), ana.get("jobs").json()["jobs"][0]):
        assert seen["state"] == "failed"
        assert "600" not in json.dumps(seen["error"])
