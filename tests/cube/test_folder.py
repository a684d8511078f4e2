"""Cubes on disk: an exact round trip, files that others can read, damage that is always noticed."""

import json
import os
from dataclasses import replace

import duckdb
import numpy as np
import pytest

from discreet.cube.cube import Cube
from discreet.cube.folder import CUBOIDS, SOURCES
from discreet.cube.record import plan_of, plan_record
from discreet.errors import ArchiveError
from discreet.release.package import PACKAGE, write_package
from tests.power_cut import power_may_go

CHOICES = [
    {},
    {"planner": "base"},
    {"planner": "all", "consistent": False},
    {"cuboids": 2, "planner": "bmaxg", "epsilon": "1/3"},
    {"cuboids": [("sex", "age"), ()], "weights": {("sex", "age"): 3.0}, "objective": "weighted"},
]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_cube_comes_back_exactly(publish, tmp_path, choice):
    cube = publish(**choice)
    cube.save(tmp_path / "cube")
    back = Cube.load(tmp_path / "cube")
    assert (back.plan, back.dimensions, back.consistent, back.origin) == (
        cube.plan,
        cube.dimensions,
        cube.consistent,
        cube.origin,
    )
    for mask, cells in cube.cuboids.items():
        np.testing.assert_array_equal(back.cuboids[mask], cells)
    for mask, counts in cube.sources.items():
        np.testing.assert_array_equal(back.sources[mask], counts)
    assert back.cuboids.keys() == cube.cuboids.keys()


def test_pieces_smaller_than_a_cuboid_come_back_exactly_too(publish, tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.cube.parquet.GROUP_ROWS", 5)
    cube = publish()
    cube.save(tmp_path / "cube")
    back = Cube.load(tmp_path / "cube")
    for mask, cells in cube.cuboids.items():
        np.testing.assert_array_equal(back.cuboids[mask], cells)


def test_the_files_read_like_group_by_cube(publish, tmp_path):
    cube = publish(planner="bmaxg")
    cube.save(tmp_path / "cube")
    rows = duckdb.sql(
        f"SELECT sex, age, count, variance FROM '{tmp_path / 'cube' / CUBOIDS}' "
        "WHERE sex IS NOT NULL AND age IS NOT NULL AND region IS NULL ORDER BY sex, age"
    ).fetchall()
    assert [row[:2] for row in rows] == [(sex, age) for sex in "FM" for age in ("18", "19", "20")]
    assert [row[2] for row in rows] == cube["sex", "age"].values.ravel().tolist()
    assert {row[3] for row in rows} == {cube.variance("sex", "age")}
    [(cells, named)] = duckdb.sql(
        f"SELECT COUNT(*), COUNT(DISTINCT cuboid) FROM '{tmp_path / 'cube' / SOURCES}'"
    ).fetchall()
    assert (cells, named) == (sum(counts.size for counts in cube.sources.values()), len(cube.plan.sources))


def test_dimensions_may_be_called_like_the_columns_beside_them(town, tmp_path):
    names = ("count", "cuboid", "cuboid_")
    attributes = tuple(replace(a, name=name) for a, name in zip(town.domain.attributes, names, strict=True))
    town = replace(town, domain=replace(town.domain, attributes=attributes))
    cube = town.publish(town.plan())
    cube.save(tmp_path / "cube")
    np.testing.assert_array_equal(Cube.load(tmp_path / "cube")["count", "cuboid"], cube["count", "cuboid"])


def test_the_data_package_names_what_a_reader_must_know(publish, tmp_path):
    cube = publish(planner="bmax", epsilon="1/2")
    cube.save(tmp_path / "cube")
    package = json.loads((tmp_path / "cube" / PACKAGE).read_text())
    about = package["cube"]
    assert [resource["path"] for resource in package["resources"]] == [SOURCES, CUBOIDS]
    assert about["dimensions"][0] == {"name": "sex", "codes": ["F", "M"], "source": "form, item 1"}
    assert about["guarantee"]["epsilon"] == "1/2"
    assert about["plan"]["planner"] == "bmax"
    assert about["receipt"] == str(cube.origin.receipt)
    assert [source["variance"] for source in about["plan"]["sources"]] == list(cube.plan.source_variances.values())
    assert about["constraints"][0]["kind"] == "roll-up"


def test_a_cube_that_does_not_add_up_states_no_constraint(publish, tmp_path):
    publish(consistent=False).save(tmp_path / "cube")
    assert json.loads((tmp_path / "cube" / PACKAGE).read_text())["cube"]["constraints"] == []


@pytest.mark.parametrize("name", [SOURCES, CUBOIDS, PACKAGE])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.7, 0.999])
def test_any_changed_byte_is_noticed(publish, tmp_path, name, place):
    publish().save(tmp_path / "cube")
    file = tmp_path / "cube" / name
    content = bytearray(file.read_bytes())
    at = int(place * len(content))
    content[at] = ord("7") if content[at] != ord("7") else ord("8")
    file.write_bytes(content)
    with pytest.raises(ArchiveError, match=r"damaged|upgrade"):
        Cube.load(tmp_path / "cube")


@pytest.mark.parametrize("name", [SOURCES, CUBOIDS])
def test_a_missing_or_short_file_is_noticed(publish, tmp_path, name):
    publish().save(tmp_path / "cube")
    file = tmp_path / "cube" / name
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(ArchiveError, match="damaged"):
        Cube.load(tmp_path / "cube")
    file.unlink()
    with pytest.raises(ArchiveError, match="damaged"):
        Cube.load(tmp_path / "cube")


@pytest.mark.parametrize("text", ["", "{", "[]", "7", '{"sha256": "0"}'])
def test_a_description_that_is_none_is_noticed(publish, tmp_path, text):
    publish().save(tmp_path / "cube")
    (tmp_path / "cube" / PACKAGE).write_text(text)
    with pytest.raises(ArchiveError, match="damaged"):
        Cube.load(tmp_path / "cube")


@pytest.mark.parametrize("elsewhere", ["/dev/zero", "../secret", ""])
def test_a_description_that_names_files_elsewhere_is_damaged_and_they_are_not_looked_at(publish, tmp_path, elsewhere):
    publish().save(tmp_path / "cube")
    package = json.loads((tmp_path / "cube" / PACKAGE).read_text())
    package["resources"][0]["path"] = elsewhere
    del package["sha256"]
    write_package(tmp_path / "cube", package)
    with pytest.raises(ArchiveError, match="damaged"):
        Cube.load(tmp_path / "cube")


def test_a_description_without_end_is_damaged(publish, tmp_path):
    publish().save(tmp_path / "cube")
    (tmp_path / "cube" / PACKAGE).write_text("[" * 100_000)
    with pytest.raises(ArchiveError, match="damaged"):
        Cube.load(tmp_path / "cube")


def test_a_folder_that_is_no_cube_is_a_clear_error(tmp_path):
    with pytest.raises(ArchiveError, match=r"is not a cube: it has no datapackage\.json"):
        Cube.load(tmp_path)
    with pytest.raises(ArchiveError, match=r"there is no folder .*/nothing; name the folder of a cube"):
        Cube.load(tmp_path / "nothing")


@pytest.mark.parametrize("chosen", ["all", 0, 2, [["age"], ["sex", "age"]]])
def test_what_is_published_is_written_in_the_words_of_who_chose_it(town, chosen):
    plan = town.plan(cuboids=chosen, planner="base")
    told = plan_record(plan)["cuboids"]
    assert told == chosen or sorted(map(sorted, told)) == sorted(map(sorted, chosen))
    assert plan_of(plan_record(plan)) == plan


def test_a_write_that_fails_leaves_no_folder(publish, tmp_path, monkeypatch):
    cube = publish()

    def full(_descriptor):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArchiveError, match="could not be written"):
        cube.save(tmp_path / "cube")
    assert list(tmp_path.iterdir()) == []


def test_a_published_cube_survives_a_power_cut(publish, tmp_path):
    cube = publish()
    with power_may_go(tmp_path) as disk:
        cube.save(tmp_path / "cube")
    assert [file for file in (tmp_path / "cube").iterdir() if not disk.keeps(file)] == []


def test_nothing_is_written_over(publish, tmp_path):
    cube = publish()
    cube.save(tmp_path / "cube")
    with pytest.raises(ArchiveError, match="already there"):
        cube.save(tmp_path / "cube")
    with pytest.raises(ArchiveError, match="not a folder that can be written to"):
        cube.save(tmp_path / "nowhere" / "cube")
