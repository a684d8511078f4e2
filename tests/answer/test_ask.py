"""`vault.ask`: what is answered from what, at what cost, and how far off."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet.answer import ask as module
from discreet.errors import BudgetExceeded, DomainError, InvalidNoise, UnsupportedQuery, VaultError
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.vault import Vault

FEMALES = "SELECT COUNT(*) FROM people WHERE sex = 'F'"


def spent(vault):
    return vault.budget().spent


def test_a_fresh_count_is_measured_and_charged(vault, people):
    answer = vault.ask(FEMALES, scale=10)
    assert (answer.kind, answer.cost, spent(vault)) == ("measured", Fraction(1, 10), Fraction(1, 10))
    low, high = answer.interval(0.999999)
    assert low <= (people.sex == "F").sum() <= high
    assert answer.asked == answer.answered == "sex = 'F'"


def test_the_same_count_again_is_repeated_and_free(vault):
    first = vault.ask(FEMALES, scale=10)
    again = vault.ask("SELECT COUNT(*) AS n FROM people WHERE NOT (sex <> 'F')", scale=10)
    assert (again.kind, again.value, again.cost) == ("repeated", first.value, 0)
    assert again.interval(0.9) == first.interval(0.9)


def test_an_answer_promises_what_it_cost_or_what_all_earlier_ones_did_that_may_be_in_it(vault):
    """An answer that spends nothing is not for nothing: it tells what somebody else has paid for."""
    vault.ask("SELECT COUNT(*) FROM people WHERE age < 3", scale=20)
    measured = vault.ask(FEMALES, scale=10)
    assert measured.guarantee.amount == measured.cost == Fraction(1, 10)
    so_far = spent(vault)
    assert so_far == Fraction(3, 20)
    again = vault.ask(FEMALES, scale=10)
    assert (again.kind, again.cost, again.guarantee.amount) == ("repeated", 0, so_far)
    mixed = vault.ask("SELECT sex, COUNT(*) FROM people WHERE age >= 0 GROUP BY sex", scale=10)
    assert mixed.guarantee.amount == spent(vault) > mixed.cost


def test_a_mean_of_a_fresh_sum_and_an_earlier_count_is_not_for_the_sum_s_price_alone(vault):
    vault.ask(FEMALES, scale=10)
    mean = vault.ask("SELECT AVG(age) FROM people WHERE sex = 'F'", scale=10)
    assert (mean.kind, mean.guarantee.amount) == ("measured", spent(vault))
    assert mean.cost < spent(vault)


def test_a_sharper_wish_is_measured_anew_and_then_all_answers_are_combined(vault):
    vault.ask(FEMALES, scale=10)
    sharper = vault.ask(FEMALES, scale=9)
    assert sharper.kind == "measured"
    combined = vault.ask(FEMALES, scale=7)
    assert (combined.kind, combined.cost) == ("derived", 0)


def test_answers_with_next_to_no_noise_are_combined_like_any_others(make_vault, people):
    vault = make_vault(epsilon=100_000)
    for condition in ("age < 5", "age >= 5"):
        vault.ask(f"SELECT COUNT(*) FROM people WHERE {condition}", scale="1/2000")
    assert vault.ask("SELECT COUNT(*) FROM people", scale="1/1000").value == len(people)
    assert vault.ask("SELECT COUNT(*) FROM people", scale=1).value == len(people)


def test_sums_of_released_groups_are_derived(vault):
    groups = vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=5)
    total = vault.ask("SELECT COUNT(*) FROM people WHERE age <= 3", scale=20)
    assert total.kind == "derived"
    assert total.value == sum(row.value for row in groups.rows[:4])


def test_differences_of_released_counts_are_derived(vault):
    whole = vault.ask("SELECT COUNT(*) FROM people", scale=5)
    part = vault.ask("SELECT COUNT(*) FROM people WHERE age < 4", scale=5)
    rest = vault.ask("SELECT COUNT(*) FROM people WHERE age >= 4", scale=20)
    assert (rest.kind, rest.value) == ("derived", whole.value - part.value)


def test_a_group_by_costs_as_much_as_one_group(vault):
    answer = vault.ask("SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex", scale=10)
    assert len(answer.rows) == 30
    assert answer.cost == Fraction(1, 10)
    assert vault.budget().charges == 1


def test_two_aggregates_of_the_same_rows_share_a_measurement(vault):
    answer = vault.ask("SELECT COUNT(*), AVG(age) FROM people", scale=10)
    assert answer.cost == Fraction(2, 10)


def test_an_exhausted_region_gets_a_relaxed_answer(vault):
    vault.ask("SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 6", scale=Fraction(1, 10))
    relaxed = vault.ask("SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 5", scale=5)
    assert relaxed.kind == "relaxed"
    assert relaxed.answered == "age BETWEEN 2 AND 6"
    assert relaxed.relaxation_error == pytest.approx(1 / 9 / 3)
    assert relaxed.cost == 0
    assert [answer.value for answer in relaxed.compound.plus] == [relaxed.value]


def test_groups_are_answered_each_in_their_own_best_way(vault):
    vault.ask("SELECT COUNT(*) FROM people WHERE age = 4", scale=Fraction(1, 10))
    answer = vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=5)
    kinds = [row.kind for row in answer.rows]
    assert kinds == ["measured"] * 4 + ["repeated"] + ["measured"] * 5
    assert answer.kind == "mixed"
    after = vault.ask("SELECT age, COUNT(*) FROM people WHERE sex = 'F' GROUP BY age", scale=5)
    assert [row.kind for row in after.rows] == ["measured"] * 4 + ["relaxed"] + ["measured"] * 5


def test_nothing_released_and_nothing_left_is_a_refusal_that_spends_nothing(vault):
    with pytest.raises(BudgetExceeded, match="left"):
        vault.ask(FEMALES, scale=Fraction(1, 100))
    assert spent(vault) == 0


@pytest.mark.parametrize(
    ("sql", "truth"),
    [
        ("SELECT SUM(age) FROM people", lambda p: p.age.sum()),
        ("SELECT SUM(income) FROM people WHERE sex = 'F'", lambda p: p.income[p.sex == "F"].sum()),
        ("SELECT AVG(age) FROM people WHERE sex IS NULL", lambda p: p.age[p.sex.isna()].mean()),
        ("SELECT AVG(income) FROM people", lambda p: p.income.mean()),
        ("SELECT COUNT(income) FROM people", lambda p: p.income.notna().sum()),
        (
            "SELECT COUNT(*) FILTER (WHERE sex = 'F') - 2 * COUNT(*) FILTER (WHERE age < 3) FROM people",
            lambda p: (p.sex == "F").sum() - 2 * (p.age < 3).sum(),
        ),
    ],
)
def test_intervals_hold_the_truth(vault, people, sql, truth):
    answer = vault.ask(sql, scale=2, confidence="0.999999")
    low, high = answer.interval()
    assert low <= truth(people) <= high
    assert high - low < 0.2 * abs(truth(people)) + 200


def test_quantiles_lie_near_the_true_ones(vault):
    answer = vault.ask("SELECT MEDIAN(age), MIN(age), MAX(age), QUANTILE(age, 0.25) FROM people", scale=3)
    median, least, most, quarter = (row.value for row in answer.rows)
    assert median in (4, 5)
    assert (least, most) == (0, 9)
    assert quarter in (2, 3)
    assert any("rank" in note for note in answer.notes)
    again = vault.ask("SELECT MEDIAN(age) FROM people", scale=3)
    assert (again.kind, again.value, again.cost) == ("repeated", median, 0)


@pytest.mark.parametrize(("within", "confidence"), [(30, "0.95"), (3, "0.5"), (100, "0.999")])
def test_within_is_kept_by_a_count(vault, within, confidence):
    answer = vault.ask(FEMALES, within=within, confidence=confidence)
    low, high = answer.interval()
    assert high - low == 2 * within


def test_within_is_kept_by_a_combination_and_a_mean(vault):
    difference = vault.ask(
        "SELECT COUNT(*) FILTER (WHERE sex = 'F') - COUNT(*) FILTER (WHERE sex = 'M') FROM people", within=40
    )
    assert (difference.interval()[1] - difference.interval()[0]) / 2 == pytest.approx(40, rel=0.05)
    mean = vault.ask("SELECT AVG(age) FROM people", within=1)
    assert mean.interval()[1] - mean.interval()[0] <= 2 * 1.05


def test_an_empty_region_is_zero_free_and_said_so(vault):
    answer = vault.ask("SELECT COUNT(*) FROM people WHERE age > 5 AND age < 3")
    assert (answer.value, answer.interval(), answer.cost) == (0, (0, 0), 0)
    assert any("empty" in note for note in answer.notes)


@pytest.mark.parametrize("aggregate", ["COUNT(*)", "SUM(age)", "COUNT(*) FILTER (WHERE sex = 'F') + COUNT(age)"])
def test_every_sum_over_no_points_is_zero(vault, aggregate):
    answer = vault.ask(f"SELECT {aggregate} FROM people WHERE age > 5 AND age < 3")
    assert (answer.value, answer.cost, answer.kind) == (0, 0, "derived")


@pytest.mark.parametrize("aggregate", ["AVG(age)", "MEDIAN(income)", "MAX(age)"])
def test_no_points_have_no_mean_and_no_quantile(vault, aggregate):
    answer = vault.ask(f"SELECT {aggregate} FROM people WHERE age > 5 AND age < 3")
    assert (answer.value, answer.cost, answer.kind) == (None, 0, "derived")


def test_explain_spends_nothing_and_foretells_the_answer(vault):
    explanation = vault.explain(FEMALES, scale=10)
    assert (explanation.cost, explanation.left, explanation.more) == (Fraction(1, 10), 10, 100)
    assert explanation.forecasts[0].kinds == {"measured": 1}
    assert spent(vault) == 0
    answer = vault.ask(FEMALES, scale=10)
    assert answer.cost == explanation.cost
    assert (answer.interval()[1] - answer.interval()[0]) / 2 == explanation.forecasts[0].halfwidth
    free = vault.explain(FEMALES, scale=10)
    assert (free.cost, free.more, free.forecasts[0].kinds) == (0, None, {"repeated": 1})


def test_order_limit_and_offset_are_on_the_noisy_rows(vault):
    sql = "SELECT age, COUNT(*) AS n FROM people GROUP BY age ORDER BY n DESC LIMIT 3 OFFSET 1"
    top = [row.value for row in vault.ask(sql, scale=10).rows]
    everyone = sorted((row.value for row in vault.ask(sql.split(" ORDER")[0], scale=10).rows), reverse=True)
    assert top == everyone[1:4]


@pytest.mark.parametrize(
    ("wish", "error", "words"),
    [
        ({"scale": 0}, InvalidNoise, "above 0"),
        ({"scale": -1}, InvalidNoise, "above 0"),
        ({"scale": float("nan")}, InvalidNoise, "positive number"),
        ({"scale": float("inf")}, InvalidNoise, "positive number"),
        ({"within": 0}, InvalidNoise, "above 0"),
        ({"within": "0.5"}, InvalidNoise, "steps of 1"),
        ({"scale": 1, "within": 1}, InvalidNoise, "not both"),
        ({"within": 10, "confidence": 1}, InvalidNoise, "between 0 and 1"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_and_spends_nothing(vault, wish, error, words):
    with pytest.raises(error, match=words):
        vault.ask(FEMALES, **wish)
    assert vault.budget().charges == 0


@pytest.mark.parametrize(
    ("sql", "error", "words"),
    [
        ("SELECT COUNT(*) FROM people WHERE agee > 3", DomainError, "age"),
        ("SELECT COUNT(*) FROM people WHERE sex = 'X'", (DomainError, UnsupportedQuery), "F"),
        ("SELECT * FROM people", UnsupportedQuery, r"\*"),
        ("SELECT COUNT(*) FROM people; SELECT 1", UnsupportedQuery, "one"),
        ("SELECT COUNT(*) FROM people a JOIN people b ON true", UnsupportedQuery, "(?i)join"),
    ],
)
def test_bad_sql_is_refused_and_spends_nothing(vault, sql, error, words):
    with pytest.raises(error, match=words):
        vault.ask(sql)
    assert vault.budget().charges == 0


def test_the_policy_sets_what_is_done_when_nothing_is_said(vault, people):
    settings = vault.path / "vault.toml"
    text = settings.read_text().replace("# default_within = 300", "default_within = 60 #")
    settings.write_text(
        text.replace("# min_scale = 10", "min_scale = 5 #").replace("# max_per_query = 0.1", "max_per_query = 0.15 #")
    )
    reopened = type(vault).open(vault.path, table=people)
    answer = reopened.ask(FEMALES)
    assert answer.interval()[1] - answer.interval()[0] == 120
    with pytest.raises(InvalidNoise, match="at least"):
        reopened.ask("SELECT COUNT(*) FROM people WHERE age < 5", scale=4)
    with pytest.raises(BudgetExceeded, match=r"0\.15"):
        reopened.ask("SELECT COUNT(*) FROM people WHERE age < 5", scale=6)
    with pytest.raises(BudgetExceeded, match=r"0\.15"):
        reopened.ask("SELECT COUNT(*), SUM(age) FROM people WHERE age < 5", scale=7)


def with_policy(vault, people, lines):
    """The vault opened again with more in its policy."""
    settings = vault.path / "vault.toml"
    settings.write_text(settings.read_text().replace("[policy]", f"[policy]\n{lines}"))
    return type(vault).open(vault.path, table=people)


def exhausted(vault):
    """Nothing is left for age 3 to 5 of women; two regions were counted that are one off, one by age and one by sex."""
    vault.ask("SELECT COUNT(*) FROM people WHERE age BETWEEN 3 AND 6 AND sex = 'F'", scale=Fraction(1, 5))
    vault.ask("SELECT COUNT(*) FROM people WHERE age BETWEEN 3 AND 5 AND sex IN ('F', 'M')", scale=Fraction(1, 5))
    return "SELECT COUNT(*) FROM people WHERE age BETWEEN 3 AND 5 AND sex = 'F'"


@pytest.mark.parametrize(
    ("weights", "answered"),
    [("", "age BETWEEN 3 AND 6 AND sex = 'F'"), ("weights = { age = 9 }", "age BETWEEN 3 AND 5 AND sex IS NOT NULL")],
)
def test_weights_say_in_which_attribute_a_relaxed_answer_may_be_off(vault, people, weights, answered):
    # relaxation, Definition 8: one of 9 steps of age, or one of 2 of sex
    sql = exhausted(vault)
    relaxed = with_policy(vault, people, weights).ask(sql, scale=5)
    assert (relaxed.kind, relaxed.answered) == ("relaxed", answered)


def test_a_question_has_weights_of_its_own_before_the_policys(vault, people):
    # relaxation, Definition 8: ω is the analyst's.
    sql = exhausted(vault)
    by_age, by_sex = "age BETWEEN 3 AND 5 AND sex IS NOT NULL", "age BETWEEN 3 AND 6 AND sex = 'F'"
    assert vault.ask(sql, scale=5, weights={"age": 9}).answered == by_age
    assert vault.ask(sql, scale=5).answered == by_sex
    strict = with_policy(vault, people, "weights = { age = 9 }")
    assert strict.ask(sql, scale=5, weights={"age": 1}).answered == by_sex
    assert strict.ask(sql, scale=5, weights={"sex": "1/2"}).answered == by_age
    with pytest.raises(UnsupportedQuery, match="no attribute 'height' to give a weight to"):
        vault.ask(sql, scale=5, weights={"height": 2})
    with pytest.raises(InvalidNoise):
        vault.explain(sql, weights={"age": 0})


def test_a_question_says_of_how_many_released_answers_it_is_made(vault):
    # relaxation, Section 4: ξ is the analyst's. The whole less two parts is what is asked about.
    vault.ask("SELECT COUNT(*) FROM people WHERE age <= 8", scale=Fraction(1, 5))
    for part in ("age <= 2", "age BETWEEN 6 AND 8"):
        vault.ask(f"SELECT COUNT(*) FROM people WHERE {part}", scale=Fraction(1, 4))
    sql = "SELECT COUNT(*) FROM people WHERE age BETWEEN 3 AND 5"
    sizes = {}
    for most in (1, 2, 3):
        answer = vault.ask(sql, scale=Fraction(1, 100), compound_size=most)
        sizes[most] = answer.relaxation_error
    assert sizes[1] > sizes[2] > sizes[3] == 0
    for wrong in (0, 101):
        with pytest.raises(UnsupportedQuery, match="made of 1 to 100"):
            vault.ask(sql, compound_size=wrong)


def test_a_region_beyond_the_policys_bound_is_not_nearby(vault, people):
    sql = exhausted(vault)  # one of 9 steps of age, over 3 attributes: 1/27
    assert vault.ask(sql, scale=5).relaxation_error == pytest.approx(1 / 27)
    strict = with_policy(vault, people, "max_relaxation = 0.03")
    with pytest.raises(BudgetExceeded):
        strict.ask(sql, scale=5)
    with pytest.raises(BudgetExceeded):
        strict.explain(sql, scale=5)


def test_a_weight_of_no_attribute_is_refused(vault, people):
    with pytest.raises(VaultError, match="name height, which the domain has not"):
        with_policy(vault, people, "weights = { height = 2 }").ask(FEMALES)
    assert vault.budget().charges == 0


def test_a_replace_vault_counts_double(make_vault):
    vault = make_vault(epsilon=1, neighbours="replace")
    assert vault.ask(FEMALES, scale=10).cost == Fraction(2, 10)


def test_another_process_sees_what_was_released(vault, people):
    first = vault.ask(FEMALES, scale=10)
    other = type(vault).open(vault.path, table=people)
    assert other.ask(FEMALES, scale=10).value == first.value
    second = other.ask("SELECT COUNT(*) FROM people WHERE age < 5", scale=10)
    assert vault.ask("SELECT COUNT(*) FROM people WHERE age < 5", scale=10).value == second.value


def test_where_another_spent_the_last_since_the_decision_the_answer_is_made_of_theirs(vault, people, monkeypatch):
    other = type(vault).open(vault.path, table=people)
    decide = module.decide

    def late(*given):
        monkeypatch.undo()
        decision = decide(*given)
        other.ask("SELECT COUNT(*) FROM people WHERE age >= 3", scale=Fraction(1, 10))
        return decision

    monkeypatch.setattr(module, "decide", late)
    answer = vault.ask("SELECT COUNT(*) FROM people WHERE age >= 4", scale=1)
    assert (answer.kind, answer.answered, answer.cost) == ("relaxed", "age >= 3", 0)


def test_an_answer_that_is_on_its_way_to_another_is_waited_for(vault, monkeypatch):
    last = Plan((Measurement(vault.count(age=(3, 9)), Laplace(Fraction(1, 10))),))
    vault.ledger.charge(last.cost(vault.domain, vault.ledger.budget), last.condensed(), None, vault.ledger.snapshot)
    monkeypatch.setattr(module, "sleep", lambda _: vault.complete())
    monkeypatch.setattr(module, "monotonic", lambda: 0.0)  # what is to be decided, and compiled, may take its time
    answer = vault.ask("SELECT COUNT(*) FROM people WHERE age >= 4", scale=1)
    assert (answer.kind, answer.answered, answer.cost) == ("relaxed", "age >= 3", 0)


def test_an_answer_that_never_comes_is_not_waited_for_long(vault, monkeypatch):
    last = Plan((Measurement(vault.count(), Laplace(Fraction(1, 10))),))
    vault.ledger.charge(last.cost(vault.domain, vault.ledger.budget), last.condensed(), None, vault.ledger.snapshot)
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    with pytest.raises(BudgetExceeded, match="left"):
        vault.ask(FEMALES, scale=1)


def test_after_a_refresh_old_answers_are_not_given_and_all_regions_have_spent_the_most(vault, people):
    vault.ask(FEMALES, scale=2)
    vault.refresh(people[people.sex == "M"])
    assert vault.explain("SELECT COUNT(*) FROM people WHERE sex = 'M'", scale=1).left == 10 - Fraction(1, 2)
    fresh = vault.ask(FEMALES, scale=2, confidence="0.999999")
    assert fresh.kind == "measured"
    assert fresh.interval()[0] <= 0 <= fresh.interval()[1]
    assert spent(vault) == 1


def test_a_label_column_has_its_alias(vault):
    answer = vault.ask("SELECT sex AS gender, COUNT(*) FROM people GROUP BY sex", scale=5)
    assert answer.by == ("gender",)


def test_an_answer_reads_as_json_csv_text_and_html(vault):
    answer = vault.ask("SELECT sex, COUNT(*), AVG(age) FROM people GROUP BY sex", scale=5)
    body = answer.to_json()
    assert {"rows", "kind", "cost", "guarantee", "notes", "relaxation_error"} <= set(body)
    assert body["rows"][0]["labels"] == {"sex": "F"}
    assert (
        answer.to_csv().splitlines()[0]
        == "sex,count,count_low,count_high,avg_age,avg_age_low,avg_age_high,kind,answered_for"
    )
    assert "±" in str(answer)
    assert answer._repr_html_().count("<tr>") == 4


def test_the_average_of_what_has_one_value_is_that_value(tmp_path):
    (tmp_path / "one.toml").write_text(
        'name = "people"\n[attributes.age]\nkind = "integer"\nlow = 7\nhigh = 7\noutside = "clamp"\nsource = "a test"\n'
    )
    table = pd.DataFrame({"age": [7] * 200})
    vault = Vault.init(tmp_path / "v", table=table, domain=tmp_path / "one.toml", epsilon=10, neighbours="replace")
    mean = vault.ask("SELECT AVG(age) FROM people", scale=5).only
    assert (mean.value, mean.low, mean.high) == (7, 7, 7)


def test_an_average_within_a_bound_says_which_groups_it_is_not_meant_for(make_vault, people):
    vault = make_vault(epsilon=1000)
    few = people.assign(age=np.where(people.index < 5900, 3, people.age))
    vault.refresh(table=few)
    answer = vault.ask("SELECT age, AVG(income) FROM people GROUP BY age", within=5)
    assert any("9 smaller ones may be wider" in note for note in answer.notes)
