"""One peer at one task, in the peer's interpreter: `python -m bench.peers.worker TOOL TASK TABLE FOLDER SECONDS`.

Prints one JSON object a line. Cuboids are saved in FOLDER, to be judged by whoever started this. After SECONDS no
further cuboid, question or batch of draws is begun.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import numpy as np

from bench.peers.workload import (
    DRAWS,
    EPSILON,
    NOISE_SCALE,
    QUESTIONS,
    WARM_UP,
    Table,
    all_cuboids,
    column,
    pairs,
    questions,
)

BATCH = 20_000
FEWEST = WARM_UP + 5
"""Questions that are asked however long they take: a median of less says nothing."""
FEW = 2
"""Questions that a small budget pays for, to see what comes after them."""

Lines = Iterator[dict[str, Any]]


def main() -> None:
    name, task, table, folder, seconds = sys.argv[1:]
    lines = own_stdout()
    tool = importlib.import_module(f"bench.peers.tools.{name}")
    print(json.dumps({"version": version(tool.PACKAGE)}), file=lines, flush=True)
    for line in TASKS[task](tool, Path(table), Path(folder), float(seconds)):
        print(json.dumps(line), file=lines, flush=True)
    print(json.dumps({"done": True}), file=lines, flush=True)


def own_stdout() -> TextIO:
    """What this process prints, with whatever a library prints sent to stderr."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return lines


def noise(tool: ModuleType, _table: Path, _folder: Path, seconds: float) -> Lines:
    """Draws of Laplace noise, in batches; their size says whether it is the noise that was asked for."""
    draw = tool.sampler(NOISE_SCALE)
    draw(10)
    batch = getattr(tool, "BATCH", BATCH)
    taken, draws, size = 0.0, 0, 0.0
    while draws < DRAWS and taken < seconds:
        drawn, once = timed(lambda: draw(batch))
        taken, draws, size = taken + once, draws + batch, size + float(np.abs(np.asarray(drawn, np.float64)).sum())
    yield {"draws": draws, "seconds": taken, "mean_size": size / draws, "kind": tool.NOISE}


def marginals(choose: Callable[[Table], list[int]]) -> Callable[[ModuleType, Path, Path, float], Lines]:
    def release(tool: ModuleType, path: Path, folder: Path, seconds: float) -> Lines:
        table = Table.load(path)
        masks = choose(table)
        released = tool.marginals(table, masks, EPSILON)
        taken = 0.0
        while taken < seconds:
            found, once = timed(lambda: next(released, None))
            if found is None:
                return
            taken += once
            mask, cells = found
            np.save(folder / f"{mask}.npy", np.asarray(cells, np.float64).reshape(table.shape(mask)))
            yield {"mask": mask, "seconds": once, "peak_bytes": peak_bytes()}

    return release


def counts(tool: ModuleType, path: Path, _folder: Path, seconds: float) -> Lines:
    """Questions one at a time, each with the same share of the budget; then more than a small budget pays for."""
    table = Table.load(path)
    age, income = column(table, "age"), column(table, "income")
    ask = tool.counts(table, EPSILON, QUESTIONS)
    taken = 0.0
    for asked, question in enumerate(islice(questions(), QUESTIONS), 1):
        reply, once = timed(lambda: ask(question))  # noqa: B023
        yield {"seconds": once, "error": abs(reply.value - question.counted(age, income)), "kind": reply.kind}
        taken += once
        if taken > seconds and asked >= FEWEST:
            break
    yield {"peak_bytes": peak_bytes()}
    yield {"after": budget_gone(tool, table), "budget": tool.BUDGET}


def budget_gone(tool: ModuleType, table: Table) -> str:
    """In the peer's words: what a question gets that the budget does not pay for any more."""
    ask = tool.counts(table, EPSILON / 10, FEW)
    asked = questions()
    for question in islice(asked, FEW):
        ask(question)
    try:
        reply = ask(next(asked))
    except Exception as refusal:
        return f"refused ({type(refusal).__name__})"
    return f"answered, {reply.kind}" if reply.kind else "answered all the same"


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def peak_bytes() -> int:
    """The most that this process and those it started ever had in memory, each by itself, added up."""
    session = os.getsid(0)
    return sum(_own_peak(int(entry.name)) for entry in Path("/proc").iterdir() if _of_session(entry, session))


def _of_session(entry: Path, session: int) -> bool:
    try:
        return entry.name.isdigit() and os.getsid(int(entry.name)) == session
    except OSError:
        return False


def _own_peak(process: int) -> int:
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)


TASKS = {"noise": noise, "pairs": marginals(pairs), "cuboids": marginals(all_cuboids), "counts": counts}

if __name__ == "__main__":
    main()
