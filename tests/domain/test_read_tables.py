"""Several tables of one domain file: what is read, and what is refused, with the line and what to write instead."""

import pytest

from discreet.domain.read import parse_domain
from discreet.domain.read_tables import parse_tables
from discreet.errors import DomainError, UnknownTable

PATIENTS = """\
[tables.patients]
id = "patient"
[tables.patients.attributes.sex]
kind = "category"
values = ["F", "M"]
source = "form"
[tables.patients.attributes.age]
kind = "integer"
low = 0
high = 9
source = "form"
"""
ENCOUNTERS = """\
[tables.encounters]
id = "patient"
parent = "patients"
max_rows = 3
[tables.encounters.attributes.ward]
kind = "category"
values = ["a", "b", "c"]
source = "form"
"""
PRESCRIPTIONS = """\
[tables.prescriptions]
parent = "encounters"
key = "encounter"
max_rows = 5
[tables.prescriptions.attributes.drug]
kind = "category"
values = ["x", "y"]
source = "form"
"""
ALL = PATIENTS + ENCOUNTERS + PRESCRIPTIONS


def test_a_table_has_its_own_attributes_and_then_its_parents():
    tables = parse_tables(ALL)
    assert {table.name: table.domain.names for table in tables} == {
        "patients": ("sex", "age"),
        "encounters": ("ward", "sex", "age"),
        "prescriptions": ("drug", "ward", "sex", "age"),
    }
    assert [(table.own, table.max_rows, table.domain.person) for table in tables] == [
        (2, 1, "patient"),
        (1, 3, "patient"),
        (1, 5, "patient"),
    ]


def test_parents_come_before_their_children_wherever_they_are_written():
    assert parse_tables(PRESCRIPTIONS + ENCOUNTERS + PATIENTS).names == ("patients", "encounters", "prescriptions")


def test_a_person_has_their_own_attributes_once_and_a_row_of_each_other_table():
    tables = parse_tables(ALL)
    assert tables.person.names == (
        "patients.sex",
        "patients.age",
        "encounters.ward",
        "prescriptions.drug",
        "prescriptions.encounters.ward",
    )
    assert [tables.place(name).axes for name in tables.names] == [(0, 1), (2, 0, 1), (3, 4, 0, 1)]
    assert tables.rows == 9


def test_where_no_table_has_one_row_of_each_person_nothing_is_shared():
    tables = parse_tables(PATIENTS.replace('id = "patient"\n', 'id = "patient"\nmax_rows = 2\n') + KEYED)
    assert tables.person.names == (
        "patients.sex",
        "patients.age",
        "encounters.ward",
        "encounters.patients.sex",
        "encounters.patients.age",
    )


KEYED = ENCOUNTERS.replace('id = "patient"', 'key = "record"')


def test_one_table_is_read_as_ever():
    text = 'name = "people"\n[attributes.sex]\nkind = "category"\nvalues = ["F", "M"]\nsource = "form"\n'
    [table] = parse_tables(text)
    assert table.domain == parse_domain(text)
    assert table.own == 1


def test_tables_are_found_in_either_case_and_others_are_not():
    tables = parse_tables(ALL)
    assert tables["Patients"].name == "patients"
    with pytest.raises(UnknownTable, match="did you mean patients"):
        tables["patient"]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (PATIENTS, 1, "two tables or more"),
        (ALL.replace('id = "patient"\n', "", 1), 1, 'id = "…" is required'),
        (ALL.replace("max_rows = 3\n", ""), 12, "max_rows = … is required"),
        (ALL.replace("max_rows = 3", "max_rows = 0"), 15, "a whole number from 1 to "),
        (ALL.replace("max_rows = 3", "max_rows = true"), 15, "a whole number from 1 to "),
        (ALL.replace('parent = "patients"', 'parent = "people"'), 14, "no such table; there are patients"),
        (ALL.replace('parent = "patients"', 'parent = "prescriptions"'), 14, "go in a circle"),
        (ALL.replace('parent = "encounters"\n', ""), 21, "name the parent"),
        (ALL.replace('key = "encounter"\n', ""), 20, "need a parent in encounters"),
        (ALL.replace('key = "encounter"\n', 'id = "patient"\n'), 21, "may have 3 rows of a person"),
        (ALL.replace("attributes.drug", "attributes.ward"), 24, "ward is an attribute of encounters already"),
        (ALL.replace("attributes.ward", "attributes.Age"), 16, "Age is an attribute of patients already"),
        (ALL.replace('["x", "y"]', '"discover"'), 24, "values are discovered in a table that has a column of ids"),
        (ALL.replace('["x", "y"]', '["x", 1, 1]'), 26, ""),
        (ALL.replace('id = "patient"\nparent', "id = 7\nparent"), 13, "a column's name"),
        (ALL.replace("max_rows = 3", 'max_rows = 3\nnull_ids = "own"'), 16, "a row without an id has no parent"),
        (ALL.replace("max_rows = 3", 'max_rows = 3\nname = "visits"'), 16, "its name in SQL is encounters"),
        (ALL.replace("max_rows = 3", "max_rows = 3\nrows = 2"), 16, "unknown key 'rows'"),
        ('name = "hospital"\n' + ALL, 1, "is said of each table"),
        (ALL + '[tables.Patients]\nid = "patient"\n', 28, "the names differ in case only"),
        (ALL.replace("tables.encounters", 'tables."our encounters"'), 12, "letters, digits and _"),
        ("[tables]\nx = 1\n", 1, "two tables or more"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused_with_its_line(text, line, said):
    with pytest.raises(DomainError) as error:
        parse_tables(text, "hospital.toml")
    assert said in str(error.value)
    assert (error.value.file, error.value.line) == ("hospital.toml", line)


def test_where_one_table_is_read_several_are_refused():
    with pytest.raises(DomainError, match="discreet init"):
        parse_domain(ALL)
