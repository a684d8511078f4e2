"""How domains of several tables fit their sources: as `init` would say it, with nothing written, and keys counted."""

import numpy as np
import pandas as pd
import pytest

from discreet.domain.read_tables import parse_tables
from discreet.errors import DomainError, TableError
from discreet.table.open import open_source
from discreet.table.take_tables import take_tables
from discreet.vault import fit_tables, propose_tables
from tests.domain.test_read_tables import ALL

COLUMNS = {
    "patients": ("patient", "sex", "age"),
    "encounters": ("patient", "encounter", "ward"),
    "prescriptions": ("encounter", "drug"),
}


def frames(seed, people=40):
    """Tables with all that can be wrong with rows, but for keys that two rows have."""
    chance = np.random.default_rng(seed)
    visits, drugs = 3 * people, 5 * people
    patients = pd.DataFrame(
        {
            "patient": np.arange(people),
            "sex": chance.choice(["F", "M", "?"], people),
            "age": chance.integers(0, 12, people),
        }
    )
    encounters = pd.DataFrame(
        {
            "patient": pd.array(chance.integers(0, people + 5, visits), dtype="Int64"),
            "encounter": np.arange(visits),
            "ward": chance.choice([*"abcd"], visits),
        }
    )
    encounters.loc[:3, "patient"] = pd.NA
    prescriptions = pd.DataFrame(
        {"encounter": chance.integers(0, visits + 9, drugs), "drug": chance.choice([*"xyz"], drugs)}
    )
    return {"patients": patients, "encounters": encounters, "prescriptions": prescriptions}


def by_hand(found):
    """What is left of each table, row by row. A patient with more encounters than are kept has lots drawn: here the
    encounters' numbers are compared, whichever they are."""
    patients = found["patients"]
    patients = patients[patients.sex.isin(["F", "M"]) & (patients.age <= 9)]
    coded = found["encounters"][found["encounters"].ward.isin([*"abc"])]
    theirs = coded[coded.patient.isin(patients.patient)]
    kept = theirs.groupby("patient").size().clip(upper=3).sum()
    return {
        "patients": (len(patients), 0, 0),
        "encounters": (int(kept), len(coded) - len(theirs), len(theirs) - int(kept)),
    }


@pytest.mark.parametrize("seed", range(4))
def test_what_is_kept_is_what_a_count_by_hand_says_and_what_a_snapshot_has(tmp_path, seed):
    found = frames(seed)
    fits = fit_tables(found, _file(tmp_path))
    for name, numbers in by_hand(found).items():
        assert (fits[name].kept, fits[name].nameless, fits[name].beyond_bound) == numbers
    assert [column.name for column in fits["prescriptions"].columns] == ["drug"]
    told = {}
    sources = {name: open_source(frame) for name, frame in found.items()}
    take_tables(
        sources, parse_tables(ALL), bytes(32), tmp_path / "taken", fitted=lambda fit: told.__setitem__(fit.table, fit)
    )
    assert [fits[name] for name in ("patients", "encounters")] == [told[name] for name in ("patients", "encounters")]
    # Below, lots of another key decide whose encounters have prescriptions.
    assert fits["prescriptions"].rows == told["prescriptions"].rows
    assert fits["prescriptions"].columns == told["prescriptions"].columns


def test_nothing_is_written(tmp_path, monkeypatch):
    file = _file(tmp_path)
    monkeypatch.chdir(tmp_path)
    fit_tables(frames(0), file)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_keys_that_two_rows_have_are_counted_and_a_snapshot_is_refused(tmp_path):
    found = frames(0)
    found["encounters"].loc[found["encounters"].encounter < 20, "encounter"] = 7
    fits = fit_tables(found, _file(tmp_path))
    rows = found["encounters"]
    fitting = rows[rows.ward.isin([*"abc"]) & rows.patient.isin(by_hand_patients(found))]
    assert fits["encounters"].alike == (fitting.encounter == 7).sum() > 1
    assert fits["patients"].alike == 0
    sources = {name: open_source(frame) for name, frame in found.items()}
    with pytest.raises(TableError, match=r"encounters: .* rows have a encounter that another row has too"):
        take_tables(sources, parse_tables(ALL), bytes(32), tmp_path / "taken")


def by_hand_patients(found):
    patients = found["patients"]
    return patients[patients.sex.isin(["F", "M"]) & (patients.age <= 9)].patient


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found.pop("encounters"), "where is the table encounters"),
        (lambda found: found.update(visits=found["patients"]), "declares no table 'visits'"),
        (lambda found: found.update(encounters=found["encounters"].drop(columns="ward")), "encounters: .*ward"),
        (lambda found: found.update(patients=found["patients"].drop(columns="patient")), "patients: .*patient"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, change, said):
    found = frames(0)
    change(found)
    with pytest.raises((DomainError, TableError), match=said):
        fit_tables(found, _file(tmp_path))


def test_a_domain_of_one_table_takes_its_source_alone(tmp_path):
    file = tmp_path / "people.toml"
    attributes = ALL[ALL.index("[tables.patients.attributes") : ALL.index("[tables.encounters]")]
    file.write_text('name = "people"\n' + attributes.replace("tables.patients.", ""))
    with pytest.raises(DomainError, match="declares one table, people: give its source alone"):
        fit_tables({"people": frames(0)["patients"]}, file)


def _file(folder):
    file = folder / "hospital.toml"
    file.write_text(ALL)
    return file


FILLED = {
    "values = []  # in order; or a hierarchy": 'values = ["a"]',
    "# low =": "low = 0",
    "# high =": "high = 9",
    'source = ""  # required': 'source = "form"',
    "# max_rows =  # required": "max_rows = 3  # required",
}


def test_a_draft_of_several_tables_links_them_by_the_names_of_columns_and_can_be_filled_in():
    draft = propose_tables(frames(0))
    for empty, filled in FILLED.items():
        assert empty in draft
        draft = draft.replace(empty, filled)
    tables = parse_tables(draft)
    assert {one.name: (one.id, one.parent, one.key, one.max_rows, one.domain.names[: one.own]) for one in tables} == {
        "patients": ("patient", None, None, 1, ("sex", "age")),
        "encounters": ("patient", "patients", None, 3, ("ward",)),
        "prescriptions": (None, "encounters", "encounter", 3, ("drug",)),
    }


def test_a_draft_tells_of_another_parent_and_leaves_out_what_the_parent_has():
    found = frames(0)
    found["prescriptions"] = found["prescriptions"].assign(patient=1, ward="a")
    draft = propose_tables(found)
    below = draft[draft.index("[tables.prescriptions]") :]
    assert 'id = "patient"\nparent = "patients"' in below
    assert '# or parent = "encounters" by encounter' in below
    assert "[tables.prescriptions.attributes.ward]" in below
    found["encounters"] = found["encounters"].assign(sex="F")
    assert "# sex is an attribute of patients, which rows of encounters have too" in propose_tables(found)


def test_a_draft_has_no_value_of_a_row():
    marked = {name: frame.astype(str) + "-secret" for name, frame in frames(0).items()}
    assert "secret" not in propose_tables(marked)


def test_tables_that_have_nothing_in_common_are_for_the_custodian_to_link():
    draft = propose_tables({"one": pd.DataFrame({"a": [1]}), "two": pd.DataFrame({"b": [1]})})
    assert draft.count('id = ""  # required') == 2


@pytest.mark.parametrize(
    ("given", "more", "said"),
    [
        ({"one": pd.DataFrame({"a": [1]})}, {}, "two tables or more"),
        ({"one": pd.DataFrame({"a": [1]}), "1two": pd.DataFrame({"a": [1]})}, {}, "a table's name in SQL"),
        (frames(0), {"only": ["nothing"]}, "none of these tables has a column 'nothing'"),
    ],
)
def test_what_is_no_draft_is_refused(given, more, said):
    with pytest.raises(DomainError, match=said):
        propose_tables(given, **more)


def test_some_columns_alone_are_drafted():
    draft = propose_tables(frames(0), only=["ward", "sex"])
    assert "attributes.ward" in draft
    assert "attributes.sex" in draft
    assert "attributes.drug" not in draft
    assert "attributes.age" not in draft
