"""A party behind HTTP, as the miner sees it; tests of the real server are with the server."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pytest

from discreet.errors import BudgetExceeded, PartyError
from discreet.mining.implication import implication
from discreet.mining.parties import party_of
from discreet.mining.remote import RemoteParty
from discreet.query.subset import Seeded, subset_from_json
from experiments.sulq.simulated import Population, SimulatedParty

TOKEN = "a-token"


class Served(BaseHTTPRequestHandler):
    """One simulated party, in the words of `discreet serve`."""

    party: SimulatedParty
    reply: tuple[int, Any] | None = None

    def do_GET(self) -> None:
        names = ("people", "roster", "trials", "queries_left", "guarantee")
        self.send(200, {name: getattr(self.party, name) for name in names})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            found = self.party.ask_subsets([subset_from_json(one) for one in asked["subsets"]], asked["predicate"])
        except BudgetExceeded as error:
            self.send(403, {"error": {"kind": "BudgetExceeded", "message": str(error)}})
            return
        counted = {"values": found.values.tolist(), "sizes": found.sizes.tolist()}
        self.send(200, {**counted, "receipt": "7:ab", "notes": ["as it says"]})

    def send(self, code: int, body: Any) -> None:
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            code, body = 401, "who are you?"
        code, body = self.reply or (code, body)
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "http://elsewhere.invalid/")
        self.end_headers()
        self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def served() -> Iterator[Any]:
    servers = []

    def serve(party: SimulatedParty, reply: tuple[int, Any] | None = None) -> str:
        handler = type("Handler", (Served,), {"party": party, "reply": reply})
        server = HTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def test_two_parties_are_mined_by_their_addresses(served):
    population = Population.of_two(1_000_000, 0.5, 0.4, 0.2)
    first, second = population.party(2000, 1000), population.party(2000, 1000)
    sides = [(party_of(served(party), TOKEN), name) for party, name in ((first, "alpha"), (second, "beta"))]
    found = implication(*sides, queries=300, confidence=0.999)
    assert found.gap.low <= 0.2 <= found.gap.high
    assert first.queries_left == second.queries_left == 700


def test_a_remote_party_answers_what_the_party_does(served):
    population = Population.of_two(1000, 0.5, 0.5, 0.1)
    remote = RemoteParty.at(served(population.party(2, 10)) + "/", TOKEN)
    assert (remote.people, remote.trials, remote.queries_left) == (1000, 2, 10)
    found = remote.ask_subsets([Seeded(1), Seeded(2)], "alpha")
    np.testing.assert_array_equal(found.sizes, population.counts([Seeded(1), Seeded(2)]).sum(axis=1))
    assert found.receipt == "7:ab"
    assert found.notes == ("as it says",)
    assert "a-token" not in repr(remote)


def test_a_partys_own_refusal_comes_through_in_its_words(served):
    remote = RemoteParty.at(served(Population.of_two(1000, 0.5, 0.5, 0.1).party(2, 1)), TOKEN)
    with pytest.raises(BudgetExceeded, match=r"127.0.0.1:\d+: 1 queries are left"):
        remote.ask_subsets([Seeded(1), Seeded(2)], "alpha")


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ((404, {"detail": "Not Found"}), "answers with 404"),
        ((401, "no"), "does not accept this token"),
        ((200, []), "not as `discreet serve` does"),
        ((200, {"people": 3}), "not as `discreet serve` does"),
        ((200, b"<html>"), "cannot be reached, or does not answer"),
        ((302, "over there"), "answers with 302"),
        ((500, {"error": {"kind": "SystemExit", "message": "run this"}}), "answers with 500"),
    ],
)
def test_a_server_of_another_kind_is_refused(served, reply, why):
    address = served(Population.of_two(1000, 0.5, 0.5, 0.1).party(2), reply)
    with pytest.raises(PartyError, match=why):
        party_of(address, TOKEN)


def test_answers_for_other_subsets_than_asked_are_refused(served):
    population = Population.of_two(1000, 0.5, 0.5, 0.1)
    good = RemoteParty.at(served(population.party(2)), TOKEN)
    for body in ({"values": [1], "sizes": [2]}, {"values": [1, 2]}, {"values": ["x", "y"], "sizes": [1, 2]}):
        liar = RemoteParty(served(population.party(2), (200, body)), 1000, good.roster, 2, "", TOKEN)
        with pytest.raises(PartyError):
            liar.ask_subsets([Seeded(1), Seeded(2)], "alpha")


@pytest.mark.parametrize("address", ["ftp://somewhere", "localhost:8801", "http://", "file:///etc/passwd"])
def test_an_address_is_http(address):
    with pytest.raises(PartyError, match="looks like http"):
        party_of(address)


def test_nobody_there_is_told_in_words():
    with pytest.raises(PartyError, match="cannot be reached"):
        party_of("http://127.0.0.1:9")
