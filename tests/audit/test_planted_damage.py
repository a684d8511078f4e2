"""Every damage that was planted in a vault is found by an audit of it, and said in words."""

import json
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.audit import exposure
from discreet.audit.bodies import Bodies
from discreet.audit.replay import replay
from discreet.audit.report import audit_vault
from discreet.audit.terms import UNITS
from discreet.cli import app
from discreet.ledger.journal import Entry, canonical
from discreet.release import archive
from discreet.vault import Vault
from tests.audit.insider import (
    BUDGETS,
    QUERIES,
    Journal,
    failures,
    forget_receipts,
    make,
    write_people,
)

pytestmark = pytest.mark.usefixtures("workplace")


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
    def vault(self, template, workplace, state_home):
        shutil.copytree(template / "vault", workplace / "vault")
        shutil.copytree(template / "state", state_home, dirs_exist_ok=True)
        return Vault.open("vault")

    def test_an_altered_body(self, vault):
        with sqlite3.connect("vault/journal.sqlite") as journal:
            journal.execute("DROP TRIGGER entries_stay")
            journal.execute("UPDATE entries SET body = replace(body, '\"values\":[[', '\"values\":[[1') WHERE seq = 3")
        forget_receipts(vault)
        audit = audit_vault("vault")
        assert "entry 3 does not follow the one before it" in audit["chain"].findings[0].what

    @pytest.mark.parametrize(
        ("page", "words"),
        [
            (bytes(4096), "the journal at vault/journal.sqlite is damaged"),
            (b"\x0a\0\0\0\0\x10\0\0" + bytes(4088), "entry 3 has the answer of charge 2, and the journal does not"),
        ],
        ids=["zeros", "nothing in it"],
    )
    def test_an_index_that_is_damaged_while_all_entries_are_whole(self, vault, workplace, page, words):
        vault.ledger.close()
        with sqlite3.connect("vault/journal.sqlite") as journal:
            [root] = journal.execute("SELECT rootpage FROM sqlite_master WHERE type = 'index'").fetchone()
        content = bytearray((workplace / "vault/journal.sqlite").read_bytes())
        content[(root - 1) * 4096 : root * 4096] = page
        (workplace / "vault/journal.sqlite").write_bytes(content)
        audit = audit_vault("vault")
        assert failures(audit) == {"chain"}
        assert words in audit["chain"].findings[0].what

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
        at, snapshot = journal[2]["at"], journal[2]["snapshot"]
        for seq in (10, 12):
            charge = {"v": 1, "at": at, "content": plan, "cost": cost, "snapshot": snapshot}
            journal.entries.append({"kind": "charge", "charge": None, "body": charge})
            body = {"v": 1, "at": at, "content": {"values": [[7]]}}
            journal.entries.append({"kind": "record", "charge": seq, "body": body})
        journal.write()
        forget_receipts(vault)
        audit = audit_vault("vault")
        assert failures(audit) == {"limit"}
        assert "charge 12 spent more than was left" in audit["limit"].findings[0].what
        assert audit.spent > audit.total

    @pytest.mark.parametrize(
        ("change", "entry", "words"),
        [
            (lambda j: j[6]["snapshot"].__setitem__("number", 2), 6, "charge 6 pays for snapshot 2, and the vault was"),
            (lambda j: j[6]["snapshot"].__setitem__("digest", "00"), 6, "charge 6 pays for snapshot 1, and the vault"),
            (lambda j: j[6].pop("snapshot"), 6, "charge 6 pays for no snapshot, and the vault was over snapshot 1"),
            (lambda j: j[6].__setitem__("snapshot", None), 6, "charge 6 pays for no snapshot"),
            (lambda j: j[1]["content"]["snapshot"].__setitem__("number", 2), 1, "is of snapshot 2, and the next one"),
            (lambda j: j[1]["content"]["snapshot"].__setitem__("number", "1"), 1, "does not say which snapshot"),
            (
                lambda j: j.add("refresh", {"snapshot": {"number": 3, "digest": "aa"}}),
                10,
                "is of snapshot 3, and the next",
            ),
            (
                lambda j: j.add("refresh", {"fingerprint": "aa"}),
                10,
                "entry 10 does not say which snapshot the",
            ),
            (
                lambda j: j.add("erase", {"snapshot": {"number": 1, "digest": "aa"}}),
                10,
                "entry 10 is of snapshot 1, and the next one was 2",
            ),
            (lambda j: j.add("erase", {"ids": ["P0007"]}), 10, "entry 10 does not say which snapshot the"),
        ],
        ids=[
            "a later one",
            "another",
            "none",
            "null",
            "not the first",
            "no number",
            "one left out",
            "a former refresh",
            "one erased twice",
            "an erasure of none",
        ],
    )
    def test_a_charge_that_names_another_snapshot_than_the_vault_was_over(self, vault, change, entry, words):
        journal = Journal()
        change(journal)
        journal.write()
        forget_receipts(vault)
        found = audit_vault("vault")["snapshots"].findings[0]
        assert (found.outcome, found.entry) == ("failed", entry)
        assert words in found.what

    def test_a_charge_that_is_answered_and_closed(self, vault):
        """One of the two is all that a charge comes to; and it is closed only when its snapshot is gone."""
        journal = Journal()
        charge = {**journal[2]}
        journal.entries.append({"kind": "charge", "charge": None, "body": charge})
        journal.add("close", {"because": "refreshed"}, charge=10)
        journal.write()
        forget_receipts(vault)
        audit = audit_vault("vault")
        assert (
            audit["snapshots"].findings[0].what == "entry 11 closes charge 10, whose snapshot the vault was still over"
        )
        entries = [
            Entry(n, e["kind"], e["charge"], canonical(e["body"]), b"") for n, e in enumerate(journal.entries, 1)
        ]
        for kind, charge_id, words in (
            ("record", 10, "entry 12 answers charge 10, which was closed without one"),
            ("close", 10, "entry 12 closes charge 10, which was closed without one"),
            ("close", 2, "entry 12 closes charge 2, which has its answer already"),
            ("close", 7, "entry 12 closes charge 7, which is not there"),
        ):
            body = canonical({"v": 1, "at": charge["at"], "content": {"values": [[7]]}})
            read = replay([*entries, Entry(12, kind, charge_id, body, b"")], Bodies(vault.path / "releases"))
            assert words in {finding.what for finding in read.checks()[0].findings}

    def test_a_charge_after_facts_left_nothing(self):
        vault = make()
        vault.measure(vault.count(), scale="1/4")
        vault.facts.add("SELECT COUNT(*) FROM people WHERE sex = 'F'", 134, accept=True)
        journal = Journal()
        journal.entries += [{**journal.entries[1]}, {**journal.entries[2], "charge": 5}]
        journal.write()
        forget_receipts(vault)
        found = audit_vault("vault")["limit"].findings[0]
        assert found.outcome == "failed"
        assert "charge 5 was made when nothing was left" in found.what

    @pytest.mark.usefixtures("vault")
    def test_a_removed_file(self, workplace):
        next((workplace / "vault/releases").glob("4-*.bin")).unlink()
        audit = audit_vault("vault")
        assert failures(audit) == {"releases"}
        assert "the answer of charge 4, entry 5, is gone" in audit["releases"].findings[0].what

    @pytest.mark.usefixtures("vault")
    def test_an_altered_file(self, workplace):
        path = next((workplace / "vault/releases").glob("4-*.bin"))
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
        vault.facts.add(cuboid=["sex"], values=[134, 133, 133])
        vault.facts.add(cuboid=["job"], values=np.bincount([i * i % 6 for i in range(400)], minlength=6))
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
            (BUDGETS["approximate"], {"mu_squared": "2"}, "its budget of μ² does not imply the ε = 4, δ = 1e-06"),
            (BUDGETS["three rows a person"], {"max_rows": 1}, "count are 3 at most, and the budget is for 1"),
            (BUDGETS["pure"], {"max_rows": 2}, "count are 1 at most, and the budget is for 2"),
            (QUERIES, {"trials": 500}, "noise of 500 coins does not keep what it promises for 200 queries"),
            (QUERIES, {"dp_delta": "1/1000000000000"}, "does not keep what it promises"),
            (QUERIES, {"points": 7}, "it counts 7 rows that a person can have, and there are 7,201"),
        ],
        ids=["μ²", "rows", "a row", "coins", "δ", "statements"],
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
        from discreet.ledger.grid import GridSpend

        monkeypatch.setattr(GridSpend, "replay", lambda *_: None)
        assert failures(audit_vault("vault")) == {"map"}

    def test_a_cube_that_was_changed_and_sealed_again(self):
        vault = make()
        cube = vault.cubes.publish(vault.cubes.plan(epsilon="1/2", dimensions=["sex", "job"]))
        next(iter(cube.sources.values()))[...] += 1
        cube.save("cube")
        audit = audit_vault("vault")
        assert failures(audit) == {"published"}
        assert "not the numbers that the journal has" in audit["published"].findings[0].what

    @pytest.mark.parametrize("name", ["qit.parquet", "datapackage.json"])
    def test_buckets_that_were_changed(self, workplace, name):
        vault = make(**BUDGETS["pure, replace"])
        vault.buckets.publish(sensitive="job", limits="min(1, 3*f + 0.1)", columns=["age"], out="rows")
        path = workplace / "rows" / name
        path.write_bytes(path.read_bytes().replace(b'"fakes": 0', b'"fakes": 1') + b"\n" * (name[0] == "q"))
        audit = audit_vault("vault", published=["rows"])
        assert failures(audit) == {"published"}

    def test_another_vault_s_folder_is_not_taken_for_this_one_s(self):
        vault = make()
        vault.cubes.publish(vault.cubes.plan(epsilon="1/2", dimensions=["sex"])).save("cube")
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
            ("vault.toml", 0o644, "warning"),
            ("journal.sqlite", 0o600, "passed"),
            (".", 0o777, "failed"),
            (".", 0o755, "warning"),
        ],
    )
    @pytest.mark.usefixtures("vault")
    def test_files_that_lie_open(self, workplace, name, mode, outcome):
        (workplace / "vault" / name).chmod(mode)
        found = audit_vault("vault")["files"].findings
        assert max((f.outcome for f in found), default="passed", key=["passed", "warning", "failed"].index) == outcome
        assert all("chmod" in finding.next for finding in found)

    @pytest.mark.usefixtures("vault")
    def test_a_vault_in_memory(self, workplace, monkeypatch):
        df = subprocess.run(["df", "--output=fstype", workplace], capture_output=True, text=True, check=True)
        kind = df.stdout.split()[1]
        assert audit_vault("vault")["files"].outcome == "passed"
        monkeypatch.setattr(exposure, "FORGETFUL", (kind,))
        [found] = audit_vault("vault")["files"].findings
        assert (found.outcome, found.next) == ("warning", "move the vault to a disk")
        assert f"vault lies on {kind}," in found.what

    @pytest.mark.usefixtures("vault")
    def test_a_draw_that_was_never_released(self, workplace):
        (workplace / "vault/releases/4-0123456789abcdef.bin").write_bytes(b"12345678")
        found = audit_vault("vault")["releases"].findings[0]
        assert found.outcome == "warning"
        assert "a second look" in found.next

    @pytest.mark.parametrize("quota", ["much", "1/0", {}, []])
    @pytest.mark.usefixtures("vault")
    def test_a_quota_that_is_no_number(self, workplace, quota):
        (workplace / "vault/users.json").write_text(json.dumps({"users": [{"name": "ada", "quota": quota}]}))
        assert "the quota of ada is no number" in audit_vault("vault")["users"].findings[0].what

    @pytest.mark.parametrize("text", ["", "[]", '{"users": 7}', "[" * 100_000])
    @pytest.mark.usefixtures("vault")
    def test_users_that_cannot_be_read(self, workplace, text):
        (workplace / "vault/users.json").write_text(text)
        assert "users.json cannot be read" in audit_vault("vault")["users"].findings[0].what

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
