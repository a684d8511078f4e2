"""Inputs by the million, and what every one of them has to pass: it ends, in bounded time and memory, in a value or in
a DiscreetError whose words hold nothing that they must not."""

import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.native import compiling
from tests.patience import PATIENCE

FIXTURES = Path(__file__).parents[1] / "fixtures" / "sql"
BUSY_SECONDS = 5.0
"""So long may one input keep the processor busy: not the clock, which others' work moves, and without the kernels that
have to be compiled for whoever is first."""
MOST_BYTES = 1 << 30
"""So much more address space than before may be taken, and so much more memory than before be in use."""
LONGEST_MESSAGE = 1000
DRIVERS_WORDS = (
    "Traceback",
    "duckdb.",
    "sqlite3.",
    "pyarrow",
    "numpy",
    "sqlglot",
    "mysql_mimic",
    "site-packages",
    ".py",
    "Binder",
    "Parser Error",
    "FROM clause",
    "Candidate",
    "delimited identifier",
    "INT32",
)
"""What shows that a library speaks, and not Discreet."""


class Hang(BaseException):
    """An input that takes too long. No `except Exception` may swallow it."""


class Loose(AssertionError):
    """An input that raised what nobody may raise, or said what nobody may say."""


def fuzz(
    inputs: Iterable[Any],
    feed: Callable[[Any], object],
    secrets: Sequence[str] = (),
    busy_seconds: float = BUSY_SECONDS,
) -> Counter[str]:
    """Feed every input, and say how many ended in what. Raises Loose, with the input, where one breaks the rules."""
    ended: Counter[str] = Counter()
    with _bounded_memory():
        for one in inputs:
            try:
                with within(busy_seconds):
                    feed(one)
                ended["taken"] += 1
            except DiscreetError as error:
                words = str(error)
                leak = next((secret for secret in (*DRIVERS_WORDS, *secrets) if secret in words), None)
                if leak is not None or not words or len(words) > LONGEST_MESSAGE:
                    raise Loose(f"{one!r:.2000}\n{type(error).__name__}: {words:.2000}") from error
                ended["refused"] += 1
            except (Exception, Hang) as error:
                raise Loose(f"{one!r:.2000}\n{type(error).__name__}: {error}") from error
    return ended


@contextmanager
def within(busy_seconds: float) -> Iterator[None]:
    """Raise Hang in a block that takes too long, and again until it is left."""
    compiled = compiling.seconds

    def hang(number: int, _: object) -> None:
        nonlocal compiled
        if number == signal.SIGPROF and compiling.seconds > compiled:
            compiled = compiling.seconds
            signal.setitimer(signal.ITIMER_PROF, busy_seconds, 1.0)
        else:
            raise Hang("it keeps the processor busy" if number == signal.SIGPROF else "it waits for something")

    before = [signal.signal(number, hang) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, busy_seconds, 1.0)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)


@contextmanager
def _bounded_memory() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_BYTES, hard))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert grown < MOST_BYTES, f"{grown:,} bytes more in use than before"


def mutated(draw: Random, seed: bytes, words: Sequence[bytes] = (), most_changes: int = 6) -> bytes:
    """The seed with a few changes: bytes flipped, put in, taken out, doubled, and words of the language put in."""
    data = bytearray(seed)
    for _ in range(draw.randrange(1, most_changes + 1)):
        place, length = draw.randrange(len(data) + 1), 1 << draw.randrange(6)
        match draw.randrange(7):
            case 0 if data:
                data[place % len(data)] ^= 1 << draw.randrange(8)
            case 1:
                data[place:place] = draw.randbytes(draw.randrange(1, 5))
            case 2:
                del data[place : place + length]
            case 3:
                data[place:place] = data[place : place + length] * draw.choice((1, 1, 2, 50))
            case 4:
                other = draw.randrange(len(data) + 1)
                data[place : place + length] = data[other : other + length]
            case 5:
                data[place:place] = draw.choice(NUMBERS)
            case _ if words:
                end = place + draw.choice((0, 0, length))
                data[place:end] = draw.choice(words)
    return bytes(data)


ODD_NUMBERS = """
0 -1 1e308 -1e309 NaN inf 9223372036854775808 18446744073709551616 4294967296 0.1 1e-400 1/0 99999999999 ٣ 00 0x7f 1_000
340282366920938463463374607431768211456 \ud7ff +1 .5 5. 1e 1e999999999 1e30918446744073709551616
"""
NUMBERS = [text.encode() for text in ODD_NUMBERS.split()]


ODD_JSON: tuple[Any, ...] = (
    None, True, -1, 0, 0.5, 2**63, 2**200, 1e308, float("nan"), "", "x", "1/0", "1e999999999", "../../etc/passwd",
    "/dev/zero", "\ud7ff", "9" * 5000, [], {}, [[]], [None] * 3, {"a": {}}, ["sex"] * 40, [["sex", 2**40]], [0] * 1000,
)  # fmt: skip


def change_json(body: Any, draw: Random) -> None:
    """Change something in a JSON value, as deep as chance has it."""
    keys = list(body) if isinstance(body, dict) else list(range(len(body)))
    if not keys:
        return
    key = draw.choice(keys)
    if isinstance(body[key], dict | list) and body[key] and draw.random() < 0.8:
        change_json(body[key], draw)
    elif draw.random() < 0.2:
        del body[key]
    else:
        body[key] = deepcopy(draw.choice(ODD_JSON))


def guided(target: str, seeds: Iterable[bytes], runs: int, folder: Path) -> None:
    """Let atheris choose so many inputs for a target of `coverage_guided.py`, in a process of its own, which libFuzzer
    ends by itself. Raises Loose with its last words where it found something."""
    pytest.importorskip("atheris", reason="atheris has no wheel for this machine")
    corpus = folder / "corpus"
    corpus.mkdir()
    for place, seed in enumerate(seeds):
        (corpus / str(place)).write_bytes(seed)
    command = [sys.executable, "-m", "tests.trust.coverage_guided", target, f"-runs={runs}", "-seed=20261115",
               f"-timeout={PATIENCE:.0f}", "-rss_limit_mb=2048", "-max_len=2048", "-len_control=0",
               "-print_final_stats=1",
               f"-artifact_prefix={folder}/", str(corpus)]  # fmt: skip
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Loose(done.stdout[-2000:] + done.stderr[-4000:])
    assert f"stat::number_of_executed_units: {runs}" in done.stderr
