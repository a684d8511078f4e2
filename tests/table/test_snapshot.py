"""A snapshot on disk: what is in it, whose it is, and that nothing is read of one that was touched."""

import json
import os
import shutil
import stat

import numpy as np
import pyarrow as pa
import pytest

from discreet.domain.read import parse_domain
from discreet.errors import TableError
from discreet.ledger.snapshot import SnapshotId
from discreet.query.query import Count, SubsetCount, Sum
from discreet.query.subset import Everyone
from discreet.table.layout import PEOPLE, PERSON, PLACE
from discreet.table.roster import read_roster
from discreet.table.snapshot import open_snapshot, snapshot_digest
from discreet.table.unit import Unit
from tests.populations import KEY, points, population, snapshot_in

DOMAIN = parse_domain("""
name = "people"
[attributes.age]
kind = "integer"
low = 0
high = 99
source = "a test"
[attributes.town]
kind = "category"
values = ["Arden", "Belmont"]
source = "a test"
[attributes.income]
kind = "bins"
edges = [0, 1000, 100000]
grain = 10
source = "a test"
""")
ROWS = 1000
PEOPLE_TABLE = pa.table(
    {
        "age": [i % 100 for i in range(ROWS)],
        "town": [("Arden", "Belmont")[i % 2] for i in range(ROWS)],
        "income": [float(i * 37 % 100_000) for i in range(ROWS)],
        "person": [i // 2 for i in range(ROWS)],
    }
)
QUERY = Sum("income", DOMAIN.slab("age", 20, 50), ("town",))


@pytest.fixture
def snapshot(tmp_path):
    return snapshot_in(tmp_path / "snapshot", PEOPLE_TABLE, DOMAIN)


def again(snapshot):
    return open_snapshot(snapshot.folder, DOMAIN, snapshot.id, KEY, None)


def test_it_holds_a_column_for_each_attribute_and_for_each_amount_in_few_bytes(snapshot):
    sizes = {path.name: path.stat().st_size for path in snapshot.folder.iterdir() if path.name != "manifest.json"}
    assert sizes == {"codes-0": ROWS, "codes-1": ROWS, "codes-2": ROWS, "units-2": 2 * ROWS}
    assert json.loads((snapshot.folder / "manifest.json").read_text())["rows"] == ROWS


def test_people_and_places_are_stored_beside_the_codes_and_nothing_else_is_left(tmp_path):
    unit = Unit("person", 1)
    bounded = snapshot_in(tmp_path / "a", PEOPLE_TABLE, DOMAIN, unit)
    codes = {"codes-0", "codes-1", "codes-2", "units-2", "manifest.json"}
    assert {path.name for path in bounded.folder.iterdir()} == codes | {PERSON, PEOPLE}
    assert bounded.column(PERSON).dtype == np.uint16
    listed = read_roster(PEOPLE_TABLE.select(["person"]).slice(0, 1), "person")
    on_roster = snapshot_in(tmp_path / "b", PEOPLE_TABLE, DOMAIN, unit, roster=listed)
    assert {path.name for path in on_roster.folder.iterdir()} == codes | {PERSON, PEOPLE, PLACE}
    assert on_roster.column(PLACE).tolist() == [0]


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_folder_and_files_are_the_owners_alone_whatever_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        folder = snapshot_in(tmp_path / "snapshot", PEOPLE_TABLE, DOMAIN, Unit("person", 1)).folder
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_while_it_is_taken_too(tmp_path):
    seen, before = set(), os.umask(0)

    def look(*_):
        seen.update(stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "snapshot").rglob("*"))

    try:
        snapshot_in(tmp_path / "snapshot", PEOPLE_TABLE, DOMAIN, Unit("person", 1), progress=look)
    finally:
        os.umask(before)
    assert seen == {0o600}


# --- what was touched is refused, with what to do ---


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def lengthen(path):
    path.write_bytes(path.read_bytes() + b"\x00")


def swap(path):
    """With another column of the same snapshot."""
    other = path.with_name("codes-1" if path.name != "codes-1" else "codes-0")
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def empty(path):
    path.write_bytes(b"")


def remove(path):
    path.unlink()


def forbid(path):
    """A folder in its place cannot be read, whoever runs the test."""
    path.unlink()
    path.mkdir()


DAMAGES = (flip, cut, lengthen, swap, empty, remove, forbid)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", ["codes-0", "codes-1", "units-2"])
def test_a_touched_column_is_refused_before_anything_is_read(snapshot, name, damage):
    damage(snapshot.folder / name)
    opened = again(snapshot)
    with pytest.raises(
        TableError, match=r"was touched: .* nothing was spent: restore it .*`discreet refresh`"
    ) as refusal:
        opened.require([QUERY])
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None
    with pytest.raises(TableError, match="was touched"):
        opened.evaluate([QUERY])


def test_a_column_that_nobody_asks_about_is_not_looked_at(snapshot):
    flip(snapshot.folder / "codes-1")
    opened = again(snapshot)
    young = Count(DOMAIN.slab("age", 0, 9))
    opened.require([young])
    assert opened.evaluate([young, Count(DOMAIN.everything)])[0] == ROWS // 10


def test_places_are_looked_at_where_counts_over_a_roster_are_asked_for(tmp_path):
    roster = read_roster(PEOPLE_TABLE.select(["person"]).slice(0, 1), "person")
    taken = snapshot_in(tmp_path / "s", PEOPLE_TABLE, DOMAIN, Unit("person", 1), roster=roster)
    flip(taken.folder / PLACE)
    opened = open_snapshot(taken.folder, DOMAIN, taken.id, KEY, lambda: roster)
    with pytest.raises(TableError, match="was touched"):
        opened.require([SubsetCount((Everyone(),), DOMAIN.everything)])


def test_a_column_is_looked_at_once(snapshot):
    opened = again(snapshot)
    opened.require([QUERY])
    expected = opened.evaluate([QUERY])[0].tolist()
    shutil.rmtree(snapshot.folder)  # as a refresh does: whoever reads it goes on reading it
    opened.require([QUERY])
    assert opened.evaluate([QUERY])[0].tolist() == expected


@pytest.mark.parametrize("damage", [flip, cut, lengthen, empty])
def test_a_touched_manifest_is_refused(snapshot, damage):
    damage(snapshot.folder / "manifest.json")
    with pytest.raises(TableError, match="was touched"):
        again(snapshot)


@pytest.mark.parametrize("damage", [remove, forbid, lambda path: path.write_bytes(b"\xff\xff")])
def test_a_manifest_that_is_gone_or_no_text_is_refused(snapshot, damage):
    damage(snapshot.folder / "manifest.json")
    with pytest.raises(TableError, match=r"is not there; copy it from the host .*, restore it .*, or take a new one"):
        again(snapshot)


def test_a_manifest_that_says_fewer_rows_is_refused(snapshot):
    path = snapshot.folder / "manifest.json"
    path.write_text(path.read_text().replace(f'"rows": {ROWS}', f'"rows": {ROWS - 1}'))
    with pytest.raises(TableError, match="was touched"):
        again(snapshot)


def test_another_snapshot_in_its_place_is_refused(snapshot, tmp_path):
    snapshot_in(tmp_path / "other", PEOPLE_TABLE.slice(1), DOMAIN)
    shutil.rmtree(snapshot.folder)
    (tmp_path / "other").rename(snapshot.folder)
    with pytest.raises(TableError, match="was touched"):
        again(snapshot)


# --- digests ---


def manifest_of(folder):
    return (folder / "manifest.json").read_text()


def test_a_digest_tells_rows_keys_and_numbers_apart(tmp_path):
    same, also, other, foreign = (
        snapshot_in(tmp_path / name, table, DOMAIN, key=key)
        for name, table, key in (
            ("a", PEOPLE_TABLE, KEY),
            ("b", PEOPLE_TABLE, KEY),
            ("c", PEOPLE_TABLE.slice(1), KEY),
            ("d", PEOPLE_TABLE, bytes(32)),
        )
    )
    assert same.id != also.id  # two that are taken of one table are still two
    digests = {same.id.digest, other.id.digest, foreign.id.digest, snapshot_digest(KEY, 2, manifest_of(same.folder))}
    assert len(digests) == 4
    assert all(len(digest) == 64 for digest in digests)


def test_without_the_key_a_guess_of_the_rows_cannot_be_tested(tmp_path):
    """Every digest in the manifest is keyed: none is a hash of the column alone, or under another key."""
    snapshot = snapshot_in(tmp_path / "a", PEOPLE_TABLE, DOMAIN)
    guessed = snapshot_in(tmp_path / "b", PEOPLE_TABLE, DOMAIN, key=bytes(32))
    mine, theirs = (
        {about["digest"] for about in json.loads(manifest_of(s.folder))["columns"].values()}
        for s in (snapshot, guessed)
    )
    assert len(mine) == 4
    assert not mine & theirs


def test_the_wrong_key_or_number_does_not_open_it(snapshot):
    for id, key in ((snapshot.id, bytes(32)), (SnapshotId(2, snapshot.id.digest), KEY)):
        with pytest.raises(TableError, match="was touched"):
            open_snapshot(snapshot.folder, DOMAIN, id, key, None)


def test_who_looks_at_an_opened_one_sees_no_key(snapshot):
    assert repr(KEY) not in repr(snapshot)


def test_a_table_without_rows_has_a_snapshot_like_any_other(tmp_path):
    for unit in (None, Unit("person", 1)):
        nobody = snapshot_in(tmp_path / str(unit is None), PEOPLE_TABLE.slice(0, 0), DOMAIN, unit)
        nobody.require([QUERY])
        assert nobody.evaluate([QUERY])[0].tolist() == [0, 0]
        assert points(nobody) == []


def test_arrays_of_a_snapshot_cannot_be_written_to(snapshot):
    with pytest.raises(ValueError, match="read-only"):
        snapshot.rows.codes("age")[0] = 7


def test_the_population_is_that_of_the_source():
    held = population(PEOPLE_TABLE, DOMAIN)
    assert held.evaluate([Count(DOMAIN.everything, ("town",))])[0].tolist() == [500, 500]
