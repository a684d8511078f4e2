"""The processor time that settings of two sizes take: by pruning, and by the paper's integer programs."""

import time
from collections.abc import Callable, Mapping
from functools import partial

from discreet.microdata.settings import two_size_setting
from experiments.buckets.plot import Lines
from experiments.buckets.setting import DEFAULT_THETA, MAX_SIZE, Counts, limits
from experiments.buckets.two_size_program import OutOfTime, two_sizes_by_programs

RUNS = 100
"""As many as the paper's."""
SECONDS = 30
"""Of processor time: where the programs take longer, no larger table is tried."""

SEARCHES: Mapping[str, Callable[[Counts], object]] = {
    "No-pruning": lambda counts: _two_sizes(counts, "none"),
    "Loss-pruning": lambda counts: _two_sizes(counts, "loss"),
    "Full-pruning": lambda counts: _two_sizes(counts, "full"),
}


def run_times(tables: Mapping[float, Counts]) -> Lines:
    """Mean seconds of each search, and those of one run of the integer programs, up to the first that take too long."""
    for search in SEARCHES.values():
        search((1, 1))  # compile, or load
    lines = {
        name: {x: _seconds(partial(search, counts), RUNS) for x, counts in tables.items()}
        for name, search in SEARCHES.items()
    }
    lines["Optimal"] = {}
    for x, counts in tables.items():
        try:
            lines["Optimal"][x] = _seconds(
                partial(two_sizes_by_programs, counts, limits(DEFAULT_THETA), seconds=SECONDS)
            )
        except OutOfTime:
            break
    return lines


def _two_sizes(counts: Counts, pruning: str) -> object:
    return two_size_setting(counts, limits(DEFAULT_THETA), max_size=MAX_SIZE, pruning=pruning)


def _programs(counts: Counts) -> object:
    return two_sizes_by_programs(counts, limits(DEFAULT_THETA), seconds=SECONDS)


def _seconds(work: Callable[[], object], runs: int = 1) -> float:
    start = time.process_time()
    for _ in range(runs):
        work()
    return (time.process_time() - start) / runs
