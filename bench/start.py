"""From the start of a process to its end: the processor time of commands beside that of `import numpy`; and of work
that is left to Python beside that of loading Numba for it."""

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from bench.figure import Figure
from bench.ledger import state_home
from discreet.demo.census import census_domain_path, write_census
from discreet.vault import Vault

PEOPLE = 1_000_000
ROUNDS = 9
PEER = ["-c", "import numpy"]
DISCREET = ["-c", "from discreet.cli import main; main()"]
KNOWN = "SELECT COUNT(*) FROM people WHERE age BETWEEN 20 AND 50 AND income >= 40000"
TYPO = "SELECT COUNT(*) FROM people WHERE agee < 30"

BARS = {
    "ask, a fresh count": (8, "0.8 s"),
    "ask, a repeated count": (6, "0.6 s"),
    "ask, a typo refused": (6, "0.6 s"),
    "--version": (2.5, "0.25 s"),
    "--help": (2.5, "0.25 s"),
}
"""In times of `import numpy`, which takes 0.1 s, and in seconds."""

LITTLE = """
import time
import numpy as np
from discreet import native
from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.ledger.grid import GridSpend
from discreet.ledger.spend import Cost
from discreet.noise.bits import Bits
from discreet.noise.laplace import sample_laplace
axes = tuple(Integer(name=name, source="bench", low=0, high=99) for name in "abc")
grid, box, bits = GridSpend(Domain("t", axes), 2**60), Box((0, 20, 0), (59, 69, 89)), Bits()
native.expect_little()
grid.add(Cost(0, ((box, 1),)))
native._python.left = {steps}
started, rounds = time.process_time(), 0
while {going_on}:
    {work}
    rounds += 1
print(time.process_time() - started, rounds)
"""
WORKS = {
    "draws of noise": "sample_laplace(2000, 1000, bits)",
    "counts in a region": "grid.add(Cost(0, ((box, 1),)))",
}


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder, state_home(folder):
        vault = _vault(Path(folder))
        fresh = _fresh_questions()
        shortest = dict.fromkeys(["import numpy", *BARS], float("inf"))
        for _ in range(ROUNDS):
            ask = ["ask", str(vault), "--scale", "2000"]
            for name, arguments in {
                "import numpy": PEER,
                "ask, a fresh count": [*DISCREET, *ask, next(fresh)],
                "ask, a repeated count": [*DISCREET, *ask, KNOWN],
                "ask, a typo refused": [*DISCREET, *ask, TYPO],
                "--version": [*DISCREET, "--version"],
                "--help": [*DISCREET, "--help"],
            }.items():
                shortest[name] = min(shortest[name], _processor_seconds(arguments))
    numpy = shortest.pop("import numpy")
    for name, seconds in shortest.items():
        bar, absolute = BARS[name]
        note = f"{seconds:.2f} s of processor time, NumPy's {numpy:.2f} s, shortest of {ROUNDS}; the aim is {absolute}"
        yield Figure(f"{name}, to `import numpy`", seconds / numpy, bar, "lower", "×", note)
    yield from _little_figures()


def _little_figures() -> Iterator[Figure]:
    """What LITTLE steps take where Python does them, beside loading Numba and what it compiled of the same work."""
    for name, work in WORKS.items():
        by_python = LITTLE.format(steps="native.LITTLE", going_on="native._python.left > 50_000", work=work)
        compiled = LITTLE.format(steps=-1, going_on="rounds < 1", work=work)
        _printed(compiled)
        python, loading = (min(_printed(code) for _ in range(ROUNDS)) for code in (by_python, compiled))
        note = f"{python[0]:.2f} s for {python[1]:.0f} × {work.partition('(')[0]}, {loading[0]:.2f} s to load Numba"
        yield Figure(f"{name} by Python, to loading Numba", python[0] / loading[0], 1, "lower", "×", note)


def _printed(code: str) -> tuple[float, float]:
    """The two numbers that a Python process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second = map(float, done.stdout.split())
    return first, second


def _vault(home: Path) -> Path:
    """A vault over a census that has been asked one question, and has nothing left to compile."""
    write_census(home / "people.parquet", PEOPLE)
    given = {"domain": census_domain_path(), "epsilon": 1000, "neighbours": "replace"}
    vault = Vault.init(home / "vault", table=home / "people.parquet", **given)  # type: ignore[arg-type]
    vault.ask(KNOWN, scale=2000)
    vault.ledger.close()
    return home / "vault"


def _fresh_questions() -> Iterator[str]:
    lows = random.Random(1)
    for number in count():
        low = lows.randrange(50)
        yield f"SELECT COUNT(*) FROM people WHERE age BETWEEN {low} AND {50 + number} AND income >= 30000"


def _processor_seconds(arguments: list[str]) -> float:
    """The user and system time of a Python process with these arguments."""
    sleepy = {**os.environ, "OPENBLAS_THREAD_TIMEOUT": "20"}  # as commands have it: threads that wait do not count
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": sleepy}
    process = subprocess.Popen([sys.executable, *arguments], **quiet)  # type: ignore[call-overload]
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0  # it was waited for
    return used.ru_utime + used.ru_stime
