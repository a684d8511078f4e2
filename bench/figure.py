"""A figure: a measured number beside the bar it must clear."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. `better` says on which side of the bar it must be."""

    name: str
    value: float
    bar: float
    better: Literal["higher", "lower"]
    unit: str
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.value >= self.bar if self.better == "higher" else self.value <= self.bar


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """The shortest of several timings: the one that other work on the machine disturbed least."""
    seconds = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds = min(seconds, time.perf_counter() - start)
    return seconds
