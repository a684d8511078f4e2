"""Numbers for Prometheus: requests, how long they took, refusals, what waits, and the vault's account.

Everything in it is public, or about the server: nothing depends on a row but by what was released. Each worker counts
for itself, and says which one it is.
"""

import os
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from discreet.account import BudgetReport

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
EDGES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds, of the histogram of how long requests took."""
Labels = tuple[tuple[str, str], ...]


@dataclass
class Metrics:
    """What one process has counted."""

    _requests: "Counter[Labels]" = field(default_factory=Counter)
    _refusals: "Counter[Labels]" = field(default_factory=Counter)
    _took: dict[str, list[int]] = field(default_factory=dict)
    _seconds: "Counter[str]" = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, method: str, route: str, status: int, seconds: float, refused: str | None) -> None:
        """A request that is over; `route` is one of the server's own, not what a client wrote."""
        with self._lock:
            self._requests[("method", method), ("route", route), ("status", str(status))] += 1
            if refused is not None:
                self._refusals[(("kind", refused),)] += 1
            self._took.setdefault(route, [0] * (len(EDGES) + 1))[bisect_left(EDGES, seconds)] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]

    def text(self, budget: BudgetReport, gauges: Mapping[str, float]) -> str:
        """All of it as Prometheus reads it."""
        with self._lock:
            return "\n".join([*self._counted(), *_account(budget), *_gauges(gauges), ""])

    def _counted(self) -> Iterator[str]:
        worker = (("worker", str(os.getpid())),)
        yield from _head("discreet_requests_total", "counter", "Requests that are over, by route and status.")
        for labels, number in sorted(self._requests.items()):
            yield _line("discreet_requests_total", worker + labels, number)
        yield from _head("discreet_refusals_total", "counter", "Requests that were refused, by the kind of error.")
        for labels, number in sorted(self._refusals.items()):
            yield _line("discreet_refusals_total", worker + labels, number)
        yield from _head("discreet_request_seconds", "histogram", "How long requests took, by route.")
        for route, counts in sorted(self._took.items()):
            of_route, total = (*worker, ("route", route)), 0
            for edge, number in zip((*map(str, EDGES), "+Inf"), counts, strict=True):
                total += number
                yield _line("discreet_request_seconds_bucket", (*of_route, ("le", edge)), total)
            yield _line("discreet_request_seconds_sum", of_route, self._seconds[route])
            yield _line("discreet_request_seconds_count", of_route, total)


def _account(budget: BudgetReport) -> Iterator[str]:
    for name, words, value in (
        ("discreet_budget_spent", "What was spent where most was, in the vault's currency.", float(budget.spent)),
        ("discreet_budget_left", "What is left where least is.", float(budget.left)),
        ("discreet_charges", "Charges in the journal.", budget.charges),
        ("discreet_charges_pending", "Charges without an answer yet.", len(budget.pending)),
    ):
        yield from (*_head(name, "gauge", words), _line(name, (), value))


def _gauges(gauges: Mapping[str, float]) -> Iterator[str]:
    for name, value in gauges.items():
        yield _line(name, (("worker", str(os.getpid())),), value)


def _head(name: str, kind: str, words: str) -> tuple[str, str]:
    return f"# HELP {name} {words}", f"# TYPE {name} {kind}"


def _line(name: str, labels: Labels, value: float) -> str:
    written = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
    return f"{name}{{{written}}} {value:g}" if labels else f"{name} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
