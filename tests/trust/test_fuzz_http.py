"""Requests that no client sends, to the application itself, without a socket: an answer, or a refusal of one shape."""

import asyncio
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import pytest

from discreet.http_json import API
from discreet.server.app import create_app
from discreet.server.auth import add_user
from discreet.vault import Vault
from tests.trust.fuzzing import LONGEST_MESSAGE, Loose, change_json, fuzz, mutated
from tests.trust.sql_grammar import statement

SHARDS = 4
STATUSES = {200, 201, 202, 400, 401, 403, 404, 405, 409, 413}
"""Never 500, which is a crash, nor 503, which is a disk, a journal or a table that fails."""
COUNT = "SELECT COUNT(*) FROM people WHERE age < 30"
BODIES: dict[str, list[Any]] = {
    "/ask": [{"sql": COUNT, "scale": 10}, {"sql": COUNT, "within": "50", "confidence": 0.9},
             {"sql": COUNT, "within": 1e4},
             {"sql": "SELECT sex, AVG(income) FROM people GROUP BY sex", "scale": "1/3"}],
    "/explain": [{"sql": COUNT}, {"sql": COUNT, "scale": 1e3, "within": None, "confidence": "0.99"}],
    "/cubes/plan": [{"epsilon": "0.5", "cuboids": 2, "dimensions": ["sex", "income"]},
                    {"epsilon": 1, "cuboids": [["sex"], []], "dimensions": ["sex", "income"], "weights": {"sex": 3},
                     "objective": "weighted", "planner": "bmaxg"},
                    {"epsilon": 1, "dimensions": ["sex"], "expected": {"sex": 100, "others": 4}, "bound": 3.5}],
    "/cubes/c": [{"charge": 99}, {"charge": 99, "consistent": False}],
    "/facts": [{"sql": COUNT, "value": 3}, {"cuboid": ["sex"], "values": [1, 2, 3]}],
    "/sulq/ask": [{"predicate": "age > 3", "subsets": [{"seed": 7, "rate": "1/2"}, "everyone", {"ids": ["1"]}]}],
    "/buckets/b/ask": [{"sql": COUNT, "confidence": 0.9}],
    "/buckets/b": [{"sensitive": "sex", "limits": "min(1, 2*f)", "columns": ["age"], "max_size": 3}],
    "/users": [{"name": "eve", "role": "auditor", "quota": None, "expires": "30d"}],
}  # fmt: skip
LOOKS = [
    "/describe", "/me", "/budget", "/budget/map?rows=age&columns=sex", "/ledger?after=0&limit=3", "/openapi.json",
    "/log?user=ada&limit=2", "/releases?after=1&limit=5", "/releases/2", "/facts", "/sulq", "/jobs", "/jobs/x",
    "/cubes", "/cubes/x", "/buckets/x", "/cubes/x/cuboid?dimensions=sex&slice=a", "/health", "/users", "/nowhere",
    "/cubes/x/download",
]  # fmt: skip
VOCABULARY = """ " { } [ ] : , null 1e999 \\ud800 "sql" NaN -0 """
WORDS = [*(word.encode() for word in VOCABULARY.split()), b"[" * 2000, b"\xff"]
URL_VOCABULARY = "%00 %2e%2e%2f ../ // %ff ? & = % %F0%9F%98%80 * limit= after=-1"
URL_WORDS = [word.encode() for word in URL_VOCABULARY.split()]


@dataclass(frozen=True)
class Sent:
    """One request."""

    method: str
    path: str
    token: str
    body: bytes
    kind: bytes = b"application/json"


@dataclass(frozen=True)
class Served:
    """An application, and a custodian's and an analyst's token for it."""

    app: Any
    vault: Vault
    tokens: tuple[str, str]


@pytest.fixture
def served(folder):
    """With a budget that is gone after the first few questions."""
    vault = Vault.init(folder / "vault", table=folder / "people.parquet", domain=folder / "people.toml", epsilon="1/2",
                       neighbours="replace")  # fmt: skip
    tokens = add_user(vault.path, "ada", "custodian"), add_user(vault.path, "bob", "analyst")
    return Served(create_app(vault, slot=0, rate=0, deadline=None), vault, tokens)


def requests(served: Served, draw: Random, number: int) -> Iterator[Sent]:
    """Bodies with a value or a few bytes changed; paths and queries with a few; some with other tokens or kinds."""
    for turn in range(number):
        token = draw.choice(served.tokens)
        if turn % 4 == 3:
            path = mutated(draw, draw.choice(LOOKS).encode(), URL_WORDS, 3).decode("latin-1")
            yield Sent(draw.choice(("GET", "GET", "GET", "HEAD", "DELETE", "PUT")), path, token, b"")
            continue
        path = draw.choice(("/ask", "/explain", *BODIES))
        body = deepcopy(draw.choice(BODIES[path]))
        if turn % 4 == 0:
            change_json(body, draw)
        elif "sql" in body:
            body["sql"] = statement(draw).replace("education", "sex").replace("wealth", "income")
        data = json.dumps(body).encode("utf-8", "surrogatepass")
        if turn % 4 == 1:
            data = mutated(draw, data, WORDS, 3)
        yield Sent(
            "POST",
            path,
            token if draw.random() < 0.95 else mutated(draw, token.encode()).decode("latin-1"),
            data,
            draw.choice((b"application/json",) * 8 + (b"text/plain", b"", b"multipart/form-data; boundary=x", b"\xff")),
        )


async def reply(app: Any, sent: Sent) -> tuple[int, bytes]:
    """Status and body of one request."""
    path, _, query = (API + sent.path).partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": sent.method,
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": quote(path).encode(),
        "query_string": query.encode("utf-8", "replace"),
        "root_path": "",
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
        "headers": [
            (b"authorization", b"Bearer " + sent.token.encode("utf-8", "replace")),
            (b"content-type", sent.kind),
        ],
    }
    incoming = iter([{"type": "http.request", "body": sent.body, "more_body": False}])
    outgoing: list[Any] = []

    async def receive() -> Any:
        if (message := next(incoming, None)) is None:
            await asyncio.Event().wait()  # the client stays until it has its reply
        return message

    async def send(message: Any) -> None:
        outgoing.append(message)

    await app(scope, receive, send)
    return outgoing[0]["status"], b"".join(message.get("body", b"") for message in outgoing[1:])


def checked(served: Served, loop: asyncio.AbstractEventLoop, secrets: tuple[str, ...]) -> Callable[[Sent], None]:
    def feed(sent: Sent) -> None:
        status, body = loop.run_until_complete(reply(served.app, sent))
        if status not in STATUSES:
            raise Loose(f"{status}: {body[:500]!r}")
        if status >= 400 and sent.method != "HEAD":
            error = json.loads(body)["error"]
            message = str(error["message"])
            assert set(error) == {"kind", "message"}
            assert len(message) <= LONGEST_MESSAGE
            assert not any(secret in message for secret in secrets), message

    return feed


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_request_crashes_hangs_or_tells(shard, served, amount, counted):
    limit = served.vault.ledger.budget.limit  # before any fact lowers it, below what was spent if need be
    secrets = (str(served.vault.path), "people.parquet", "Traceback", "duckdb", *served.tokens)
    with asyncio.Runner() as runner:
        feed = checked(served, runner.get_loop(), secrets)
        ended = fuzz(requests(served, Random(shard), amount(150, 25_000)), feed)
    counted(requests=ended.total(), crashes=0, hangs=0)
    assert served.vault.ledger.spent_max <= limit
