"""A small vault with its journal in a file or in Postgres, the questions that children ask it, and what must hold."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.answer.estimate import Estimate
from discreet.release.release import Release
from discreet.vault import Vault
from tests.trust.doomed import Tell, in_threads
from tests.trust.replay import Book, lines_of_file, lines_of_postgres, replayed

DOMAIN = """\
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "registry"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "questionnaire"
[attributes.place]
kind = "integer"
low = 0
high = 49
source = "registry"
"""
SIZES = (100, 2, 50)
SCALE = 20
Ack = dict[str, Any]


def write_people(folder: Path) -> None:
    rows = range(600)
    columns = {"age": [i % 100 for i in rows], "sex": ["FM"[i // 7 % 2] for i in rows], "place": [i % 50 for i in rows]}
    pq.write_table(pa.table(columns), folder / "people.parquet")
    (folder / "people.toml").write_text(DOMAIN)


@dataclass(frozen=True)
class Town:
    """A vault's place, and how to read its journal without Discreet."""

    path: Path
    limit: int
    lines: Callable[[], list]

    def book(self) -> Book:
        return replayed(self.lines(), SIZES, self.limit)


def make_town(folder: Path, name: str, server: Any = None, epsilon: int = 100_000) -> Town:
    table, domain = folder / "people.parquet", folder / "people.toml"
    ledger = None if server is None else server.ledger()
    vault = Vault.init(
        folder / name, table=table, domain=domain, neighbours="add-remove", epsilon=epsilon, ledger=ledger
    )
    lines = (
        partial(lines_of_file, vault.path / "journal.sqlite")
        if server is None
        else partial(lines_of_postgres, server, vault.ledger.vault_id)
    )
    vault.ledger.close()
    return Town(vault.path, vault.ledger.budget.limit, lines)


def sql_of(number: int) -> str:
    """A question of its own for each number below 9,900: no other answer is as sharp for it."""
    low, rest = divmod(number % 9900, 99)
    high, sex = min(99, low + 1 + rest // 2), "FM"[rest % 2]
    return f"SELECT COUNT(*) FROM people WHERE age BETWEEN {low} AND {high} AND sex = '{sex}' AND place >= {rest % 50}"


def digest(release: Release) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(a.units).tobytes() for a in release.answers)).hexdigest()


def ask_one(vault: Vault, number: int) -> Ack:
    """Ask something, in turn: a number in SQL, a group of numbers, an array that goes to the archive."""
    match number % 3:
        case 0:
            sql = sql_of(number)
            [row] = vault.ask(sql, scale=SCALE).rows
            assert isinstance(row.source, Estimate)
            return {"sql": sql, "made_of": sorted({charge for charge, _ in row.source.sources})}
        case 1:
            release = vault.measure(vault.count(by="age", place=(0, number % 50)), scale=SCALE + number)
        case _:
            release = vault.measure(vault.count(by=("age", "place"), sex="FM"[number % 2]), scale=SCALE + number)
    return returned(release)


def returned(release: Release) -> Ack:
    return {"charge": release.charge, "values": digest(release), "receipt": str(release.receipt)}


def ask_many(town: Town, first: int, threads: int, each: int, tell: Tell) -> None:
    """What a child does, in threads: open the vault, complete what others left, ask; tell what was returned."""
    vault = Vault.open(town.path)
    for release in vault.complete():
        tell({**returned(release), "completed": True})

    def ask(thread: int) -> None:
        for number in range(each):
            tell(ask_one(vault, first + thread * each + number))

    in_threads(threads, ask)


def check(town: Town, acks: Iterable[Ack]) -> Book:
    """After a restart: every promise of the ledger. Returns the book before anything was completed."""
    acks = list(acks)
    book = town.book()
    vault = Vault.open(town.path)
    try:
        _check_spend(vault, book, town.limit)
        assert {charge.id for charge in vault.ledger.pending()} == book.pending
        _check_acks(vault, book, acks)
        completed = vault.complete()
        assert {release.charge for release in completed} == book.pending
        after = town.book()
        assert after.pending == set()
        assert set(after.charges) == set(book.charges)
        assert np.array_equal(after.spent, book.spent)
        _check_spend(vault, after, town.limit)
        _check_acks(vault, after, acks)
        assert vault.complete() == []
        files = {record["file"] for record in after.records.values() if "file" in record}
        assert {path.name for path in vault.gate.archive.folder.glob("*")} == files
        assert set(after.charges) == {release.charge for release in vault.releases()}
        _check_asked_again(vault, town, acks)
    finally:
        vault.ledger.close()
    return book


def _check_spend(vault: Vault, book: Book, limit: int) -> None:
    """The spend map is the replay, at every point."""
    assert np.array_equal(limit - vault.ledger.left_by((0, 1, 2)), book.spent)
    assert vault.ledger.spent_max == int(book.spent.max())


def _check_acks(vault: Vault, book: Book, acks: list[Ack]) -> None:
    """What was returned is in the journal, as it was."""
    for ack in acks:
        if "charge" in ack:
            assert ack["charge"] in book.records
            assert ack["receipt"] in book.receipts
            assert digest(vault.release(ack["charge"])) == ack["values"]
    assert {charge for ack in acks if "sql" in ack for charge in ack["made_of"]} <= set(book.records)


def _check_asked_again(vault: Vault, town: Town, acks: list[Ack]) -> None:
    """A question that was answered spends nothing, and has one answer: as nothing new is released, the same again."""
    before = len(town.book().charges)
    for ack in acks:
        if "sql" in ack:
            assert len({vault.ask(ack["sql"], scale=SCALE).value for _ in range(2)}) == 1
    assert len(town.book().charges) == before


def told_apart(lines: list[Any]) -> tuple[list[Ack], list[str]]:
    """What a child was answered, and at which lines it was killed."""
    acks = [line for line in lines if "place" not in line]
    return acks, [line["place"] for line in lines if "place" in line]


def is_entry(kind: str) -> Callable[..., bool]:
    """Whether an append is of an entry of this kind."""
    return lambda _journal, entry: entry.kind == kind
