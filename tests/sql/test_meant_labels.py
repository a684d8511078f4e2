"""HAVING and outer queries mean labels and periods as WHERE does: against the same question with a WHERE."""

import random
from datetime import date, timedelta

import pyarrow as pa
import pytest

from discreet.errors import UnsupportedQuery
from discreet.vault import Vault

PERIODS = ("day", "week", "month", "quarter", "year")
BOOK = '''code,label,parent
A,"Agriculture, ""green""",
01,"Crops & 'tubers'",A
02,Forêt à Zürich,A
06,100% oil | gas,
'''


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    """Two years of days by each period, and a codebook; with so little noise that counts are what they are."""
    folder = tmp_path_factory.mktemp("meant")
    (folder / "jobs.csv").write_text(BOOK, encoding="utf-8")
    dates = "".join(
        f'[attributes.{period}_of]\nkind = "date"\nlow = {low}\nhigh = {high}\nperiod = "{period}"\nsource = "s"\n'
        'outside = "other"\n'
        for period in PERIODS
        for low, high in [("2024-01-01", "2025-12-28") if period == "week" else ("2024-01-01", "2025-12-31")]
    )
    job = (
        '[attributes.job]\nkind = "category"\nvalues_from = "jobs.csv"\noutside = "other"\nnull = true\nsource = "s"\n'
    )
    (folder / "t.toml").write_text(f'name = "t"\n{job}{dates}')
    draw = random.Random(20)
    days = [(date(2023, 12, 20) + timedelta(days=draw.randrange(760))).isoformat() for _ in range(3000)]
    jobs = [draw.choice(["01", "02", "06", "99", None]) for _ in days]
    table = pa.table({"job": jobs, **{f"{period}_of": days for period in PERIODS}})
    return Vault.init(folder / "v", table=table, domain=folder / "t.toml", epsilon=10**6, neighbours="replace")


def total(answer):
    return sum(row.value for row in answer.rows)


def moved(answer):
    return sum("was answered as" in note or "was asked as" in note for note in answer.notes)


DATES = (
    "x >= '2024-06-01'",
    "x < DATE '2024-06-03'",
    "x <= TIMESTAMP '2024-09-30 23:59:59'",
    "x = '2024-12-30'",
    "x <> '2024-02'",
    "NOT x > '2024-Q3'",
    "x BETWEEN DATE '2024-05-20' AND DATE '2024-05-20' + INTERVAL 3 MONTH",
    "x IN ('2024-W05', '2025', DATE '2024-07-01')",
    "'2025' <= x",
    "EXTRACT(year FROM x) = 2025",
    "QUARTER(x) = 2",
    "DATE_TRUNC('year', x) = DATE '2024-01-01'",
    "DATE_DIFF('day', x, DATE '2025-12-31') < 100",
    "STRFTIME(x, '%Y') = '2024'",
    "x + INTERVAL 1 YEAR < DATE '2025-04-01'",
    "x IS NULL",
    "x IS DISTINCT FROM '2024-12-30'",
    "DATE '2025-01-01' IS NOT DISTINCT FROM x",
    "NULLIF(x, '2024') IS NULL",
    "CASE x WHEN '2025' THEN FALSE WHEN DATE '2024-07-01' THEN TRUE ELSE FALSE END",
    "(x, 1) IN (('2025', 1), (DATE '2024-07-01', 1))",
)


TWO_EACH = [(DATES[at], PERIODS[(at + more) % 5]) for at in range(len(DATES)) for more in (0, 2)]


@pytest.mark.parametrize(("condition", "period"), TWO_EACH)
def test_a_period_means_in_having_and_outside_what_it_means_in_where(vault, period, condition):
    name = f"{period}_of"
    own = condition.replace("x", name, 1)
    where = vault.ask(f"SELECT COUNT(*) FROM t WHERE {own}", scale="0.001")
    expected = where.value
    having = vault.ask(f"SELECT {name}, COUNT(*) AS n FROM t GROUP BY {name} HAVING {own}", scale="0.001")
    outside = vault.ask(
        f"SELECT p, n FROM (SELECT {name} AS p, COUNT(*) AS n FROM t GROUP BY {name}) "
        f"WHERE {condition.replace('x', 'p', 1)}",
        scale="0.001",
    )
    assert total(having) == total(outside) == pytest.approx(expected, abs=1)
    assert moved(where) == moved(having) == moved(outside)


JOBS = {
    "job = '01'": ["01 Crops & 'tubers'"],
    "job = 'Crops & ''tubers'''": ["01 Crops & 'tubers'"],
    "job IN ('02 Forêt à Zürich', '06')": ["02 Forêt à Zürich", "06 100% oil | gas"],
    "job <> '01' AND job <> '(other)'": ["02 Forêt à Zürich", "06 100% oil | gas"],
    "NOT job = 'Forêt à Zürich'": ["01 Crops & 'tubers'", "06 100% oil | gas", "(other)"],
    "job IS NULL": ["NULL"],
    "'06' = job": ["06 100% oil | gas"],
    "job IS NOT DISTINCT FROM 'Forêt à Zürich'": ["02 Forêt à Zürich"],
    "COALESCE(job, '06') = '06'": ["06 100% oil | gas", "NULL"],
    "CASE job WHEN '01' THEN TRUE WHEN 'Forêt à Zürich' THEN TRUE ELSE FALSE END": [
        "01 Crops & 'tubers'",
        "02 Forêt à Zürich",
    ],
    "(job, 1) IN (('06', 1), ('Forêt à Zürich', 1))": ["02 Forêt à Zürich", "06 100% oil | gas"],
    "NULLIF(job, '02') IS NULL": ["02 Forêt à Zürich", "NULL"],
}
SHAPES = (
    "SELECT job, COUNT(*) AS n FROM t GROUP BY job HAVING {}",
    "SELECT * FROM (SELECT job, COUNT(*) AS n FROM t GROUP BY job) WHERE {}",
    "WITH m AS (SELECT job, COUNT(*) AS n FROM t GROUP BY job) SELECT job, n FROM m WHERE {}",
    "WITH m(job, n) AS (SELECT job AS k, COUNT(*) FROM t GROUP BY k) SELECT m.job, m.n FROM m WHERE m.{}",
    "SELECT job, n, RANK() OVER (ORDER BY n) AS r FROM (SELECT job, COUNT(*) AS n FROM t GROUP BY job) AS q WHERE {}",
)


@pytest.mark.parametrize("condition", JOBS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_code_means_in_having_and_outside_what_it_means_in_where(vault, shape, condition):
    if "m.{}" in shape and not condition.startswith("job"):
        shape = shape.replace("m.{}", "{}")
    text = shape.format(condition.replace(" AND job", " AND m.job") if "m.{}" in shape else condition)
    answer = vault.ask(text, scale="0.001")
    assert sorted(labels[0] or "NULL" for labels, _ in answer.lines) == sorted(JOBS[condition])


@pytest.mark.parametrize("condition", [condition for condition in JOBS if "(other)" not in condition])
def test_a_code_means_in_where_what_it_means_in_having(vault, condition):
    having = vault.ask(f"SELECT job, COUNT(*) AS n FROM t GROUP BY job HAVING {condition}", scale="0.001")
    where = vault.ask(f"SELECT COUNT(*) AS n FROM t WHERE {condition}", scale="0.001")
    assert total(having) == pytest.approx(where.value, abs=1)


def test_totals_of_rollup_stay_beside_the_labels(vault):
    asked = "SELECT job, COUNT(*) AS n FROM t GROUP BY ROLLUP(job) HAVING job = '06' OR job IS NULL"
    answer = vault.ask(asked, scale="0.001")
    assert [labels[0] for labels, _ in answer.lines] == ["06 100% oil | gas", None, None]


def test_periods_are_joined_with_those_before(vault):
    asked = (
        "WITH m AS (SELECT month_of AS p, COUNT(*) AS n FROM t GROUP BY month_of) "
        "SELECT a.p, a.n - b.n AS more FROM m AS a JOIN m AS b ON a.p = b.p + INTERVAL 1 MONTH ORDER BY a.p"
    )
    found = vault.ask(asked, scale="0.001")
    counts = vault.ask("SELECT month_of, COUNT(*) FROM t WHERE month_of >= '2024' GROUP BY month_of", scale="0.001")
    known = {row.labels[0]: row.value for row in counts.rows}
    assert [labels[0] for labels, _ in found.lines] == [
        label for label in known if label > "2024-01" and label[0] == "2"
    ]
    for labels, [row] in found.lines:
        year, month = map(int, labels[0].split("-"))
        before = f"{year - (month == 1)}-{(month + 10) % 12 + 1:02d}"
        assert row.value == pytest.approx(known[labels[0]] - known[before], abs=1)


def test_an_expression_that_differs_within_a_period_says_so(vault):
    for asked, note in (
        ("EXTRACT(day FROM month_of) = 15", "month_of is known by months: for 24 of 24 the expression is taken"),
        ("EXTRACT(month FROM week_of) = 3", "week_of is known by weeks: for 3 of 104 the expression is taken"),
        ("DAYOFWEEK(year_of) = 1", "year_of is known by years: for 2 of 2 the expression is taken at the first day"),
    ):
        notes = vault.explain(f"SELECT COUNT(*) FROM t WHERE {asked}", scale=1).notes
        assert any(one.startswith(note) for one in notes), notes
    for asked in ("EXTRACT(month FROM month_of) = 3", "YEAR(quarter_of) = 2024", "EXTRACT(day FROM day_of) = 15"):
        notes = vault.explain(f"SELECT COUNT(*) FROM t WHERE {asked}", scale=1).notes
        assert not any("first day" in one for one in notes), notes


def test_an_expression_is_of_codes_and_says_so(vault):
    notes = vault.explain("SELECT COUNT(*) FROM t WHERE job LIKE '%oil%'", scale=1).notes
    assert "job is 01, say, within expressions: its codes, without their labels" in notes


def test_a_label_in_other_words_is_refused_with_the_one_that_is_near(vault):
    for asked, near in (
        ("Foret a zurich", "Forêt à Zürich"),
        ("oil", "100% oil | gas"),
        ("crops", "Crops & ''tubers''"),
    ):
        with pytest.raises(UnsupportedQuery, match="did you mean") as refusal:
            vault.explain(f"SELECT COUNT(*) FROM t WHERE job = '{asked}'", scale=1)
        assert near in str(refusal.value)


def test_what_sub_queries_and_calculations_compare_is_left_as_it_is(vault):
    months = "WITH m AS (SELECT month_of AS p, COUNT(*) AS n FROM t GROUP BY month_of)"
    for asked, first in (
        (f"{months} SELECT p, n FROM m WHERE p IN (SELECT p FROM m WHERE YEAR(p) = 2025)", "2025-01"),
        (f"{months} SELECT p, n FROM m WHERE p = (SELECT MIN(p) FROM m WHERE QUARTER(p) = 3)", "2024-07"),
        (f"{months} SELECT p, n FROM m WHERE p = '2024-' || '03'", "2024-03"),
    ):
        found = vault.ask(asked, scale="0.001")
        assert found.lines[0][0][0] == first, asked
    asked = "SELECT job, COUNT(*) AS n FROM t GROUP BY job HAVING job = CONCAT('06 ', '100% oil | gas')"
    assert [labels[0] for labels, _ in vault.ask(asked, scale="0.001").lines] == ["06 100% oil | gas"]
