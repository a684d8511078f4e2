"""The journal read anew, with nothing of Discreet's: its chain, its charges, and a sum for every point of the domain.

What the ledger says of itself is held against this.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

Line = tuple[int, str, int | None, str, bytes]


@dataclass
class Book:
    """What a journal says: each charge's body, each record's, the units spent at every point, and the receipts."""

    spent: np.ndarray
    charges: dict[int, dict] = field(default_factory=dict)
    records: dict[int, dict] = field(default_factory=dict)
    notes: list[tuple[int, str]] = field(default_factory=list)
    receipts: set[str] = field(default_factory=set)

    @property
    def pending(self) -> set[int]:
        return set(self.charges) - set(self.records)

    def fits(self, everywhere: int, boxes: Iterable[tuple[tuple, tuple, int]], limit: int) -> bool:
        """Whether a cost would still fit."""
        after = self.spent.copy()
        add(after, everywhere, boxes)
        return int(after.max()) <= limit


def add(spent: np.ndarray, everywhere: int, boxes: Iterable[tuple[tuple, tuple, int]]) -> None:
    spent += everywhere
    for low, high, units in boxes:
        spent[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))] += units


def replayed(lines: Iterable[Line], sizes: tuple[int, ...], limit: int) -> Book:
    """Check every hash, every record's charge and, after each charge, the limit."""
    book, before = Book(np.zeros(sizes, np.int64)), bytes(32)
    for number, (seq, kind, charge, body, digest) in enumerate(lines, 1):
        text = f"{seq}\n{kind}\n{'' if charge is None else charge}\n{body}"
        before = hashlib.sha256(before + text.encode()).digest()
        assert (seq, bytes(digest)) == (number, before), f"entry {number} does not follow the one before"
        content = json.loads(body)
        book.receipts.add(f"{seq}:{before.hex()}")
        if kind == "charge":
            cost = content["cost"]
            add(book.spent, cost["everywhere"], cost["regional"])
            assert int(book.spent.max()) <= limit, f"entry {number} spends more than there is"
            book.charges[seq] = content
        elif kind == "record":
            assert charge in book.charges, f"entry {number} is an answer without its charge"
            assert charge not in book.records, f"entry {number} is a second answer of charge {charge}"
            book.records[charge] = content["content"]
        else:
            book.notes.append((seq, kind))
    return book


def lines_of_file(journal: Path) -> list[Line]:
    with closing(sqlite3.connect(f"{journal.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT seq, kind, charge, body, hash FROM entries ORDER BY seq").fetchall()


def lines_of_postgres(server, vault_id: str) -> list[Line]:
    with server.connect() as session:
        query = "SELECT seq, kind, charge, body, hash FROM discreet_entries WHERE vault_id = %s ORDER BY seq"
        return session.execute(query, (vault_id,)).fetchall()
