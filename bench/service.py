"""The service under load: a server in a process of its own, 32 clients on the loopback in this one."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.figure import Figure
from discreet.demo.census import census_domain_path, write_census
from discreet.server.auth import add_user
from discreet.vault import Vault

PEOPLE = 1_000_000
CLIENTS = 32
WARM = 64
"""Questions before the clock starts: the table is held in memory from the 32nd on, and a server runs for long."""
FRESH = 960
REPEATS = 320
ROUNDS = 9
SCALE = 2000
SLOT_MS = 50
WORKERS = 1
"""More share the work where there are more cores than one for the server and one for the load."""
BROWSED = 60
CUBE_DOMAIN = "name = 'wide'\n" + "".join(
    f"[attributes.{name}]\nkind = 'integer'\nlow = 0\nhigh = {size - 1}\nsource = 'a bench'\n"
    for name, size in (("a", 100), ("b", 100), ("c", 100))
)


@dataclass(frozen=True)
class Reply:
    seconds: float
    status: int
    body: bytes


@dataclass(frozen=True)
class Load:
    """What so many clients got, all together in so many seconds."""

    seconds: float
    replies: list[Reply]

    @property
    def rate(self) -> float:
        return len(self.replies) / self.seconds

    @property
    def failures(self) -> int:
        return sum(reply.status >= 500 for reply in self.replies)

    @property
    def measured(self) -> int:
        return sum(json.loads(reply.body).get("kind") == "measured" for reply in self.replies)

    def percentile(self, percent: int) -> float:
        return statistics.quantiles([reply.seconds for reply in self.replies], n=100)[percent - 1]


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = folder
        home = Path(folder)
        write_census(home / "people.parquet", PEOPLE)
        yield from _asking(home)
        yield from _browsing(home)


def _asking(home: Path) -> Iterator[Figure]:
    vault = Vault.init(
        home / "vault", table=home / "people.parquet", domain=census_domain_path(), epsilon=1000, neighbours="replace"
    )
    tokens = [add_user(vault.path, f"client-{number}", "analyst") for number in range(CLIENTS)]
    questions = _questions()
    measured = 0
    failures = 0
    for slot, words in ((0, "no grid of time slots"), (SLOT_MS, f"on a grid of {SLOT_MS} ms")):
        with _served(vault.path, "--slot", str(slot), "--workers", str(WORKERS)) as (address, process):
            asked = [next(questions) for _ in range(FRESH)]
            warm = _load(address, [_ask(next(questions), tokens[0]) for _ in range(WARM)])
            trivial = [_load(address, [TRIVIAL] * REPEATS)]
            fresh = _load(address, [_ask(text, tokens[i % CLIENTS]) for i, text in enumerate(asked)])
            trivial.append(_load(address, [TRIVIAL] * REPEATS))
            measured += warm.measured + fresh.measured
            failures += warm.failures + fresh.failures
            usual = statistics.mean(load.rate for load in trivial)
            told = f"{fresh.rate:,.0f} and {usual:,.0f} a second; {PEOPLE:,} rows"
            what = f"fresh counts over a trivial route, {CLIENTS} clients, {words}"
            yield Figure(what, fresh.rate / usual, 0.3, "higher", "×", told)
            ratio = fresh.percentile(99) / fresh.percentile(50)
            note = f"p50 {1e3 * fresh.percentile(50):.0f} ms, p99 {1e3 * fresh.percentile(99):.0f} ms"
            yield Figure(f"p99 of fresh counts over p50, {words}", ratio, 5, "lower", "×", note)
            yield Figure(f"the most memory of a worker, {words}", _most_memory(process), 300, "lower", "MB")
            if not slot:
                repeats, failed = _repeats(address, asked[:CLIENTS], tokens)
                failures += failed
                yield repeats
    yield from _accounts(vault.path, measured, failures)


def _questions() -> Iterator[str]:
    """Counts that many analysts might ask: a span of ages and two more conditions, each question once."""
    draw, asked = np.random.default_rng(10), set[str]()
    while True:
        low, high = sorted(draw.integers(0, 99, 2).tolist())
        conditions = [
            f"sex = '{draw.choice(['F', 'M'])}'",
            f"region = '{draw.choice(['Arden', 'Belmont', 'Carrow', 'Dunmore'])}'",
            f"education = '{draw.choice(['none', 'primary', 'vocational', 'bachelor', 'postgraduate'])}'",
            f"income >= {draw.choice([10_000, 20_000, 30_000, 40_000, 60_000])}",
        ]
        first, second = draw.choice(conditions, 2, replace=False)
        where = f"age BETWEEN {low} AND {high} AND {first} AND {second}"
        if where not in asked:
            asked.add(where)
            yield f"SELECT COUNT(*) FROM people WHERE {where}"


def _repeats(address: str, asked: Sequence[str], tokens: Sequence[str]) -> tuple[Figure, int]:
    """Free answers and a trivial route, in turns, so that what else the machine does disturbs both; medians."""
    free = [_ask(asked[i % len(asked)], tokens[i % CLIENTS]) for i in range(REPEATS)]
    trivial = [TRIVIAL] * REPEATS
    rates: dict[str, list[float]] = {"free": [], "trivial": []}
    failed = 0
    for _ in range(ROUNDS):
        for name, requests in (("trivial", trivial), ("free", free)):
            load = _load(address, requests)
            rates[name].append(load.rate)
            failed += load.failures + sum(reply.status != 200 for reply in load.replies)
    usual, bar = statistics.median(rates["free"]), statistics.median(rates["trivial"])
    note = f"{usual:,.0f} and {bar:,.0f} a second"
    return Figure("repeated answers over a trivial route", usual / bar, 0.6, "higher", "×", note), failed


def _accounts(home: Path, measured: int, failures: int) -> Iterator[Figure]:
    """What the journal says afterwards: nothing overspent, every charge answered."""
    vault = Vault.open(home)
    budget = vault.budget()
    peaks = (charge.cost.peak for charge, _ in vault.ledger.answered() if charge.by is None)
    nobodys = sum(map(vault.ledger.budget.amount_of, peaks), Fraction())
    over = max(budget.spent - vault.ledger.budget.total, Fraction()) + nobodys
    yield Figure("spent beyond the budget, or in nobody's name", float(over), 0, "lower", "ε")
    lost = len(budget.pending) + abs(budget.charges - measured)
    yield Figure("answers lost", lost, 0, "lower", "", f"{budget.charges:,} charges")
    yield Figure("replies of 500 and above", failures, 0, "lower", "")


def _browsing(home: Path) -> Iterator[Figure]:
    """A cube of 10^6 cells in its base: every kind of view, the slowest of them."""
    draw = np.random.default_rng(1)
    pq.write_table(pa.table({name: draw.integers(0, 100, 100_000) for name in "abc"}), home / "wide.parquet")
    (home / "wide.toml").write_text(CUBE_DOMAIN)
    vault = Vault.init(
        home / "wide", table=home / "wide.parquet", domain=home / "wide.toml", epsilon=1, neighbours="replace"
    )
    (vault.path / "cubes").mkdir()
    vault.cubes.publish(vault.cubes.plan(epsilon=1)).save(vault.path / "cubes" / "c")
    token = add_user(vault.path, "ana", "analyst")
    views = [
        "",
        "/cuboid",
        "/cuboid?by=a",
        "/cuboid?by=a&by=b",
        "/cuboid?by=b&by=c&slice=a=7",
        "/cuboid?by=c&slice=b=3",
    ]
    with _served(vault.path) as (address, _):
        paths = [f"/api/v1/cubes/c{views[i % len(views)]}" for i in range(BROWSED)]
        browsed = _load(address, [_request("GET", path, b"", token) for path in paths], clients=1)
    slowest = max(browsed.replies, key=lambda reply: reply.seconds)
    assert all(reply.status == 200 for reply in browsed.replies)
    note = f"{len(slowest.body):,} bytes; the first one counts"
    yield Figure("slowest view of a cube of 10^6 cells", 1e3 * slowest.seconds, 200, "lower", "ms", note)


@contextmanager
def _served(home: Path, *options: str) -> Iterator[tuple[str, int]]:
    """A server, by its address and its process."""
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", str(home), "--port", "0"]
    environment = {**os.environ, "COLUMNS": "200"}
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield next(line for line in process.stdout if "answers at" in line).split()[-1], process.pid
        finally:
            process.terminate()


def _ask(sql: str, token: str) -> bytes:
    return _request("POST", "/api/v1/ask", json.dumps({"sql": sql, "scale": SCALE}).encode(), token)


def _request(method: str, path: str, body: bytes, token: str) -> bytes:
    head = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    head += ["Content-Type: application/json"] * bool(body) + [f"Authorization: Bearer {token}"] * bool(token)
    return "\r\n".join([*head, "", ""]).encode() + body


TRIVIAL = _request("GET", "/api/v1/health", b"", "")


def _most_memory(process: int) -> float:
    """MB that a server's process, or the largest of its workers, held at most at one time."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    statuses = [Path(f"/proc/{number}/status").read_text() for number in (process, *children)]
    return max(int(status.partition("VmHWM:")[2].split()[0]) for status in statuses) / 1000


def _load(address: str, requests: Sequence[bytes], clients: int = CLIENTS) -> Load:
    """Send every request once, each client the next one as soon as it has its answer."""
    place, waiting, replies = urlsplit(address), iter(requests), list[Reply]()

    async def client() -> None:
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        for request in waiting:
            start = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode().lower().split("\r\n")
            length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
            body = await reader.readexactly(length)
            replies.append(Reply(time.perf_counter() - start, int(lines[0].split()[1]), body))
        writer.close()

    async def everyone() -> None:
        await asyncio.gather(*(client() for _ in range(clients)))

    start = time.perf_counter()
    asyncio.run(everyone())
    return Load(time.perf_counter() - start, replies)
