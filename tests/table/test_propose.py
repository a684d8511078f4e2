"""A proposal has names and types, and reads no value."""

import datetime as dt
import decimal
import tomllib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.domain.read import parse_domain
from discreet.errors import DomainError
from discreet.table.propose import propose


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
