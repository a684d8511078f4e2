"""Which of several tables a statement is about, and what a join along declared keys is."""

import pytest
from sqlglot import exp

from discreet.domain.read_tables import parse_tables
from discreet.errors import DiscreetError, UnknownTable, UnsupportedQuery
from discreet.sql.split import read, split_over
from discreet.sql.tables import tables_asked
from tests.domain.test_read_tables import ALL

TABLES = parse_tables(ALL)
TWO = "encounters e JOIN patients p ON e.patient = p.patient"


def question(text):
    """What is asked of which table, without how it was written."""
    [table], over = tables_asked(text, TABLES)
    asked = read(over, table.domain)
    return table.name, [(column.name, getattr(column, "query", None)) for column in asked.columns], asked.by


SAME = [
    (f"SELECT COUNT(*) FROM {TWO}", "SELECT COUNT(*) FROM encounters"),
    (
        "SELECT COUNT(*) FROM patients AS p JOIN encounters AS e ON p.patient = e.patient",
        "SELECT COUNT(*) FROM encounters",
    ),
    ("SELECT COUNT(*) FROM encounters INNER JOIN patients USING (patient)", "SELECT COUNT(*) FROM encounters"),
    ("SELECT COUNT(*) FROM encounters LEFT JOIN patients USING (patient)", "SELECT COUNT(*) FROM encounters"),
    ("SELECT COUNT(*) FROM ENCOUNTERS E JOIN Patients P ON E.PATIENT = P.patient", "SELECT COUNT(*) FROM encounters"),
    (
        f"SELECT p.sex, COUNT(*) AS n FROM {TWO} WHERE p.age > 3 AND e.ward = 'a' GROUP BY p.sex",
        "SELECT sex, COUNT(*) AS n FROM encounters WHERE age > 3 AND ward = 'a' GROUP BY sex",
    ),
    (f"SELECT COUNT(DISTINCT p.patient) AS n FROM {TWO}", "SELECT COUNT(DISTINCT patient) AS n FROM encounters"),
    (f"SELECT COUNT(DISTINCT patient) AS n FROM {TWO}", "SELECT COUNT(DISTINCT patient) AS n FROM encounters"),
    (f"SELECT AVG(p.age) AS a FROM {TWO}", "SELECT AVG(age) AS a FROM encounters"),
    (
        "SELECT COUNT(*) FROM prescriptions r JOIN encounters e ON r.encounter = e.encounter",
        "SELECT COUNT(*) FROM prescriptions",
    ),
    (
        "SELECT drug, p.sex, COUNT(*) AS n FROM prescriptions r JOIN encounters e ON e.encounter = r.encounter "
        "JOIN patients p ON p.patient = e.patient WHERE ward = 'a' GROUP BY drug, p.sex",
        "SELECT drug, sex, COUNT(*) AS n FROM prescriptions WHERE ward = 'a' GROUP BY drug, sex",
    ),
    (
        "SELECT COUNT(*) FROM patients p JOIN encounters e ON e.patient = p.patient "
        "JOIN prescriptions r ON r.encounter = e.encounter",
        "SELECT COUNT(*) FROM prescriptions",
    ),
]


@pytest.mark.parametrize(("joined", "alone"), SAME)
def test_a_join_along_keys_is_the_lowest_table_by_itself(joined, alone):
    assert question(joined) == question(alone)


@pytest.mark.parametrize("name", TABLES.names)
def test_a_statement_about_one_table_stays_as_it_is_written(name):
    text = f"SELECT  COUNT( * )\nFROM {name.upper()}"
    assert tables_asked(text, TABLES) == ((TABLES[name],), text)


def test_a_join_in_a_sub_query_is_found():
    [table], text = tables_asked(
        f"WITH t AS (SELECT p.sex, COUNT(*) AS n FROM {TWO} GROUP BY p.sex) SELECT n FROM t", TABLES
    )
    assert table.name == "encounters"
    assert "patients" not in text


REFUSED = [
    ("encounters a JOIN encounters b ON a.patient = b.patient", "a table is not joined with itself"),
    ("patients a JOIN patients b ON a.patient = b.patient", "a table is not joined with itself"),
    ("patients p LEFT JOIN encounters e ON p.patient = e.patient", "is a row of no table"),
    ("encounters e RIGHT JOIN patients p ON p.patient = e.patient", "RIGHT is not supported between tables"),
    ("encounters e FULL JOIN patients p ON p.patient = e.patient", "FULL is not supported between tables"),
    ("encounters e CROSS JOIN patients p", "CROSS is not supported between tables"),
    ("encounters e SEMI JOIN patients p ON p.patient = e.patient", "SEMI is not supported between tables"),
    ("encounters e, patients p WHERE e.patient = p.patient", "without its key; write FROM encounters JOIN patients ON"),
    ("encounters e JOIN patients p ON e.patient <> p.patient", "by their keys alone"),
    ("encounters e JOIN patients p ON e.patient = p.patient AND p.age > 3", "by their keys alone"),
    ("encounters e JOIN patients p ON e.patient = p.patient OR 1 = 1", "by their keys alone"),
    ("encounters e JOIN patients p ON patient = p.patient", "by their keys alone"),
    ("encounters e JOIN patients p ON e.ward = p.sex", "ward = sex is no key"),
    ("encounters e JOIN patients p USING (sex)", "sex is no key of patients"),
    ("encounters e NATURAL JOIN patients p", "is not supported between tables"),
    ("prescriptions r JOIN patients p ON r.encounter = p.patient", "is no key of these tables"),
    # What is written beside a name, and would be dropped with the join.
    ("encounters e JOIN patients p TABLESAMPLE (10 PERCENT) ON e.patient = p.patient", "a sample is not supported"),
    ("encounters e JOIN patients p PIVOT (SUM(age) FOR sex IN ('F')) ON e.patient = p.patient", "PIVOT"),
    ("encounters e JOIN old.patients p ON e.patient = p.patient", "a schema before the table's name is not"),
    ("encounters e JOIN patients AS p(age, sex) ON e.patient = p.patient", "a list of its columns is not supported"),
    (
        "encounters e JOIN patients p JOIN wards w ON w.ward = e.ward ON e.patient = p.patient",
        "a join is not supported",
    ),
    (f"(VALUES (1), (2)) AS v(x), {TWO}", "the vault's tables come first"),
    (f"(SELECT sex, COUNT(*) AS n FROM patients GROUP BY sex) q, {TWO}", "the vault's tables come first"),
    (f"wards w, {TWO}", "the vault's tables come first"),
]


@pytest.mark.parametrize(("written", "said"), REFUSED)
def test_a_join_of_anything_else_is_refused_with_why(written, said):
    with pytest.raises(UnsupportedQuery) as error:
        tables_asked(f"SELECT COUNT(*) FROM {written}", TABLES)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"SELECT p.ward, COUNT(*) FROM {TWO} GROUP BY p.ward", "patients has no attribute 'ward'"),
        ("SELECT COUNT(*) FROM visits", "there are patients, encounters, prescriptions"),
        ("SELECT 1", "there are patients, encounters, prescriptions"),
        ("WITH patients AS (SELECT * FROM encounters) SELECT COUNT(*) FROM patients", "give the WITH another name"),
        ("SELECT FROM WHERE", "not understood"),
    ],
)
def test_a_statement_over_no_table_is_refused(text, said):
    with pytest.raises(UnsupportedQuery) as error:
        tables_asked(text, TABLES)
    assert said in str(error.value)


SEVERAL = [
    (
        "WITH a AS (SELECT COUNT(*) AS n FROM encounters), b AS (SELECT COUNT(*) AS m FROM patients) "
        "SELECT n / m FROM a, b",
        ["encounters", "patients"],
    ),
    ("SELECT COUNT(*) AS n FROM patients UNION ALL SELECT COUNT(*) AS n FROM encounters", ["patients", "encounters"]),
    (
        f"SELECT 1.0 * (SELECT COUNT(*) FROM {TWO} WHERE p.age > 3) / (SELECT COUNT(DISTINCT patient) FROM patients)",
        ["encounters", "patients"],
    ),
    (
        "SELECT sex, COUNT(*) / (SELECT COUNT(*) FROM patients) AS r FROM encounters GROUP BY sex",
        ["patients", "encounters"],
    ),
    (
        "SELECT e.sex, n, m FROM (SELECT sex, COUNT(*) AS n FROM encounters GROUP BY sex) e "
        "JOIN (SELECT sex, COUNT(*) AS m FROM prescriptions GROUP BY sex) r USING (sex)",
        ["encounters", "prescriptions"],
    ),
]


@pytest.mark.parametrize(("text", "names"), SEVERAL)
def test_of_a_statement_over_several_tables_every_private_block_is_about_one(text, names):
    tables, over = tables_asked(text, TABLES)
    assert {table.name for table in tables} == set(names)
    statement = split_over(over, [table.domain for table in tables], {})
    assert sorted(block.table for block in statement.blocks) == sorted(names)
    assert {table.name.lower() for table in statement.public.find_all(exp.Table)}.isdisjoint(TABLES.names)


NOT_APART = [
    (
        "SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM encounters e WHERE e.patient = p.patient)",
        "Who has rows in a table is counted there: COUNT(DISTINCT patient) of it",
    ),
    (
        "SELECT COUNT(*) FROM patients WHERE age > (SELECT AVG(age) FROM encounters)",
        "depends on the answer of a sub-query",
    ),
    ("SELECT COUNT(*) FROM patients WHERE sex IN (SELECT sex FROM encounters GROUP BY sex)", "depends on the answer"),
    ("WITH v AS (SELECT * FROM encounters) SELECT COUNT(*) FROM v JOIN patients p ON v.sex = p.sex", "a join of rows"),
    ("WITH v AS (SELECT sex FROM encounters) SELECT COUNT(*) FROM patients, v", "a join of rows"),
    (
        "SELECT COUNT(*) FROM patients p JOIN (SELECT sex, COUNT(*) AS n FROM encounters GROUP BY sex) e "
        "ON p.sex = e.sex",
        "depends on the answer of a sub-query",
    ),
    (
        "SELECT COUNT(*) FROM patients p JOIN (SELECT patient, COUNT(*) AS n FROM encounters GROUP BY patient) v "
        "ON p.patient = v.patient",
        "a join with single people",
    ),
    (
        "SELECT sex, (SELECT COUNT(*) FROM encounters e WHERE e.sex = patients.sex) AS n FROM patients GROUP BY sex",
        "does not see the tables around it",
    ),
    ("SELECT sex FROM patients UNION SELECT sex FROM encounters", "UNION of rows is not supported"),
    ("SELECT * FROM (SELECT * FROM patients) a, (SELECT COUNT(*) AS n FROM encounters) b", ""),
]


@pytest.mark.parametrize(("text", "said"), NOT_APART)
def test_what_sets_rows_of_two_tables_beside_one_another_is_refused(text, said):
    tables, over = tables_asked(text, TABLES)
    with pytest.raises(UnsupportedQuery) as error:
        split_over(over, [table.domain for table in tables], {})
    assert said in str(error.value)


def test_siblings_are_not_joined():
    text = ALL + ALL[ALL.index("[tables.encounters]") : ALL.index("[tables.prescriptions]")].replace(
        "encounters", "stays"
    )
    with pytest.raises(UnsupportedQuery, match="none of encounters and stays is below the others"):
        tables_asked("SELECT COUNT(*) FROM encounters e JOIN stays s ON e.patient = s.patient", parse_tables(text))


def test_a_table_with_an_id_of_its_own_is_joined_with_the_person_at_once():
    text = ALL.replace('parent = "encounters"', 'id = "patient"\nparent = "encounters"')
    tables = parse_tables(text)
    joined = "SELECT COUNT(*) FROM prescriptions r JOIN patients p ON r.patient = p.patient"
    assert [table.name for table in tables_asked(joined, tables)[0]] == ["prescriptions"]
    with pytest.raises(UnsupportedQuery, match="encounters is joined without its key"):
        tables_asked("SELECT COUNT(*) FROM prescriptions r JOIN encounters e ON r.patient = e.patient", tables)


def test_an_unknown_table_is_an_unknown_table():
    with pytest.raises(UnknownTable):
        tables_asked("SELECT COUNT(*) FROM visits", TABLES)
    assert issubclass(UnknownTable, DiscreetError)
