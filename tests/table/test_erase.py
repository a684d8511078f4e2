"""People are left out of a snapshot: what is there then is what a table without them would have become."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.read import parse_domain
from discreet.errors import DomainError, TableError
from discreet.ledger.snapshot import SnapshotId
from discreet.private import private_folder
from discreet.table.erase import erased_in, keys_named_in, write_without
from discreet.table.layout import ERASED
from discreet.table.open import open_source
from discreet.table.roster import read_roster
from discreet.table.snapshot import have_rows_of, open_snapshot, snapshot_digest
from discreet.table.take import take_snapshot
from discreet.table.unit import Unit
from tests.populations import KEY, snapshot_in

DOMAIN = parse_domain("""
name = "visits"
null_ids = "drop"
[attributes.age]
kind = "integer"
low = 0
high = 3
source = "a test"
[attributes.income]
kind = "bins"
edges = [0, 1000, 100000]
grain = 10
source = "a test"
""")
ROWS = st.lists(st.tuples(st.sampled_from([*"abcdef", None]), st.integers(-1, 4), st.integers(0, 5)), max_size=30)


def visits(rows):
    people, ages, incomes = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"age": pa.array(ages, pa.int64()), "income": pa.array([250.0 * each for each in incomes], pa.float64())}
    return pa.table({"person": pa.array(people, pa.string()), **columns})


def named(ids):
    table = pa.table({"person": ids if isinstance(ids, pa.Array) else pa.array(ids, pa.string())})
    return keys_named_in(open_source(table), "person", KEY, on_roster=False)


def without(snapshot, gone, folder):
    private_folder(folder)
    manifest = write_without(snapshot, gone, folder)
    id = SnapshotId(snapshot.id.number + 1, snapshot_digest(KEY, snapshot.id.number + 1, manifest))
    return open_snapshot(folder, snapshot.domain, id, KEY, snapshot.roster)


def columns_of(snapshot, but=(ERASED,)):
    names = sorted(set(snapshot.manifest["columns"]) - set(but))
    return {name: (snapshot.column(name).dtype, snapshot.column(name).tolist()) for name in names}


@given(
    rows=ROWS,
    first=st.sets(st.sampled_from("abcdxyz")),
    second=st.sets(st.sampled_from("abcdxyz")),
    most=st.integers(1, 3),
)
def test_it_is_what_a_table_without_them_becomes_and_a_refresh_that_leaves_them_out(rows, first, second, most):
    """Column by column and row by row: nobody else's rows move, and a person's rows are chosen without the others'."""
    unit = Unit("person", most)
    staying = visits([row for row in rows if row[0] not in first | second])
    with TemporaryDirectory() as home:
        before = snapshot_in(Path(home, "before"), visits(rows), DOMAIN, unit)
        expected = columns_of(snapshot_in(Path(home, "expected"), staying, DOMAIN, unit))
        once = without(before, named([*first]), Path(home, "once"))
        twice = without(once, named([*second]), Path(home, "twice"))
        private_folder(Path(home, "again"))
        take_snapshot(
            open_source(visits(rows)), DOMAIN, unit, None, KEY, Path(home, "again", "rows"), erased=erased_in(twice)
        )
        manifest = (Path(home, "again", "rows") / "manifest.json").read_text()
        assert columns_of(twice) == expected
        assert erased_in(twice).tolist() == named([*first, *second]).tolist() == sorted(erased_in(twice).tolist())
        assert twice.manifest["rows"] == len(twice.column("person"))
        assert have_rows_of([twice], manifest)  # so a refresh by hand stays over the snapshot where only they are gone
        assert twice.manifest["stamp"] == before.manifest["stamp"]


def test_a_mark_says_nothing_of_who_was_there(tmp_path):
    before = snapshot_in(tmp_path / "before", visits([("a", 1, 1), ("b", 2, 2)]), DOMAIN, Unit("person", 1))
    there = without(before, named(["a"]), tmp_path / "there")
    not_there = without(before, named(["z"]), tmp_path / "not-there")
    assert (erased_in(there).size, erased_in(not_there).size) == (1, 1)
    assert (there.manifest["rows"], not_there.manifest["rows"]) == (1, 2)
    assert erased_in(before) is None
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "there").iterdir()} == {0o600}


def test_rows_without_an_id_are_nobodys_to_take_out_and_stay(tmp_path):
    own = replace(DOMAIN, null_ids="own")
    rows = visits([("a", 1, 1), (None, 2, 2), (None, 3, 3)])
    before = snapshot_in(tmp_path / "before", rows, own, Unit("person", 1, "own"))
    assert without(before, named(["a"]), tmp_path / "after").column("codes-0").tolist() == [2, 3]


def test_people_of_a_roster_keep_their_places_and_are_known_by_any_spelling_that_the_roster_knows(tmp_path):
    table = pa.table({"person": ["1", "002", "3"], "age": [1, 2, 3], "income": [0.0, 0.0, 0.0]})
    roster = read_roster(pa.table({"person": ["1", "2", "3", "4"]}), "person")
    before = snapshot_in(tmp_path / "before", table, DOMAIN, Unit("person", 1), roster=roster)
    gone = keys_named_in(open_source(pa.table({"person": ["2.0", "4"]})), "person", KEY, on_roster=True)
    after = without(before, gone, tmp_path / "after")
    places = [before.column("place").tolist()[row] for row in (0, 2)]
    assert (after.column("codes-0").tolist(), after.column("place").tolist()) == ([1, 3], places)


SPELT = {
    "text": pa.array(["7", "8"]),
    "whole numbers": pa.array([7, 8], pa.int16()),
    "decimals": pa.array([Decimal(7), Decimal(8)]),
    "categories": pa.array(["7", "8", "7"]).dictionary_encode(),
    "large text": pa.array(["7", "8"], pa.large_string()),
}


@pytest.mark.parametrize("ids", SPELT.values(), ids=SPELT.keys())
def test_ids_are_the_same_in_every_type_that_a_table_may_have_them_in(ids):
    assert named(ids).tolist() == named(["7", "8"]).tolist()
    assert np.unique(named(ids)).size == 2


def test_another_spelling_is_another_person_as_it_is_in_the_table():
    assert np.intersect1d(named(["007", "7.0", " 7"]), named(["7"])).size == 0


@pytest.mark.parametrize(
    ("table", "error", "said"),
    [
        (pa.table({"who": ["a"]}), DomainError, "the table has no column 'person'; its columns are who"),
        (pa.table({"person": [7.0]}), DomainError, "an id is text, a whole number or a UUID"),
        (pa.table({"person": ["a", None]}), TableError, "the file has rows without person"),
    ],
)
def test_what_names_nobody_is_refused(table, error, said):
    with pytest.raises(error, match=said):
        keys_named_in(open_source(table), "person", KEY, on_roster=False)


@pytest.mark.parametrize("column", ["codes-1", "units-1", "person", "people", "erased"])
def test_a_snapshot_that_was_touched_is_not_gone_on_from(tmp_path, column):
    before = snapshot_in(tmp_path / "before", visits([("a", 1, 1), ("b", 2, 2)]), DOMAIN, Unit("person", 1))
    once = without(before, named(["z"]), tmp_path / "once")
    (once.folder / column).write_bytes(b"\xfe" * len((once.folder / column).read_bytes()))
    with pytest.raises(TableError, match="was touched"):
        without(once, named(["a"]), tmp_path / "twice")
