"""A vault in the hands of an insider: its people, and its journal, which is changed and hashed again."""

import hashlib
import json
import sqlite3

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.ledger.receipt import receipt_path
from discreet.vault import Vault

DOMAIN = """\
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
outside = "clamp"
source = "registry"
[attributes.sex]
kind = "category"
values = ["F", "M"]
null = true
source = "form"
[attributes.income]
kind = "bins"
edges = [-500, 0, 10000, 25000, 100000]
grain = 100
source = "classes"
[attributes.job]
kind = "category"
values = ["a", "b", "c", "d", "e", "f"]
source = "form"
"""
BUDGETS = {
    "pure": {"epsilon": 4, "neighbours": "add-remove"},
    "pure, replace": {"epsilon": 4, "neighbours": "replace"},
    "zCDP": {"rho": 1, "neighbours": "add-remove"},
    "zCDP, replace": {"rho": 1, "neighbours": "replace"},
    "approximate": {"epsilon": 4, "delta": "1e-6", "neighbours": "replace"},
    "Gaussian": {"mu": 1, "neighbours": "add-remove"},
    "three rows a person": {"epsilon": 4, "neighbours": "replace", "id": "person", "max_rows": 3},
    "zCDP, three rows": {"rho": 1, "neighbours": "replace", "id": "person", "max_rows": 3},
    "Gaussian, three rows": {"mu": 1, "neighbours": "replace", "id": "person", "max_rows": 3},
}
QUERIES = {"queries": 200, "delta": 2, "roster": "roster.csv", "id": "person"}
SQL = (
    "SELECT COUNT(*) FROM people",
    "SELECT sex, COUNT(*), AVG(age) FROM people WHERE age BETWEEN 18 AND 65 GROUP BY sex",
    "SELECT SUM(income) FROM people WHERE job IN ('a', 'c') AND sex = 'F'",
    "SELECT MEDIAN(age), MAX(income) FROM people WHERE sex = 'M'",
    "SELECT COUNT(*) FROM people WHERE age < 30 OR job = 'e'",
)


def write_people():
    rows = range(400)
    people = {
        "person": rows,
        "age": [i % 100 for i in rows],
        "sex": [("F", "M", None)[i % 3] for i in rows],
        "income": [float(i * 157 % 100_000) for i in rows],
        "job": [list("abcdef")[i * i % 6] for i in rows],
    }
    pq.write_table(pa.table(people), "people.parquet")
    pd.DataFrame({"id": rows}).to_csv("roster.csv", index=False)


def make(**budget):
    with open("people.toml", "w") as file:
        file.write(("null_ids = 'drop'\n" if "id" in budget else "") + DOMAIN)
    return Vault.init("vault", table="people.parquet", domain="people.toml", **(budget or BUDGETS["pure"]))


def in_vault_currency(vault, amount):
    return {vault.ledger.budget.option: amount}


def failures(audit):
    return {check.name for check in audit.checks if check.outcome == "failed"}


class Journal:
    """A vault's journal in the hands of an insider: entries are changed, and the chain is hashed again."""

    def __init__(self, path="vault/journal.sqlite"):
        self.path = path
        with sqlite3.connect(path) as journal:
            rows = journal.execute("SELECT seq, kind, charge, body FROM entries ORDER BY seq").fetchall()
        self.entries = [{"kind": kind, "charge": charge, "body": json.loads(body)} for _, kind, charge, body in rows]

    def __getitem__(self, seq):
        return self.entries[seq - 1]["body"]

    def add(self, kind, content, charge=None):
        body = {"v": 1, "at": self[1]["at"], "content": content}
        self.entries.append({"kind": kind, "charge": charge, "body": body})

    def first(self, kind):
        return next(seq for seq, entry in enumerate(self.entries, 1) if entry["kind"] == kind)

    def write(self):
        """Everything anew, with hashes that fit."""
        chain = bytes(32)
        with sqlite3.connect(self.path) as journal:
            journal.executescript("DROP TRIGGER IF EXISTS entries_stay; DROP TRIGGER IF EXISTS entries_last")
            journal.execute("DELETE FROM entries")
            for seq, entry in enumerate(self.entries, 1):
                body = json.dumps(entry["body"], sort_keys=True, separators=(",", ":"))
                line = f"{seq}\n{entry['kind']}\n{'' if entry['charge'] is None else entry['charge']}\n{body}"
                chain = hashlib.sha256(chain + line.encode()).digest()
                row = (seq, entry["kind"], entry["charge"], body, chain)
                journal.execute("INSERT INTO entries (seq, kind, charge, body, hash) VALUES (?, ?, ?, ?, ?)", row)


def forget_receipts(vault):
    """The audit is made on another machine."""
    receipt_path(vault.ledger.vault_id).unlink()
