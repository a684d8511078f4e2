"""What bounds everything that a vault ever released: stated by the vault, and worked out again by the audit."""

import gc
import shutil
from fractions import Fraction

import pytest

from discreet.audit.report import audit_vault
from discreet.exact import equals_text
from discreet.ledger.snapshot import SnapshotId
from discreet.ledger.standing import Standing
from discreet.vault import Vault
from tests.audit.insider import BUDGETS, QUERIES, SQL, Journal, failures, forget_receipts, make

pytestmark = pytest.mark.usefixtures("workplace")
LOST = {"seen": f"7:{7:064x}"}


def ask(vault):
    if vault.ledger.budget.symbol == "T":
        return vault.sulq.ask((7, "1/2"), "age < 30")
    return vault.ask(SQL[0], scale=40)


def roll_back(times):
    """Ask, put the first journal back, and accept it; so often. The receipts of what was lost."""
    gc.collect()  # a vault that is still held open keeps entries in the log beside the file
    Vault.open("vault").ledger.close()
    shutil.copy("vault/journal.sqlite", "backup")
    lost = []
    for _ in range(times):
        vault = Vault.open("vault", accept_rollback=True)
        ask(vault)
        lost.append(str(vault.ledger.head))
        vault.ledger.close()
        shutil.copy("backup", "vault/journal.sqlite")
    return lost, Vault.open("vault", accept_rollback=True)


@pytest.mark.alarm(1e-20)  # noise that repeats would write the lost entries again
class TestAcceptedRollbacks:
    @pytest.mark.parametrize("budget", [*BUDGETS.values(), QUERIES], ids=[*BUDGETS, "queries"])
    def test_the_audit_states_the_same_number_in_every_currency(self, budget):
        make(**budget)
        _, vault = roll_back(2)
        ask(vault)
        audit, stated = audit_vault("vault"), vault.ledger.guarantee
        assert audit.holds
        assert audit.bound == stated.amount == 3 * audit.total
        assert {finding.outcome for finding in audit["receipts"].findings} == {"warning"}
        said = f"all ever released: {stated.symbol} {equals_text(audit.bound)}"
        assert said in audit["guarantees"].detail
        assert "accepted 2 times" in audit.promise

    def test_with_facts_that_came_later_the_lost_entries_cost_more_as_well(self):
        make()
        _, vault = roll_back(1)
        vault.facts.add("SELECT COUNT(*) FROM people WHERE sex = 'F'", 134)
        assert audit_vault("vault").bound == vault.ledger.guarantee.amount == 4 + 4 * vault.ledger.budget.factor

    def test_a_receipt_of_what_was_given_up_is_no_sign_of_another_rewriting(self):
        make()
        [lost], _ = roll_back(1)
        assert audit_vault("vault", receipts=[lost]).holds
        assert failures(audit_vault("vault", receipts=[lost.replace(":", ":0")[:-1]])) == {"receipts"}

    @pytest.mark.parametrize("budget", [*BUDGETS.values(), QUERIES], ids=[*BUDGETS, "queries"])
    def test_a_vault_that_forgets_them_is_found(self, budget, monkeypatch):
        vault = make(**budget)
        vault.ledger.note("rollback-accepted", LOST)
        assert audit_vault("vault").holds
        whole = Standing._whole
        monkeypatch.setattr(Standing, "_whole", lambda self, spent: whole(Standing(self.own, self.budget), spent))
        audit = audit_vault("vault")
        assert failures(audit) == {"guarantees"}
        assert "with 1 accepted rollback" in audit["guarantees"].findings[0].what

    def test_an_epsilon_that_its_mu_does_not_keep_is_found(self, monkeypatch):
        vault = make(**BUDGETS["approximate"])
        vault.ledger.note("rollback-accepted", LOST)
        monkeypatch.setattr("discreet.ledger.discovering.epsilon_for_mu", lambda *_: Fraction(4))
        audit = audit_vault("vault")
        assert failures(audit) == {"guarantees"}
        assert "promises ε and δ that a μ²" in audit["guarantees"].findings[0].what

    @pytest.mark.parametrize("content", [{}, {"seen": 7}, {**LOST, "also": 7}, []], ids=str)
    def test_an_entry_that_does_not_say_what_was_lost_is_found(self, content):
        vault = make()
        vault.ledger.note("rollback-accepted", LOST)
        vault.ledger.close()
        journal = Journal()
        journal[2]["content"] = content
        journal.write()
        forget_receipts(vault)
        assert "entry 2 does not say what was lost" in str(audit_vault("vault")["chain"].findings)

    def test_statistics_that_state_what_held_before_are_out_of_date_and_not_false(self):
        vault = make(**QUERIES)
        plan = vault.sulq.plan(["old: age > 50", "f: sex = 'F'"], arity=1, subsets=16)
        published = vault.sulq.publish(plan)
        published.save("stat")
        vault.ledger.note("rollback-accepted", LOST)
        [found] = audit_vault("vault")["published"].findings
        assert found.outcome == "warning"
        assert "what held before an older journal was accepted" in found.what
        shutil.rmtree("stat")
        vault.sulq.publish(published.charge).save("stat")
        assert not audit_vault("vault")["published"].findings


def test_refreshes_of_a_database_of_queries_that_are_not_counted_are_found(monkeypatch):
    vault = make(**QUERIES)
    vault.refresh()
    assert not failures(audit_vault("vault"))
    monkeypatch.setattr("discreet.ledger.standing._statements", lambda points, _: points)
    assert "refreshes make them more" in str(audit_vault("vault")["guarantees"].findings)


def test_a_live_table_is_said_in_every_guarantee_and_a_vault_that_does_not_say_so_is_found(monkeypatch):
    vault = make()
    vault.ledger.note_refresh(SnapshotId(2, "x"), live=True)
    assert "the table is live" in str(vault.ledger.guarantee)
    assert failures(audit_vault("vault")) == set()
    monkeypatch.setattr("discreet.ledger.standing.LIVE", "")
    assert failures(audit_vault("vault")) == {"guarantees"}
