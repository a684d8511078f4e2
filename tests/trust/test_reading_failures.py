"""A reading that fails at any of its steps: what was charged is completed later, and nothing is told of the rows."""

import shutil
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.table import count, roster_bits
from discreet.table.arrange import HeldRows
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault
from tests.trust.publications import WORKS, prepare


@dataclass
class Counter:
    """Counts calls, and raises at one of them."""

    failing: int = 0
    calls: int = 0

    def count(self) -> None:
        self.calls += 1
        if self.calls == self.failing:
            raise FAILURES[self.calls % len(FAILURES)]

    def fail_at(self, call: int) -> None:
        self.calls, self.failing = 0, call


FAILURES = (OSError("row 17: secret"), MemoryError("secret"), ValueError("secret"))
STEPS = (
    (Snapshot, "column"),
    (count, "_add"),
    (count, "_inside"),
    (count, "cell_of_rows"),
    (count, "amounts"),
    (roster_bits, "in_region"),
    *((HeldRows, name) for name in ("counts", "order", "deal", "write")),
)
"""Everything that looks at rows."""


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Every step of a reading counts, and one of them fails."""
    counter = Counter()
    for holder, name in STEPS:
        whole = getattr(holder, name)

        def step(*args: object, whole: Any = whole) -> Any:
            counter.count()
            return whole(*args)

        monkeypatch.setattr(holder, name, step)
    return counter


ASKED = {
    "a count": lambda vault: vault.ask("SELECT COUNT(*) FROM people WHERE disease = 'flu'", scale=10),
    "groups": lambda vault: vault.ask("SELECT disease, COUNT(*) FROM people GROUP BY disease", scale=10),
    "a sum": lambda vault: vault.ask("SELECT SUM(place) FROM people WHERE smoker", scale=20),
    "an average": lambda vault: vault.ask("SELECT AVG(place) FROM people", scale=20),
    "a median": lambda vault: vault.ask("SELECT MEDIAN(place) FROM people", scale=20),
    "an array": lambda vault: vault.measure(vault.count(by=("place", "old")), scale=10),
}


@pytest.mark.parametrize("what", [*ASKED, "a cube", "statistics", "buckets"])
def test_a_reading_that_fails_at_any_step_spends_once_and_says_nothing_of_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: Counter, what: str
) -> None:
    prepare(what, tmp_path / "start")
    calls = 0
    while True:
        folder = tmp_path / str(calls)
        shutil.copytree(tmp_path / "start", folder)
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        failing.fail_at(calls + 1)
        try:
            do(what, folder)
            break  # it has fewer calls
        except DiscreetError as error:
            told = "".join(traceback.format_exception(error))
        failing.fail_at(0)
        assert "secret" not in told
        require_finished(what, folder)
        calls += 1
    assert calls


def do(what: str, folder: Path) -> None:
    if what in ASKED:
        ASKED[what](Vault.open(folder / "vault"))
    else:
        WORKS[what].do(folder)


def require_finished(what: str, folder: Path) -> None:
    """What was charged is completed and not charged again; what was not is done now."""
    if what in WORKS:
        do(what, folder)
        WORKS[what].require_whole(folder)
        return
    vault = Vault.open(folder / "vault")
    spent = vault.ledger.spent_max
    vault.complete()
    assert (vault.ledger.spent_max, vault.ledger.pending()) == (spent, [])
    ASKED[what](vault)
    assert len(list(vault.releases())) == vault.ledger.charges
