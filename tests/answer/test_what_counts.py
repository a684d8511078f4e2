"""What a reader is told beside numbers: what counts, what the domain allows, and what is not answered."""

from fractions import Fraction

import pandas as pd
import pytest

from discreet.answer.different import most_values
from discreet.answer.policy import Policy
from discreet.errors import BudgetExceeded, InvalidNoise, VaultError
from discreet.vault import Vault

DOMAIN = """
name = "visits"
[attributes.age]
kind = "integer"
low = 0
high = 9
outside = "clamp"
source = "a test"
[attributes.ward]
kind = "category"
values = ["A", "B"]
source = "a test"
[attributes.fee]
kind = "bins"
edges = [-5, 0, 10]
grain = 1
outside = "clamp"
source = "a test"
[attributes.floor]
kind = "integer"
low = 0
high = 3
source = "a test"
[attributes.day]
kind = "date"
low = 2013-01-01
high = 2013-12-31
source = "a test"
"""
ROWS = {
    "who": ["a", "a", "a", "b", "c"],
    "age": [1, 2, 3, 12, 5],
    "ward": ["A", "B", "A", "A", "B"],
    "fee": [1, 2, 30, 4, 5],
    "floor": [1, 2, 3, 3, 0],
    "day": ["2013-05-01"] * 5,
}
BOUND = "of each who at most 2 rows count"
AGE = "age: values beyond 0 … 9 count as the ends"
FEE = "fee: values beyond -5 … 10 count as the ends"


@pytest.fixture
def visits(tmp_path):
    (tmp_path / "visits.toml").write_text(DOMAIN)

    def make(name="vault", **unit):
        place = {"table": pd.DataFrame(ROWS), "domain": tmp_path / "visits.toml"}
        return Vault.init(tmp_path / f"{name}{len(unit)}", **place, neighbours="replace", epsilon=100, **unit)

    return make


SAID = [
    ("SELECT COUNT(*) FROM visits", []),
    ("SELECT SUM(age) FROM visits", [AGE]),
    ("SELECT AVG(age), SUM(fee), SUM(floor) FROM visits", [AGE, FEE]),
    ("SELECT SUM(age * 2) FROM visits", [AGE]),
    ("SELECT SUM(age * fee) FROM visits", [FEE, AGE]),
    ("SELECT SUM(CASE WHEN age > 5 THEN 1 ELSE 0 END) FROM visits", []),
    ("SELECT ward, SUM(fee) AS s FROM visits GROUP BY ward HAVING SUM(fee) > 0", [FEE]),
    ("SELECT MEDIAN(age) FROM visits", []),
]


@pytest.mark.parametrize(("sql", "said"), SAID)
def test_a_sum_of_clamped_values_says_so_once_and_a_bound_on_rows_is_told(visits, sql, said):
    plain, bounded = visits(), visits(id="who", max_rows=2)
    for vault, notes in ((plain, said), (bounded, [BOUND, *said])):
        told = vault.explain(sql, scale=100).notes, vault.ask(sql, scale=100).notes
        for found in told:
            mine = [note for note in found if note.endswith("count as the ends") or note.startswith("of each")]
            assert sorted(mine) == sorted(notes)


LINES = "SELECT {asked} FROM (SELECT who, {made} AS n FROM visits GROUP BY who)"
NUMBERED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY who ORDER BY {order}) AS r FROM visits"
OF_LINES = [
    (LINES.format(asked="SUM(n)", made="MAX(age)"), [AGE]),
    (LINES.format(asked="COUNT(*)", made="SUM(age)") + " WHERE n > 3", [AGE]),
    (LINES.format(asked="SUM(n)", made="MAX(floor)"), []),
    (LINES.format(asked="COUNT(*)", made="MAX(age)") + " WHERE n > 3", []),
    (f"SELECT SUM(age) FROM ({NUMBERED.format(order='floor')}) WHERE r = 1", [AGE]),
    (f"SELECT COUNT(*) FROM ({NUMBERED.format(order='age')}) WHERE r = 1 AND floor > 1", []),
]


@pytest.mark.parametrize(("sql", "said"), OF_LINES)
def test_a_sum_of_clamped_values_of_people_says_so(visits, sql, said):
    vault = visits(id="who", max_rows=2)
    for notes in (vault.explain(sql, scale=100).notes, vault.ask(sql, scale=100).notes):
        assert [note for note in notes if note.endswith("count as the ends")] == said


MONTHS = "day is known by months: days of one month are the same in {place}"
BINS = "fee is known in bins: values of one bin are the same in {place}"
ALIKE = [
    ("SELECT COUNT(DISTINCT day) FROM visits", MONTHS.format(place="COUNT(DISTINCT …)")),
    (f"SELECT COUNT(*) FROM ({NUMBERED.format(order='day')}) WHERE r = 1", MONTHS.format(place="the order of rows")),
    (
        f"SELECT SUM(age) FROM ({NUMBERED.format(order='ward, fee')}) WHERE r < 2",
        BINS.format(place="the order of rows"),
    ),
    (
        f"SELECT COUNT(*) FROM ({NUMBERED.format(order='day + 1 DESC')}) WHERE r = 1",
        "day is known by months: for 12 of 12 the expression is taken at the first day, though other days would make a "
        "difference",
    ),
    (
        "SELECT n, COUNT(*) FROM (SELECT who, COUNT(DISTINCT day) AS n FROM visits GROUP BY who) GROUP BY n",
        MONTHS.format(place="COUNT(DISTINCT day)"),
    ),
    (
        "SELECT w, COUNT(*) FROM (SELECT who, ARG_MAX(ward, fee) AS w FROM visits GROUP BY who) GROUP BY w",
        BINS.format(place="ARG_MAX(ward, fee)"),
    ),
]


@pytest.mark.parametrize(("sql", "said"), ALIKE)
def test_what_the_domain_does_not_tell_apart_is_said_where_it_decides(visits, tmp_path, sql, said):
    """Where months are known, the first visit by day is one of the first month, whichever day it was."""
    of_days = visits(id="who", max_rows=2).explain(sql, scale=100).notes
    (tmp_path / "visits.toml").write_text(DOMAIN.replace("2013-12-31\n", '2013-12-31\nperiod = "month"\n'))
    of_months = visits("months", id="who", max_rows=2).explain(sql, scale=100).notes
    assert said in of_months
    assert (said in of_days) == said.startswith("fee")


def test_counting_people_says_nothing_of_their_rows(visits):
    assert BOUND not in visits(id="who", max_rows=2).ask("SELECT COUNT(DISTINCT who) FROM visits", scale=100).notes


def test_a_count_of_different_values_is_cut_to_what_the_domain_allows(vault):
    sql = "SELECT COUNT(DISTINCT age) FROM people"
    warned = [
        note for note in vault.explain(sql, scale=100).notes if "tells nothing of a number between 0 and 10" in note
    ]
    assert len(warned) == 1
    assert "COUNT(*) GROUP BY age" in warned[0]
    answer = vault.ask(sql, scale=100)
    low, high = answer.interval()
    assert 0 <= low <= answer.value <= high <= 10
    assert answer.interval(0.99) == (0, 10)
    assert "±" not in answer.table()[1][0][1]
    sharp = vault.ask("SELECT COUNT(DISTINCT age) FROM people WHERE age < 8", scale=1)
    assert not any("tells nothing" in note for note in sharp.notes)
    assert sharp.interval()[1] <= 8


def test_how_many_different_values_there_can_be_is_told_by_the_region(vault):
    query = vault.count(age=(2, 4))
    both = (
        vault._memory.question("SELECT COUNT(DISTINCT age, sex) FROM people WHERE age IN (1, 2, 5)").aggregates[0].query
    )
    assert most_values(both, both.where, vault.domain) == 3 * 2
    assert most_values(both, query.where, vault.domain) == 3 * 3
    assert most_values(both, query.where.intersect(vault.count(age=9).where), vault.domain) == 0


def test_an_offer_that_would_tell_nothing_says_so(make_vault):
    vault = make_vault(epsilon="0.1")
    for sql, says_nothing in (("COUNT(DISTINCT age)", True), ("COUNT(*)", False)):
        with pytest.raises(BudgetExceeded) as refused:
            vault.ask(f"SELECT {sql} FROM people", scale="0.01", relax=False)
        assert "what is left there allows" in str(refused.value)
        assert ("(which tells nothing of 0 … 10)" in str(refused.value)) == says_nothing


def test_what_is_not_answered_is_called_so(make_vault):
    vault = make_vault(epsilon=1)
    vault.ask("SELECT COUNT(*) FROM people WHERE age < 5", scale=1)
    sql = "SELECT age, COUNT(*) FROM people GROUP BY age"
    told = vault.explain(sql, scale=2, relax=False)
    assert told.forecasts[0].kinds == {"measured": 5, "unanswered": 5}
    answer = vault.ask(sql, scale=2, relax=False)
    kinds = [row.kind for row in answer.rows]
    assert kinds == ["unanswered"] * 5 + ["measured"] * 5
    assert [row["kind"] for row in answer.to_json()["rows"]] == kinds
    assert "unanswered" in answer.table()[1][0]
    assert vault.ask(sql, scale=2).rows[0].kind == "relaxed"


@pytest.mark.parametrize(
    ("sql", "counts"),
    [
        ("SELECT MEDIAN(age) FROM people", "COUNT(*) GROUP BY age"),
        ("SELECT sex, MEDIAN(age) FROM people GROUP BY sex", "COUNT(*) GROUP BY sex, age"),
        (
            "SELECT sex, MEDIAN(age) FROM people WHERE income < 20 GROUP BY sex",
            "COUNT(*) WHERE income < 20 GROUP BY sex, age",
        ),
    ],
)
def test_the_advice_for_a_quantile_names_the_rows_and_groups_of_the_question(vault, sql, counts):
    answer = vault.ask(sql, scale=3)
    assert any(note.endswith(f"narrower after {counts}") for note in answer.notes)
    of, rows = (
        counts.removeprefix("COUNT(*)").rsplit(" GROUP BY ")[1],
        counts.removeprefix("COUNT(*)").split(" GROUP")[0],
    )
    vault.ask(f"SELECT {of}, COUNT(*) FROM people{rows} GROUP BY {of}", scale=3)
    assert not any("narrower" in note for note in vault.ask(sql, scale=3).notes)


BEYOND = "day is declared from '2013-01-01' up to '2013-12-31'"


@pytest.mark.parametrize(
    ("where", "declared"),
    [
        ("day > '2013-12-31'", BEYOND),
        ("day >= '2014-01-01'", BEYOND),
        ("day < '2013-01-01'", BEYOND),
        ("day = '2014-05-01'", BEYOND),
        ("YEAR(day) = 2014", BEYOND),
        ("floor > 3", "floor is declared from 0 up to 3"),
        ("floor + 1 > 9", "floor is declared from 0 up to 3"),
        ("fee > 10", "fee is declared from -5 up to 10"),
    ],
)
def test_what_lies_beyond_the_domain_is_empty_and_the_reason_is_told_once(visits, where, declared):
    notes = visits().ask(f"SELECT COUNT(*) FROM visits WHERE {where}", scale=10).notes
    assert sum(note.count(declared) for note in notes) == 1
    assert any("empty on every table" in note for note in notes)


CONFIDENCES = ["0", "1", "1e-30", "0.0001", "0.99999999999999999", "0.9999999", "-1", "x", 2]


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("sql", ["SELECT MEDIAN(age) FROM people", "SELECT COUNT(*) / SUM(age) AS x FROM people"])
def test_a_confidence_that_no_interval_can_have_is_refused_before_anything_is_spent(vault, sql, confidence):
    for ask in (vault.explain, vault.ask):
        with pytest.raises(InvalidNoise, match=r"between 0 and 1, as in 0.95: from 0.01 to 0.999999"):
            ask(sql, scale=50, confidence=confidence)
    assert vault.budget().spent == 0
    with pytest.raises(VaultError, match="between 0 and 1"):
        Policy.parse({"confidence": confidence})


@pytest.mark.parametrize("confidence", ["0.01", "0.999999", Fraction(1, 2)])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT age, MEDIAN(income), AVG(income), COUNT(DISTINCT sex) FROM people GROUP BY age ORDER BY 2 LIMIT 3",
        "SELECT COUNT(*) / SUM(age) AS x FROM people",
    ],
)
def test_every_confidence_that_is_taken_has_intervals(vault, sql, confidence):
    assert vault.ask(sql, scale=50, confidence=confidence).rows


@pytest.mark.parametrize(
    ("sql", "least", "most"),
    [
        ("SELECT COUNT(DISTINCT sex) AS x, COUNT(*) * 1.5 AS y FROM people", 0, 2),
        ("SELECT COUNT(DISTINCT sex) * 2 + 1.5 AS x FROM people", 1.5, 5.5),
        ("SELECT 10 - COUNT(DISTINCT sex) * 1.0 AS x FROM people", 8, 10),
        ("SELECT SQRT(COUNT(DISTINCT age)) AS x FROM people", 0, 10**0.5),
        ("SELECT age, COUNT(DISTINCT sex) * 1.0 AS x FROM people GROUP BY age ORDER BY x DESC LIMIT 3", 0, 2),
        ("SELECT MAX(d) AS x FROM (SELECT age, COUNT(DISTINCT sex) AS d FROM people GROUP BY age) AS t", 0, 2),
        ("SELECT age, COUNT(DISTINCT sex) AS x FROM people GROUP BY age HAVING COUNT(DISTINCT sex) >= 0", 0, 2),
    ],
)
def test_different_values_are_calculated_with_as_the_domain_allows_them(vault, sql, least, most):
    """With noise as wide as this they would be many, or less than none; their intervals hold what they are."""
    truly = {0: 2, 1.5: 5.5, 8: 8}.get(least, most) if most != 10**0.5 else most
    for row in vault.ask(sql, scale=30).rows:
        if row.column == "x":
            assert least <= row.low <= row.value <= row.high <= most
            assert row.low <= truly <= row.high
