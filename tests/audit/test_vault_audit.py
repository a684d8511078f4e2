"""The audit of a vault: honest vaults of every kind pass, and every damage that was planted is found."""

import hashlib
import json
import re
import shutil
import sqlite3
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from discreet.audit import depth
from discreet.audit.depth import Boxes, Field, deepest
from discreet.audit.price import mispriced, read_cost, read_plan
from discreet.audit.report import audit_vault
from discreet.audit.terms import UNITS, read_terms, rho_keeps
from discreet.cli import app
from discreet.domain.read import parse_domain
from discreet.ledger.asker import Asker
from discreet.ledger.budget import Induced, budget_from_json, budget_of
from discreet.ledger.conversion import rho_for
from discreet.ledger.receipt import receipt_path
from discreet.noise.law import Exponential, Gaussian, Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Quantile, Sum
from discreet.release import archive
from discreet.server.auth import add_user
from discreet.table.table import Table
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
    "three rows a person": {"epsilon": 4, "neighbours": "replace", "id": "person", "max_rows": 3},
    "zCDP, three rows": {"rho": 1, "neighbours": "replace", "id": "person", "max_rows": 3},
}
QUERIES = {"queries": 200, "delta": 2, "roster": "roster.csv", "id": "person"}
SQL = (
    "SELECT COUNT(*) FROM people",
    "SELECT sex, COUNT(*), AVG(age) FROM people WHERE age BETWEEN 18 AND 65 GROUP BY sex",
    "SELECT SUM(income) FROM people WHERE job IN ('a', 'c') AND sex = 'F'",
    "SELECT MEDIAN(age), MAX(income) FROM people WHERE sex = 'M'",
    "SELECT COUNT(*) FROM people WHERE age < 30 OR job = 'e'",
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory with a table of 400 people."""
    monkeypatch.chdir(tmp_path)
    write_people()
    return tmp_path


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
    return {"rho" if vault.ledger.budget.symbol == "ρ" else "epsilon": amount}


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


class TestHonestVaults:
    @pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
    def test_pass_in_every_currency(self, budget):
        vault = make(**budget)
        for sql in SQL:
            vault.ask(sql, scale=40)
        cube = vault.publish_cube(vault.plan_cube(**in_vault_currency(vault, "1/20"), dimensions=["sex", "job"]))
        cube.save("cube")
        audit = audit_vault("vault")
        assert audit.holds
        assert not [finding.what for finding in audit.findings]
        assert audit.spent == vault.budget().spent
        assert audit.receipt == str(vault.ledger.head)
        assert audit["published"].detail == "1 folder found"
        assert audit["costs"].detail == f"{vault.ledger.charges} charges, priced again"
        assert audit.promise == str(vault.ledger.guarantee)

    def test_pass_after_facts_and_refreshes_and_say_so(self):
        vault = make()
        vault.ask(SQL[1], scale=40)
        vault.add_fact(cuboid=["job"], values=np.bincount([i * i % 6 for i in range(400)], minlength=6))
        vault.ask(SQL[0], scale=40)
        vault.refresh("people.parquet")
        vault.add_fact("SELECT COUNT(*) FROM people WHERE sex = 'F'", 134)
        vault.ask(SQL[2], scale=40)
        audit = audit_vault(vault)
        assert audit.holds
        assert audit.spent == vault.budget().spent
        assert audit["facts"].detail == "2 facts"
        assert "1 refresh" in audit["promise"].detail
        assert [moment.kind for moment in audit.moments] == ["charge", "fact", "charge", "refresh", "fact", "charge"]
        assert sorted(moment.amount for moment in audit.moments) == [moment.amount for moment in audit.moments]

    def test_that_facts_have_overdrawn_pass_with_a_warning(self):
        vault = make()
        vault.measure(vault.count(), scale="1/4")
        vault.add_fact("SELECT COUNT(*) FROM people WHERE sex = 'F'", 134)
        audit = audit_vault("vault")
        assert audit.holds
        assert audit["limit"].outcome == "warning"
        assert audit.spent == vault.ledger.guarantee.amount > audit.total

    def test_that_published_rows_pass_and_say_that_this_is_not_differential_privacy(self):
        vault = make(**BUDGETS["pure, replace"])
        vault.publish_buckets(sensitive="job", limits="min(1, 3*f + 0.1)", columns=["age", "sex"], out="rows")
        vault.ask(SQL[0], scale=40)
        audit = audit_vault("vault")
        assert audit.holds
        assert "not differential privacy" in audit["promise"].findings[0].what
        assert "rows published 1 time" in audit["promise"].detail
        assert audit["published"].detail == "1 folder found"

    def test_with_a_budget_of_queries_pass(self):
        vault = make(**QUERIES)
        vault.ask_subset((7, "1/2"), "age < 30")
        vault.ask_subsets([(8, "1/2"), "everyone", [1, 2, 3]], "sex = 'F'")
        vault.publish_statistics(vault.plan_statistics(["old: age > 50", "f: sex = 'F'"], arity=1, subsets=16)).save(
            "stat"
        )
        audit = audit_vault("vault")
        assert audit.holds
        assert not audit.findings
        assert audit.spent == vault.budget().spent == 68
        assert audit["published"].detail == "1 folder found"

    def test_with_large_releases_have_their_files_hashed(self, monkeypatch):
        monkeypatch.setattr(archive, "JOURNAL_CELLS", 100)
        vault = make()
        vault.measure(vault.count(by=["age", "job"]), scale=20)
        audit = audit_vault("vault")
        assert audit.holds
        assert "600 whole numbers, 1 file" in audit["releases"].detail

    def test_with_a_domain_beyond_the_dense_map_pass(self, folder):
        text = "".join(f'[attributes.a{i}]\nkind = "integer"\nlow = 0\nhigh = 999\nsource = "form"\n' for i in range(4))
        (folder / "wide.toml").write_text(f'name = "wide"\n{text}')
        pq.write_table(pa.table({f"a{i}": range(50) for i in range(4)}), "wide.parquet")
        vault = Vault.init("vault", table="wide.parquet", domain="wide.toml", **BUDGETS["pure"])
        for i in range(12):
            vault.measure(vault.count(a0=(7 * i, 900 - i), a1=(0, 30 * i + 5), a3=(i, 999)), scale=30)
        audit = audit_vault("vault")
        assert audit.holds
        assert audit.spent <= vault.budget().spent
        assert audit.spent == 12 * Fraction(1, 30)

    def test_tell_who_spent_what_and_who_is_beyond_a_quota(self):
        vault = make()
        ada, carl = Asker("ada", Fraction(1)), Asker("carl")
        vault.asked_by(ada).ask(SQL[0], scale=10)
        vault.asked_by(ada).ask(SQL[4], scale=20)
        vault.asked_by(carl).ask(SQL[2], scale=1000)
        add_user(vault.path, "ada", "analyst", quota="1/10", expires="30d")
        audit = audit_vault("vault")
        assert audit.holds
        assert audit.by_user == vault.budget().by_user
        assert audit.by_user["ada"] == Fraction(3, 20)
        assert "ada spent ε = 0.15, and has a quota of = 0.1" in audit["users"].findings[0].what
        assert audit["users"].detail == "1 user; 1 former user spent as well"

    def test_that_a_crash_cut_off_say_which_charge_to_complete(self, monkeypatch):
        vault = make()
        with monkeypatch.context() as broken:
            broken.setattr(Table, "evaluate", lambda *_: 1 / 0)
            with pytest.raises(Exception, match="charge 2 stands"):
                vault.measure(vault.count(), scale=10)
        audit = audit_vault("vault")
        assert audit.holds
        assert audit["pending"].findings[0].what == "1 charge without an answer: 2"
        assert "ledger complete" in audit["pending"].findings[0].next
        vault.complete()
        assert not audit_vault("vault").findings

    def test_are_neither_changed_nor_written_to(self, folder):
        vault = make()
        vault.ask(SQL[1], scale=40)
        vault.ledger.close()
        seen = receipt_path(vault.ledger.vault_id).read_bytes()
        before = {path: path.read_bytes() for path in (folder / "vault").rglob("*") if path.suffix != ".sqlite-shm"}
        audit_vault("vault")
        after = {path: path.read_bytes() for path in (folder / "vault").rglob("*") if path.suffix != ".sqlite-shm"}
        assert {path: after.get(path, before[path]) for path in before} == before
        assert receipt_path(vault.ledger.vault_id).read_bytes() == seen

    def test_need_no_table(self, folder):
        make().ask(SQL[0], scale=40)
        (folder / "people.parquet").unlink()
        assert audit_vault("vault").holds


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A vault with small and large releases, and the receipt of its last entry."""
    place = tmp_path_factory.mktemp("template")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(place)
        patched.setenv("XDG_STATE_HOME", str(place / "state"))
        patched.setattr(archive, "JOURNAL_CELLS", 100)
        write_people()
        vault = make()
        vault.measure(vault.count(sex="F"), scale=20)
        vault.measure(vault.count(by=["age", "job"]), scale=20)
        vault.measure(vault.sum("income", job="a"), scale=500_000)
        vault.measure(vault.count(by=["age", "job"], sex="M"), scale=20)
        vault.ledger.close()
    return place


class TestPlantedDamage:
    """Each is found, wherever it can be found: also by somebody who has no receipt, if the journal gives it away."""

    @pytest.fixture
    def vault(self, template, folder, state_home):
        shutil.copytree(template / "vault", folder / "vault")
        shutil.copytree(template / "state", state_home, dirs_exist_ok=True)
        return Vault.open("vault")

    def test_an_altered_body(self, vault):
        with sqlite3.connect("vault/journal.sqlite") as journal:
            journal.execute("DROP TRIGGER entries_stay")
            journal.execute("UPDATE entries SET body = replace(body, '\"values\":[[', '\"values\":[[1') WHERE seq = 3")
        forget_receipts(vault)
        audit = audit_vault("vault")
        assert "entry 3 does not follow the one before it" in audit["chain"].findings[0].what

    @pytest.mark.parametrize("seq", [2, 3])
    def test_a_missing_entry(self, vault, seq):
        with sqlite3.connect("vault/journal.sqlite") as journal:
            journal.execute("DROP TRIGGER entries_last")
            journal.execute("DELETE FROM entries WHERE seq = ?", (seq,))
        forget_receipts(vault)
        audit = audit_vault("vault")
        found = audit["chain"].findings[0].what
        assert found == f"entry {seq + 1} does not follow the one before it; 1 entry before it missing"

    def test_a_record_that_was_taken_out_and_the_chain_hashed_again(self, vault):
        journal = Journal()
        del journal.entries[2]
        for entry in journal.entries[2:]:
            entry["charge"] = entry["charge"] and entry["charge"] - 1
        journal.write()
        audit = audit_vault("vault")
        assert {"receipts"} <= failures(audit)
        forget_receipts(vault)
        assert audit_vault("vault")["pending"].findings[0].what == "1 charge without an answer: 2"

    @pytest.mark.parametrize(
        ("seq", "change"),
        [
            (2, lambda cost: cost["regional"][0].__setitem__(2, cost["regional"][0][2] - 1)),
            (2, lambda cost: cost["regional"].clear()),
            (2, lambda cost: cost["regional"][0][1].__setitem__(0, 50)),
            (4, lambda cost: cost.__setitem__("everywhere", cost["everywhere"] // 2)),
            (6, lambda cost: cost["regional"][0].__setitem__(2, cost["regional"][0][2] - 1)),
            (6, lambda cost: cost["regional"].pop(1)),
            (6, lambda cost: cost["regional"][0][0].__setitem__(1, 1)),
            (6, lambda cost: cost.__setitem__("regional", "none")),
        ],
        ids=["a unit", "nothing", "half the region", "everywhere", "a sum", "a bin", "a slice of a sum", "no cost"],
    )
    def test_a_cheaper_cost_in_a_chain_that_was_hashed_again(self, vault, seq, change):
        journal = Journal()
        change(journal[seq]["cost"])
        journal.write()
        forget_receipts(vault)
        audit = audit_vault("vault")
        assert "costs" in failures(audit)
        assert audit["costs"].findings[0].entry == seq

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda line: line.__setitem__("noise", {"laplace": "1/1000"}), "its plan needs"),
            (lambda line: line.__setitem__("noise", {"gaussian": "400"}), "Gaussian noise, which a budget of ε"),
            (lambda line: line.__setitem__("noise", {"binomial": "400"}), "has no price"),
            (lambda line: line["query"]["count"]["where"].append([[0, 0, 0, 0], [9, 0, 0, 0]]), "its plan needs"),
            (lambda line: line["query"]["count"]["where"].append([[0, 0, 0, 0], [900, 0, 0, 0]]), "out of the domain"),
            (lambda line: line["query"]["count"].__setitem__("by", ["name"]), "does not have"),
            (lambda line: line.pop("noise"), "its plan cannot be read"),
        ],
        ids=["sharper", "Gaussian", "binomial", "wider", "beyond", "other groups", "no noise"],
    )
    def test_a_plan_that_asks_for_more_than_was_paid(self, vault, change, words):
        journal = Journal()
        change(journal[2]["content"][0])
        journal.write()
        forget_receipts(vault)
        assert words in audit_vault("vault")["costs"].findings[0].what

    def test_an_overspent_map(self, vault):
        journal = Journal()
        plan = [{"query": {"count": {"where": [[[0, 0, 0, 0], [49, 2, 3, 5]]], "by": []}}, "noise": {"laplace": "1/3"}}]
        cost = {"everywhere": 0, "regional": [[[0, 0, 0, 0], [49, 2, 3, 5], 3 * UNITS]]}
        at = journal[2]["at"]
        for seq in (10, 12):
            charge = {"v": 1, "at": at, "content": plan, "cost": cost}
            journal.entries.append({"kind": "charge", "charge": None, "body": charge})
            body = {"v": 1, "at": at, "content": {"values": [[7]]}}
            journal.entries.append({"kind": "record", "charge": seq, "body": body})
        journal.write()
        forget_receipts(vault)
        audit = audit_vault("vault")
        assert failures(audit) == {"limit"}
        assert "charge 12 spent more than was left" in audit["limit"].findings[0].what
        assert audit.spent > audit.total

    def test_a_charge_after_facts_left_nothing(self):
        vault = make()
        vault.measure(vault.count(), scale="1/4")
        vault.add_fact("SELECT COUNT(*) FROM people WHERE sex = 'F'", 134)
        journal = Journal()
        journal.entries += [{**journal.entries[1]}, {**journal.entries[2], "charge": 5}]
        journal.write()
        forget_receipts(vault)
        found = audit_vault("vault")["limit"].findings[0]
        assert found.outcome == "failed"
        assert "charge 5 was made when nothing was left" in found.what

    @pytest.mark.usefixtures("vault")
    def test_a_removed_file(self, folder):
        next((folder / "vault/releases").glob("4-*.bin")).unlink()
        audit = audit_vault("vault")
        assert failures(audit) == {"releases"}
        assert "the answer of charge 4, entry 5, is gone" in audit["releases"].findings[0].what

    @pytest.mark.usefixtures("vault")
    def test_an_altered_file(self, folder):
        path = next((folder / "vault/releases").glob("4-*.bin"))
        path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
        assert "was changed on disk" in audit_vault("vault")["releases"].findings[0].what

    def test_releases_that_were_swapped_between_charges(self, vault):
        journal = Journal()
        journal[5]["content"], journal[9]["content"] = journal[9]["content"], journal[5]["content"]
        journal.write()
        found = audit_vault("vault")
        assert failures(found) == {"releases", "receipts"}
        assert "is in the file of another charge" in found["releases"].findings[0].what
        forget_receipts(vault)
        assert failures(audit_vault("vault")) == {"releases"}

    def test_small_releases_that_were_swapped_are_found_by_a_receipt(self):
        vault = make()
        kept = str(vault.measure(vault.count(sex="F"), scale=20).receipt)
        vault.measure(vault.count(sex="M"), scale=20)
        journal = Journal()
        journal[3]["content"], journal[5]["content"] = {"values": [[1]]}, {"values": [[2]]}
        journal.write()
        assert failures(audit_vault("vault")) == {"receipts"}
        forget_receipts(vault)
        assert audit_vault("vault")["receipts"].outcome == "warning"
        assert failures(audit_vault("vault", receipts=[kept])) == {"receipts"}

    def test_an_older_journal_that_was_put_back(self, vault):
        vault.ledger.close()
        shutil.copytree("vault", "backup")
        later = Vault.open("vault")
        later.measure(later.count(), scale=100)
        later.ledger.close()
        shutil.move("vault", "newer")
        shutil.move("backup", "vault")
        audit = audit_vault("vault")
        assert failures(audit) == {"receipts"}
        assert "an older journal was put back" in audit["receipts"].findings[0].what
        assert "--accept-rollback" in audit["receipts"].findings[0].next

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ({"values": [[1.5]]}, "not whole"),
            ({"values": [[True]]}, "not whole"),
            ({"values": [[10**30]]}, "not whole"),
            ({"values": [[1, 2]]}, "another shape"),
            ({"values": [[1], [2]]}, "another number of answers"),
            ({"values": 7}, "another number of answers"),
            ({}, "cannot be read"),
            ({"file": "../../etc/passwd", "sha256": "0" * 64, "types": ["<i2"]}, "the file of another charge"),
        ],
        ids=str,
    )
    def test_an_answer_that_no_mechanism_gives(self, vault, body, words):
        journal = Journal()
        journal[3]["content"] = body
        journal.write()
        forget_receipts(vault)
        assert words in audit_vault("vault")["releases"].findings[0].what

    def test_a_quantile_outside_the_domain(self):
        vault = make()
        vault.ask("SELECT MEDIAN(age) FROM people", scale=40)
        journal = Journal()
        journal[3]["content"]["values"] = [[100]]
        journal.write()
        forget_receipts(vault)
        assert "that its noise cannot make" in audit_vault("vault")["releases"].findings[0].what

    def test_a_fact_that_lowered_the_limit_too_little(self):
        vault = make()
        vault.add_fact(cuboid=["sex"], values=[134, 133, 133])
        vault.add_fact(cuboid=["job"], values=np.bincount([i * i % 6 for i in range(400)], minlength=6))
        journal = Journal()
        assert journal[3]["content"]["induced"][0] > 2
        journal[3]["content"]["induced"] = [2, 2]
        journal.write()
        forget_receipts(vault)
        audit = audit_vault("vault")
        assert failures(audit) == {"facts"}
        assert "can change together" in audit["facts"].findings[0].what

    @pytest.mark.parametrize(
        ("budget", "change", "words"),
        [
            (BUDGETS["approximate"], {"rho": "1"}, "its budget of ρ does not imply the ε = 4, δ = 1e-06"),
            (BUDGETS["three rows a person"], {"max_rows": 1}, "count are 3 at most, and the budget is for 1"),
            (BUDGETS["pure"], {"max_rows": 2}, "count are 1 at most, and the budget is for 2"),
            (QUERIES, {"trials": 500}, "noise of 500 coins does not keep what it promises for 200 queries"),
            (QUERIES, {"dp_delta": "1/1000000000000"}, "does not keep what it promises"),
        ],
        ids=["ρ", "rows", "a row", "coins", "δ"],
    )
    def test_a_budget_that_does_not_keep_its_promise(self, budget, change, words):
        vault = make(**budget)
        journal = Journal()
        journal[1]["content"]["budget"] |= change
        journal.write()
        forget_receipts(vault)
        assert words in audit_vault("vault")["header"].findings[0].what

    @pytest.mark.usefixtures("vault")
    def test_a_spend_map_of_the_vault_that_counts_too_little(self, monkeypatch):
        from discreet.ledger.grid import Grid

        monkeypatch.setattr(Grid, "replay", lambda *_: None)
        assert failures(audit_vault("vault")) == {"map"}

    def test_a_cube_that_was_changed_and_sealed_again(self):
        vault = make()
        cube = vault.publish_cube(vault.plan_cube(epsilon="1/2", dimensions=["sex", "job"]))
        next(iter(cube.sources.values()))[...] += 1
        cube.save("cube")
        audit = audit_vault("vault")
        assert failures(audit) == {"published"}
        assert "not the numbers that the journal has" in audit["published"].findings[0].what

    @pytest.mark.parametrize("name", ["qit.parquet", "datapackage.json"])
    def test_buckets_that_were_changed(self, folder, name):
        vault = make(**BUDGETS["pure, replace"])
        vault.publish_buckets(sensitive="job", limits="min(1, 3*f + 0.1)", columns=["age"], out="rows")
        path = folder / "rows" / name
        path.write_bytes(path.read_bytes().replace(b'"fakes": 0', b'"fakes": 1') + b"\n" * (name[0] == "q"))
        audit = audit_vault("vault", published=["rows"])
        assert failures(audit) == {"published"}

    def test_another_vault_s_folder_is_not_taken_for_this_one_s(self):
        vault = make()
        vault.publish_cube(vault.plan_cube(epsilon="1/2", dimensions=["sex"])).save("cube")
        other = Vault.init("other", table="people.parquet", domain="people.toml", **BUDGETS["pure"])
        assert audit_vault(other)["published"].detail == "none in the vault or beside it"
        assert failures(audit_vault(other, published=["cube"])) == {"published"}

    @pytest.mark.parametrize(
        ("name", "mode", "outcome"),
        [
            ("key", 0o644, "warning"),
            ("journal.sqlite", 0o640, "warning"),
            ("journal.sqlite", 0o662, "failed"),
            ("vault.toml", 0o646, "failed"),
            (".", 0o777, "failed"),
            (".", 0o755, "passed"),
        ],
    )
    @pytest.mark.usefixtures("vault")
    def test_files_that_lie_open(self, folder, name, mode, outcome):
        (folder / "vault" / name).chmod(mode)
        found = [f for f in audit_vault("vault")["files"].findings if "lies on" not in f.what]
        assert max((f.outcome for f in found), default="passed", key=["passed", "warning", "failed"].index) == outcome
        assert all("chmod" in finding.next for finding in found)

    @pytest.mark.usefixtures("vault")
    def test_a_draw_that_was_never_released(self, folder):
        (folder / "vault/releases/4-0123456789abcdef.bin").write_bytes(b"12345678")
        found = audit_vault("vault")["releases"].findings[0]
        assert found.outcome == "warning"
        assert "a second look" in found.next

    @pytest.mark.parametrize("kept", [{"kind": "charge"}, {"kind": "moon"}, {"body": {"v": 2}}, {"body": 7}])
    @pytest.mark.usefixtures("vault")
    def test_entries_that_mean_nothing_are_reported_and_the_rest_is_read(self, kept):
        journal = Journal()
        journal.entries.append({"kind": "note", "charge": None, "body": {"v": 1, "at": "", "content": {}}, **kept})
        journal.write()
        audit = audit_vault("vault")
        assert audit.findings
        assert audit.charges >= 4

    @pytest.mark.usefixtures("vault")
    def test_a_journal_without_a_beginning(self):
        journal = Journal()
        journal.entries[0]["body"]["content"] = {}
        journal.write()
        audit = audit_vault("vault")
        assert "header" in failures(audit)
        assert "not known" in CliRunner().invoke(app, ["audit", "vault", "vault"]).output


class TestCommand:
    def test_a_sound_vault_exits_with_0_and_shows_ticks(self):
        make().ask(SQL[0], scale=40)
        result = CliRunner().invoke(app, ["audit", "vault", "vault", "--html", "report.html"])
        assert result.exit_code == 0, result.output
        assert result.output.count("✓") >= 13
        assert "keep this receipt elsewhere" in result.output

    def test_a_failed_check_exits_with_1_and_says_what_to_do(self):
        vault = make()
        vault.measure(vault.count(sex="F"), scale=20)
        journal = Journal()
        journal[2]["cost"]["regional"][0][2] = 1
        journal.write()
        result = CliRunner().invoke(app, ["audit", "vault", "vault"])
        assert result.exit_code == 1
        assert "✗" in result.output
        assert "→" in result.output
        shown = json.loads(CliRunner().invoke(app, ["audit", "vault", "vault", "--json"]).output)
        assert not shown["holds"]
        assert {"what", "next", "entry", "outcome"} == shown["checks"][2]["findings"][0].keys()

    def test_the_page_needs_nothing_from_anywhere_and_quotes_safely(self):
        vault = make()
        for sql in SQL:
            vault.asked_by(Asker("<b>&eve")).ask(sql, scale=40)
        page = audit_vault("vault").html()
        assert not re.search(r"https?:|src=|@import|url\(", page)
        assert "&lt;b&gt;&amp;eve" in page
        assert page.count("<svg") == page.count("</svg>") == 5

    def test_a_receipt_that_is_none_is_refused_in_words(self):
        make()
        result = CliRunner().invoke(app, ["audit", "vault", "vault", "--receipt", "17"])
        assert result.exit_code == 1
        assert "a receipt looks like" in result.output


BOXES = st.lists(
    st.tuples(st.tuples(*[st.integers(0, 5)] * 3), st.tuples(*[st.integers(0, 5)] * 3), st.integers(0, 9)), max_size=12
)


class TestArithmetic:
    """The reader's own, against counting point by point."""

    @given(BOXES)
    def test_the_deepest_point_is_found_in_both_ways(self, corners):
        pieces = [(tuple(map(min, one, two)), tuple(map(max, one, two)), units) for one, two, units in corners]
        dense = np.zeros((6, 6, 6), np.int64)
        for low, high, units in pieces:
            dense[tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))] += units
        boxes = Boxes.of(pieces, 3)
        assert deepest(boxes, dense.shape) == (dense.max(), True)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(depth, "MOST_CELLS", 0)
            assert deepest(boxes, dense.shape) == (dense.max(), True)
        for corner in (0, 1 << 20):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(depth, "CORNER", corner)
                field = Field(dense.shape, boxes)
                field.add(boxes)
            assert np.array_equal(field.dense(), dense)
            assert np.array_equal(field.by_axis(1), dense.max(axis=(0, 2)))

    @given(st.data())
    def test_a_plan_is_priced_as_the_ledger_charges_it_and_no_cheaper(self, data):
        domain = parse_domain(DOMAIN)
        budget = data.draw(
            st.sampled_from(
                [
                    {"epsilon": "3", "neighbours": "replace", "max_rows": 2},
                    {"rho": "2", "neighbours": "replace", "max_rows": 1},
                    {"rho": "2", "neighbours": "add-remove", "max_rows": 3},
                ]
            )
        )
        terms = read_terms(budget)
        plan = Plan(tuple(data.draw(st.lists(measurements(domain, "rho" in budget), min_size=1, max_size=4))))
        cost = plan.cost(domain, budget_from_json(budget)).to_json()
        lines = read_plan(plan.condensed(), domain)
        assert mispriced(lines, read_cost(cost, domain), domain, terms) == ""
        if cost["everywhere"]:
            cost["everywhere"] -= 1
        elif cost["regional"]:
            data.draw(st.sampled_from(cost["regional"]))[2] -= 1
        else:
            return
        assert "needs" in (found := mispriced(lines, read_cost(cost, domain), domain, terms)) or "not paid" in found

    @pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
    @pytest.mark.parametrize("induced", [(0, 0), (2, 2), (6, 20)])
    def test_limits_are_those_of_the_vault(self, budget, induced):
        chosen = {name: budget.get(name) for name in ("epsilon", "delta", "rho", "neighbours")}
        own = budget_of(**chosen, max_rows=budget.get("max_rows", 1))
        terms, theirs = read_terms(own.to_json()).under(*induced), own.under(Induced(*induced))
        assert (terms.limit, terms.factor) == (theirs.limit, theirs.factor)
        assert terms.amount(12_345) == theirs.amount_of(12_345)

    @pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-10"), ("8", "1e-3"), ("3", "1e-30")])
    def test_the_largest_rho_that_keeps_a_promise_is_accepted_and_more_is_not(self, epsilon, delta):
        rho = rho_for(Fraction(epsilon), Fraction(delta))
        assert rho_keeps(rho, Fraction(epsilon), Fraction(delta))
        assert not rho_keeps(rho * Fraction(101, 100), Fraction(epsilon), Fraction(delta))


@st.composite
def measurements(draw, domain, concentrated):
    where = domain.everything
    for name in draw(st.lists(st.sampled_from(domain.names), unique=True, max_size=3)):
        ends = sorted(draw(st.tuples(*[st.integers(0, domain[name].size - 1)] * 2)))
        where = where.intersect(domain.slab(name, *ends))
    if draw(st.booleans()):
        where = domain.everything.subtract(where)
    scale = draw(st.fractions(min_value=Fraction(1, 2), max_value=500, max_denominator=30))
    noise = Gaussian(scale) if concentrated and draw(st.booleans()) else Laplace(scale)
    query = draw(
        st.sampled_from(
            [
                Count(where),
                Count(where, ("sex",)),
                Sum("income", where),
                Sum("age", where),
                Quantile("age", Fraction(1, 2), where),
            ]
        )
    )
    return Measurement(query, Exponential(scale) if isinstance(query, Quantile) else noise)
