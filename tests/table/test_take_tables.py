"""Snapshots of several tables, against plain dictionaries; and what is kept of a person, whoever else is there."""

import random
from collections import Counter

import pandas as pd
import pytest

from discreet.domain.read_tables import parse_tables
from discreet.errors import DomainError, TableError
from discreet.ledger.snapshot import SnapshotId
from discreet.table.open import open_source
from discreet.table.snapshot import open_snapshot, snapshot_digest
from discreet.table.take_tables import take_tables
from tests.domain.test_read_tables import ALL, ENCOUNTERS, PATIENTS

KEY = b"k" * 32


def taken(folder, frames, text=ALL):
    """The rows of each table, as labels with the number of each row's person."""
    tables = parse_tables(text)
    manifest = take_tables({name: open_source(frame) for name, frame in frames.items()}, tables, KEY, folder)
    id = SnapshotId(1, snapshot_digest(KEY, 1, manifest))
    found = {}
    for table in tables:
        snapshot = open_snapshot(folder, table.domain, id, KEY, None, table.name)
        columns = [snapshot.column(f"codes-{axis}") for axis in range(len(table.domain.attributes))]
        keys = snapshot.column("people")[snapshot.column("person")]
        found[table.name] = [
            (
                int(key),
                *(attribute.label(int(code)) for attribute, code in zip(table.domain.attributes, row, strict=True)),
            )
            for key, *row in zip(keys, *columns, strict=True)
        ]
    return found


def frames_of(patients, encounters, prescriptions):
    return {
        "patients": pd.DataFrame(patients, columns=["patient", "sex", "age"]),
        "encounters": pd.DataFrame(encounters, columns=["patient", "encounter", "ward"]).astype({"encounter": "Int64"}),
        "prescriptions": pd.DataFrame(prescriptions, columns=["encounter", "drug"]),
    }


def hospital(seed, people=40):
    """Made-up rows: people with codes and without, encounters of people who are not there, keys that are missing."""
    chance = random.Random(seed)
    patients = [(f"p{n}", chance.choice("FMX"), chance.randrange(11)) for n in range(people)]
    encounters = [
        (chance.choice([f"p{chance.randrange(people + 5)}", None]), n if chance.random() < 0.9 else None, ward)
        for n, ward in enumerate(chance.choices("abcd", k=3 * people))
    ]
    prescriptions = [(chance.randrange(3 * people), chance.choice("xyz")) for _ in range(5 * people)]
    return patients, encounters, prescriptions


def test_without_a_bound_that_bites_the_rows_are_those_of_inner_joins(tmp_path):
    patients, encounters, prescriptions = hospital(1)
    text = ALL.replace("max_rows = 3", "max_rows = 1000").replace("max_rows = 5", "max_rows = 1000")
    found = taken(tmp_path / "s", frames_of(patients, encounters, prescriptions), text)
    people = {id: (sex, str(age)) for id, sex, age in patients if sex in "FM" and age < 10}
    rows = {"patients": Counter(people.values())}
    visits = {n: (id, ward) for id, n, ward in encounters if id in people and ward in "abc"}
    every = [(ward, *people[id]) for id, n, ward in encounters if id in people and ward in "abc"]
    rows["encounters"] = Counter(every)
    rows["prescriptions"] = Counter(
        (drug, visits[n][1], *people[visits[n][0]]) for n, drug in prescriptions if n in visits and drug in "xy"
    )
    assert {name: Counter(row[1:] for row in kept) for name, kept in found.items()} == rows


def test_of_a_person_no_more_rows_are_kept_than_the_table_says(tmp_path):
    encounters = [(f"p{n % 2}", n, "abc"[n % 3]) for n in range(20)]
    prescriptions = [(n % 20, "xy"[n // 20 % 2]) for n in range(200)]
    found = taken(tmp_path / "s", frames_of([("p0", "F", 1), ("p1", "M", 2)], encounters, prescriptions))
    most = {name: max(Counter(key for key, *_ in rows).values()) for name, rows in found.items()}
    assert most == {"patients": 1, "encounters": 3, "prescriptions": 5}


@pytest.mark.parametrize("seed", range(6))
def test_what_is_kept_of_others_does_not_depend_on_a_person(tmp_path, seed):
    patients, encounters, prescriptions = hospital(seed, people=12)
    whole = taken(tmp_path / "whole", frames_of(patients, encounters, prescriptions))
    gone = {n for id, n, _ in encounters if id == "p0"} - {None}
    less = taken(
        tmp_path / "less",
        frames_of(
            [row for row in patients if row[0] != "p0"],
            [row for row in encounters if row[0] != "p0"],
            [row for row in prescriptions if row[0] not in gone],
        ),
    )
    for name, rows in whole.items():
        without = Counter(rows) - Counter(less[name])
        assert Counter(less[name]) <= Counter(rows)
        assert len({key for key, *_ in without}) <= 1  # all of them the person's


def test_the_order_of_rows_decides_nothing(tmp_path):
    made = hospital(3, people=12)
    whole = taken(tmp_path / "whole", frames_of(*made))
    turned = taken(tmp_path / "turned", frames_of(*(rows[::-1] for rows in made)))
    assert {name: Counter(rows) for name, rows in whole.items()} == {n: Counter(rows) for n, rows in turned.items()}


def test_a_row_whose_parent_is_another_persons_is_nobodys(tmp_path):
    text = ALL.replace('parent = "encounters"', 'id = "patient"\nparent = "encounters"')
    frames = frames_of([("p", "F", 1), ("q", "M", 2)], [("p", 7, "a"), ("q", 8, "b")], [])
    frames["prescriptions"] = pd.DataFrame(
        [("p", 7, "x"), ("q", 7, "y"), ("q", 8, "y"), (None, 8, "x")], columns=["patient", "encounter", "drug"]
    )
    assert sorted(row[1:] for row in taken(tmp_path / "s", frames, text)["prescriptions"]) == [
        ("x", "a", "F", "1"),
        ("y", "b", "M", "2"),
    ]


def test_amounts_of_a_parent_are_kept_with_the_rows_below(tmp_path):
    text = (
        PATIENTS.replace('kind = "integer"\nlow = 0\nhigh = 9\n', 'kind = "bins"\nedges = [0, 5, 10]\ngrain = 1\n')
        + ENCOUNTERS
    )
    frames = frames_of([("p", "F", 7), ("q", "M", 2)], [("q", 1, "a"), ("p", 2, "b")], [])
    tables = parse_tables(text)
    sources = {name: open_source(frames[name]) for name in ("patients", "encounters")}
    manifest = take_tables(sources, tables, KEY, tmp_path / "s")
    id = SnapshotId(1, snapshot_digest(KEY, 1, manifest))
    table = tables["encounters"]
    snapshot = open_snapshot(tmp_path / "s", table.domain, id, KEY, None, table.name)
    assert snapshot.column("units-2").tolist() == [2, 7]


@pytest.mark.parametrize(
    ("patients", "encounters", "said"),
    [
        ([("p", "F", 1), ("p", "M", 2)], [], "patients: 2 rows have a patient that another row has too"),
        ([("p", "F", 1), ("q", "M", 2)], [("p", 7, "a"), ("q", 7, "a")], "encounters: 2 rows have a encounter"),
    ],
)
def test_a_parents_key_that_is_not_unique_is_refused_and_no_value_is_quoted(tmp_path, patients, encounters, said):
    with pytest.raises(TableError, match=said):
        taken(tmp_path / "s", frames_of(patients, encounters, []))


def test_a_source_without_a_key_column_is_refused_with_the_table_that_lacks_it(tmp_path):
    frames = frames_of([("p", "F", 1)], [("p", 7, "a")], [])
    frames["encounters"] = frames["encounters"].drop(columns="encounter")
    with pytest.raises(DomainError, match="encounters: the table has no column 'encounter'"):
        taken(tmp_path / "s", frames)
