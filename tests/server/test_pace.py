"""Rates and slots: how fast one user may ask, and when measured answers leave."""

import time

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import TooManyRequests, VaultError
from discreet.release.gate import Gate
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.server.pace import BURST_SECONDS, Bucket, until_slot
from discreet.server.run import Pace

FRESH = {"sql": "SELECT COUNT(*) FROM people WHERE age < 30", "scale": 20}
SLOT = 0.25


@given(st.floats(0, 100), st.floats(0.001, 10))
def test_an_answer_leaves_after_a_whole_number_of_slots_one_at_least(elapsed, slot):
    wait = until_slot(elapsed, slot)
    slots = (elapsed + wait) / slot
    assert wait >= 0
    assert slots == pytest.approx(round(slots), abs=1e-6)
    assert round(slots) >= 1
    assert wait <= slot * (1 + 1e-9)


def test_without_a_grid_nothing_waits():
    assert until_slot(0.3, 0) == 0


def test_a_bucket_lets_a_burst_through_and_then_a_rate():
    now = [0.0]
    bucket = Bucket(5, clock=lambda: now[0])
    for _ in range(5 * BURST_SECONDS):
        bucket.take("ana")
    with pytest.raises(TooManyRequests, match="ana asks faster than 5 times a second; wait 1 s"):
        bucket.take("ana")
    bucket.take("ben")
    now[0] = 0.2
    bucket.take("ana")
    with pytest.raises(TooManyRequests):
        bucket.take("ana")
    now[0] = 1000
    for _ in range(5 * BURST_SECONDS):
        bucket.take("ana")
    with pytest.raises(TooManyRequests):
        bucket.take("ana")


@pytest.mark.parametrize("pace", [{"rate": -1}, {"slot": -1}, {"slot": 61}, {"rate": float("nan")}])
def test_a_pace_that_makes_no_sense_is_refused(pace):
    with pytest.raises(VaultError):
        Pace(**pace)


def test_who_asks_too_fast_is_told_so_and_when_to_come_back(people):
    token = add_user(people.path, "ana", "analyst")
    client = TestClient(create_app(people, rate=0.01), headers={"Authorization": f"Bearer {token}"})
    replies = [client.get("/api/v1/describe") for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 429, 429]
    assert replies[-1].json()["error"]["kind"] == "TooManyRequests"
    assert 1 < int(replies[-1].headers["Retry-After"]) <= 100


@pytest.fixture
def client(people):
    people.gate.table()
    token = add_user(people.path, "ana", "analyst")
    app = create_app(people, slot=SLOT)
    return TestClient(app, headers={"Authorization": f"Bearer {token}"}, raise_server_exceptions=False)


def seconds(client, body):
    start = time.monotonic()
    reply = client.post("/api/v1/ask", json=body)
    return time.monotonic() - start, reply


def test_a_measured_answer_waits_for_its_slot_and_a_free_one_does_not(client):
    client.get("/api/v1/describe")  # the first request of all starts the threads
    took, reply = seconds(client, FRESH)
    assert reply.json()["kind"] == "measured"
    assert took >= SLOT
    free = min(seconds(client, FRESH)[0] for _ in range(3))
    assert free < SLOT
    refused = [seconds(client, {"sql": "nonsense"}) for _ in range(3)]
    assert [reply.status_code for _, reply in refused] == [400] * 3
    assert min(took for took, _ in refused) < SLOT


def test_a_slower_reading_waits_for_the_next_slot(client, monkeypatch):
    answer = Gate._answer

    def slow(*arguments):
        time.sleep(SLOT * 1.1)
        return answer(*arguments)

    monkeypatch.setattr(Gate, "_answer", slow)
    took, _ = seconds(client, FRESH)
    assert took >= 2 * SLOT


def test_a_failure_after_the_charge_waits_as_well(client, people, monkeypatch):
    monkeypatch.setattr("discreet.table.table.Table.evaluate", lambda *_: 1 / 0)
    took, reply = seconds(client, FRESH)
    assert reply.status_code == 503
    assert reply.json()["error"]["kind"] == "EngineError"
    assert took >= SLOT
    assert people.budget().pending == (2,)


def test_what_is_asked_over_mysql_counts_for_http_as_well(people):
    token, bucket = add_user(people.path, "ana", "analyst"), Bucket(1)
    client = TestClient(create_app(people, bucket=bucket), headers={"Authorization": f"Bearer {token}"})
    assert client.get("/api/v1/me").status_code == 200
    bucket.take("ana")  # as the MySQL port does for each statement
    assert client.get("/api/v1/me").status_code == 429
