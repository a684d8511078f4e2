"""A journal with bytes changed: it opens as it was, to the last unit spent, or is refused; nothing is ever refunded."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from discreet.errors import DiscreetError
from discreet.ledger.journal import ORIGIN, chained
from discreet.vault import Vault
from tests.trust.fuzzing import fuzz, mutated

SHARDS = 4
JOURNAL = "journal.sqlite"
WORDS = [b"charge", b"record", b"init", b"fact", b"refresh", b"erase", b"entries", b"SQLite format 3\0"]
WORDS += [bytes(16), b"\xff" * 16]
VOCABULARY = '{ } [ ] "cost" "content" "v":2 null true -1 1e999 "by" "values" [[ {{ "" "plan" "low" "laplace" , :'
JSON_WORDS = [*(word.encode() for word in VOCABULARY.split()), b"[" * 3000, b"9" * 5000, b'"\\ud800"']


@pytest.fixture
def home(folder, tmp_path):
    """A closed vault with charges, records, a fact and a refresh in its journal."""
    vault = Vault.init(tmp_path / "vault", table=folder / "people.parquet", domain=folder / "people.toml", epsilon=4,
                       neighbours="add-remove")  # fmt: skip
    vault.ask("SELECT COUNT(*) FROM people WHERE age < 30", scale=5)
    vault.ask("SELECT sex, COUNT(*), SUM(income) FROM people GROUP BY sex", scale=20)
    vault.facts.add("SELECT COUNT(*) FROM people", 600)
    vault.refresh()
    vault.ask("SELECT MEDIAN(age) FROM people", scale=20)
    vault.ledger.close()
    with closing(sqlite3.connect(vault.path / JOURNAL)) as journal:
        journal.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return vault.path


def damaged(whole: bytes, draw: Random, number: int) -> Iterator[bytes]:
    """Most with a few bytes changed in one place; some cut short, or with a piece of it elsewhere."""
    for place in range(number):
        match place % 8:
            case 0:
                yield whole[: draw.randrange(len(whole))]
            case 1:
                start, end, length = draw.randrange(len(whole)), draw.randrange(len(whole)), 1 << draw.randrange(13)
                yield whole[:start] + whole[end : end + length] + whole[start + length :]
            case _:
                start = draw.randrange(len(whole) - 64)
                yield whole[:start] + mutated(draw, whole[start : start + 64], WORDS, 2) + whole[start + 64 :]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_a_damaged_journal_opens_as_it_was_or_not_at_all(shard, home, amount, counted):
    whole, before = (home / JOURNAL).read_bytes(), Vault.open(home)
    head, spent = before.ledger.head, before.ledger.spent_max
    before.ledger.close()

    def reopen(data: bytes) -> None:
        for beside in (f"{JOURNAL}-wal", f"{JOURNAL}-shm"):
            (home / beside).unlink(missing_ok=True)
        (home / JOURNAL).write_bytes(data)
        vault = Vault.open(home)
        try:
            assert (vault.ledger.head, vault.ledger.spent_max) == (head, spent), "it opened as another one"
            list(vault.releases())
        finally:
            vault.ledger.close()

    ended = fuzz(damaged(whole, Random(shard), amount(150, 24_000)), reopen)
    counted(journals=ended.total(), refused=ended["refused"], refunds=0, crashes=0)


def forged(home: Path, draw: Random, number: int) -> Iterator[list[tuple[str, int | None, str]]]:
    """Entries of which one says something else; chained anew, as only the custodian could."""
    with closing(sqlite3.connect(home / JOURNAL)) as journal:
        entries = journal.execute("SELECT kind, charge, body FROM entries ORDER BY seq").fetchall()
    for _ in range(number):
        place = draw.randrange(len(entries))
        kind, charge, body = entries[place]
        text = mutated(draw, body.encode(), JSON_WORDS, 3).decode("utf-8", "replace")
        yield [*entries[:place], (kind, charge, text), *entries[place + 1 :]]


def test_a_forged_journal_is_read_or_refused(home, amount, counted):
    pristine = (home / JOURNAL).read_bytes()

    def reopen(entries: list[tuple[str, int | None, str]]) -> None:
        for beside in (f"{JOURNAL}-wal", f"{JOURNAL}-shm"):
            (home / beside).unlink(missing_ok=True)
        (home / JOURNAL).write_bytes(pristine)
        with closing(sqlite3.connect(home / JOURNAL)) as journal:
            journal.execute("PRAGMA synchronous = OFF")
            for (name,) in journal.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                journal.execute(f"DROP TRIGGER {name}")
            before = ORIGIN
            for kind, charge, body in entries:
                entry = chained(before, kind, charge, body)
                journal.execute("UPDATE entries SET body = ?, hash = ? WHERE seq = ?", (body, entry.hash, entry.seq))
                before = entry.receipt
            journal.commit()
        vault = Vault.open(home, accept_rollback=True)
        try:
            list(vault.releases())
            vault.budget()
        finally:
            vault.ledger.close()

    ended = fuzz(forged(home, Random(7), amount(150, 8_000)), reopen)
    counted(journals=ended.total(), refused=ended["refused"], crashes=0)


def test_a_journal_that_is_no_journal_is_refused(home, amount, counted):
    """Anything in the place of the journal, or beside it as a log that was never finished."""
    whole, draw = (home / JOURNAL).read_bytes(), Random(3)
    for turn in range(amount(20, 2_000)):
        beside = home / f"{JOURNAL}-wal"
        (home / JOURNAL).write_bytes(draw.randbytes(draw.randrange(5000)) if turn % 2 else whole)
        beside.write_bytes(draw.randbytes(draw.randrange(9000)))
        try:
            vault = Vault.open(home)
        except DiscreetError:
            continue
        assert json.dumps(vault.ledger.spent_max)
        vault.ledger.close()
    counted(journals=turn + 1, crashes=0)


def test_the_pristine_journal_opens_again(home, tmp_path):
    copied = shutil.copytree(home, tmp_path / "copy")
    assert Vault.open(copied).ledger.charges == Vault.open(home).ledger.charges == 3
