"""The accuracy asked for: met, bought, or refused with the accuracy that can be had; and what a number is about."""

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from discreet.answer.policy import Policy
from discreet.errors import BudgetExceeded
from discreet.ledger.spend import UNITS
from discreet.noise.law import Laplace
from discreet.noise.spread import Draws, halfwidth
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Quantile
from tests.answer.conftest import DOMAIN
from tests.answer.test_spending import exhausted

OLD = "SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 5"
NEAR = "SELECT COUNT(*) FROM people WHERE age BETWEEN 1 AND 5"
AGES = "SELECT age, COUNT(*) FROM people GROUP BY age"


def nearly_spent(vault, left="0.01", **where):
    """The same vault with only so much left in a region."""
    query = vault.count(**where)
    budget = vault.ledger.budget
    spent = Fraction(vault.ledger.left(query.where), UNITS) - Fraction(left)
    vault.measure(Plan((Measurement(query, budget.noise_costing(spent * budget.factor)),)))
    return vault


def test_what_follows_but_not_as_sharply_as_was_asked_is_measured(vault):
    vault.measure(vault.count(by="age"), scale=10)
    derived = vault.ask("SELECT COUNT(*) FROM people WHERE age < 4", within=200)
    assert derived.kind == "derived"
    wide = (derived.interval()[1] - derived.interval()[0]) / 2
    sharper = vault.ask("SELECT COUNT(*) FROM people WHERE age < 4", within=Fraction(wide) * Fraction(9, 10))
    assert sharper.kind == "measured"
    low, high = sharper.interval()
    assert (high - low) / 2 <= 0.9 * wide


@settings(max_examples=30, phases=[Phase.generate])
@given(within=st.integers(5, 400), spent=st.sampled_from(["", "9.9"]))
def test_a_free_number_is_as_sharp_as_was_asked(tmp_path_factory, people, within, spent):
    from discreet.vault import Vault
    from tests.answer.conftest import DOMAIN

    home = tmp_path_factory.mktemp("free")
    (home / "people.toml").write_text(DOMAIN)
    vault = Vault.init(home / "vault", table=people, domain=home / "people.toml", epsilon=10, neighbours="add-remove")
    vault.measure(vault.count(by="age"), scale=10)
    if spent:
        nearly_spent(vault)
    for sql in (
        "SELECT COUNT(*) FROM people WHERE age < 4",
        "SELECT COUNT(*) FILTER (WHERE age < 4) - COUNT(*) FILTER (WHERE age > 4) FROM people",
    ):
        said = vault.explain(sql, within=within)
        answer = vault.ask(sql, within=within)
        assert answer.cost == said.cost
        low, high = answer.interval()
        met = (high - low) / 2 <= within * (1 + 1e-6)
        assert (
            met
            or answer.kind == "relaxed"
            or any("would cost more than is left there" in note for note in answer.notes)
        )
        if met and answer.cost:
            assert vault.ask(sql, within=within).cost == 0  # nobody pays twice for what was met
    vault.ledger.close()


def test_a_combination_with_a_part_of_nobody_is_bought_or_relaxed_as_any(make_vault):
    sql = "SELECT COUNT(*) FILTER (WHERE sex = 'F') - COUNT(*) FILTER (WHERE sex = 'M') FROM people WHERE sex = 'F'"
    vault = make_vault(epsilon=10)
    assert vault.ask(sql, within=20).kind == "measured"
    spent = nearly_spent(vault, "0.01", sex="F")
    assert spent.explain(sql, within=5).cost == spent.ask(sql, within=5).cost == 0


def test_a_relaxed_line_says_what_it_is_about_and_what_could_be_had(make_vault):
    vault = nearly_spent(make_vault(epsilon=10), "0.02", sex="M")
    answer = vault.ask("SELECT age, COUNT(*) FROM people WHERE sex = 'M' GROUP BY age", scale=1)
    assert answer.kind == "relaxed"
    headers, lines = answer.table()
    assert headers[-2:] == ["answered for", "could be had"]
    assert all(line[-2] == "sex = 'M'" for line in lines)
    row = answer.rows[0]
    assert row.affordable is not None
    body = answer.to_json()["rows"][0]
    assert (body["answered"], body["affordable"]) == ("sex = 'M'", row.affordable)
    assert answer.to_csv().splitlines()[1].endswith("relaxed,sex = 'M'")
    assert row.affordable >= 100  # as little as is left
    measured = vault.ask("SELECT COUNT(*) FROM people WHERE sex = 'M' AND age = 0", within=row.affordable)
    assert measured.kind == "measured"


@pytest.mark.parametrize("budget", [{"epsilon": 10}, {"rho": 5}, {"rho": 5, "neighbours": "replace"}])
@pytest.mark.parametrize("wanted", ["COUNT(*)", "SUM(income)", "COUNT(*), SUM(age)"])
def test_what_could_be_had_is_had_when_asked_for(make_vault, budget, wanted):
    vault = exhausted(make_vault(**budget))
    vault = nearly_spent(vault, "0.01", age=(7, 9))
    sql = f"SELECT {wanted} FROM people WHERE age >= 8"
    near = vault.ask(sql, scale=1)
    offered = [row.affordable for row in near.rows]
    assert all(row.kind == "relaxed" for row in near.rows if row.affordable)
    assert all(offered)
    again = vault.ask(sql, within=max(offered))
    assert {row.kind for row in again.rows} == {"measured"}


def test_without_relaxing_what_has_no_budget_is_refused_with_the_accuracy_that_can_be_had(make_vault):
    vault = nearly_spent(make_vault(epsilon=10), "0.02", age=(2, 5))
    with pytest.raises(BudgetExceeded, match=r"what is left there allows count within 1") as refused:
        vault.ask(NEAR, scale=1, relax=False)
    assert "within" in str(refused.value)
    quiet = replace(vault, policy=Policy(relax=False))
    with pytest.raises(BudgetExceeded):
        quiet.ask(NEAR, scale=1)
    assert quiet.ask(NEAR, scale=1, relax=True).kind == "relaxed"
    some = vault.ask(AGES, scale=1, relax=False)
    assert [row.value is None for row in some.rows] == [2 <= age <= 5 for age in range(10)]
    assert any("with relax" in note for note in some.notes)


def test_what_is_public_but_too_wide_is_said_to_be_so_where_nothing_sharper_can_be_bought(make_vault):
    vault = make_vault(epsilon=10)
    vault.measure(vault.count(age=(2, 5)), scale=100)
    where = vault.count(age=(2, 5)).where
    vault.measure(Quantile("age", Fraction(1, 2), where), scale=Fraction(UNITS, vault.ledger.left(where)))
    answer = vault.ask(OLD, within=20)
    assert (answer.kind, answer.cost, answer.answered) == ("repeated", 0, "age BETWEEN 2 AND 5")
    assert any("± 20 would cost more than is left there" in note for note in answer.notes)


def test_a_number_as_wide_as_its_interval_is_said_to_be_too_noisy_to_read(vault):
    answer = vault.ask("SELECT age, AVG(income) FROM people GROUP BY age", scale=5000)
    assert any(row.is_too_noisy for row in answer.rows)
    assert all(row.is_too_noisy == ((row.high - row.low) / 2 >= row.value) for row in answer.rows if row.value)
    assert any("too noisy to read" in note for note in answer.notes)
    assert "too noisy" in str(answer)
    sharp = vault.ask("SELECT AVG(income) FROM people", scale=5)
    assert not sharp.only.is_too_noisy
    assert not any("too noisy" in note for note in sharp.notes)


def test_the_error_beside_a_guess_at_the_number_is_said_before_it_is_bought(vault):
    sql = "SELECT COUNT(*) FROM people WHERE age < 5"
    assert vault.explain(sql, scale=5).forecasts[0].relative is None  # nothing is known yet
    vault.measure(vault.count(by="age"), scale=50)
    [forecast] = vault.explain(sql, scale=5).forecasts
    assert forecast.relative == pytest.approx(forecast.halfwidth / 3000, rel=0.3)
    assert vault.explain(sql, scale=5).to_json()["aggregates"][0]["relative"] == forecast.relative


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FILTER (WHERE age = 1) - COUNT(*) FILTER (WHERE age = 2) FROM people",
        "SELECT sex, COUNT(*) FILTER (WHERE age < 5) - COUNT(*) FILTER (WHERE age < 5 AND sex = 'F') FROM people "
        "GROUP BY sex",
    ],
)
def test_nobody_pays_twice_for_a_combination_of_groups_of_one_table_or_of_the_same_number(make_vault, sql):
    vault = make_vault(epsilon=10)
    vault.ask(AGES, scale=14)
    vault.ask(sql, within=60)
    again = vault.ask(sql, within=60)
    assert again.cost == 0
    assert all((row.high - row.low) / 2 <= 60 for row in again.rows)


def test_a_part_that_is_public_and_sharp_enough_is_not_bought_again(vault):
    vault.ask("SELECT COUNT(*) FROM people WHERE age = 2", within=10)
    left = vault.ledger.left(vault.count(age=2).where)
    vault.ask("SELECT COUNT(*) FILTER (WHERE age = 2) + COUNT(*) FILTER (WHERE age = 8) FROM people", within=100)
    assert vault.ledger.left(vault.count(age=2).where) == left


def test_without_relaxing_what_is_public_of_the_very_region_is_handed_out(make_vault):
    vault = make_vault(epsilon=10)
    vault.measure(vault.count(by="age"), scale=10)
    where = vault.domain.everything
    vault.measure(Quantile("age", Fraction(1, 2), where), scale=Fraction(UNITS, vault.ledger.left(where)))
    answer = vault.ask("SELECT COUNT(*) FROM people WHERE age < 5", within=1, relax=False)
    assert (answer.kind, answer.cost) == ("derived", 0)


def test_an_offer_to_a_question_of_several_numbers_stays_within_the_policy(make_vault):
    vault = nearly_spent(make_vault(epsilon=10), "0.6", age=(0, 4))
    vault.policy = Policy(max_per_query=Fraction(1, 2))
    columns = "COUNT(*) FILTER (WHERE sex = 'M'), COUNT(*) FILTER (WHERE sex = 'F' OR sex = 'M')"
    sql = f"SELECT {columns} FROM people WHERE age < 4"
    near = vault.ask(sql, within=1)
    offers = [row.affordable for row in near.rows]
    assert all(offers)
    assert {row.kind for row in vault.ask(sql, within=max(offers)).rows} == {"measured"}


@pytest.mark.parametrize("left", [Fraction(k, 10_000) for k in (18, 23, 57, 64, 131, 402)])
def test_what_could_be_had_of_a_difference_is_had(make_vault, left):
    vault = nearly_spent(make_vault(epsilon=10), left)
    sql = "SELECT COUNT(*) FILTER (WHERE age = 1) - COUNT(*) FILTER (WHERE age = 2) FROM people"
    offer = vault.ask(sql, scale=1).only.affordable
    assert vault.ask(sql, within=offer).kind == "measured"


@pytest.mark.parametrize("grain", ["0.25", "1", "5"])
def test_what_could_be_had_of_a_difference_of_sums_is_had_and_no_more_was_left(make_vault, tmp_path, grain):
    (tmp_path / "people.toml").write_text(DOMAIN.replace("grain = 1", f"grain = {grain}"))
    vault = nearly_spent(make_vault(epsilon=10), Fraction(1, 50))
    sql = "SELECT SUM(income) FILTER (WHERE age = 1) - SUM(income) FILTER (WHERE age = 2) FROM people"
    with pytest.raises(BudgetExceeded) as refused:
        vault.ask(sql, scale=1)
    offer = int(re.search(r"within ([\d,]+)$", str(refused.value))[1].replace(",", ""))
    # Two sums share 1/50, and a row adds up to 50: noise of 50/(1/100) for each.
    assert offer == pytest.approx(halfwidth([Draws(1.0, Laplace(Fraction(5_000)), 2)], Fraction(19, 20)), rel=0.02)
    assert vault.ask(sql, within=offer).kind == "measured"


def test_an_average_has_no_patches_for_its_parts_apart(make_vault):
    vault = exhausted(make_vault(epsilon=10))
    vault.policy = Policy(patches=True)
    answer = vault.ask("SELECT AVG(age) FROM people WHERE age BETWEEN 1 AND 5", scale=1)
    assert answer.cost == 0


def test_no_lines_are_chosen_from_no_lines(vault):
    answer = vault.ask(
        "SELECT sex, COUNT(*) FROM people WHERE age < 0 GROUP BY sex ORDER BY COUNT(*) DESC LIMIT 1 OFFSET 1", scale=10
    )
    assert answer.rows == ()


def test_how_far_off_an_average_may_be_is_said_before_it_is_bought_where_counts_are_public(vault):
    sql = "SELECT AVG(income) FROM people WHERE age < 5"
    assert vault.explain(sql, scale=5).forecasts[0].halfwidth is None  # nothing is known yet
    vault.measure(vault.count(by=("age", "income")), scale=5)
    [forecast] = vault.explain(sql, scale=5).forecasts
    row = vault.ask(sql, scale=5).only
    assert forecast.halfwidth == pytest.approx((row.high - row.low) / 2, rel=0.5)
    assert vault.explain(sql, scale=5).to_json()["aggregates"][0]["relative"] is not None  # now its sum is public too


def test_an_average_of_groups_is_foreseen_from_the_count_of_all_and_so_is_that_it_cannot_be_read(vault):
    vault.ask("SELECT COUNT(*) FROM people", scale=5)
    sql = "SELECT age, AVG(income) FROM people GROUP BY age"
    sharp, rough = (vault.explain(sql, scale=scale) for scale in (5, 5000))
    assert any("600 rows each" in note or "rows each, the mean of 10" in note for note in sharp.notes)
    assert not any("too noisy to read" in note for note in sharp.notes)
    assert any("too noisy to read" in note for note in rough.notes)
    found = [(row.high - row.low) / 2 for row in vault.ask(sql, scale=5).rows]
    assert sharp.forecasts[0].halfwidth == pytest.approx(sum(found) / len(found), rel=0.5)
    assert rough.forecasts[0].halfwidth == 25  # half of 0 … 50: all that it may be
