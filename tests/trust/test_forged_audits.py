"""Journals that somebody rewrote, with all hashes right: whatever they hold, an audit reads them to the end, and a
receipt from before gives every one of them away."""

import copy
import hashlib
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.audit.report import audit_vault
from discreet.plain import plain
from discreet.vault import Vault
from tests.trust.test_fuzz_folders import forged as forged_folders

DOMAIN = """\
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 49
source = "registry"
[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[attributes.income]
kind = "bins"
edges = [-500, 0, 10000, 25000]
grain = 100
source = "classes"
"""
NUMBERS = (0, -1, 7, 10**30, -(10**30), 2**62, 2**63, 1.5, 1e308)
STRANGE: tuple[Any, ...] = (None, True, *NUMBERS, "", "x", "1/0", "nan", "-3", "1e999999999", [], {}, [[]], [[1], [2]])
KINDS = ("init", "charge", "record", "fact", "refresh", "erase", "buckets", "cube", "rollback-accepted", "moon")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault with an entry of nearly every kind, and what was published from it."""
    monkeypatch.chdir(tmp_path)
    rows = range(300)
    people = {"age": [i % 50 for i in rows], "sex": ["FM"[i % 2] for i in rows], "income": [i * 80.0 for i in rows]}
    pq.write_table(pa.table(people), "people.parquet")
    Path("people.toml").write_text(DOMAIN, encoding="utf-8")
    vault = Vault.init("vault", table="people.parquet", domain="people.toml", epsilon=4, neighbours="replace")
    vault.measure(vault.count(sex="F"), scale=20)
    vault.measure(vault.sum("income", age=(0, 20)), scale=500_000)
    vault.ask("SELECT MEDIAN(age), COUNT(*) FROM people WHERE sex = 'M'", scale=40)
    vault.facts.add(cuboid=["sex"], values=np.array([150, 150]))
    vault.facts.add("SELECT COUNT(*) FROM people WHERE age < 10", 60)
    vault.refresh("people.parquet")
    vault.cubes.publish(vault.cubes.plan(epsilon="1/2", dimensions=["sex", "income"])).save("cube")
    vault.buckets.publish(sensitive="sex", limits="1", columns=["age"], out="rows")
    vault.ledger.note("rollback-accepted", {"seen": "17:ab"})
    vault.ledger.close()
    return tmp_path / "vault"


def test_no_rewritten_journal_stops_an_audit_or_gets_past_a_receipt(
    home: Path, amount: Callable[[int, int], int], counted: Callable[..., None]
) -> None:
    sound = audit_vault(home)
    assert sound.holds
    journal, audits = home / "journal.sqlite", amount(60, 5_000)
    lots = random.Random(11)
    with closing(sqlite3.connect(journal)) as before:
        honest = before.execute("SELECT kind, charge, body FROM entries ORDER BY seq").fetchall()
    for _ in range(audits):
        rewrite(journal, forged(lots, [(kind, charge, json.loads(body)) for kind, charge, body in honest]))
        audit = audit_vault(home, receipts=[sound.receipt])
        assert audit["receipts"].outcome == "failed"
        assert audit.html().endswith("</html>\n")
        json.dumps(audit, default=plain)
    counted(audits=audits)


def test_no_forged_folder_stops_an_audit(
    home: Path, amount: Callable[[int, int], int], counted: Callable[..., None]
) -> None:
    """Changed and sealed anew. What is found wrong depends on what was changed; most of it is."""
    place, found = home.parent / "cube", 0
    files = {path.name: path.read_bytes() for path in place.iterdir()}
    for changed in forged_folders(files, random.Random(12), audits := amount(40, 4_000)):
        for name, content in changed.items():
            (place / name).write_bytes(content)
        audit = audit_vault(home)
        assert audit.html().endswith("</html>\n")
        found += bool(audit["published"].findings)
    counted(audits=audits, found=found)
    assert found > audits // 2


def forged(lots: random.Random, entries: list[tuple[str, int | None, Any]]) -> list[tuple[str, int | None, Any]]:
    """The entries with something else in them, in one or two places."""
    changed = copy.deepcopy(entries)
    for _ in range(lots.choice((1, 1, 2))):
        place = lots.randrange(len(changed))
        kind, charge, body = changed[place]
        where = lots.choice(list(places(body)))
        changed[place] = (kind, charge, replaced(body, where, lots))
    if lots.random() < 0.1:
        place = lots.randrange(len(changed))
        changed[place] = (lots.choice(KINDS), *changed[place][1:])
    if lots.random() < 0.1:
        lots.shuffle(changed)
    return changed if changed != entries else changed[:-1]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place within a JSON value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], lots: random.Random) -> Any:
    """A value with something strange at a place, or nothing there."""
    if not path:
        return lots.choice(STRANGE)
    changed = copy.copy(value)
    if len(path) == 1 and lots.random() < 0.25:
        del changed[path[0]]
    else:
        changed[path[0]] = replaced(value[path[0]], path[1:], lots)
    return changed


def rewrite(journal: Path, entries: list[tuple[str, int | None, Any]]) -> None:
    """Write entries with hashes that fit."""
    chain = bytes(32)
    with closing(sqlite3.connect(journal)) as connection, connection:
        connection.executescript("DROP TRIGGER IF EXISTS entries_stay; DROP TRIGGER IF EXISTS entries_last")
        connection.execute("DELETE FROM entries")
        for seq, (kind, charge, content) in enumerate(entries, 1):
            body = json.dumps(content, sort_keys=True, separators=(",", ":"))
            line = f"{seq}\n{kind}\n{'' if charge is None else charge}\n{body}"
            chain = hashlib.sha256(chain + line.encode()).digest()
            connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (seq, kind, charge, body, chain))
