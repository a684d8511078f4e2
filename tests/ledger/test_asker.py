"""Quotas: the most that one user's charges spend at any point, exactly, in the journal and nowhere else."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.region import Box
from discreet.errors import BudgetExceeded, QuotaExceeded
from discreet.ledger.asker import Asker
from discreet.ledger.budget import PureBudget
from discreet.ledger.spend import UNITS, Cost
from discreet.vault import Vault


@pytest.fixture
def vault(folder):
    table, domain = folder / "people.parquet", folder / "people.toml"
    return Vault.init("vault", table=table, domain=domain, epsilon=1, neighbours="replace")


def count(vault, age):
    return vault.count(age=age)


def test_a_quota_is_met_exactly_and_then_nothing_fits(vault):
    ana = vault.asked_by(Asker("ana", Fraction(3, 10)))
    for _ in range(3):
        ana.measure(count(vault, 1), scale=20)  # 2/20 each
    assert vault.budget().by_user == {"ana": Fraction(3, 10)}
    before = vault.ledger.head
    with pytest.raises(QuotaExceeded, match=r"quota of ε = 0\.3, of which ε = 0 is left there, and this needs"):
        ana.measure(count(vault, 1), scale=10**6)
    assert vault.ledger.head == before


def test_questions_about_people_who_do_not_overlap_count_once_as_they_do_for_the_vault(vault):
    ana = vault.asked_by(Asker("ana", Fraction(1, 10)))
    for age in range(20):
        ana.measure(count(vault, age), scale=20)
    assert vault.budget().spent == Fraction(1, 10)
    assert vault.budget().by_user == {"ana": Fraction(1, 10)}
    with pytest.raises(QuotaExceeded, match="ε = 0 is left there"):
        ana.measure(vault.count(age=(15, 40)), scale=1000)
    assert vault.ledger.quota_left(Asker("ana", Fraction(1, 10)), vault.count(age=50).where) == Fraction(1, 10)


def test_another_table_puts_everybody_where_most_was_spent(vault):
    ana = vault.asked_by(Asker("ana", Fraction(1, 10)))
    ana.measure(count(vault, 1), scale=20)
    vault.refresh()
    with pytest.raises(QuotaExceeded):
        ana.measure(count(vault, 2), scale=1000)


def test_one_users_spending_is_not_anothers(vault):
    vault.asked_by(Asker("ana", Fraction(1, 10))).measure(count(vault, 1), scale=20)
    vault.asked_by(Asker("ben", Fraction(1, 10))).measure(count(vault, 2), scale=20)
    vault.measure(count(vault, 3), scale=20)
    assert vault.budget().by_user == {"ana": Fraction(1, 10), "ben": Fraction(1, 10)}


def test_a_quota_is_below_the_budget_and_not_beside_it(vault):
    with pytest.raises(BudgetExceeded):
        vault.asked_by(Asker("ana", Fraction(5))).measure(count(vault, 1), scale=1)


def test_a_quota_is_kept_by_a_vault_that_is_opened_again(vault):
    vault.asked_by(Asker("ana", Fraction(1, 10))).measure(count(vault, 1), scale=20)
    again = Vault.open(vault.path)
    assert again.budget().by_user == {"ana": Fraction(1, 10)}
    assert again.ledger.charge_at(2).by == "ana"
    with pytest.raises(QuotaExceeded):
        again.asked_by(Asker("ana", Fraction(1, 10))).measure(count(vault, 1), scale=1000)


def test_facts_make_what_was_spent_count_for_more(vault):
    vault.asked_by(Asker("ana", Fraction(1))).measure(count(vault, 1), scale=20)
    vault.facts.add(cuboid=["age", "sex"], values=_table())
    assert vault.budget().by_user["ana"] == vault.budget().spent


def _table():
    import numpy as np

    values = np.zeros((100, 3), np.int64)
    for i in range(600):
        values[i % 100, i % 3] += 1
    return values


def test_what_was_charged_for_an_asker_is_told_to_them(vault):
    asker = Asker("ana")
    release = vault.asked_by(asker).measure(count(vault, 1), scale=20)
    assert asker.charges == [release.charge]


def test_two_holders_of_one_vault_cannot_both_spend_the_last_of_a_quota(vault):
    holders = [Vault.open(vault.path) for _ in range(3)]

    def asks(place):
        try:
            holders[place % 3].asked_by(Asker("ana", Fraction(1, 2))).measure(vault.count(age=(0, place)), scale=40)
        except QuotaExceeded:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(asks, range(24))) == 10
    assert vault.budget().by_user == {"ana": Fraction(1, 2)}


@given(st.fractions(min_value="1/1000", max_value=3), st.integers(0, 3 * UNITS), st.integers(0, 3 * UNITS))
def test_a_charge_fits_a_quota_exactly_when_what_it_reaches_does(quota, spent, more):
    budget = PureBudget(Fraction(10), "replace")
    fits = Fraction(2 * (spent + more), UNITS) <= quota
    try:
        Asker("ana", quota).require_within(spent + more, more, budget)
    except QuotaExceeded:
        assert not fits
    else:
        assert fits


def test_a_cost_of_several_boxes_counts_where_it_is_most():
    cost = Cost(1, ((Box((0,), (5,)), 2), (Box((4,), (9,)), 4)))
    assert cost.peak == 7
