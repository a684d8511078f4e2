"""ROLLUP, CUBE and GROUPING SETS: what explain foresees of every set, and how wide sums of known numbers are."""

import statistics

import pytest

from discreet.vault import Vault

SETS = {"ROLLUP (age, sex)": 3, "CUBE (age, sex)": 4, "GROUPING SETS ((age), (sex), ())": 3}


@pytest.mark.parametrize("call", ["COUNT(*)", "SUM(age)"])
@pytest.mark.parametrize("sets", SETS)
def test_each_set_of_a_roll_up_is_foreseen_as_it_is_then_answered(vault, call, sets):
    sql = f"SELECT {call} AS x, COALESCE(CAST(age AS VARCHAR), '') AS a, GROUPING(age, sex) AS g FROM people "
    told = vault.explain(sql + f"GROUP BY {sets}", scale=20)
    answer = vault.ask(sql + f"GROUP BY {sets}", scale=20)
    widths = {}
    for row in answer.rows:
        widths.setdefault(row.labels[1], set()).add(round((row.high - row.low) / 2, 6))
    foreseen = [one.halfwidth for one in told.forecasts]
    assert len({one.column for one in told.forecasts}) == len(told.forecasts) == SETS[sets]
    answered = sorted(max(one) for one in widths.values())
    if sets.startswith("GROUPING"):  # which tell of one another, once they are there
        assert all(own <= most for own, most in zip(answered, sorted(foreseen), strict=True))
    else:
        assert sorted(foreseen) == pytest.approx(answered)


def test_forecasts_of_one_name_say_by_what_they_are(vault):
    told = vault.explain("SELECT age, sex, COUNT(*) AS n FROM people GROUP BY ROLLUP (age, sex)", scale=20)
    assert [one.column for one in told.forecasts] == ["COUNT(*) by age, sex", "COUNT(*) by age", "COUNT(*) of all"]
    plain = vault.explain("SELECT age, COUNT(*) AS n FROM people GROUP BY age HAVING COUNT(*) > 1", scale=20)
    assert [one.column for one in plain.forecasts] == ["COUNT(*)"]


def test_averages_of_each_set_are_foreseen_where_counts_are_public(vault: Vault):
    vault.ask("SELECT age, COUNT(*) FROM people WHERE income IS NOT NULL GROUP BY age", scale=5)
    sql = "SELECT age, AVG(income) AS m FROM people GROUP BY ROLLUP (age)"
    told = vault.explain(sql, scale=20)
    answer = vault.ask(sql, scale=20)
    widths = [(row.high - row.low) / 2 for row in answer.rows]
    assert told.forecasts[0].halfwidth == pytest.approx(statistics.median(widths[:-1]), rel=0.2)
    assert told.forecasts[1].halfwidth == pytest.approx(widths[-1], rel=0.2)


def test_averages_are_foreseen_where_each_groups_sum_is_public_and_how_many_rows_there_are_in_all(vault: Vault):
    vault.ask("SELECT age, SUM(income) FROM people GROUP BY age", scale=5)
    vault.ask("SELECT COUNT(*) FROM people WHERE income IS NOT NULL", scale=5)
    [told] = vault.explain("SELECT age, AVG(income) AS m FROM people GROUP BY age", scale=50).forecasts
    assert told.halfwidth > 0
    assert "averages are foreseen for groups of" in str(told.words)


def test_a_sum_of_numbers_that_share_noise_is_as_wide_as_what_is_public_of_it(vault):
    vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=20)
    vault.ask("SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex", scale=20)
    sql = "SELECT age // 5 AS half, age, COUNT(*) AS n FROM people GROUP BY CUBE (half, age)"
    told, answer = vault.explain(sql, scale=20), vault.ask(sql, scale=20)
    assert answer.cost == told.cost == 0
    halves = [row for row in answer.rows if row.labels[0] is not None and row.labels[1] is None]
    assert len(halves) == 2
    for place, row in enumerate(halves):
        alone = vault.ask(f"SELECT COUNT(*) FROM people WHERE age // 5 = {place}", scale=1000).only
        assert row.value == pytest.approx(alone.value)
        assert (row.low, row.high) == pytest.approx((alone.low, alone.high))
        [of_halves] = [one for one in told.forecasts if one.column.endswith(" by age // 5")]
        assert of_halves.halfwidth == pytest.approx((row.high - row.low) / 2)


@pytest.mark.parametrize("shown", ["COUNT(*) AS n", "SQRT(COUNT(*)) AS n"])
def test_what_cannot_be_bought_and_follows_is_foreseen_as_derived(make_vault, shown):
    vault = make_vault(epsilon=1)
    vault.ask("SELECT age, COUNT(*) FROM people GROUP BY age", scale=1)
    sql = f"SELECT age < 5 AS young, {shown} FROM people GROUP BY young"
    told = vault.explain(sql, scale=1)
    assert set(told.forecasts[0].kinds) == {"derived"}
    assert not any("too little is left" in note for note in told.notes)
    assert {row.kind for row in vault.ask(sql, scale=1).rows} == {"derived"}


def test_a_step_whose_groups_are_chosen_later_says_so(vault):
    large = "SELECT sex FROM people GROUP BY sex HAVING COUNT(*) > 500"
    sql = f"SELECT sex, COUNT(*) AS n FROM people WHERE sex IN ({large}) GROUP BY sex"
    shown = str(vault.explain(sql, scale=20))
    assert "± 0" not in shown
    assert "known when the sub-query is answered" in shown
    nothing = vault.explain("SELECT sex, COUNT(*) FROM people WHERE age > 90 GROUP BY sex", scale=20)
    assert "no group" in str(nothing)
