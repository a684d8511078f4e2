"""Which mutants are tried: a number of each room, spread over its files, more of them where privacy is decided."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from math import sqrt

from mutants.equivalent import EQUIVALENT
from mutants.mutant import PACKAGE, ROOT, Mutant
from mutants.operators import mutants_of

NUMBER = {
    "release": 32,
    "ledger": 44,
    "query": 28,
    "noise": 32,
    "answer": 34,
    "table": 32,
    "facts": 14,
    "lattice": 6,
    "refinement": 14,
    "cube": 32,
}

PRIVACY = {
    "release": {"gate", "purchase", "quantile", "choice", "archive"},
    "ledger": {
        *("ledger", "books", "state", "followed", "charge", "standing", "guarantee", "conversion"),
        *("budget", "squared_budget", "gaussian_price", "gaussian_conversion", "little_noise", "normal_tail"),
        *("grid", "own_spend", "spend", "checkpoint", "sqlite"),
    },
    "query": {"sensitivity", "residual", "plan", "query", "choice"},
    "noise": {"laplace", "gaussian", "binomial", "exponential", "bernoulli", "law", "deviation", "bits", "spread"},
    "answer": {"ask", "policy", "derive", "joint", "best", "known"},
    "table": {"unit", "take", "count", "roster", "coding", "tally"},
    "facts": {"generic", "account", "atoms"},
    "lattice": {"moves"},
    "refinement": {"rho"},
    "cube": {"noise_model", "measure", "publish", "interval", "plan", "planning"},
}
"""Files that decide what is read, charged, drawn and promised: three times as likely as others."""

ELSEWHERE = {"postgres", "postgres_live", "postgres_source", "spark"}
"""Files that only a server's tests reach (tests/engines): none of them is changed."""

KINDS = {"arguments swapped": 0.3, "off by one": 0.6, "filter dropped": 4, "function changed": 2, "and, or": 2}
"""How likely a kind is beside others: less where the first call fails, mostly, and more where there are few."""


def sampled(room: str, seed: int, number: int) -> list[Mutant]:
    """A room's mutants, at most one of a line: the same ones for a seed as long as the code is the same, and mostly the
    same after an edit, since each is drawn by its own content."""
    drawn: dict[tuple[str, int], Mutant] = {}
    for _, mutant in sorted(_ranked(room, seed), key=lambda pair: -pair[0]):
        if len(drawn) == number:
            break
        if (mutant.path, mutant.diff) not in EQUIVALENT:
            drawn.setdefault((mutant.path, mutant.line), mutant)
    return sorted(drawn.values(), key=lambda mutant: (mutant.path, mutant.start))


def _ranked(room: str, seed: int) -> Iterator[tuple[float, Mutant]]:
    """Mutants with their ranks: the highest u^(1/weight), u uniform, are a sample by weight [Efraimidis, Spirakis]."""
    for file in sorted((ROOT / PACKAGE / room).glob("*.py")):
        if file.stem in ELSEWHERE:
            continue
        mutants = mutants_of(f"{room}/{file.name}")
        for times, mutant in _numbered(mutants):
            # A file with four times as many places has twice as many mutants.
            weight = KINDS.get(mutant.kind, 1) * (3 if file.stem in PRIVACY[room] else 1) / sqrt(len(mutants))
            name = f"{seed} {mutant.path} {mutant.kind} {mutant.diff} {times}".encode()
            uniform = int.from_bytes(hashlib.sha256(name).digest()[:8]) / 2**64
            yield uniform ** (1 / weight), mutant


def _numbered(mutants: Iterable[Mutant]) -> Iterator[tuple[int, Mutant]]:
    """Mutants, each with how many before it look the same."""
    seen: Counter[str] = Counter()
    for mutant in mutants:
        yield seen[mutant.diff], mutant
        seen[mutant.diff] += 1
