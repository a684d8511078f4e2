"""Checkpoints in an audit: those that state what is so pass, and every other one is found, whoever hashed it."""

from fractions import Fraction

import pytest

from discreet.audit.checkpoints import differing
from discreet.audit.report import audit_vault
from discreet.ledger import checkpoint
from discreet.ledger.asker import Asker
from discreet.vault import Vault
from tests.audit.insider import SQL, Journal, failures, forget_receipts, make
from tests.ledger.test_sqlite import edit

pytestmark = pytest.mark.usefixtures("workplace")

NONE = {"numbers": "int64", "shape": [0], "zlib": "eJwDAAAAAAE="}


@pytest.fixture
def vault(monkeypatch):
    """A vault with facts, two tables, several askers, rows that were to be published, and a few checkpoints."""
    monkeypatch.setattr(checkpoint, "EVERY", 4)
    vault = make()
    vault.facts.add("SELECT COUNT(*) FROM people WHERE sex = 'F'", 134)
    vault.asked_by(Asker("ada")).ask(SQL[1], scale=50)
    vault.refresh()
    for scale in range(500, 520):
        release = vault.asked_by(Asker("bo")).measure(vault.count(sex="F", job="b"), scale=scale)
    cost = release.plan.cost(vault.domain, vault.ledger.budget)
    vault.ledger.charge(cost, release.plan.condensed(), snapshot=vault.ledger.snapshot)  # and cut off
    for scale in range(600, 620):
        vault.measure(vault.count(), scale=scale)
    return vault


def stated(journal):
    """What the last checkpoint states."""
    seq = max(seq for seq, entry in enumerate(journal.entries, 1) if entry["kind"] == "checkpoint")
    return journal[seq]["content"]


def test_true_checkpoints_pass_and_each_is_counted_again(vault):
    audit = audit_vault(vault)
    assert failures(audit) == set()
    assert "each counted again from the start" in audit["checkpoints"].detail
    again = Vault.open("vault")
    assert again.ledger._followed.state.begun_at.seq > 0
    assert audit.spent == again.budget().spent == vault.budget().spent


def test_an_audit_without_checkpoints_says_nothing_of_them():
    vault = make()
    vault.ask(SQL[0], scale=50)
    assert "checkpoints" not in {check.name for check in audit_vault(vault).checks}


LIES = {
    "spent": lambda said: said["spent"].update(everywhere=0),
    "spent in regions": lambda said: said["spent"].update(steps=None),
    "askers": lambda said: said["askers"].pop(),
    "charges": lambda said: said.update(charges=said["charges"] - 1),
    "pending": lambda said: said.update(pending=NONE),
    "closed": lambda said: said.update(closed={**NONE, "shape": [3]}),
    "facts": lambda said: said.update(facts=[]),
    "versions": lambda said: said.update(versions=1),
    "live": lambda said: said.update(live=True),
    "lost": lambda said: said.update(lost=["1:" + "0" * 64]),
    "begun": lambda said: said.update(begun=[3]),
    "noted": lambda said: said["noted"].pop("refresh"),
}
COUNTED_BY_THE_AUDIT = {"charges", "pending", "closed", "facts", "versions", "live", "lost", "begun"}


@pytest.mark.parametrize("what", LIES)
def test_a_forged_checkpoint_is_found_although_every_hash_fits(vault, what):
    spent = vault.budget().spent
    journal = Journal()
    LIES[what](stated(journal))
    vault.ledger.close()
    journal.write()
    forget_receipts(vault)
    audit = audit_vault("vault")
    assert failures(audit) == {"checkpoints"}
    said = " ".join(finding.what for finding in audit["checkpoints"].findings)
    assert "states something else than the entries before it add up to" in said
    assert (f"say otherwise: {what}" in said) == (what in COUNTED_BY_THE_AUDIT)
    again = Vault.open("vault")
    assert again.budget().spent == spent
    again.measure(again.count(), scale=700)
    assert again.budget().spent == spent + Fraction(1, 700) * again.ledger.budget.induced.people


def test_an_entry_that_was_changed_before_a_checkpoint_is_found(vault):
    journal = Journal()
    assert journal[2] != journal[4]
    vault.ledger.close()
    edit(
        "vault/journal.sqlite",
        "DROP TRIGGER entries_stay",
        'UPDATE entries SET body = replace(body, \'"laplace":"50"\', \'"laplace":"90"\') WHERE kind = \'charge\'',
    )
    assert Vault.open("vault").budget().spent == vault.budget().spent  # nothing is charged less,
    assert "chain" in failures(audit_vault("vault"))  # and it is seen


@pytest.mark.parametrize("content", [None, [], "x", {"form": 1}])
def test_what_is_no_statement_differs(content):
    assert differing(content, {"charges": 1})


def test_of_a_form_that_is_not_known_nothing_is_said():
    assert differing({"form": 2}, {"charges": 1}) == []
