"""SIGTERM ends a service, whoever holds on to it; what was charged is recorded, or can be completed."""

import json
import os
import signal
import socket
import subprocess
import sys
from itertools import islice
from urllib.parse import urlsplit

import pymysql
import pytest
from pymysql.constants import COMMAND

from discreet.server.auth import add_user, allow_mysql
from discreet.vault import Vault
from tests.patience import PATIENCE, wait_until
from tests.server.conftest import call

pytestmark = pytest.mark.xdist_group("workers")


@pytest.fixture
def started(people):
    """`discreet serve` with two workers and the MySQL port; answers leave on a grid of a minute."""
    allow_mysql(people.path)
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", str(people.path), "--port", "0",
               "--mysql-port", "0", "--workers", "2", "--slot", "60000", "--deadline", "0"]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    lines = [line.split()[-1] for line in islice((line for line in process.stdout if "answers at" in line), 2)]
    yield process, lines[0], urlsplit(lines[1])
    process.kill()
    process.wait()
    process.stdout.close()


def _request(token, body, length):
    head = f"POST /api/v1/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode() + body


def test_it_ends_while_clients_hold_on_and_answers_wait_for_their_slot(started, people):
    process, address, mysql = started
    token = add_user(people.path, "ana", "analyst")
    place = (urlsplit(address).hostname, urlsplit(address).port)
    assert call(address, "/api/v1/health")[0] == 200
    body = json.dumps({"sql": "SELECT COUNT(*) FROM people", "scale": 30}).encode()
    idle, half, waiting = (socket.create_connection(place) for _ in range(3))
    idle.sendall(f"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    assert b"200 OK" in idle.recv(4096)
    half.sendall(_request(token, body[:10], len(body)))
    waiting.sendall(_request(token, body, len(body)))
    client = pymysql.connect(host=mysql.hostname, port=mysql.port, user="ana", password=token)
    client._execute_command(COMMAND.COM_QUERY, "SELECT COUNT(*) FROM people WHERE age < 30")
    wait_until(lambda: people.ledger.charges >= 2)
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=PATIENCE)  # nobody lets go before that
    assert b"503" in waiting.recv(4096)  # and not 200, a minute after it was asked
    for held in (idle, half, waiting):
        held.close()
    client._force_close()
    # Its slot was not over, so nobody has seen it: it is drawn again, and nothing is charged again.
    again = Vault.open(people.path).ask("SELECT COUNT(*) FROM people", scale=30)
    assert (again.kind, again.cost) == ("repeated", 0)
    assert (people.ledger.charges, len(people.ledger.pending())) == (2, 1)
