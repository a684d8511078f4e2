"""Questions of expressions from the text to the audit: explained, asked, repeated, and priced by the journal again."""

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from discreet import Vault
from discreet.audit.report import audit_vault
from discreet.errors import DomainError, UnsupportedQuery

DOMAIN = """
name = "visits"
null_ids = "drop"

[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a test"
null = true

[attributes.sex]
kind = "category"
values = ["F", "M"]
source = "a test"

[attributes.ward]
kind = "category"
source = "a test"
[attributes.ward.hierarchy]
inner = ["heart", "lung"]
outer = ["skin"]

[attributes.cost]
kind = "bins"
edges = [0, 100, 1000]
grain = 10
source = "a test"
"""
ROWS = 900
NUMBERED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY patient ORDER BY age) AS r FROM visits"


@pytest.fixture(scope="module")
def table() -> pa.Table:
    draw = np.random.default_rng(11)
    return pa.table(
        {
            "patient": draw.integers(0, 400, ROWS),
            "age": draw.integers(0, 100, ROWS),
            "sex": np.array(["F", "M"])[draw.integers(0, 2, ROWS)],
            "ward": np.array(["heart", "lung", "skin"])[draw.integers(0, 3, ROWS)],
            "cost": 10.0 * draw.integers(0, 100, ROWS),
        }
    )


@pytest.fixture
def vault(table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vault:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "visits.toml").write_text(DOMAIN, encoding="utf-8")
    return Vault.init(
        tmp_path / "vault",
        table=table,
        domain=tmp_path / "visits.toml",
        epsilon=1_000_000,
        neighbours="replace",
        id="patient",
        max_rows=2,
    )


QUESTIONS = [
    "SELECT FLOOR(age / 10) * 10 AS decade, sex, COUNT(*) AS n FROM visits GROUP BY decade, sex",
    "SELECT ward_group, SUM(cost * age) AS s, AVG(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS f FROM visits GROUP BY 1",
    "SELECT SUM((age - 50) * (age - 50)) AS s FROM visits WHERE sex || ward LIKE 'F%g'",
    "SELECT sex, COUNT(DISTINCT ward) AS wards, COUNT(DISTINCT patient) AS people FROM visits GROUP BY sex",
    "SELECT COUNT(DISTINCT patient) AS people FROM visits WHERE age % 2 = 1",
    "SELECT n, COUNT(*) AS people FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS v GROUP BY n",
    "SELECT sex, n, COUNT(*) AS people FROM (SELECT sex, patient, COUNT(*) AS n FROM visits WHERE age > 40 "
    "GROUP BY patient, sex) AS v GROUP BY sex, n",
    "SELECT SUM(CASE WHEN cost >= 100 THEN cost ELSE -1 END) AS s FROM visits WHERE age > 30",
]


def test_a_question_with_expressions_costs_what_explain_said_and_is_free_again(vault: Vault) -> None:
    for question in QUESTIONS:
        said = vault.explain(question, scale="0.01")
        first = vault.ask(question, scale="0.01")
        assert first.cost == said.cost > 0
        again = vault.ask(question, scale="0.01")
        assert again.cost == 0
        assert {row.kind for row in again.rows} <= {"repeated", "derived"}
        if "AVG" not in question:
            assert [row.value for row in again.rows] == [row.value for row in first.rows]


def test_the_audit_prices_tables_of_codes_again_and_agrees(vault: Vault) -> None:
    for question in QUESTIONS:
        vault.ask(question, scale=1)
    report = audit_vault(vault)
    assert report.holds
    assert not [finding for finding in report.findings if "overpaid" in finding.what or "more than" in finding.what]


def test_groups_of_an_expression_cost_as_much_as_one_of_them(vault: Vault) -> None:
    plain = vault.explain("SELECT COUNT(*) FROM visits", scale=5)
    grouped = vault.explain("SELECT age // 7 AS a, COUNT(*) AS n FROM visits GROUP BY a", scale=5)
    assert grouped.cost == plain.cost


def test_a_conditional_count_follows_from_what_was_released_of_the_same_people(vault: Vault) -> None:
    vault.ask("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex", scale=1)
    answer = vault.ask("SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) AS women FROM visits", scale=1)
    assert answer.cost == 0


def test_people_are_counted_once_however_many_rows_they_have(vault: Vault, table: pa.Table) -> None:
    answer = vault.ask("SELECT COUNT(DISTINCT patient) AS people, COUNT(*) AS n FROM visits", scale="0.001")
    people, rows = (row.value for row in answer.rows)
    assert people == len(set(table.column("patient").to_pylist()))
    assert rows is not None
    assert people is not None
    assert rows <= 2 * people


def test_people_are_counted_and_averaged_by_how_many_rows_they_have(vault: Vault, table: pa.Table) -> None:
    each = "SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient"
    kept = [min(rows, 2) for rows in Counter(table.column("patient").to_pylist()).values()]
    mean, twice = sum(kept) / len(kept), kept.count(2) / len(kept)
    asked = {
        f"SELECT n, COUNT(*) AS c FROM ({each}) AS v GROUP BY n ORDER BY n": [kept.count(1), kept.count(2)],
        f"WITH v AS ({each}) SELECT SUM(n) AS s, AVG(n) AS m, COUNT(DISTINCT patient) AS c FROM v": [
            sum(kept),
            mean,
            len(kept),
        ],
        f"SELECT AVG(CASE WHEN n > 1 THEN 1.0 ELSE 0.0 END) AS share FROM ({each}) AS v": [twice],
        f"SELECT COUNT(*) AS c FROM ({each} HAVING COUNT(*) > 1) AS v": [kept.count(2)],
        f"SELECT COUNT(*) FILTER (WHERE n = 1) AS one FROM ({each}) AS v WHERE n < 5": [kept.count(1)],
        f"SELECT COUNT(*) AS c FROM ({each}) AS v WHERE n > 5": [0],
    }
    for question, expected in asked.items():
        answer = vault.ask(question, scale="0.001")
        assert [row.value for row in answer.rows] == pytest.approx(expected)
        assert vault.ask(question, scale="0.001").cost == 0


@pytest.mark.parametrize(
    "question",
    [
        "SELECT sex, COUNT(DISTINCT patient) AS c FROM ({lines}) AS v GROUP BY sex ORDER BY sex",
        "SELECT v.sex AS s, COUNT(DISTINCT patient) AS c FROM ({lines}) AS v GROUP BY s ORDER BY s",
        "SELECT sex AS s, COUNT(DISTINCT patient) AS c FROM ({lines}) AS v GROUP BY 1 ORDER BY 1",
    ],
)
def test_people_with_a_line_in_each_group_are_counted_once_there(vault: Vault, question: str) -> None:
    lines = "SELECT patient, sex, COUNT(*) AS n FROM visits GROUP BY patient, sex"
    answer = vault.ask(question.format(lines=lines), scale="0.001")
    rows = vault.ask("SELECT sex, COUNT(DISTINCT patient) AS c FROM visits GROUP BY sex", scale="0.001")
    assert [row.value for row in answer.rows] == [row.value for row in rows.rows]


def test_the_first_rows_of_people_count_alone(vault: Vault, table: pa.Table) -> None:
    kept = [min(rows, 2) for rows in Counter(table.column("patient").to_pylist()).values()]
    one, two = (f"SELECT COUNT(*) AS c FROM ({NUMBERED}) WHERE r <= {most}" for most in (1, 2))
    # One of two rows each costs half of what both do, and both what a count of rows does.
    rows = vault.explain("SELECT COUNT(*) FROM visits", scale=5).cost
    assert 2 * vault.explain(one, scale=5).cost == vault.explain(two, scale=5).cost == rows
    first = vault.ask(f"SELECT sex, COUNT(*) AS c FROM ({NUMBERED}) AS v WHERE r = 1 GROUP BY sex", scale="0.001")
    assert "of each patient the first row by age; of equal ones, those with the least values" in first.notes
    assert "of each patient at most 2 rows count" in first.notes
    assert sum(row.value or 0 for row in first.rows) == len(kept)
    assert [row.value for row in vault.ask(one, scale="0.001").rows] == [len(kept)]
    assert [row.value for row in vault.ask(two, scale="0.001").rows] == [sum(kept)]
    assert audit_vault(vault).holds


def test_rows_per_person_cost_what_one_count_costs(vault: Vault) -> None:
    each = "SELECT patient, COUNT(*) AS n FROM visits WHERE age > 30 GROUP BY patient"
    one = vault.explain("SELECT COUNT(*) FROM visits WHERE age > 30", scale=5)
    assert vault.explain(f"SELECT n, COUNT(*) FROM ({each}) AS v GROUP BY n", scale=5).cost == one.cost


def test_people_are_not_told_apart_where_a_row_is_a_person(table: pa.Table, tmp_path: Path) -> None:
    domain = tmp_path / "rows.toml"
    domain.write_text(DOMAIN.replace('null_ids = "drop"\n', ""), encoding="utf-8")
    vault = Vault.init(tmp_path / "rows", table=table, domain=domain, epsilon=1, neighbours="replace")
    with pytest.raises(Exception, match="no attribute 'patient'"):
        vault.ask("SELECT COUNT(DISTINCT patient) FROM visits")


def test_the_column_of_people_is_nothing_but_counted(vault: Vault) -> None:
    for question in (
        "SELECT patient, COUNT(*) FROM visits GROUP BY patient",
        "SELECT COUNT(*) FROM visits WHERE patient = 7",
        "SELECT MAX(patient) FROM visits",
        "SELECT COUNT(DISTINCT patient + 1) FROM visits",
    ):
        before = vault.ledger.charges
        with pytest.raises((UnsupportedQuery, Exception), match="patient"):
            vault.ask(question)
        assert vault.ledger.charges == before


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("SELECT patient FROM ({each}) AS v", "single people are never shown"),
        ("SELECT patient, COUNT(*) FROM ({each}) AS v GROUP BY 1", "single people are never shown"),
        (
            "SELECT patient, COUNT(*) FROM visits GROUP BY patient",
            "shown; ask as in SELECT n, COUNT",
        ),
        ("SELECT COUNT(*) FROM ({each}) AS v WHERE patient = 7", "single people are never shown"),
        ("SELECT MIN(patient) FROM ({each}) AS v", "single people are never shown"),
        ("SELECT MAX(n) FROM ({each}) AS v", "no MIN, MAX"),
        ("SELECT COUNT(DISTINCT n) FROM ({each}) AS v", "no COUNT.DISTINCT"),
        ("SELECT * FROM ({each}) AS v WHERE n = 2", "single people are never shown"),
        ("SELECT COUNT(*), v.* FROM ({each}) AS v", "single people are never shown"),
        (
            "SELECT n, COUNT(*) FROM (SELECT patient, age, COUNT(*) AS n FROM visits GROUP BY patient) AS v GROUP BY n",
            "age is neither in GROUP BY nor in an aggregate",
        ),
        (
            "SELECT SUM(s) FROM (SELECT patient, SUM(cost) AS s FROM visits GROUP BY patient) AS v",
            "of which a person's sum",
        ),
        ("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY ROLLUP (patient)) AS v", "patient"),
        ("SELECT COUNT(*) FROM (SELECT COUNT(*) AS n FROM visits GROUP BY patient, CUBE (sex)) AS v", "CUBE"),
        (
            "SELECT a.n, COUNT(*) FROM ({each}) AS a JOIN ({each}) AS b ON a.n = b.n GROUP BY 1",
            "a join with single",
        ),
        ("SELECT COUNT(DISTINCT patient) FROM ({by_sex}) AS v", "several lines each are not counted once"),
        (
            "SELECT n, COUNT(DISTINCT patient) FROM ({by_sex}) AS v GROUP BY n",
            "several lines each are not counted once",
        ),
        ("SELECT sex, COUNT(DISTINCT patient) FROM ({by_sex}) AS v GROUP BY ROLLUP (sex)", "several lines each"),
        ("SELECT COUNT(DISTINCT patient) FROM ({by_sex}) AS v WHERE sex = 'F'", "several lines each"),
        ("SELECT COUNT(*) FROM ({each} ORDER BY n LIMIT 3) AS v", "ORDER|LIMIT"),
        ("SELECT COUNT(*) FROM ({numbered}) WHERE r <= age", "PARTITION BY patient ORDER BY … . AS r|rows are chosen"),
        ("SELECT COUNT(*) FROM ({numbered}) WHERE r > 1", "rows are chosen"),
        ("SELECT r, COUNT(*) FROM ({numbered}) GROUP BY r", "a window"),
        ("SELECT COUNT(*) FROM (SELECT * FROM ({numbered}) WHERE age > 9) WHERE r = 1", "choose them first"),
        ("SELECT * FROM ({numbered}) WHERE r = 1", "single people are never shown"),
        ("SELECT COUNT(DISTINCT patient) FROM ({numbered}) WHERE r <= 2", "several lines each"),
        ("SELECT COUNT(*) FROM (SELECT sex, COUNT(*) FROM visits GROUP BY sex) AS discreet_lines", "cannot be given"),
        ("SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient = b.patient", "no price"),
        ("SELECT SUM(m) FROM (SELECT patient, MIN(cost) AS m FROM visits GROUP BY patient) AS v", "not added up"),
        ("SELECT COUNT(*) FROM (SELECT patient + 1 AS p, COUNT(*) AS n FROM visits GROUP BY patient) AS v", "no value"),
        ("SELECT COUNT(*) FROM ({each}) AS v UNION ALL {each}", "UNION of rows"),
        (
            "SELECT discreet_rows_per_person(patient) AS n, COUNT(DISTINCT patient) FROM visits GROUP BY 1",
            "discreet_rows",
        ),
        ("SELECT discreet_rows_per_person(patient) AS n, COUNT(*) FROM visits GROUP BY 1", "discreet_rows_per_person"),
    ],
)
def test_of_people_one_by_one_nothing_is_told(vault: Vault, question: str, words: str) -> None:
    each = "SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient"
    by_sex = "SELECT patient, sex, COUNT(*) AS n FROM visits GROUP BY patient, sex"
    before = vault.ledger.charges
    for way in (vault.explain, vault.ask):
        with pytest.raises((UnsupportedQuery, DomainError), match=words):
            way(question.format(each=each, by_sex=by_sex, numbered=NUMBERED))
    assert vault.ledger.charges == before
