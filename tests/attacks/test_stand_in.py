"""The copy that is attacked has the vault's promise and policy, and none of its rows; and leaves nothing behind."""

import gc
import tempfile
from fractions import Fraction

import pyarrow as pa
import pytest

from discreet.attacks.averaging import attack_by_averaging
from discreet.attacks.stand_in import sharpest, stand_in
from discreet.errors import BudgetExceeded, InvalidNoise, UnsupportedQuery
from discreet.ledger.spend import units_up
from discreet.vault import Vault

PEOPLE = pa.table({"age": [1, 2], "sex": ["F", "M"], "income": [1.0, 2.0], "who": [1, 2]})
CURRENCIES = [
    {"epsilon": "1/3", "neighbours": "add-remove"},
    {"epsilon": 1, "neighbours": "replace"},
    {"rho": "0.07", "neighbours": "replace"},
    {"epsilon": 1, "delta": "1e-6", "neighbours": "add-remove"},
    {"mu": "3/7", "neighbours": "replace"},
]


def made(folder, **wishes):
    return Vault.init(folder / "vault", table=PEOPLE, domain=folder / "people.toml", **wishes)


@pytest.mark.parametrize("currency", CURRENCIES)
@pytest.mark.parametrize("unit", [{}, {"id": "who", "max_rows": 3}])
def test_a_copy_has_the_same_promise_and_nothing_spent(currency, unit, folder):
    vault = made(folder, **currency, **unit)
    vault.ask("SELECT COUNT(*) FROM people", scale=1000)
    with stand_in(vault, PEOPLE) as copy:
        assert copy.ledger.budget == vault.ledger.budget
        assert copy.ledger.guarantee == vault.ledger.guarantee
        assert copy.ledger.header["domain"] == vault.ledger.header["domain"]
        assert copy.budget().spent == 0
        assert copy.ledger.vault_id != vault.ledger.vault_id


def test_facts_lower_the_limit_of_a_copy_as_they_do_the_vaults(folder):
    vault = made(folder, epsilon=1, neighbours="add-remove")
    vault.facts.add("SELECT COUNT(*) FROM people", 2)
    vault.facts.add("SELECT COUNT(*) FROM people WHERE sex = 'F'", 1)
    with stand_in(vault, PEOPLE) as copy:
        assert copy.ledger.budget.limit == vault.ledger.budget.limit < vault.ledger._followed.state.own_budget.limit


def test_a_copy_keeps_the_policy(folder):
    made(folder, epsilon=1, neighbours="add-remove")
    settings = folder / "vault" / "vault.toml"
    settings.write_text(settings.read_text() + "min_scale = 40\nmax_per_query = 0.01\n")
    vault = Vault.open(folder / "vault", table=PEOPLE)
    with stand_in(vault, PEOPLE) as copy:
        with pytest.raises(InvalidNoise, match="scale 40"):
            copy.ask("SELECT COUNT(*) FROM people", scale=39)
        with pytest.raises(BudgetExceeded, match="may spend"):
            copy.ask("SELECT COUNT(*) FROM people", scale=50)
    assert sharpest(vault, 1) == (100, 100)


@pytest.mark.parametrize("currency", CURRENCIES)
@pytest.mark.parametrize("questions", [1, 7])
def test_the_sharpest_questions_spend_the_budget_to_the_last_few_units(currency, questions, folder):
    vault = made(folder, **currency)
    scale, fits = sharpest(vault, questions)
    assert fits == questions
    budget = vault.ledger.budget
    spent = questions * units_up(budget.loss(budget.noise_of_scale(scale), Fraction(1), True))
    assert budget.limit * 0.9999 < spent <= budget.limit


def test_an_attack_leaves_nothing_behind_and_touches_neither_vault_nor_table(folder, state_home, monkeypatch):
    temporary = folder / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    made(folder, epsilon=1, neighbours="add-remove")
    # A data frame that nobody hands over again: were a row of the vault's own table read, it would be missed.
    vault = Vault.open(folder / "vault")
    before = vault.ledger.head
    attack_by_averaging(vault, trials=4)
    assert vault.ledger.head == before
    gc.collect()  # an engine's folder goes with the engine
    assert list(temporary.iterdir()) == []
    receipts = state_home / "discreet" / "receipts"
    assert [path.name for path in receipts.iterdir()] == [vault.ledger.vault_id]


def test_a_vault_of_queries_is_refused_in_words(folder):
    roster = folder / "roster.csv"
    roster.write_text("who\n" + "\n".join(map(str, range(50))))
    vault = Vault.init(
        folder / "vault", table=PEOPLE, domain=folder / "people.toml", id="who", roster=roster, queries=5, delta=1
    )
    with pytest.raises(UnsupportedQuery, match="budget of queries"):
        attack_by_averaging(vault, trials=4)
