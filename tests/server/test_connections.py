"""Slow, half-open and many connections: they are closed in time, and keep nobody out."""

import contextlib
import os
import resource
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import pytest
import uvicorn

from discreet.server import listening
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.server.places import Places
from discreet.server.run import configured
from tests.patience import PATIENCE, wait_until
from tests.server.conftest import call, hung_up_on

pytestmark = pytest.mark.xdist_group("workers")


class Guest:
    def __init__(self, address, since, *, served=False, busy=False):
        self.address, self.since, self.served, self.busy, self.dropped = address, since, served, busy, False

    def waits(self):
        return None if self.busy else (self.served, self.since)

    def drop(self):
        self.dropped = True


def test_a_new_guest_takes_the_place_of_who_was_never_answered_then_of_the_oldest():
    places = Places(3)
    served, old, young = Guest("a", 0, served=True), Guest("b", 1), Guest("c", 2)
    for guest in (served, old, young):
        assert places.enter(guest)
    given_way = []
    for number in range(3):
        assert places.enter(Guest("d", 10 + number, busy=True))
        given_way.append([guest.dropped for guest in (served, old, young)])
    assert given_way == [[False, True, False], [False, True, True], [True, True, True]]
    assert len(places) == 3
    assert not places.enter(Guest("e", 20))


def test_one_address_has_a_part_of_the_places_and_a_proxy_has_all():
    for proxies, entered in (((), 8), (("10.0.0.0/8",), 20)):
        places = Places(20, proxies)
        assert sum(places.enter(Guest("10.1.2.3", number, busy=True)) for number in range(30)) == entered
        assert places.enter(Guest("10.2.0.0", 0)) == (not proxies)


def test_a_place_is_given_back_once():
    places, guest = Places(8), Guest("a", 0)
    places.enter(guest)
    places.leave(guest)
    places.leave(guest)
    assert (len(places), list(places)) == (0, [])


@pytest.fixture
def server(people, caplog):
    """A server of this process, on a thread; its address."""
    listening_socket = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(configured(create_app(people, slot=0, rate=0, deadline=None), 1))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening_socket]})
    thread.start()
    wait_until(lambda: running.started)
    yield ("127.0.0.1", listening_socket.getsockname()[1])
    running.should_exit = True
    thread.join(PATIENCE)
    assert not [record for record in caplog.records if record.exc_info]


def ended(client):
    """Whether the server has closed a connection, after what it had to say."""
    client.settimeout(PATIENCE)
    with contextlib.suppress(ConnectionError):
        while client.recv(65_536):
            pass
    return True


def test_half_heads_slow_bodies_and_silent_clients_are_hung_up_on(server, people, monkeypatch, caplog):
    token = add_user(people.path, "ana", "analyst")
    monkeypatch.setattr(listening, "SWEEP_SECONDS", 0.05)
    ask = f"POST /api/v1/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: 100\r\n\r\n"
    said = [b"", b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nX-Slow: ", ask.encode() + b'{"sql": ']
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(server)) for _ in range(30)]
        for number, client in enumerate(clients):
            client.sendall(said[number % 3])
        with monkeypatch.context() as hurried:  # once all are there, and for them alone
            hurried.setattr(listening, "SECONDS", {"head": 0.2, "body": 0.2, "answering": None, "sending": 0.2})
            assert all(ended(client) for client in clients)
    assert call(f"http://{server[0]}:{server[1]}", "/api/v1/me", token=token)[0] == 200
    lines = [record.getMessage() for record in caplog.records if record.name == "discreet.server"]
    assert lines
    assert len(lines) < len(clients)
    assert "took too long" in lines[0]


def test_a_client_that_does_not_read_its_reply_is_hung_up_on(server, people, monkeypatch):
    token = add_user(people.path, "ana", "analyst")
    monkeypatch.setattr(listening, "SECONDS", {"head": PATIENCE, "body": PATIENCE, "answering": None, "sending": 0.2})
    ask = f"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
    with socket.create_connection(server) as client:
        assert hung_up_on(client, ask * 1000)


def test_a_body_that_breaks_off_is_not_done(server, people):
    token = add_user(people.path, "keeper", "custodian")
    form = (
        b"POST /api/v1/users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: 200\r\n"
        % token.encode()
    )
    whole = b'{"name": "eve", "role": "custodian"}'
    with socket.create_connection(server) as client:
        client.sendall(form + b"\r\nContent-Type: application/json\r\n\r\n" + whole)
    reply = call(f"http://{server[0]}:{server[1]}", "/api/v1/users", token=token)
    assert [user["name"] for user in reply[1]["users"]] == ["keeper"]


@pytest.fixture
def poor(people):
    """`discreet serve` with 200 descriptors: its address, and the file that its complaints go to."""
    token = add_user(people.path, "ana", "analyst")
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", str(people.path)]
    command += ["--port", "0", "--deadline", "0"]
    words = people.path / "stderr"
    with words.open("wb") as complaints:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=complaints, text=True, env={**os.environ, "COLUMNS": "200"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200)),
        )  # fmt: skip
    address = next(line for line in process.stdout if "answers at" in line).split()[-1]
    yield address, token, words
    process.terminate()
    process.wait(PATIENCE)
    process.stdout.close()


def test_300_half_open_sockets_lock_nobody_out_of_a_server_with_200_descriptors(poor):
    address, token, words = poor
    place = (urlsplit(address).hostname, urlsplit(address).port)
    with contextlib.ExitStack() as stack:
        for number in range(300):
            client = stack.enter_context(socket.create_connection(place, timeout=PATIENCE))
            with contextlib.suppress(OSError):
                client.sendall(b"GET /api/v1/me HTTP/1.1\r\n" * (number % 2))
        question = {"sql": "SELECT COUNT(*) FROM people WHERE age < 50", "scale": 30}
        for _ in range(3):
            assert call(address, "/api/v1/me", token=token)[0] == 200
            assert call(address, "/api/v1/ask", question, token)[0] == 200
    said = words.read_text()
    assert "Traceback" not in said
    assert len(said.splitlines()) < 30
