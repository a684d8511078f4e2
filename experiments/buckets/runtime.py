"""The time that settings take, by pruning, and that of the integer program."""

import time
from collections.abc import Callable, Mapping
from functools import partial

from discreet.errors import UnsupportedQuery
from discreet.microdata.optimal import optimal_setting
from discreet.microdata.settings import two_size_setting
from experiments.buckets.plot import Lines
from experiments.buckets.setting import DEFAULT_THETA, MAX_SIZE, SECONDS, Counts, limits

REPEATS = 5

SEARCHES: Mapping[str, Callable[[Counts], object]] = {
    "No-pruning": lambda counts: _two_sizes(counts, "none"),
    "Loss-pruning": lambda counts: _two_sizes(counts, "loss"),
    "Full-pruning": lambda counts: _two_sizes(counts, "full"),
}


def run_times(tables: Mapping[float, Counts]) -> Lines:
    """The shortest of some runs of each search, in seconds, and one run of the integer program where it gets done."""
    for search in SEARCHES.values():
        search((1, 1))  # compile, or load
    lines = {
        name: {x: min(_seconds(partial(search, counts)) for _ in range(REPEATS)) for x, counts in tables.items()}
        for name, search in SEARCHES.items()
    }
    lines["Optimal"] = {}
    for x, counts in tables.items():
        try:
            lines["Optimal"][x] = _seconds(partial(_integer_program, counts))
        except UnsupportedQuery:
            continue
    return lines


def _two_sizes(counts: Counts, pruning: str) -> object:
    return two_size_setting(counts, limits(DEFAULT_THETA), max_size=MAX_SIZE, pruning=pruning)


def _integer_program(counts: Counts) -> object:
    return optimal_setting(counts, limits(DEFAULT_THETA), max_size=MAX_SIZE, seconds=SECONDS)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
