"""One release point: an answer is nobody's before its time slot is over, and everybody's from then on."""

import shutil
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from urllib.parse import urlencode

import pymysql
import pytest
from fastapi.testclient import TestClient
from starlette.routing import Route

from discreet.http_json import API
from discreet.release.gate import Gate
from discreet.release.underway import Underway
from discreet.server.app import create_app
from discreet.server.auth import add_user, allow_mysql
from discreet.server.desk import FrontDesk
from discreet.server.jobs import wait_for_jobs
from discreet.server.pace import Bucket
from discreet.server.wire import serving_mysql
from discreet.vault import Vault
from tests.hand_time import HandTime, held_reading
from tests.patience import PATIENCE
from tests.server.test_openapi import published

SLOT = 5.0
SQL = "SELECT sex, COUNT(*) FROM people WHERE age < 30 GROUP BY sex"
FRESH = {"sql": SQL, "scale": 20}
FREE = {"sql": "SELECT COUNT(*) FROM people", "scale": 100}
"""The published cube knows it."""
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def public_template(tmp_path_factory, people_template):
    """A vault that has published a cube and buckets, as "one"."""
    folder = tmp_path_factory.mktemp("slots")
    with pytest.MonkeyPatch.context() as here:
        here.setenv("XDG_STATE_HOME", str(folder))
        vault = Vault.open(shutil.copytree(people_template, folder / "vault"))
        published(vault)
    return vault.path


@pytest.fixture
def vault(tmp_path, public_template):
    return Vault.open(shutil.copytree(public_template, tmp_path / "public"))


@pytest.fixture
def time():
    return HandTime()


@pytest.fixture
def tokens(vault):
    allow_mysql(vault.path)
    roles = {"cat": "custodian", "ana": "analyst", "aud": "auditor", "ben": "analyst"}
    return {name: add_user(vault.path, name, role) for name, role in roles.items()}


@pytest.fixture
def apps(vault, time):
    """Two servers of one vault, each with a ledger of its own, as two worker processes have."""
    return [
        create_app(opened, slot=time.slots(SLOT), rate=0, deadline=None) for opened in (vault, Vault.open(vault.path))
    ]


@pytest.fixture
def client(tokens):
    def made(app, name):
        headers = {"Authorization": f"Bearer {tokens[name]}"}
        return TestClient(app, headers=headers, raise_server_exceptions=False)

    return made


@pytest.fixture
def pool(time):
    with ThreadPoolExecutor(8) as threads:
        yield threads
        time.move(1e6)  # where a test has failed, whoever still waits need not


def ask(client, body=FRESH):
    return client.post(f"{API}/ask", json=body)


NAMES = {"name": "one", "file": "datapackage.json"}
ADDRESSES = {
    f"{API}/budget/map": "?rows=sex&columns=income",
    f"{API}/cubes/{{name}}/cuboid": "?by=sex&by=income",
    f"{API}/log": "?user=ana",
    "/ask": f"?{urlencode({'sql': SQL, 'within': 60})}",
    "/": f"?{urlencode({'sql': SQL, 'within': 60})}",
    "/budget": "?across=age&down=sex",
}
"""What a page is asked for, where there is a choice."""
FREE_POSTS = {
    f"{API}/ask": [FREE, {"sql": SQL, "within": 1000}],
    f"{API}/explain": [FRESH, FREE],
    f"{API}/cubes/plan": [{"epsilon": 1, "cuboids": 1}],
    f"{API}/buckets/{{name}}/ask": [{"sql": "SELECT COUNT(*) FROM people WHERE age < 30"}],
    "/ask": [{"sql": SQL, "within": "1000"}],
    "/ask/explain": [{"sql": SQL, "within": "60"}],
}
"""What can be sent that spends nothing, and tells something."""
DEEDS = {f"{API}/cubes/{{name}}", f"{API}/buckets/{{name}}", f"{API}/facts", f"{API}/sulq/ask", f"{API}/users",
         f"{API}/users/{{name}}", f"{API}/users/{{name}}/token", "/buckets/publish", "/facts", "/users",
         "/users/edit", "/users/rotate", "/users/revoke", f"{API}/rows/{{name}}", "/history/keep",
         "/history/forget"}  # fmt: skip
"""What changes something, and tells no more than what it did."""


def routes(app, method):
    """The API's by its own description, which has all of them, and the pages."""
    described = [path for path, methods in app.openapi()["paths"].items() if method.lower() in methods]
    pages = [route.path for route in app.routes if isinstance(route, Route) and method in route.methods]
    return list(dict.fromkeys([*described, *pages]))


def everything_shown(app, client, charge):
    """Every page and every free reply that a server gives to custodians, analysts and auditors, by user and request.

    A route that is not in the tables above makes it fail: what it shows before a slot is over has to be thought about.
    """
    gets, posts = {}, {}
    for name in ("cat", "ana", "aud"):
        user = client(app, name)
        for path in routes(app, "GET"):
            address = path.format(**NAMES, charge=charge) + ADDRESSES.get(path, "")
            gets[name, address] = partial(user.get, address)
        for path in routes(app, "POST"):
            assert path in FREE_POSTS or path in DEEDS
            for body in FREE_POSTS.get(path, []):
                sent = {"json": body} if path.startswith(API) else {"content": urlencode(body), "headers": FORM}
                posts[name, f"{path} {body}"] = partial(user.post, path.format(**NAMES), **sent)
    assert {*routes(app, "DELETE"), *routes(app, "PATCH")} <= DEEDS
    return gets, posts


def sent(requests):
    replies = [{key: request() for key, request in of_app.items()} for of_app in requests]
    assert [key for of_app in replies for key, reply in of_app.items() if reply.status_code >= 500] == []
    return [{key: (reply.status_code, reply.content) for key, reply in of_app.items()} for of_app in replies]


def owner_sees(path):
    """What the owner's own processes see: the command line, Python, an audit."""
    vault = Vault.open(path)
    return list(vault.entries()), vault.budget(), [release.charge for release in vault.releases()], vault.ledger.head


def test_that_a_reading_is_over_shows_nowhere_before_its_slot_is(vault, apps, client, time, pool, monkeypatch):
    charge = vault.ledger.head.seq + 1
    gets, posts = zip(*(everything_shown(app, client, charge) for app in apps), strict=True)
    with held_reading(monkeypatch) as reading:
        answer = pool.submit(ask, client(apps[0], "ana"))
        assert reading.begun.wait(PATIENCE)
        # What is posted is logged, and pages show the log: so nothing is posted between the two looks at them.
        while_read = [*sent(posts), *sent(gets)]
        owner = owner_sees(vault.path)
        reading.over.set()
        time.until_sleeping(1)
        when_read = [*sent(gets), *sent(posts)]
        for one, other in zip(while_read, (*when_read[2:], *when_read[:2]), strict=True):
            # Pages that show the log have these very looks in it: some of them explain, and that is logged.
            # The metrics count them.
            told = (f"{API}/log", f"{API}/metrics", "/users", "/history")
            shown = [key for key in one if not key[1].startswith(told)]
            assert [key for key in shown if one[key] != other[key]] == []
        assert owner == owner_sees(vault.path)
        time.move(SLOT)
        assert answer.result().json()["kind"] == "measured"
    for before, after in zip(when_read, (*sent(gets), *sent(posts)), strict=True):
        changed = {
            address.partition("?")[0] for name, address in before if before[name, address] != after[name, address]
        }
        ends = ("/ledger", "/releases", f"/releases/{charge}", "/budget")
        if ("ana", f"{API}/describe") in before:
            assert changed >= {*ends, "/ask", *(f"{API}{end}" for end in ends)}
            assert before["ana", f"{API}/releases/{charge}"][0] == 404
            assert after["ana", f"{API}/releases/{charge}"][0] == 200
        else:
            assert {f"{API}/explain {FRESH}"} <= changed
    assert owner_sees(vault.path)[2][-1] == charge


def test_an_answer_takes_a_whole_number_of_slots_whatever_its_reading_takes(apps, client, time, pool, vault):
    ana = client(apps[0], "ana")
    for number, (took, slots) in enumerate([(0.0, 1), (0.7, 1), (4.9, 1), (5.1, 2), (14.0, 3)]):
        began, reading = time.now, held_reading(patching := pytest.MonkeyPatch())
        with reading as held:
            answer = pool.submit(ask, ana, {"sql": f"SELECT COUNT(*) FROM people WHERE age = {number}", "scale": 2})
            assert held.begun.wait(PATIENCE)
            time.move(took)
            held.over.set()
            time.until_sleeping(1)
            pending = vault.ledger.head.seq
            time.move(slots * SLOT - took - 0.001)
            time.until_sleeping(1)
            assert vault.budget().pending == (pending,)
            time.move(0.001)
            assert answer.result().json()["kind"] == "measured"
        patching.undo()
        assert time.now - began == pytest.approx(slots * SLOT)


def test_a_failure_after_the_charge_takes_its_slot_as_well(apps, client, time, pool, vault, monkeypatch):
    monkeypatch.setattr(Gate, "_noisy", lambda *_: 1 / 0)
    failed = pool.submit(ask, client(apps[0], "ana"))
    time.until_sleeping(1)
    assert not failed.done()
    time.move(SLOT)
    reply = failed.result()
    assert (reply.status_code, reply.json()["error"]["kind"]) == (503, "EngineError")
    assert vault.budget().pending == (vault.ledger.head.seq,)


def test_what_is_free_or_refused_waits_for_nothing(apps, client, time, vault):
    ana = client(apps[0], "ana")
    assert ask(ana, FREE).json()["cost"] == "0"
    assert ask(ana, FREE).json()["cost"] == "0"
    assert ask(ana, {"sql": "nonsense"}).status_code == 400
    assert ask(ana, {**FREE, "scale": "1/100"}).json()["kind"] == "derived"
    assert ask(client(apps[0], "aud")).status_code == 403
    assert (time.sleeping, vault.ledger.charges) == (0, 1)


def test_the_order_of_the_journal_does_not_depend_on_how_long_readings_take(apps, client, time, pool, vault):
    """A reading that is over at once, or at the end of its slot; and meanwhile somebody else makes charges."""
    orders = []
    for turn, early in enumerate((True, False)):
        start, others = vault.ledger.head.seq, []
        with held_reading(patching := pytest.MonkeyPatch()) as reading:
            slow = {"sql": f"SELECT COUNT(*) FROM people WHERE age = {50 + turn}", "scale": 2}
            answer = pool.submit(ask, client(apps[0], "ana"), slow)
            assert reading.begun.wait(PATIENCE)
            if early:
                reading.over.set()
                time.until_sleeping(1)
            for moment in range(3):
                time.move(1)
                other = {"sql": f"SELECT COUNT(*) FROM people WHERE age = {60 + 10 * turn + moment}", "scale": 2}
                others.append(pool.submit(ask, client(apps[1], "ben"), other))
                time.until_sleeping(moment + 1 + early)
            reading.over.set()
            time.until_sleeping(4)
            time.move(2)
            for done, asked in enumerate((answer, *others)):
                asked.result()
                time.until_sleeping(3 - done)
                time.move(1)
        patching.undo()
        entries = list(vault.ledger.entries(start))
        orders.append([(entry.kind, entry.charge and entry.charge - start) for entry in entries])
    assert orders[0] == orders[1]
    assert orders[0] == [*[("charge", None)] * 4, *(("record", number) for number in (1, 2, 3, 4))]


@contextmanager
def counted_waiting(monkeypatch):
    """How many threads wait for what others measure; a semaphore that each releases when it begins to."""
    waiting, poll = threading.Semaphore(0), Underway._poll

    def told(*arguments):
        waiting.release()
        poll(*arguments)

    with monkeypatch.context() as here:
        here.setattr(Underway, "_poll", told)
        yield waiting


@contextmanager
def over_mysql(vault, slots, token):
    listening = socket.create_server(("127.0.0.1", 0))
    with serving_mysql(FrontDesk(vault, Bucket(0), slots, deadline=None), listening):
        connection = pymysql.connect(host="127.0.0.1", port=listening.getsockname()[1], user="ben", password=token)
        with connection, connection.cursor() as cursor:
            cursor.execute("SET discreet_scale = 20")
            yield cursor


def test_the_same_question_meanwhile_waits_for_the_slot_and_is_charged_once(
    apps, client, time, pool, vault, tokens, monkeypatch
):
    """By another user, of another worker, over HTTP, in the console, over MySQL; of the whole and of a group of it."""
    slots, charges = time.slots(SLOT), vault.ledger.charges
    page = {"content": urlencode({"sql": SQL, "within": "60"}), "headers": FORM}
    with over_mysql(Vault.open(vault.path), slots, tokens["ben"]) as cursor, counted_waiting(monkeypatch) as waiting:
        first = pool.submit(ask, client(apps[0], "ana"))
        time.until_sleeping(1)
        group = {"sql": "SELECT COUNT(*) FROM people WHERE age < 30 AND sex = 'F'", "scale": 20}
        rougher = {**FRESH, "scale": 21}
        bodies = [(apps[0], FRESH), (apps[1], FRESH), (apps[1], group), (apps[0], rougher)]
        others = [pool.submit(ask, client(app, "ben"), body) for app, body in bodies]
        in_console = pool.submit(client(apps[1], "ben").post, "/ask", **page)
        in_mysql = pool.submit(cursor.execute, SQL)
        for _ in range(6):
            assert waiting.acquire(timeout=PATIENCE)
        assert not any(asked.done() for asked in (first, *others, in_console, in_mysql))
        assert (vault.ledger.charges, time.sleeping) == (charges + 1, 1)
        time.move(SLOT)
        answers = [asked.result().json() for asked in (first, *others)]
        in_mysql.result()
        from_mysql = cursor.fetchall()
    values = [row["value"] for row in answers[0]["rows"]]
    assert [answer["kind"] for answer in answers] == ["measured", *["derived"] * 4]
    for answer in (answers[1], answers[2], answers[4]):
        assert [row["value"] for row in answer["rows"]] == values
    assert answers[3]["value"] == values[0]
    assert [count for _, count in from_mysql] == values
    assert in_console.result().status_code == 200
    assert vault.ledger.charges == charges + 1


def test_who_asks_the_same_at_the_same_moment_is_charged_once(apps, client, time, pool, vault):
    """Nobody's charge is there yet when they decide: the lock of the plan tells them apart."""
    charges = vault.ledger.charges
    asked = [pool.submit(ask, client(apps[turn % 2], "ana")) for turn in range(6)]
    time.until_sleeping(1)
    time.move(SLOT)
    kinds = Counter(answer.result().json()["kind"] for answer in asked)
    assert kinds == {"measured": 1, "derived": 5}
    assert vault.ledger.charges == charges + 1


def test_a_sharper_question_is_not_waited_for(apps, client, time, pool, vault):
    charges = vault.ledger.charges
    asked = [pool.submit(ask, client(apps[0], "ana"))]
    time.until_sleeping(1)
    asked.append(pool.submit(ask, client(apps[1], "ben"), {**FRESH, "scale": 10}))
    time.until_sleeping(2)
    assert vault.ledger.charges == charges + 2
    time.move(SLOT)
    assert [answer.result().json()["kind"] for answer in asked] == ["measured"] * 2


def test_the_same_question_waits_where_the_first_took_the_last_of_the_budget(people, time, pool):
    all_of_it = {"sql": "SELECT COUNT(*) FROM people", "scale": "1/5"}
    tokens = [add_user(people.path, name, "analyst") for name in ("ana", "ben")]
    app = create_app(people, slot=time.slots(SLOT), rate=0, deadline=None)
    ana, ben = (TestClient(app, headers={"Authorization": f"Bearer {token}"}) for token in tokens)
    first = pool.submit(ask, ana, all_of_it)
    time.until_sleeping(1)
    same = pool.submit(ask, ben, all_of_it)
    near = pool.submit(ask, ben, {"sql": "SELECT COUNT(*) FROM people WHERE age > 0", "scale": 1})
    time.move(SLOT)
    assert [answer.result().json()["kind"] for answer in (first, same, near)] == ["measured", "repeated", "relaxed"]


def _asked(app, client):
    return client(app, "ana").post(f"{API}/ask", json=FRESH)


def _asked_in_the_console(app, client):
    return client(app, "ana").post("/ask", content=urlencode({"sql": SQL, "within": "60"}), headers=FORM)


def _cube_published(app, client):
    reply = client(app, "cat").post(f"{API}/cubes/two", json={"epsilon": 1, "cuboids": 1})
    wait_for_jobs(PATIENCE)
    return reply


@pytest.mark.parametrize("spend", [_asked, _asked_in_the_console, _cube_published])
def test_whatever_spends_is_recorded_at_the_end_of_a_slot(spend, apps, client, time, pool, vault):
    recorded = Counter(entry.kind for entry in vault.ledger.entries())["record"]
    done = pool.submit(spend, apps[0], client)
    time.until_sleeping(1)
    assert Counter(entry.kind for entry in vault.ledger.entries())["record"] == recorded
    if spend is _cube_published:
        job = client(apps[1], "ana").get(f"{API}/jobs/two").json()
        assert (job["state"], job["charge"]) == ("running", None)
        assert client(apps[1], "ana").get(f"{API}/cubes/two").status_code == 404
    time.move(SLOT)
    assert done.result().status_code < 300
    assert Counter(entry.kind for entry in vault.ledger.entries())["record"] == recorded + 1


def test_subsets_of_a_roster_are_counted_on_slots_too(make_vault, time, pool):
    party = make_vault("hospital")
    app = create_app(party, slot=time.slots(SLOT), rate=0, deadline=None)
    user = TestClient(app, headers={"Authorization": f"Bearer {add_user(party.path, 'ana', 'analyst')}"})
    body = {"predicate": "smoker", "subsets": ["everyone"]}
    asked = pool.submit(user.post, f"{API}/sulq/ask", json=body)
    time.until_sleeping(1)
    assert user.get(f"{API}/releases").json()["releases"] == []
    time.move(SLOT)
    assert asked.result().status_code == 200
    assert len(user.get(f"{API}/releases").json()["releases"]) == 1


def test_a_number_of_a_cube_that_is_being_published_is_waited_for(people, time, pool, monkeypatch):
    app = create_app(people, slot=time.slots(SLOT), rate=0, deadline=None)
    tokens = [add_user(people.path, name, role) for name, role in (("cat", "custodian"), ("ana", "analyst"))]
    cat, ana = (TestClient(app, headers={"Authorization": f"Bearer {token}"}) for token in tokens)
    assert ("age",) in people.cubes.plan(epsilon=1, cuboids=1).sources
    assert cat.post(f"{API}/cubes/two", json={"epsilon": 1, "cuboids": 1}).status_code == 202
    time.until_sleeping(1)
    with counted_waiting(monkeypatch) as waiting:
        body = {"sql": "SELECT COUNT(*) FROM people WHERE age = 7", "scale": 1000}
        asked = pool.submit(ask, ana, body)
        assert waiting.acquire(timeout=PATIENCE)
    time.move(SLOT)
    assert asked.result().json()["cost"] == "0"
    wait_for_jobs(PATIENCE)
    assert people.ledger.charges == 1
