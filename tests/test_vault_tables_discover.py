"""Values that nobody declared, in some of several tables: people are counted, and one price covers all."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet.audit.report import audit_vault
from discreet.domain.read_tables import parse_tables
from discreet.errors import DomainError, InvalidBudget, UnsupportedQuery
from discreet.ledger.discovering import NOTHING_FOUND
from discreet.ledger.gaussian_conversion import mu_keeps
from discreet.ledger.squared_budget import GaussianBudget
from discreet.release.discover import search_tables
from discreet.release.selection import biases
from discreet.table.open import open_source
from discreet.table.unit import Unit
from discreet.table.values_of_people import people_by_value
from discreet.vault import Vault
from tests.audit.insider import Journal, failures, forget_receipts
from tests.domain.test_read_tables import ALL, PRESCRIPTIONS

TEXT = ALL.replace('values = ["a", "b", "c"]', 'values = "discover"').replace(
    'values = ["F", "M"]', 'values = "discover"\nmost = 5'
)
BUDGET = {"epsilon": 2, "delta": "1e-4", "neighbours": "add-remove", "discover": "60%"}


def frames(people=400):
    """Everybody has a visit to ward a, and one person the most visits of all, to a ward of their own."""
    visits = pd.DataFrame({"patient": np.arange(people), "ward": "a"})
    alone = pd.DataFrame({"patient": [7] * 3 * people, "ward": "nobody else"})
    encounters = pd.concat([visits, alone], ignore_index=True)
    encounters["encounter"] = np.arange(len(encounters))
    patients = pd.DataFrame(
        {"patient": np.arange(people), "sex": np.where(np.arange(people) % 2, "F", "M"), "age": np.arange(people) % 10}
    )
    prescriptions = pd.DataFrame({"encounter": np.arange(people), "drug": "x"})
    return {"patients": patients, "encounters": encounters, "prescriptions": prescriptions}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(text=TEXT, **changes):
    Path("hospital.toml").write_text(text)
    return Vault.init("vault", table=frames(), domain="hospital.toml", **{**BUDGET, **changes})


def test_what_many_people_have_is_found_in_each_table_and_a_value_of_one_person_is_not():
    vault = made()
    assert vault.table("encounters").domain.names == ("ward", "sex", "age")
    assert vault.table("encounters").domain["ward"].labels == ("a", "(other)")
    assert vault.table("prescriptions").domain["sex"].labels == ("F", "M", "(other)")
    [row] = vault.ask("SELECT COUNT(*) FROM encounters WHERE ward = 'a'", scale=30).rows
    assert abs(row.value - 400) < 300
    first = next(vault.entries())
    assert "found of patients.sex: 2 values; found of encounters.ward: 1 value" in first["what"]
    again = Vault.open(vault.path)
    assert again.table("encounters").domain == vault.table("encounters").domain
    assert [check.name for check in audit_vault(vault.path).checks if check.findings] in ([], ["files"])


def test_all_coins_of_a_person_together_lose_what_was_set_aside():
    """Of each table as many values of each attribute as rows are kept, twice that where one is replaced by another."""
    tables = parse_tables(TEXT)
    for neighbours, times in (("add-remove", 1), ("replace", 2)):
        budget = GaussianBudget.of(Fraction(2), Fraction(1, 10**4), neighbours, tables.rows)
        searches = search_tables(tables, budget, "60%", None)
        assert list(searches) == ["patients", "encounters"]
        total = NOTHING_FOUND
        for name, search in searches.items():
            values = times * tables[name].max_rows
            for _ in search.attributes:
                rule, each = search.rule, search.each
                assert (rule.epsilon * values, rule.mu_squared * values, rule.delta * values) == (
                    each.epsilon,
                    each.mu_squared,
                    each.delta,
                )
                total = total + each
            assert biases(rule)[0] == 0
        [left] = {search.budget for search in searches.values()}
        assert left.discovering == total
        if total.epsilon:
            assert mu_keeps(left.amount, 2 - total.epsilon, Fraction(1, 10**4) - total.delta)
        else:
            assert mu_keeps(left.amount + total.mu_squared, Fraction(2), Fraction(1, 10**4) - total.delta)


def test_no_person_moves_more_than_as_many_values_as_rows_are_kept_of_them():
    found = frames(12)
    visits = found["encounters"].assign(ward=lambda rows: [f"ward {place % 7}" for place in range(len(rows))])
    attribute = parse_tables(TEXT)["encounters"].domain["ward"]
    unit = Unit("patient", 3, "drop")

    def counted(rows):
        names, people = people_by_value(open_source(rows), attribute, unit, bytes(32))
        return dict(zip(names, people.tolist(), strict=True))

    everybody = counted(visits)
    for person in range(12):
        without = counted(visits[visits.patient != person])
        moved = [everybody[name] - without.get(name, 0) for name in everybody]
        assert set(moved) <= {0, 1}
        assert sum(moved) <= 3


@pytest.mark.parametrize(
    ("text", "changes", "error", "said"),
    [
        (TEXT, {"discover": None}, InvalidBudget, "the values of sex, ward are to be discovered"),
        (TEXT, {"delta": None, "discover": "20%"}, UnsupportedQuery, "in a vault of ε and δ only"),
        (ALL, {}, InvalidBudget, "declares all its values"),
        (
            ALL.replace(PRESCRIPTIONS, PRESCRIPTIONS.replace('values = ["x", "y"]', 'values = "discover"')),
            {},
            DomainError,
            "a table that has a column of ids",
        ),
        (TEXT + '[tables.encounters.found]\nward = ["a"]\n', {}, DomainError, "names values of some attributes"),
    ],
)
def test_what_cannot_be_discovered_is_refused_and_leaves_nothing(place, text, changes, error, said):
    with pytest.raises(error, match=said):
        made(text, **changes)
    assert not (place / "vault").exists()


def test_a_first_entry_that_pays_less_for_its_values_is_found_by_the_audit():
    vault = made()
    forget_receipts(vault)
    journal = Journal()
    journal[1]["content"]["discovered"].pop("encounters.ward")
    journal.write()
    assert "header" in failures(audit_vault(vault.path))
