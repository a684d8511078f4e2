"""Fair shares and deadlines of a server: one user's requests hold up that user alone."""

import asyncio
import threading

import pytest
from fastapi.testclient import TestClient

from discreet.deadline import doing, still_wanted
from discreet.errors import DeadlinePassed, TooManyRequests, VaultError
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.server.desk import FrontDesk
from discreet.server.pace import Bucket
from discreet.server.run import Pace
from discreet.server.shares import Shares
from discreet.vault import Vault
from tests.patience import PATIENCE, wait_until

SQL = "SELECT age, COUNT(*) FROM people GROUP BY age"


def test_a_user_works_on_so_much_at_once_and_the_rest_waits_in_line():
    async def scene():
        shares = Shares(at_once=2, most=4)
        first, second = [await shares.turn("ana", None) for _ in range(2)]
        waiting = [asyncio.ensure_future(shares.turn("ana", None)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests, match="ana has 4 requests under way"):
            await shares.turn("ana", None)
        (await shares.turn("ben", None)).end()
        assert (shares.waiting(), [turn.done() for turn in waiting]) == (2, [False, False])
        first.give_back()  # it is charged
        first.give_back()
        third = await waiting[0]
        assert not waiting[1].done()
        with pytest.raises(TooManyRequests):
            await shares.turn("ana", None)
        first.end()
        assert not waiting[1].done()
        second.end()
        for turn in (third, await waiting[1]):
            turn.end()
        return shares

    assert asyncio.run(scene())._lines == {}


def test_who_gives_up_waiting_holds_nothing():
    async def scene():
        shares = Shares(at_once=1)
        first = await shares.turn("ana", None)
        with pytest.raises(DeadlinePassed, match="earlier requests"):
            await shares.turn("ana", 0.01)
        left = asyncio.ensure_future(shares.turn("ana", None))
        await asyncio.sleep(0)
        left.cancel()
        following = asyncio.ensure_future(shares.turn("ana", None))
        await asyncio.sleep(0)
        first.end()
        (await following).end()
        return shares

    assert asyncio.run(scene())._lines == {}


@pytest.fixture
def ana(people):
    """A client of an application with a deadline of no time at all."""
    token = add_user(people.path, "ana", "analyst")
    return TestClient(create_app(people, slot=0, rate=0, deadline=1e-9), headers={"Authorization": f"Bearer {token}"})


def test_what_takes_longer_than_the_deadline_is_told_so_and_nothing_is_spent(ana, people):
    head = people.ledger.head
    for path, body in (
        ("ask", {"sql": SQL, "scale": 30}),
        ("explain", {"sql": SQL, "scale": 30}),
        ("cubes/plan", {"epsilon": 1}),
    ):
        reply = ana.post(f"/api/v1/{path}", json=body)
        assert (reply.status_code, reply.json()["error"]["kind"]) == (504, "DeadlinePassed")
    assert people.ledger.head == head


def test_every_reply_states_the_deadline(people):
    token = add_user(people.path, "ana", "analyst")
    for deadline, stated in ((30.0, "30"), (2.5, "2.5"), (None, None)):
        client = TestClient(create_app(people, deadline=deadline), headers={"Authorization": f"Bearer {token}"})
        for path in ("/api/v1/me", "/api/v1/releases/7", "/budget"):
            assert client.get(path).headers.get("X-Deadline-Seconds") == stated


@pytest.mark.parametrize("deadline", [-1, 86_401, float("nan")])
def test_a_deadline_that_makes_no_sense_is_refused(deadline):
    with pytest.raises(VaultError):
        Pace(deadline=deadline)


def test_explaining_and_planning_without_end_hold_up_nobody_else(people, monkeypatch):
    """One analyst sends more than a pool of threads has; an auditor is answered meanwhile."""
    app, over, at_it = create_app(people, slot=0, rate=0, deadline=None), threading.Event(), []

    def explain(*_args, **_options):
        at_it.append(1)
        over.wait(PATIENCE)
        still_wanted()
        raise VaultError("in the end")

    monkeypatch.setattr(Vault, "explain", explain)
    tokens = [add_user(people.path, name, "analyst") for name in ("ana", "ben")]
    with TestClient(app) as client:

        def sent(path, token, body=None):
            headers = {"Authorization": f"Bearer {token}"}
            return client.post(path, json=body, headers=headers) if body else client.get(path, headers=headers)

        begun = [
            threading.Thread(target=sent, args=("/api/v1/explain", tokens[0], {"sql": SQL})) for _ in range(50)
        ]  # fmt: skip
        for thread in begun:
            thread.start()
        wait_until(lambda: app.state.desk.shares.waiting() == 48)
        assert len(at_it) == 2
        assert sent("/api/v1/budget", tokens[1]).status_code == 200
        assert sent("/api/v1/ask", tokens[1], {"sql": SQL, "scale": 30}).status_code == 200
        over.set()
        for thread in begun:
            thread.join(PATIENCE)
    assert len(at_it) == 50


def test_work_of_a_client_that_has_gone_is_stopped(people):
    async def scene():
        desk = FrontDesk(people, Bucket(0), deadline=None)
        add_user(people.path, "ana", "analyst")
        left = asyncio.Event()
        user = type("User", (), {"name": "ana"})()
        async with desk.turns.at_work(user, left.wait):
            still_wanted()
            left.set()
            while not doing.get()._gone.is_set():
                await asyncio.sleep(0)
            with pytest.raises(DeadlinePassed, match="nobody waits"):
                still_wanted()
        assert doing.get() is None

    asyncio.run(scene())
