"""Rates: how fast one user may ask."""

import pytest
from fastapi.testclient import TestClient

from discreet.errors import TooManyRequests, VaultError
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.server.pace import BURST_SECONDS, Bucket
from discreet.server.run import Pace


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
    client = TestClient(create_app(people, rate=0.01, deadline=None), headers={"Authorization": f"Bearer {token}"})
    replies = [client.get("/api/v1/describe") for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 429, 429]
    assert replies[-1].json()["error"]["kind"] == "TooManyRequests"
    assert 1 < int(replies[-1].headers["Retry-After"]) <= 100


def test_what_is_asked_over_mysql_counts_for_http_as_well(people):
    token, bucket = add_user(people.path, "ana", "analyst"), Bucket(1)
    client = TestClient(create_app(people, bucket=bucket, deadline=None), headers={"Authorization": f"Bearer {token}"})
    assert client.get("/api/v1/me").status_code == 200
    bucket.take("ana")  # as the MySQL port does for each statement
    assert client.get("/api/v1/me").status_code == 429
