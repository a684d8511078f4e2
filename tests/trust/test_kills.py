"""kill -9 at every step of the gate, at any line and at any time, over threads and processes and both journals.

After each restart: no answer without its charge, nothing lost that was returned, the spend map as a replay has it.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import cycle
from pathlib import Path

import pytest

import discreet
import discreet.table.snapshot
from discreet.ledger import checkpoint, followed
from discreet.ledger.ledger import Ledger
from discreet.ledger.postgres import PostgresJournal
from discreet.ledger.sqlite import SQLiteJournal
from discreet.ledger.state import LedgerState
from discreet.release import archive
from discreet.release.archive import Archive
from discreet.release.gate import Gate
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault
from tests.trust.doomed import AtLine, AtStep, AtTime, Doom, Never, Place, Tell, begin, visited
from tests.trust.town import Town, ask_many, ask_one, check, is_entry, make_town, told_apart, write_people

JOURNALS = {"file": SQLiteJournal, "postgres": PostgresJournal}
SOURCE = Path(discreet.__file__).parent
GATE = frozenset(str(file) for room in ("release", "ledger") for file in (SOURCE / room).glob("*.py"))
"""Every line of these rooms is a place to die at."""


def step(owner: object, name: str, when: str = "after", kind: str | None = None) -> Callable[[str, int], AtStep]:
    """A step of the gate on a journal, the n-th time that it is come to."""

    def doom(journal: str, nth: int = 1) -> AtStep:
        where = JOURNALS[journal] if owner is SQLiteJournal else owner
        condition = {} if kind is None else {"condition": is_entry(kind)}
        return AtStep(where, name, when == "after", nth, **condition)

    return doom


# Each step, whether its question is then charged, and whether it is answered.
STEPS = {
    "before the charge": (step(Ledger, "charge", "before"), False, False),
    "in the charge's turn, before its entry": (step(SQLiteJournal, "append", "before", "charge"), False, False),
    "in the charge's turn, before the commit": (step(SQLiteJournal, "append", "after", "charge"), False, False),
    "charged": (step(Ledger, "charge"), True, False),
    "before the read": (step(Snapshot, "evaluate", "before"), True, False),
    "read": (step(Snapshot, "evaluate"), True, False),
    "noise added": (step(Gate, "_draw"), True, False),
    "the draw begun on disk": (step(archive.tempfile, "mkstemp"), True, False),
    "the draw synced": (step(os, "fsync"), True, False),
    "the draw named": (step(os, "rename"), True, False),
    "the draw saved": (step(Archive, "save"), True, False),
    "in the record's turn, before the commit": (step(SQLiteJournal, "append", "after", "record"), True, False),
    "recorded": (step(Ledger, "record"), True, True),
    "settled": (step(Archive, "settle"), True, True),
    "returned": (step(Gate, "measure"), True, True),
}


@pytest.fixture(params=["file", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def journal(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def new_town(
    request: pytest.FixtureRequest, journal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Town]:
    """Makes vaults whose journal is in a file, or in Postgres."""
    write_people(tmp_path)
    server = request.getfixturevalue("postgres") if journal == "postgres" else None
    if server is not None:
        monkeypatch.setenv("PGPASSWORD", server.password)
    return lambda name: make_town(tmp_path, name, server)


def ask_an_array(town: Town, tell: Tell) -> None:
    tell(ask_one(Vault.open(town.path), 2))


@pytest.mark.parametrize(("doom", "charged", "answered"), STEPS.values(), ids=STEPS.keys())
def test_a_kill_at_a_step_leaves_what_the_step_promises(
    new_town: Callable[[str], Town],
    journal: str,
    doom: Callable[[str, int], AtStep],
    charged: bool,
    answered: bool,
) -> None:
    town = new_town("vault")
    lines, killed = begin(partial(ask_an_array, town), doom(journal, 1)).told()
    assert (lines, killed) == ([], True)
    book = check(town, [])
    assert (len(book.charges), len(book.records)) == (charged, answered)


# Each step of a checkpoint, whether it is then in the journal, and whether the next to open the vault counts from it.
CHECKPOINT = {
    "before its turn": (step(LedgerState, "stated", "before"), False, False),
    "in its turn, before its entry": (step(SQLiteJournal, "append", "before", "checkpoint"), False, False),
    "in its turn, before the commit": (step(SQLiteJournal, "append", "after", "checkpoint"), False, False),
    "written, and not compared": (step(LedgerState, "_pass", "before"), True, False),
    "compared, and not kept": (step(followed, "keep_checkpoint", "before"), True, False),
    "kept": (step(followed, "keep_checkpoint"), True, True),
}


@pytest.mark.parametrize(("doom", "written", "kept"), CHECKPOINT.values(), ids=CHECKPOINT.keys())
def test_a_kill_at_a_checkpoint_leaves_it_whole_or_not_there_and_the_answer_recorded(
    new_town: Callable[[str], Town],
    journal: str,
    doom: Callable[[str, int], AtStep],
    written: bool,
    kept: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town = new_town("vault")
    monkeypatch.setattr(checkpoint, "EVERY", 1)
    lines, killed = begin(partial(ask_an_array, town), doom(journal, 1)).told()
    assert (lines, killed) == ([], True)
    with closing(Vault.open(town.path).ledger) as opened:
        assert (opened._followed.state.begun_at.seq > 0) == kept
        assert opened.untrue_checkpoints == []
    book = check(town, [])
    assert (len(book.charges), len(book.records)) == (1, 1)
    assert [kind for _, kind in book.notes].count("checkpoint") == written


def test_a_draw_that_was_left_by_two_kills_is_cleared_away(new_town: Callable[[str], Town], journal: str) -> None:
    town = new_town("vault")
    for work, doom in ((ask_an_array, "the draw saved"), (complete, "recorded")):
        assert begin(partial(work, town), STEPS[doom][0](journal, 1)).told()[1]
    assert len(list((town.path / "releases").iterdir())) == 2
    assert len(check(town, []).records) == 1


def complete(town: Town, _: Tell) -> None:
    Vault.open(town.path).complete()


def test_kills_anywhere_lose_nothing_that_was_returned_and_give_nothing_away(
    new_town: Callable[[str], Town],
    journal: str,
    amount: Callable[[int, int], int],
    counted: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoint, "EVERY", 5)
    chance = random.Random(journal)
    dooms = dooms_of(chance, journal, visited(partial(ask_many, new_town("first"), 0, 2, 3), GATE))
    wanted, kills, acknowledged, completed, places = amount(15, 500), 0, 0, 0, set()
    while kills < wanted:
        town, acks, number = new_town(f"vault{kills}"), [], 0
        for _ in range(20):  # rounds on one vault: its journal stays short
            children = []
            for doom in (next(dooms), next(dooms), Never()):
                children.append(begin(partial(ask_many, town, number, 2, 3), doom))
                number += 6
            for lines, killed in [child.told() for child in children]:
                returned, where = told_apart(lines)
                acks += returned
                completed += sum("completed" in ack for ack in returned)
                places.update(where)
                kills += killed
            if chance.random() < 0.5:  # else the next children find what these left
                completed += len(check(town, acks).pending)
            if kills >= wanted:
                break
        completed += len(check(town, acks).pending)
        acknowledged += len(acks)
    counted(kills=kills, lines_died_at=len(places), answers_returned=acknowledged, completed=completed, lost=0)


def dooms_of(chance: random.Random, journal: str, lines: list[Place]) -> Iterator[Doom]:
    """Ways to die, in turn: at each line that is ever run, at a named step, at any time."""
    places = sorted(set(lines))
    chance.shuffle(places)
    for file, line in cycle(places):
        yield AtLine(frozenset({file}), chance.randint(1, 3), line)
        yield AtLine(frozenset({file}), chance.randint(1, 6), line)
        yield chance.choice(list(STEPS.values()))[0](journal, chance.randint(1, 4))
        yield AtTime(chance.uniform(0.005, 0.3))
