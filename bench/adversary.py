"""The service under attack: what other users wait for while one analyst and somebody without a token do their worst."""

import json
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from socket import create_connection, socket
from threading import Event, Thread
from urllib.parse import urlsplit

from bench.figure import Figure
from bench.service import Load, _ask, _load, _questions, _request, _served
from discreet.demo.census import census_domain_path, write_census
from discreet.server.auth import add_user
from discreet.vault import Vault

PEOPLE = 100_000
OTHERS = 4
ASKED = 200
HALF_OPEN = 300
EXPLAINS = 42
HEAVY = "SELECT age, sex, region, education, COUNT(*), AVG(income) FROM people GROUP BY age, sex, region, education"
"""28,800 groups: the most that one statement may have, and half a minute to explain."""


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        os.environ["XDG_STATE_HOME"] = folder
        home = Path(folder)
        write_census(home / "people.parquet", PEOPLE)
        vault = Vault.init(
            home / "vault",
            table=home / "people.parquet",
            domain=census_domain_path(),
            epsilon=1000,
            neighbours="replace",
        )
        tokens = [add_user(vault.path, f"client-{number}", "analyst") for number in range(OTHERS)]
        bad = add_user(vault.path, "bad", "analyst")
        questions = _questions()
        address, _ = stack.enter_context(_served(vault.path))

        def others() -> Load:
            asked = [_ask(next(questions), tokens[number % OTHERS]) for number in range(ASKED)]
            return _load(address, asked, OTHERS)

        others()
        quiet = others()
        over = Event()
        attack = Thread(target=_attack, args=(address, bad, over))
        attack.start()
        busy = others()
        over.set()
        attack.join()
        ratio = busy.percentile(99) / quiet.percentile(99)
        note = f"p99 {1e3 * quiet.percentile(99):.0f} ms when quiet, {1e3 * busy.percentile(99):.0f} ms then; "
        note += f"medians {1e3 * _median(quiet):.0f} and {1e3 * _median(busy):.0f} ms"
        yield Figure("p99 of others under attack over the quiet one", ratio, 3, "lower", "×", note)
        lost = sum(reply.status != 200 for reply in (*quiet.replies, *busy.replies)) + len(vault.budget().pending)
        yield Figure("answers of others lost under attack", lost, 0, "lower", "")


def _median(load: Load) -> float:
    return statistics.median(reply.seconds for reply in load.replies)


def _attack(address: str, token: str, over: Event) -> None:
    """Half-open sockets, slow bodies and explanations that take for ever, again and again until it is over."""
    place = urlsplit(address)
    assert place.hostname is not None
    assert place.port is not None
    body = json.dumps({"sql": HEAVY, "within": 3000}).encode()
    explains = [_request("POST", "/api/v1/explain", body, token)] * EXPLAINS
    slow = _request("POST", "/api/v1/ask", b"x" * 100, token)[:-50]
    while not over.is_set():
        sockets: list[socket] = []
        for number in range(HALF_OPEN):
            sockets.append(create_connection((place.hostname, place.port)))
            _send(sockets[-1], slow if number % 2 else b"GET / HTTP/1.1\r\n")
        for asked in explains:
            sockets.append(create_connection((place.hostname, place.port)))
            _send(sockets[-1], asked)
        over.wait(5)
        for one in sockets:
            one.close()


def _send(client: socket, data: bytes) -> None:
    try:
        client.sendall(data)
    except OSError:
        return  # it was closed already


if __name__ == "__main__":
    for figure in figures():
        print(figure)
