"""A proposal has names, types and what is declared, and reads no value."""

import datetime as dt
import decimal
import sqlite3
import tomllib

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest

from discreet.domain.read import parse_domain, read_domain
from discreet.errors import DomainError
from discreet.table.propose import Wishes, propose
from discreet.vault import fit_domain, propose_domain
from tests.sas_catalogue import write_catalogue


def test_a_proposal_names_each_column_with_its_type():
    frame = pa.table(
        {
            "age": pa.array([1], pa.int16()),
            "sex": ["F"],
            "income": [1.5],
            "wage": [decimal.Decimal("1.50")],
            "born": [dt.date(2000, 1, 1)],
            "member": [True],
            "seen": pa.array([0], pa.timestamp("us")),
            "span": pa.array([0], pa.duration("us")),
            'a "b"\n': [1],
        }
    )
    text = propose(frame, "people")
    proposed = tomllib.loads(text)
    assert proposed["name"] == "people"
    kinds = {name: table["kind"] for name, table in proposed["attributes"].items()}
    assert kinds == {
        "age": "integer",
        "sex": "category",
        "income": "bins",
        "wage": "bins",
        "born": "date",
        "member": "category",
        "seen": "date",
        'a "b"\n': "integer",
    }
    assert "# the column is int16;" in text
    assert "# span is duration[us], not a type that is read here: make it text, a number, a boolean or a date" in text


def test_a_proposal_must_be_filled_in_and_then_is_a_domain():
    text = propose(pa.table({"age": [1], "sex": ["F"], "income": [1.5]}), "people")
    with pytest.raises(DomainError, match=r"line 10: attributes\.age\.source: required"):
        parse_domain(text)
    filled = (
        text.replace("# low =", "low = 0").replace("# high =", "high = 9").replace('source = ""', 'source = "a test"')
    )
    filled = filled.replace("values = []", 'values = ["F"]').replace("edges = []", "edges = [0, 1]")
    assert parse_domain(filled).names == ("age", "sex", "income")


def test_a_proposal_reads_no_value_of_a_parquet_file(tmp_path):
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age": list(range(10_000)), "sex": ["secret"] * 10_000}), path, write_statistics=False)
    content = bytearray(path.read_bytes())
    footer = int.from_bytes(content[-8:-4], "little") + 8
    content[4:-footer] = bytes(len(content) - footer - 4)
    path.write_bytes(content)
    proposed = tomllib.loads(propose(path, "people"))
    assert list(proposed["attributes"]) == ["age", "sex"]


def test_a_proposal_needs_only_the_names_of_a_csv_file(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex")
    proposed = propose(tmp_path / "people.csv", "people")
    assert proposed.count('kind = "category"  # the column is text; integer | category | bins') == 2


@pytest.mark.parametrize("name", ["", "1st", 'a"b', "a b", "é"])
def test_a_name_that_sql_would_not_take_is_refused(name):
    with pytest.raises(DomainError, match="a table's name in SQL"):
        propose(pa.table({"age": [1]}), name)


CREATE = """
CREATE TABLE people (
    id INTEGER PRIMARY KEY,
    age INTEGER NOT NULL CHECK (age BETWEEN 0 AND 120),
    sex VARCHAR(1) CHECK (sex IN ('F', 'M')),
    grade INTEGER NOT NULL CHECK (grade IN (3, 1, 2)),
    share DECIMAL(4, 2) NOT NULL CHECK (share >= 0 AND share <= 1),
    born DATE NOT NULL CHECK (born >= '1990-01-01' AND born < '2030-01-01'),
    seen DATE NOT NULL CHECK (seen >= '2020-02-03' AND seen <= '2020-02-29'),
    member BOOLEAN,
    weight DOUBLE CHECK (weight > 0)
)
"""


@pytest.fixture(params=["sqlite", "duckdb"])
def database(request, tmp_path):
    path = tmp_path / f"people.{request.param}"
    connection = sqlite3.connect(path) if request.param == "sqlite" else duckdb.connect(path)
    connection.execute(CREATE)
    connection.commit()
    connection.close()
    return path


def test_what_a_database_declares_need_not_be_typed(database):
    text = propose(database)
    attributes = tomllib.loads(text)["attributes"]
    assert "# id is the key of the table" in text
    assert "id" not in attributes
    said = {name: {k: v for k, v in table.items() if k not in ("source", "kind")} for name, table in attributes.items()}
    booleans = {"booleans": "1/0"} if database.suffix == ".sqlite" else {}
    assert said == {
        "age": {"low": 0, "high": 120},
        "sex": {"values": ["F", "M"], "null": True},
        "grade": {"low": 1, "high": 3},
        "share": {"edges": [0, 1], "outside": "clamp"},
        "born": {"low": dt.date(1990, 1, 1), "high": dt.date(2029, 12, 31), "period": "month"},
        "seen": {"low": dt.date(2020, 2, 3), "high": dt.date(2020, 2, 29), "period": "day"},
        "member": {"values": [False, True], "null": True, **booleans},
        "weight": {"edges": [], "null": True},
    }
    assert "declared from 0" in text
    assert parse_domain(text.replace("edges = []", "edges = [0, 9]").replace('source = ""', 'source = "a test"'))


def test_what_duckdb_calls_enum_and_comment_is_declared(tmp_path):
    with duckdb.connect(tmp_path / "people.duckdb") as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'so so', 'it''s fine')")
        connection.execute("CREATE TABLE people (mood mood NOT NULL)")
        connection.execute("COMMENT ON COLUMN people.mood IS 'Mood,\nby \"itself\"'")
    text = propose(tmp_path / "people.duckdb")
    assert '# Mood, by "itself"\n' in text
    assert parse_domain(text)["mood"].values == ("sad", "so so", "it's fine")


@pytest.fixture
def survey(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(
        {
            "sex": [1.0, 2.0],
            "age": [30.0, 99.0],
            "seen": [dt.date(2020, 1, 1)] * 2,
            "name": ["a", "b"],
            "rent": [1.5, 2],
        }
    )
    pyreadstat.write_sav(
        frame,
        "survey.sav",
        column_labels={"sex": "Sex of the respondent"},
        variable_value_labels={"sex": {1.0: "Male", 2.0: "Female", 9.0: "no answer"}, "age": {99.0: "no answer"}},
        missing_ranges={"sex": [9.0], "age": [{"lo": 97, "hi": 99}]},
        variable_format={"age": "F3.0"},
    )


@pytest.mark.usefixtures("survey")
def test_labels_formats_and_missing_values_of_spss_are_declared():
    text = propose("survey.sav")
    attributes = tomllib.loads(text)["attributes"]
    assert [table["kind"] for table in attributes.values()] == ["category", "integer", "date", "category", "bins"]
    assert attributes["sex"] == {
        "kind": "category",
        "values_from": "survey.sav",
        "null": True,
        "source": "value labels in survey.sav",
    }
    assert attributes["age"]["null"]
    assert "# Sex of the respondent\n" in text


@pytest.mark.usefixtures("survey")
def test_a_draft_of_labelled_columns_is_a_domain_without_a_line_typed(tmp_path):
    (tmp_path / "survey.toml").write_text(propose_domain("survey.sav", only=["sex"]))
    domain = read_domain("survey.toml")
    assert domain["sex"].labels == ("1 Male", "2 Female", "(missing)")


@pytest.fixture
def clinic(tmp_path, monkeypatch):
    """A table of SAS, whose variables have formats of their own."""
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame({"SEX": [1.0, 2.0, 1.0], "WARD": ["s", "m", "s"], "AGE": [30.0, 40.0, 50.0]})
    formats = {"SEX": "SEXF1.", "WARD": "$WARD.", "AGE": "AGEF."}
    pyreadstat.write_xport(rows, "clinic.xpt", variable_format=formats, file_format_version=5)
    return tmp_path


@pytest.mark.parametrize("name", ["clinic.sas7bcat", "formats.sas7bcat"])
def test_formats_in_a_catalogue_beside_a_table_of_sas_are_codebooks(clinic, name):
    wards = {"s": "surgery", "m": "medicine"}
    write_catalogue(clinic / name, {"SEXF": {1.0: "male", 2.0: "female", -9.0: "unknown"}, "$WARD": wards})
    text = propose("clinic.xpt")
    sex, ward, age = (tomllib.loads(text)["attributes"][name] for name in ("SEX", "WARD", "AGE"))
    assert sex["values_from"] == {"file": name, "list": "SEXF"}
    assert ward["values_from"] == {"file": name, "list": "$WARD"}
    assert ward["source"] == f"the format $WARD in {name}"
    assert "values_from" not in age
    (clinic / "clinic.toml").write_text(propose_domain("clinic.xpt", only=["SEX", "WARD"]))
    domain = read_domain(clinic / "clinic.toml")
    assert domain["SEX"].labels == ("1 male", "2 female", "-9 unknown")
    assert fit_domain("clinic.xpt", clinic / "clinic.toml").kept == 3


def test_a_catalogue_that_nobody_can_read_says_what_to_do_and_no_row_is_quoted(clinic):
    (clinic / "clinic.sas7bcat").write_bytes(b"secret" * 1000)
    with pytest.raises(DomainError, match="PROC FORMAT CNTLOUT") as refused:
        propose("clinic.xpt")
    assert "secret" not in str(refused.value)


def test_a_format_that_a_catalogue_does_not_have_is_refused_with_those_it_has(clinic):
    write_catalogue(clinic / "formats.sas7bcat", {"SEXF": {1.0: "male"}, "$WARD": {"s": "surgery"}})
    (clinic / "clinic.toml").write_text(
        'name = "c"\n[attributes.SEX]\nkind = "category"\nsource = "s"\n'
        'values_from = {file = "formats.sas7bcat", list = "SEXG"}\n'
    )
    with pytest.raises(DomainError, match=r"has no list 'SEXG'; there are SEXF, \$WARD"):
        read_domain(clinic / "clinic.toml")


def test_dictionaries_and_statistics_of_files_are_data_and_declare_nothing(tmp_path):
    secret = pa.array(["secret", "secret"]).dictionary_encode()
    pq.write_table(pa.table({"age": [41, 97], "town": secret}), tmp_path / "people.parquet")
    text = propose(tmp_path / "people.parquet")
    assert not any(found in text for found in ("secret", "41", "97"))


def test_attributes_are_reused_by_name_with_their_notation_and_their_codebook(tmp_path, monkeypatch):
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    (tmp_path / "old/towns.csv").write_text("code,label\n1,Bern\n2,Basel\n")
    (tmp_path / "old/people.toml").write_text(
        'name = "old"\n[notation]\nmissing = ["?"]\nignore_case = true\n[attributes]\n'
        'age = {kind = "integer", low = 0, high = 9, missing = [-9], source = "form"}\n'
        'town = {kind = "category", values_from = {file = "towns.csv", label = "label"}, source = "map"}\n'
        'rent = {kind = "bins", edges = [-inf, 0.10, 1e3], source = "law"}\n'
        'job = {kind = "category", source = "list", hierarchy = {office = ["clerk"], "by hand" = {farm = ["a.b"]}}}\n'
        'seen = {kind = "date", low = 2020-01-01, high = 2020-12-31, source = "x"}\n'
    )
    (tmp_path / "new/people.csv").write_text("job,town,age,rent,seen,more\n")
    monkeypatch.chdir(tmp_path / "new")
    text = propose_domain("people.csv", reuse="../old/people.toml", source="a test", schema="./domain.schema.json")
    assert text.startswith("#:schema ./domain.schema.json\n")
    (tmp_path / "new/people.toml").write_text(text.replace("values = []", 'values = ["x"]'))
    drafted, old = read_domain("people.toml"), read_domain("../old/people.toml")
    for name in old.names:
        assert drafted[name] == old[name]
    assert drafted.names == ("job", "town", "age", "rent", "seen", "more")
    assert tomllib.loads(text)["attributes"]["town"]["values_from"]["file"] == "../old/towns.csv"


def test_only_some_columns_are_drafted_and_they_have_to_be_there(database):
    wishes = Wishes(source="law", only=("age", "id"))
    assert list(tomllib.loads(propose(database, wishes=wishes))["attributes"]) == ["id", "age"]
    with pytest.raises(DomainError, match="no column 'height'"):
        propose(database, wishes=Wishes(only=("height",)))


def test_a_domain_that_is_none_is_not_reused(tmp_path):
    (tmp_path / "people.csv").write_text("age\n")
    (tmp_path / "wrong.toml").write_text('name = "x"\n[attributes.age]\nkind = "integer"\n')
    with pytest.raises(DomainError, match=r"line 2: attributes\.age\.source"):
        propose_domain(tmp_path / "people.csv", reuse=tmp_path / "wrong.toml")
