"""Run every peer at every task, each in a process of its own, and judge what comes back."""

import json
import os
import platform
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.__main__ import machine
from bench.peers.environment import OUT, NotInstalled, Peer, interpreter
from bench.peers.judge import judge_counts, judge_marginals, judge_noise
from bench.peers.outcome import Attempt, Comparison, Outcome
from bench.peers.workload import Table, all_cuboids, pairs, people
from experiments.tables.tables import adult

ROOT = Path(__file__).parents[2]
RESULTS = OUT / "comparison.json"
LIMIT_SECONDS = 120.0
GRACE_SECONDS = 90
"""Beyond the limit, for starting, and for the cuboid or question that is under way. Then the process is ended."""
SMALLER_TASKS = 4
"""Draws and questions have that part of the limit: their medians need no more."""
PEOPLE = 10**6
MARGINALS = {"pairs": pairs, "cuboids": all_cuboids}
"""The tasks of which a part is worth having."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Tables:
    """What is asked about: Adult for cuboids, generated people for questions."""

    adult: Table
    people: Table


def tables(rows: int = PEOPLE) -> Tables:
    coded = adult()
    return Tables(Table(coded.domain.names, coded.sizes, coded.rows.astype("int32")), people(rows))


def compare(peers: Sequence[Peer], tables: Tables, limit_seconds: float, say: Say) -> Comparison:
    """A peer that does not install, or that fails, is said and left out; the others go on."""
    attempts = []
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables.adult.save(folder / "adult.npz")
        tables.people.save(folder / "people.npz")
        for peer in peers:
            say(f"{peer.title}: installing")
            attempts.append(attempt(peer, tables, folder, limit_seconds, say))
    date = datetime.now(UTC).date().isoformat()
    load = f"load {load_before:.1f} before the run and {os.getloadavg()[1]:.1f} at its end"
    where = f"{machine()}, {load}, Python {platform.python_version()}"
    return Comparison(where, date, limit_seconds, len(tables.people.rows), tuple(attempts))


def attempt(peer: Peer, tables: Tables, folder: Path, limit_seconds: float, say: Say) -> Attempt:
    outcomes: dict[str, Outcome] = {}
    failures: dict[str, str] = {}
    version = ""
    try:
        python = interpreter(peer)
    except NotInstalled as reason:
        return Attempt(peer.title, version, outcomes, dict.fromkeys(peer.tasks, f"does not install: {reason}"))
    for task in peer.tasks:
        say(f"{peer.title}: {task}")
        with tempfile.TemporaryDirectory(dir=folder) as name:
            lines, said = run(peer, python, task, folder, Path(name), limit_seconds)
            version = next((line["version"] for line in lines if "version" in line), version)
            results = [line for line in lines if not line.keys() & {"version", "done"}]
            if {"done": True} not in lines:
                failures[task] = said
            if results and (task in MARGINALS or task not in failures):
                outcomes[task] = judge(task, tables, results, Path(name) / "cuboids")
    return Attempt(peer.title, version, outcomes, failures)


def judge(task: str, tables: Tables, lines: list[dict[str, Any]], folder: Path) -> Outcome:
    if task == "noise":
        return judge_noise(lines)
    if task == "counts":
        return judge_counts(lines)
    return judge_marginals(tables.adult, MARGINALS[task](tables.adult), lines, folder)


def run(
    peer: Peer, python: str, task: str, tables: Path, folder: Path, limit_seconds: float
) -> tuple[list[dict[str, Any]], str]:
    """The lines that the worker printed, and what it said last where it ended badly."""
    for name in ("cuboids", "temporary", "state"):
        (folder / name).mkdir()
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "ignore",
        "TMPDIR": str(folder / "temporary"),
        "SPARK_LOCAL_DIRS": str(folder / "temporary"),
        "XDG_STATE_HOME": str(folder / "state"),  # receipts of vaults that are gone in a minute
    }
    table = tables / ("people.npz" if task == "counts" else "adult.npz")
    seconds = limit_seconds if task in MARGINALS else limit_seconds / SMALLER_TASKS
    arguments = [peer.tool, task, str(table), str(folder / "cuboids"), str(seconds)]
    with (folder / "lines").open("w+") as lines, (folder / "said").open("w+") as said:
        worker = subprocess.Popen(
            [python, "-m", "bench.peers.worker", *arguments],
            stdout=lines,
            stderr=said,
            stdin=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        failure = ended(worker, limit_seconds)
        lines.seek(0)
        said.seek(0)
        last = [line.strip() for line in said if line.strip()][-1:] or ["it ended without a word"]
        return whole_lines(lines.read()), failure or last[0]


def ended(worker: "subprocess.Popen[bytes]", limit_seconds: float) -> str:
    """Wait for it; nothing it started is left behind."""
    try:
        worker.wait(limit_seconds + GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        return f"ended after {limit_seconds + GRACE_SECONDS:.0f} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
    return ""


def whole_lines(text: str) -> list[dict[str, Any]]:
    """A worker that was ended may have left half a line."""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
