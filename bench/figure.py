"""A figure: a measured number beside the bar it must clear."""

import importlib
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


def race(*works: Callable[[], object], repeats: int) -> list[float]:
    """The shortest seconds of each work. They take turns, so that what else the machine does disturbs all alike."""
    best = [float("inf")] * len(works)
    for _ in range(repeats):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def figures_of(name: str) -> list[Figure]:
    """All figures of a benchmark module."""
    return list(importlib.import_module(f"bench.{name}").figures())
