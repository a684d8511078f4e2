"""What could be had instead: whatever a refusal or a relaxed line names is granted when it is asked for."""

import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from statistics import median

import pytest

from discreet.answer.policy import Policy
from discreet.errors import BudgetExceeded, InvalidNoise, QuotaExceeded
from discreet.ledger.asker import Asker
from discreet.ledger.spend import UNITS
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Quantile
from tests.answer.test_accuracy import nearly_spent
from tests.answer.test_spending import BUDGETS, exhausted

WANTED = (
    "COUNT(*)",
    "SUM(income)",
    "AVG(age)",
    "AVG(income)",
    "MEDIAN(age)",
    "MIN(age)",
    "COUNT(DISTINCT age)",
    "COUNT(*), AVG(income)",
    "AVG(age), AVG(income)",
    "COUNT(*), MEDIAN(income), SUM(age)",
    "AVG(age) FILTER (WHERE sex = 'F')",
    "COUNT(*) FILTER (WHERE sex = 'F') - COUNT(*) FILTER (WHERE sex = 'M')",
    "SUM(age * 2 + 1)",
)


def named(text):
    """The wish that a sentence about what can be had names for all that was asked."""
    said = text.partition("what is left there allows ")[2]
    whole = said.partition("all together: ")[2] or said
    kind, number = re.match(r".*?(within|with scale) ([\d.,e+]*\d)", whole).groups()
    return {"within" if kind == "within" else "scale": number.replace(",", "")}


def offer_of(vault, sql, **wish):
    """What is named where a question is not answered as it was asked; None where it is."""
    try:
        answer = vault.ask(sql, **wish)
    except (BudgetExceeded, QuotaExceeded, InvalidNoise) as refused:
        return named(str(refused))
    offered = [row for row in answer.rows if row.offer]
    assert offered or all(row.kind != "relaxed" for row in answer.rows)
    if len(answer.columns) > 1 and offered:
        return named(next(note for note in answer.notes if "what is left" in note))
    if all(row.affordable for row in offered):
        return {"within": max(row.affordable for row in offered)} if offered else None
    return {"scale": max(row.affordable_scale for row in offered)}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("wanted", WANTED)
def test_what_is_named_is_granted_when_it_is_asked_for(make_vault, budget, wanted):
    vault = nearly_spent(make_vault(**BUDGETS[budget]), "0.0071", age=(0, 4))
    for wish in ({"scale": "0.5"}, {"scale": 1}, {"within": 2}):
        for condition in ("WHERE age < 4", "WHERE age BETWEEN 1 AND 3"):
            sql = f"SELECT {wanted} FROM people {condition}"
            offer = offer_of(vault, sql, **wish)
            assert offer is not None, (sql, wish)
            said = vault.explain(sql, **offer)
            assert said.cost > 0
            assert not any("relaxed" in one.kinds for one in said.forecasts)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    ("wanted", "by"),
    [*product(["AVG(income)", "AVG(age)"], ["", "sex", "age"]), *product(["AVG(income), COUNT(*)"], ["sex", "age"])],
)
def test_an_average_of_a_known_size_is_offered_within_a_bound_and_is_within_it(make_vault, budget, by, wanted):
    vault = make_vault(**BUDGETS[budget])
    group = f"GROUP BY {by}" if by else ""
    for rows in ("income IS NOT NULL", "TRUE"):
        named = f"{by}, " if by else ""
        vault.ask(f"SELECT {named}COUNT(*) FROM people WHERE {rows} {group}", scale=20)
    nearly_spent(vault, "0.2" if "epsilon" in BUDGETS[budget] and "delta" not in BUDGETS[budget] else "0.02")
    sql = f"SELECT {named}{wanted} FROM people {group}"
    offer = offer_of(vault, sql, within=1 if "COUNT" in wanted else "0.01")
    assert "within" in offer
    answer = vault.ask(sql, **offer)
    averages = [row for row in answer.rows if row.column.startswith("avg")]
    assert {row.kind for row in averages} == {"measured"}
    # How many rows a group has is known with some noise: a single interval may come out a little wider.
    assert median((row.high - row.low) / 2 for row in averages) <= float(offer["within"])


def test_a_refusal_by_the_policy_names_what_it_grants(make_vault):
    vault = make_vault(epsilon=10)
    vault.policy = Policy(max_per_query=Fraction(1, 10), min_scale=Fraction(5))
    for wanted in WANTED:
        for wish in ({"scale": 6}, {"scale": 1}, {"within": 3}):
            sql = f"SELECT {wanted} FROM people"
            offer = offer_of(vault, sql, **wish)
            if offer is not None:
                assert not any("relaxed" in one.kinds for one in vault.explain(sql, **offer).forecasts)


def test_a_refusal_by_a_quota_names_what_it_grants(make_vault):
    vault = make_vault(epsilon=10)
    own = vault.asked_by(Asker("ann", Fraction(1, 20)))
    for wanted in ("MEDIAN(age)", "AVG(income)", "COUNT(*)"):
        sql = f"SELECT {wanted} FROM people"
        offer = offer_of(own, sql, scale=1)
        assert own.explain(sql, **offer).cost > 0


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_statement_is_refused_with_what_it_is_then_granted(make_vault, budget):
    vault = nearly_spent(make_vault(**BUDGETS[budget]), "0.0071")
    for sql in (
        "SELECT age, AVG(income) / 2 FROM people GROUP BY age",
        "SELECT MEDIAN(age) + 1 FROM people WHERE sex = 'F'",
        "SELECT age, COUNT(*) / 2 FROM people GROUP BY age",
    ):
        with pytest.raises(BudgetExceeded) as refused:
            vault.ask(sql, scale="0.5", relax=False)
        offer = named(str(refused.value))
        assert vault.explain(sql, **offer).cost > 0


class TestAverageOfOneRegion:
    def test_parts_that_are_public_of_two_regions_are_shown_for_the_nearest_that_has_both(self, make_vault):
        vault = make_vault(epsilon=10)
        measured = [
            (vault.sum("age", age=(2, 5)), 900),  # the nearest sum
            (vault.count(age=(2, 6)), 100),  # the nearest count
            (vault.sum("age", age=(1, 7)), 90),
            (vault.count(age=(1, 7)), 10),
        ]
        for query, scale in measured:
            vault.measure(query, scale=scale)
        nearly_spent(vault, "0.001")
        answer = vault.ask("SELECT AVG(age) FROM people WHERE age BETWEEN 2 AND 6", scale=1)
        assert (answer.kind, answer.cost) == ("relaxed", 0)
        row = answer.only
        assert row.value is not None
        total, count = row.source.total, row.source.count
        assert total.answered == count.answered == row.answered
        assert row.low <= row.value <= row.high
        assert answer.answered in ("age BETWEEN 1 AND 7", "age BETWEEN 2 AND 5")

    def test_rows_without_a_value_add_nothing_to_a_sum(self, make_vault, people):
        vault = make_vault(epsilon=10)
        vault.measure(vault.sum("income", age=(2, 5)), scale=50)
        vault.ask("SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 5 AND income IS NOT NULL", scale=2)
        vault.ask("SELECT COUNT(*) FROM people WHERE age BETWEEN 3 AND 5 AND income IS NOT NULL", scale=2)
        nearly_spent(vault, "0.001")
        answer = vault.ask("SELECT AVG(income) FROM people WHERE age BETWEEN 3 AND 5", scale=1)
        assert answer.kind == "relaxed"
        own = people[people.age.between(2, 5)].income
        assert answer.only.low <= own.mean() <= answer.only.high
        assert answer.answered == "age BETWEEN 2 AND 5 AND income IS NOT NULL"

    def test_the_region_and_its_interval_reach_every_output(self, make_vault):
        vault = exhausted(make_vault(epsilon=10))
        answer = vault.ask("SELECT sex, AVG(age) FROM people WHERE age BETWEEN 2 AND 5 GROUP BY sex", scale=1)
        assert {row.kind for row in answer.rows} == {"relaxed"}
        assert all(row.value is not None and row.low < row.high for row in answer.rows)
        headers, lines = answer.table()
        place = headers.index("answered for")
        assert all(line[place] == "age BETWEEN 2 AND 5" for line in lines)
        assert all(row["answered"] == "age BETWEEN 2 AND 5" for row in answer.to_json()["rows"])

    def test_without_relaxing_it_has_no_answer_of_another_region(self, make_vault):
        vault = exhausted(make_vault(epsilon=10))
        with pytest.raises(BudgetExceeded):
            vault.ask("SELECT AVG(age) FROM people WHERE age BETWEEN 2 AND 4", scale=1, relax=False)

    def test_the_interval_holds_the_average_of_the_region_that_is_named(self, make_vault, people):
        """Seeded: the noise is that of this test's name."""
        vault = make_vault(epsilon=10)
        held = 0
        noise = vault.ledger.budget.noise_of_scale
        for low in range(4):
            for high in range(low + 4, 9):
                both = vault.sum("age", age=(low, high)), vault.count(age=(low, high))
                plan = zip(both, (noise(Fraction(900)), noise(Fraction(100))), strict=True)
                vault.measure(Plan(tuple(Measurement(query, law) for query, law in plan)))
        nearly_spent(vault, "0.001")
        regions = [(low, high) for low in range(3) for high in range(low + 3, 9)]
        for low, high in regions:
            row = vault.ask(f"SELECT AVG(age) FROM people WHERE age BETWEEN {low} AND {high}", scale=1).only
            [box] = row.answered.boxes
            own = people.age[people.age.between(box.low[0], box.high[0])]
            held += row.low <= own.mean() <= row.high
        assert held >= 0.8 * len(regions)


class TestQuantileThatCannotBeHad:
    MEDIAN = "SELECT MEDIAN(age) FROM people WHERE sex = 'F'"

    def test_released_counts_by_its_attribute_tell_it(self, make_vault, people):
        vault = make_vault(epsilon=10)
        vault.ask("SELECT age, COUNT(*) FROM people WHERE sex = 'F' GROUP BY age", scale=1)
        nearly_spent(vault, "0.001")
        answer = vault.ask(self.MEDIAN, scale=1)
        assert (answer.kind, answer.cost) == ("derived", 0)
        row = answer.only
        assert row.low <= row.value <= row.high
        assert row.low <= people[people.sex == "F"].age.median() <= row.high
        assert any("released counts by age" in note for note in answer.notes)

    def test_the_counts_that_would_tell_it_are_named_and_then_do(self, make_vault):
        vault = nearly_spent(make_vault(epsilon=10), "0.02")
        with pytest.raises(
            BudgetExceeded, match=r"COUNT\(\*\) WHERE sex = 'F' GROUP BY age can be had within"
        ) as refused:
            vault.ask(self.MEDIAN, scale=1)
        within = re.search(r"GROUP BY age can be had within ([\d,.]+),", str(refused.value))[1].replace(",", "")
        counts = vault.ask("SELECT age, COUNT(*) FROM people WHERE sex = 'F' GROUP BY age", within=within)
        assert counts.kind == "measured"
        assert vault.ask(self.MEDIAN, scale=1).kind == "derived"

    def test_a_group_by_that_helps_is_named(self, make_vault):
        vault = make_vault(epsilon=10)
        where = vault.count(sex="M").where
        vault.measure(Quantile("income", Fraction(1, 2), where), scale=Fraction(UNITS, vault.ledger.left(where)))
        with pytest.raises(BudgetExceeded, match=r"GROUP BY sex has it for 2 of 3 groups") as refused:
            vault.ask("SELECT MEDIAN(age) FROM people")
        assert "what is left there" not in str(refused.value)
        had = vault.ask("SELECT sex, MEDIAN(age) FROM people GROUP BY sex")
        assert sum(row.kind == "measured" for row in had.rows) == 2

    def test_the_nearest_region_of_which_it_was_released_is_named(self, make_vault):
        vault = make_vault(epsilon=10)
        vault.ask("SELECT MEDIAN(age) FROM people WHERE age < 7")
        vault.ask("SELECT MEDIAN(age) FROM people WHERE age < 2")
        nearly_spent(vault, "0.001")
        with pytest.raises(BudgetExceeded, match=r"it was released of age <= 6, which is free"):
            vault.ask("SELECT MEDIAN(age) FROM people WHERE age < 8", scale=1)
        assert vault.ask("SELECT MEDIAN(age) FROM people WHERE age <= 6").cost == 0


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS x FROM people WHERE age > (SELECT AVG(age) FROM people)",
        "SELECT SUM(income), COUNT(*) FROM people WHERE age IN (SELECT age FROM people GROUP BY age "
        "HAVING COUNT(*) > 9)",
        "SELECT COUNT(*) AS x FROM people WHERE age > (SELECT MEDIAN(age) FROM people WHERE income > "
        "(SELECT AVG(income) FROM people))",
    ],
)
def test_a_statement_in_steps_beyond_the_policy_is_refused_for_nothing_with_a_scale_that_is_granted(
    make_vault, budget, sql
):
    vault = make_vault(**BUDGETS[budget])
    vault = replace(vault, policy=Policy(max_per_query=vault.ledger.budget.total / 90))
    with pytest.raises(BudgetExceeded, match="all of its steps can be had with scale") as refused:
        vault.ask(sql)
    assert vault.ledger.charges == 0
    [scale] = re.findall(r"all of its steps can be had with scale ([\d.,e+]*\d)", str(refused.value))
    assert vault.ask(sql, scale=scale.replace(",", "")).cost <= vault.policy.max_per_query
