"""The audit of a vault: honest vaults of every kind pass; the command and its page."""

import json
import os
import re
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from discreet.audit import compared, report, search
from discreet.audit.report import audit_vault
from discreet.cli import app
from discreet.ledger.asker import Asker
from discreet.ledger.places import journal_at
from discreet.ledger.receipt import receipt_path
from discreet.ledger.spend import UNITS
from discreet.release import archive
from discreet.server.auth import add_user
from discreet.table.snapshot import Snapshot
from discreet.vault import Vault
from tests.audit.insider import (
    BUDGETS,
    QUERIES,
    SQL,
    Journal,
    in_vault_currency,
    make,
)

pytestmark = pytest.mark.usefixtures("workplace")


def many_columns(workplace, columns, codes):
    """A vault over so many columns of so many codes each."""
    lines = [f'[attributes.a{i}]\nkind = "integer"\nlow = 0\nhigh = {codes - 1}\n' for i in range(columns)]
    (workplace / "many.toml").write_text('name = "many"\n' + "".join(f'{line}source = "form"\n' for line in lines))
    pq.write_table(pa.table({f"a{i}": range(5) for i in range(columns)}), "many.parquet")
    return Vault.init("vault", table="many.parquet", domain="many.toml", epsilon=1, neighbours="add-remove")


class TestHonestVaults:
    @pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
    def test_pass_in_every_currency(self, budget):
        vault = make(**budget)
        for sql in SQL:
            vault.ask(sql, scale=40)
        cube = vault.cubes.publish(vault.cubes.plan(**in_vault_currency(vault, "1/20"), dimensions=["sex", "job"]))
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
        vault.facts.add(cuboid=["job"], values=np.bincount([i * i % 6 for i in range(400)], minlength=6))
        vault.ask(SQL[4], scale=40)
        vault.refresh("people.parquet")
        vault.facts.add("SELECT COUNT(*) FROM people WHERE sex = 'F'", 134)
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
        vault.facts.add("SELECT COUNT(*) FROM people WHERE sex = 'F'", 134, accept=True)
        audit = audit_vault("vault")
        assert audit.holds
        assert audit["limit"].outcome == "warning"
        assert audit.spent == vault.ledger.guarantee.amount > audit.total

    def test_that_published_rows_pass_and_say_that_this_is_not_differential_privacy(self):
        vault = make(**BUDGETS["pure, replace"])
        vault.buckets.publish(sensitive="job", limits="min(1, 3*f + 0.1)", columns=["age", "sex"], out="rows")
        vault.ask(SQL[0], scale=40)
        audit = audit_vault("vault")
        assert audit.holds
        assert "not differential privacy" in audit["promise"].findings[0].what
        assert "rows published 1 time" in audit["promise"].detail
        assert audit["published"].detail == "1 folder found"

    def test_with_a_budget_of_queries_pass(self):
        vault = make(**QUERIES)
        vault.sulq.ask((7, "1/2"), "age < 30")
        vault.sulq.ask_all([(8, "1/2"), "everyone", [1, 2, 3]], "sex = 'F'")
        vault.sulq.publish(vault.sulq.plan(["old: age > 50", "f: sex = 'F'"], arity=1, subsets=16)).save("stat")
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

    def test_with_a_domain_beyond_the_dense_map_pass(self, workplace):
        text = "".join(f'[attributes.a{i}]\nkind = "integer"\nlow = 0\nhigh = 999\nsource = "form"\n' for i in range(4))
        (workplace / "wide.toml").write_text(f'name = "wide"\n{text}')
        pq.write_table(pa.table({f"a{i}": range(50) for i in range(4)}), "wide.parquet")
        vault = Vault.init("vault", table="wide.parquet", domain="wide.toml", **BUDGETS["pure"])
        for i in range(12):
            vault.measure(vault.count(a0=(7 * i, 900 - i), a1=(0, 30 * i + 5), a3=(i, 999)), scale=30)
        audit = audit_vault("vault")
        assert audit.holds
        assert audit.spent <= vault.budget().spent
        assert audit.spent == 12 * Fraction(1, 30)

    @pytest.mark.parametrize(("columns", "codes"), [(9, 28), (200, 10), (2, 10**12)])
    def test_of_tables_with_many_columns_or_codes_need_no_more_than_was_asked(self, workplace, columns, codes):
        vault = many_columns(workplace, columns, codes)
        for axis in range(columns)[:20]:
            vault.measure(vault.count(**{f"a{axis}": (1, 5), "a1": (0, axis % 8)}), scale=1000)
        vault.measure(vault.count(by=["a1"]) if codes < 100 else vault.count(), scale=1000)
        audit = audit_vault("vault")
        assert audit.holds, audit.findings
        # Code 0 of a1 and code 1 of all others are in all of them.
        assert audit.spent_at_least == audit.spent == Fraction(min(columns, 20) + 1, 1000)
        assert audit.vault_spent == vault.budget().spent >= audit.spent

    def test_that_a_search_cannot_settle_say_between_which_numbers_and_what_budget_says(self, workplace, monkeypatch):
        vault = many_columns(workplace, 40, 10)
        for axis in range(40):
            vault.measure(vault.count(**{f"a{axis}": (0, 4)}), scale=1000)
            vault.measure(vault.count(**{f"a{axis}": (5, 9)}), scale=1000)
        monkeypatch.setattr(search, "MOST_STEPS", 1)
        audit = audit_vault("vault")
        assert audit.holds
        assert Fraction(40, 1000) == audit.spent_at_least < audit.spent <= audit.vault_spent == vault.budget().spent
        assert "between 4.0% and" in audit["limit"].detail
        assert re.search(r"between 0\.04 and 0\.0\d+ by the audit, 0\.08 at most by the vault", audit["map"].detail)
        # A vault that counts less than the audit can show is not ticked; one that counts too little fails.
        for claimed, outcome in ((50, "warning"), (39, "failed")):
            monkeypatch.setattr(compared.Ledger, "spent_max", property(lambda _, c=claimed: c * UNITS // 1000))
            audit = audit_vault("vault")
            assert audit["map"].outcome == outcome
            assert ("the audit's own bound is coarser" in audit["map"].findings[0].what) == (outcome == "warning")
            assert f"budget says = {claimed / 1000:g}," in audit.spent_in_words

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
            broken.setattr(Snapshot, "evaluate", lambda *_: 1 / 0)
            with pytest.raises(Exception, match="charge 2 stands"):
                vault.measure(vault.count(), scale=10)
        audit = audit_vault("vault")
        assert audit.holds
        assert audit["pending"].findings[0].what == "1 charge without an answer: 2"
        assert "ledger complete" in audit["pending"].findings[0].next
        vault.complete()
        assert not audit_vault("vault").findings

    def test_are_neither_changed_nor_written_to(self, workplace):
        vault = make()
        vault.ask(SQL[1], scale=40)
        vault.ledger.close()
        seen = receipt_path(vault.ledger.vault_id).read_bytes()
        before = {
            path: path.read_bytes()
            for path in (workplace / "vault").rglob("*")
            if path.is_file() and path.suffix != ".sqlite-shm"
        }
        audit_vault("vault")
        after = {
            path: path.read_bytes()
            for path in (workplace / "vault").rglob("*")
            if path.is_file() and path.suffix != ".sqlite-shm"
        }
        assert {path: after.get(path, before[path]) for path in before} == before
        assert receipt_path(vault.ledger.vault_id).read_bytes() == seen

    def test_on_a_disk_that_cannot_be_written_to_are_read_from_a_copy(self, workplace, monkeypatch):
        vault = make()
        vault.ask(SQL[0], scale=40)  # and is not closed: its last entries are in the log beside the file
        assert (workplace / "vault/journal.sqlite-wal").stat().st_size
        places = []
        monkeypatch.setattr(os, "access", lambda *_: False)
        monkeypatch.setattr(report, "journal_at", lambda place: places.append(place) or journal_at(place))
        audit = audit_vault("vault")
        assert audit.holds
        assert audit.receipt == str(vault.ledger.head)
        assert not any(place.is_relative_to(workplace) or place.exists() for place in places)

    @pytest.mark.parametrize(
        ("budget", "words"),
        [
            ({"epsilon": 6, "neighbours": "replace"}, "ε = 6 promises little"),
            ({"rho": 2, "neighbours": "replace"}, "ρ = 2 promises little: not even ε = 10 with δ = 10^-6"),
            (QUERIES | {"delta": 6}, "δ = 6 promise little"),
            ({"mu": 2, "neighbours": "replace"}, "μ² = 4 promises little: not even ε = 10 with δ = 10^-6"),
            ({"rho": 1, "neighbours": "replace"}, ""),
            ({"mu": 1, "neighbours": "replace"}, ""),
        ],
        ids=["ε", "ρ", "δ", "μ", "enough", "enough μ"],
    )
    def test_with_a_budget_that_promises_little_are_told_so(self, budget, words):
        make(**budget)
        found = audit_vault("vault")["promise"].findings
        assert words in found[0].what if words else not found

    def test_need_no_table(self, workplace):
        make().ask(SQL[0], scale=40)
        (workplace / "people.parquet").unlink()
        assert audit_vault("vault").holds


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
