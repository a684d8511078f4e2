"""Every mechanism of Discreet, put to the test against what it states: `discreet audit mechanisms`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet.empirical.catalogue import Case, catalogue
from discreet.empirical.evidence import FEWEST_RUNS, Evidence, audit
from discreet.errors import UnsupportedQuery
from discreet.ledger.guarantee import Neighbours
from discreet.progress import Progress, silent

RUNS = 20_000
"""Runs of the mechanism on either input, by default."""
MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class Audited:
    """A case with what was found."""

    mechanism: str
    inputs: str
    neighbours: Neighbours
    evidence: Evidence

    @property
    def holds(self) -> bool:
        return self.evidence.holds

    def to_json(self) -> dict[str, Any]:
        return {
            "mechanism": self.mechanism,
            "inputs": self.inputs,
            "neighbours": self.neighbours,
            **self.evidence.to_json(),
        }


def audit_mechanisms(runs: int = RUNS, only: str = "", progress: Progress = silent) -> Iterator[Audited]:
    """Audit the catalogue with so many runs of every input, fewer where they are slow; or only what is called so."""
    if not FEWEST_RUNS <= runs <= MOST_RUNS:
        raise UnsupportedQuery(f"runs is a number from {FEWEST_RUNS:,} to {MOST_RUNS:,}; more find smaller mistakes")
    cases = [case for case in catalogue() if only.casefold() in case.mechanism.casefold()]
    if not cases:
        names = "; ".join(dict.fromkeys(case.mechanism for case in catalogue()))
        raise UnsupportedQuery(f"no mechanism has {only!r} in its name; there are {names}")
    for place, case in enumerate(cases):
        progress(f"{case.mechanism}: {case.inputs}", place / len(cases))
        yield audit_case(case, runs)


def audit_case(case: Case, runs: int) -> Audited:
    first, second, stated = case.sample(max(runs // case.slower, FEWEST_RUNS))
    return Audited(case.mechanism, case.inputs, stated.neighbours, audit(first, second, stated))
