"""The protocol, model-checked: the real vault, gate and ledger, in every interleaving of a few processes.

`protocol_promise.py` says what must hold, `protocol_world.py` what processes share, `protocol_process.py` how they are
stopped, `protocol_search.py` how all interleavings are gone through. A scope is searched to its end: until nothing new
can happen within so many operations, crashes and rollbacks.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.ledger.journal import ORIGIN, Entry, canonical, chained
from discreet.ledger.places import header_of
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.state import LedgerState
from discreet.vault import Vault
from tests.trust import protocol_real as real
from tests.trust.protocol_faults import FAULTS, GROWING_FAULTS, Fault
from tests.trust.protocol_process import Seams
from tests.trust.protocol_promise import RULES, Promise
from tests.trust.protocol_search import Scope, Search, Searched
from tests.trust.protocol_world import Books, World

DOMAIN = """\
name = "people"
[attributes.town]
kind = "category"
values = ["Arden", "Belmont"]
source = "a test"
"""
YEARS = """\
name = "people"
[attributes.town]
kind = "date"
low = 2021-01-01
high = 2023-12-31
period = "year"
grows = true
source = "a test, in which years stand where towns do"
"""
FIRST = SnapshotId(1, f"{0:016}")
STEPS = 200
"""More than any scope has."""

EVERYTHING = ("Arden", "half of Arden", "ask", "refresh", "complete")
SCOPES = {
    "two processes do anything, one dies": Scope((EVERYTHING,) * 2, STEPS, operations=1, crashes=1),
    "two processes, two things each": Scope((("Arden", "refresh"), ("Belmont", "complete")), STEPS, operations=2),
    "three processes, one dies": Scope((("Arden",), ("refresh",), ("complete",)), STEPS, operations=1, crashes=1),
    "three processes, two refresh": Scope((("ask",), ("refresh",), ("refresh",)), STEPS, operations=1),
    "questions beside a refresh": Scope((("Arden", "everybody", "each town"), ("refresh",)), STEPS, operations=(2, 1)),
    "charges of one turn beside a refresh": Scope(
        (("both at once", "too much at once"), ("refresh", "complete")), STEPS, operations=1, crashes=1
    ),
    "an erasure beside everything": Scope((("erase",), EVERYTHING), STEPS, operations=1, crashes=1),
    "an erasure between charges": Scope((("Arden", "erase"), ("half of Arden",)), STEPS, operations=(2, 1)),
    "questions beside an erasure": Scope((("ask", "everybody", "each town"), ("erase",)), STEPS, operations=(2, 1)),
    "what was set aside is drawn beside a charge and an erasure": Scope(
        (("set aside", "draw"), ("draw", "half of Arden", "erase")), STEPS, operations=(2, 1)
    ),
    "one who draws dies beside a refresh": Scope(
        (("set aside", "draw", "complete"), ("refresh",)), STEPS, operations=(2, 1), crashes=1
    ),
    "one process dies and an older journal is put back": Scope(
        (("Arden", "refresh", "complete"),), STEPS, operations=2, crashes=1, rollbacks=1
    ),
    "an older journal is put back under two": Scope(
        (("Arden", "refresh"), ("ask", "complete")), STEPS, operations=1, rollbacks=1
    ),
}
GROWING = {
    "an append beside a charge, one dies": Scope(
        (("append",), ("first year", "complete")), STEPS, operations=(1, 2), crashes=1
    ),
    "an append between charges": Scope(
        (("first year", "append"), ("half of the first year",)), STEPS, operations=(2, 1)
    ),
    "a new year is spent after an append": Scope((("append", "last year"), ("last year",)), STEPS, operations=(2, 1)),
    "questions beside an append": Scope((("each year",), ("append",)), STEPS, operations=(2, 1)),
    "an append beside a refresh": Scope((("append",), ("refresh with all rows",)), STEPS, operations=1, crashes=1),
    "two appends": Scope((("append",), ("append",)), STEPS, operations=1, crashes=1),
    "an older journal is put back over an append": Scope((("first year", "append"),), STEPS, operations=2, rollbacks=1),
}
SOAKED = {
    "two processes do anything, two things each": Scope((EVERYTHING,) * 2, STEPS, operations=2),
    "two processes do two things, one dies": Scope(
        (("Arden", "refresh"), ("ask", "complete")), STEPS, operations=2, crashes=1
    ),
    "two erasures between charges": Scope((("Arden", "erase"), ("erase", "half of Arden")), STEPS, operations=2),
    "an older journal is put back over an erasure": Scope(
        (("Arden", "erase", "complete"),), STEPS, operations=2, crashes=1, rollbacks=1
    ),
    "three processes do anything": Scope((("Arden", "ask"), ("refresh",), EVERYTHING), STEPS, operations=1, crashes=1),
    "an older journal is put back under two that may die": Scope(
        (("Arden", "ask"), ("refresh", "complete")), STEPS, operations=1, crashes=1, rollbacks=1
    ),
    "older journals are put back twice": Scope(
        (("Arden",), ("ask", "complete")), STEPS, operations=1, crashes=1, rollbacks=2
    ),
    "put back unseen": Scope((("Arden", "complete"), ("repeat",)), STEPS, operations=2, crashes=1, rollbacks=1),
}


@dataclass(frozen=True)
class Town:
    """A vault with all of its budget left, on disk and in memory."""

    home: Path
    limit: int

    @cached_property
    def _first(self) -> Entry:
        header = header_of(self.home / "journal.sqlite") | {"snapshot": FIRST.to_json()}
        return chained(ORIGIN, "init", None, canonical({"v": 1, "at": "2026-11-16T00:00:00+00:00", "content": header}))

    @property
    def beginning(self) -> World:
        return World((self._first.hash,), frozenset(), frozenset({FIRST}))

    def search(self, scope: Scope, rules: str = RULES) -> Search:
        books = Books(self._first)
        return Search(scope, books, self.home, Promise(books, self.limit, rules))


@pytest.fixture
def town(tmp_path: Path) -> Town:
    real.write_people(tmp_path / "people.parquet", 1)
    return _made(tmp_path, DOMAIN)


@pytest.fixture
def register(tmp_path: Path) -> Town:
    """A table that grows by years, of which the first is closed."""
    pq.write_table(pa.table({"person": [1], "town": ["2021-07-01"]}), tmp_path / "people.parquet")
    return _made(tmp_path, YEARS, through="2021")


def _made(tmp_path: Path, domain: str, **settings: str) -> Town:
    (tmp_path / "people.toml").write_text(domain)
    vault = Vault.init(
        tmp_path / "vault",
        table=tmp_path / "people.parquet",
        domain=tmp_path / "people.toml",
        neighbours="add-remove",
        epsilon=1,
        id="person",
        max_rows=1,
        **settings,  # type: ignore[arg-type]
    )
    vault.ledger.close()
    made = Town(vault.path, vault.ledger.budget.limit)
    assert made.beginning
    return made


Check = Callable[..., Searched]


@pytest.fixture
def searched(town: Town, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Searches a scope."""
    Seams(monkeypatch).put_in()
    return lambda scope, rules=RULES: town.search(scope, rules).run(town.beginning)


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES.keys())
def test_the_promise_holds_in_every_interleaving(scope: Scope, searched: Check, counted: Callable[..., None]) -> None:
    found = searched(scope)
    counted(states=found.states, transitions=found.transitions, journals=found.journals, steps=found.depth)
    assert found.wrong is None, str(found)
    assert found.depth < STEPS, "the scope was searched to its end"


@pytest.mark.parametrize("scope", GROWING.values(), ids=GROWING.keys())
def test_the_promise_holds_of_a_table_that_grows(
    scope: Scope, register: Town, monkeypatch: pytest.MonkeyPatch, counted: Callable[..., None]
) -> None:
    Seams(monkeypatch).put_in()
    found = register.search(scope).run(register.beginning)
    counted(states=found.states, transitions=found.transitions, journals=found.journals, steps=found.depth)
    assert found.wrong is None, str(found)
    assert found.depth < STEPS, "the scope was searched to its end"


@pytest.mark.parametrize("scope", SOAKED.values(), ids=SOAKED.keys())
def test_the_promise_holds_in_every_interleaving_of_more(
    scope: Scope, searched: Check, amount: Callable[[int, int], int], counted: Callable[..., None]
) -> None:
    """In `make test` to a depth, in `make soak` to the end."""
    found = searched(scope._replace(steps=amount(9, STEPS)))
    counted(states=found.states, transitions=found.transitions, journals=found.journals, steps=found.depth)
    assert found.wrong is None, str(found)


@pytest.mark.parametrize("name", ["questions beside a refresh", "one process dies and an older journal is put back"])
def test_the_promise_holds_with_a_checkpoint_after_every_record(
    name: str, searched: Check, counted: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are written, and compared by whoever comes upon them; nobody's vault is opened from one here."""
    monkeypatch.setattr("discreet.ledger.checkpoint.EVERY", 1)
    monkeypatch.setattr(LedgerState, "is_checkpoint_due", property(lambda state: state.head.seq > state._stated_at))
    found = searched(SCOPES[name])
    counted(states=found.states, transitions=found.transitions, journals=found.journals, steps=found.depth)
    assert found.wrong is None, str(found)


@pytest.mark.parametrize("fault", GROWING_FAULTS, ids=lambda fault: fault.name)
def test_a_fault_that_is_planted_in_appends_is_found(
    fault: Fault, register: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    Seams(monkeypatch).put_in()
    fault.plant(monkeypatch)
    for rule in fault.rules:
        found = register.search(fault.scope, rule).run(register.beginning)
        assert found.wrong is not None, f"rule {rule} does not find it in {found.states:,} states"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: Fault, searched: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """By every rule that it breaks; and the same scope without it is sound, or is part of one that is."""
    fault.plant(monkeypatch)
    for rule in fault.rules:
        found = searched(fault.scope, rule)
        assert found.wrong is not None, f"rule {rule} does not find it in {found.states:,} states"


def test_what_is_in_memory_does_what_files_do(
    town: Town, tmp_path: Path, amount: Callable[[int, int], int], counted: Callable[..., None]
) -> None:
    """Some ways through scopes without rollbacks, gone over real files: the same stops, effects, journal, folders."""
    chance, ways = Random(16), []
    with pytest.MonkeyPatch.context() as patch:
        Seams(patch).put_in()
        for scope in (scope for scope in SCOPES.values() if not scope.rollbacks):
            search = town.search(scope)
            ways += [(search, *real.walk(search, town.beginning, chance)) for _ in range(amount(8, 500))]
    for number, (search, moves, state) in enumerate(ways):
        with pytest.MonkeyPatch.context() as patch:
            home = Path(shutil.copytree(town.home, tmp_path / f"vault-{number}"))
            real.put_in(patch, tmp_path / "people.parquet")
            effects = real.follow(moves, len(search.scope.menus), home)
        _expect_same(search, search.world(state), effects, home)
        shutil.rmtree(home)
    counted(ways=len(ways), steps=sum(len(moves) for _, moves, _ in ways))


def _expect_same(search: Search, world: World, effects: list[tuple[Any, ...]], home: Path) -> None:
    journal, folders = real.outline_on_disk(home)
    assert real.told(effects) == real.told_of(world, search)
    assert journal == real.outline(search.books.entries[world.files[-1]])
    assert folders == {id.number for id in world.folders}
