"""Exports, read back by the tools that they are for."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sdmx
import xarray as xr

from discreet.cube.dimension import Dimension
from discreet.cube.export import export_cube, read_export
from discreet.cube.sdmx import check_sdmx, code_ids, structure_path
from discreet.errors import ArchiveError


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_xarray_reads_every_cuboid_with_its_labels_and_its_noise(publish, tmp_path, suffix):
    cube = publish()
    path = tmp_path / f"people.{suffix}"
    export_cube(cube, path)
    data = read_export(path)
    assert len(data.data_vars) == len(cube.cuboids)
    xr.testing.assert_equal(data["count_by_sex_age"], cube["sex", "age"].rename("count_by_sex_age"))
    assert data["count_by_sex_age"].attrs["variance"] == cube.variance("sex", "age")
    assert data["count_by_region"].attrs["halfwidth_95"] == cube.halfwidth("region")
    assert float(data["count"]) == float(cube[()])
    assert data.attrs["guarantee"] == str(cube.guarantee)
    assert data.attrs["receipt"] == str(cube.origin.receipt)


def test_sdmx_tools_read_every_cell_with_its_structure(publish, tmp_path):
    cube, path = publish(), tmp_path / "people.csv"
    export_cube(cube, path)
    check_sdmx(path)
    flow = sdmx.read_sdmx(structure_path(path)).dataflow["people"]
    rows = sdmx.to_pandas(sdmx.read_sdmx(path, structure=flow.structure).data[0], attributes="o")
    assert len(rows) == sum(cells.size for cells in cube.cuboids.values())
    assert rows.loc[("F", "_T", "_T"), "value"] == pytest.approx(float(cube["sex"].sel(sex="F")))
    assert rows.loc[("_T", "19", "north"), "value"] == pytest.approx(
        float(cube["age", "region"].sel(age="19", region="north"))
    )
    assert float(str(rows.loc[("F", "_T", "_T"), "VARIANCE"])) == pytest.approx(cube.variance("sex"))
    assert str(cube.guarantee) in {str(note.text) for note in flow.annotations}


def test_labels_that_sdmx_does_not_allow_as_codes_get_a_number_and_keep_their_name(publish, tmp_path):
    cube, path = publish(), tmp_path / "people.csv"
    export_cube(cube, path)
    codes = sdmx.read_sdmx(structure_path(path)).codelist["CL_region"]
    named = {str(code.name): code.id for code in codes}
    assert named["north"] == "north"
    assert named["all"] == "_T"
    assert set(pd.read_csv(path)["region"]) == set(codes.items)


def test_no_two_labels_have_one_code_in_sdmx():
    ids = code_ids(Dimension("team", ("C1", "a b", "_1", "_T", "1", "-"), "form"))
    assert ids == ["C1", "_1", "_2", "_3", "1", "-"]


def test_cuboids_whose_names_run_together_are_all_there(town, tmp_path):
    renamed = [replace(attribute, name=name) for attribute, name in zip(town.domain.attributes, "ab", strict=False)]
    pair = replace(town.domain.attributes[2], name="a_b")
    town.domain = replace(town.domain, attributes=(*renamed, pair))
    cube = town.publish(town.plan())
    export_cube(cube, tmp_path / "people.nc")
    data = read_export(tmp_path / "people.nc")
    assert len(data.data_vars) == len(cube.cuboids)
    both = {data["count_by_a_b"].dims, data["count_by_a_b_"].dims}
    assert both == {("a", "b"), ("a_b",)}


@pytest.mark.parametrize("suffix", ["nc", "csv"])
def test_numbers_that_are_not_those_of_least_squares_say_so(publish, tmp_path, suffix):
    path = tmp_path / f"people.{suffix}"
    export_cube(publish().reshaped(counts="whole"), path)
    if suffix == "nc":
        told = read_export(path).attrs
    else:
        flow = sdmx.read_sdmx(structure_path(path)).dataflow["people"]
        told = {note.id: str(note.text) for note in flow.annotations}
    assert told["counts"] == "whole"
    assert "cells are biased" in told["note"]


def test_a_label_that_was_changed_is_noticed(publish, tmp_path):
    export_cube(publish(), tmp_path / "people.zarr")
    data = xr.open_zarr(tmp_path / "people.zarr").load()
    data.assign_coords(sex=["M", "F"]).to_zarr(tmp_path / "changed.zarr", zarr_format=2, consolidated=True)
    with pytest.raises(ArchiveError, match="damaged"):
        read_export(tmp_path / "changed.zarr")


def test_some_cuboids_may_be_chosen(publish, tmp_path):
    export_cube(publish(), tmp_path / "some.nc", [("sex",), ()])
    assert set(read_export(tmp_path / "some.nc").data_vars) == {"count", "count_by_sex"}


@pytest.mark.parametrize(("name", "words"), [("people.xlsx", r"ends in \.nc"), ("people", r"ends in \.nc")])
def test_a_format_that_there_is_not_is_refused(publish, tmp_path, name, words):
    with pytest.raises(ArchiveError, match=words):
        export_cube(publish(), tmp_path / name)


def test_a_format_whose_package_is_missing_says_what_to_install(publish, tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ArchiveError, match=r"pip install 'discreet\[sdmx\]'"):
        export_cube(publish(), tmp_path / "people.csv")


def test_nothing_is_written_over(publish, tmp_path):
    (tmp_path / "people.nc").touch()
    with pytest.raises(ArchiveError, match="already there"):
        export_cube(publish(), tmp_path / "people.nc")


def test_a_structure_that_an_interrupted_export_left_is_replaced_and_no_other_file_is(publish, tmp_path):
    cube, path = publish(), tmp_path / "people.csv"
    structure_path(path).write_text("somebody else's")
    with pytest.raises(ArchiveError, match="already there"):
        export_cube(cube, path)
    assert structure_path(path).read_text() == "somebody else's"
    export_cube(cube, tmp_path / "other.csv")
    structure_path(tmp_path / "other.csv").rename(structure_path(path))
    export_cube(cube, path, [("sex",)])
    check_sdmx(path)
    assert {file.name for file in tmp_path.iterdir()} == {"people.csv", "people.structure.xml", "other.csv"}


def test_a_damaged_netcdf_is_noticed_wherever_the_damage_is(publish, tmp_path):
    path = tmp_path / "people.nc"
    export_cube(publish(), path)
    whole = path.read_bytes()
    read = read_export(path)
    for place in range(0, len(whole), len(whole) // 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        try:
            again = read_export(path)
        except ArchiveError:
            continue
        # A byte that holds no number may change: what is read is still what was written.
        for name, array in read.data_vars.items():
            np.testing.assert_array_equal(again[name].values, array.values)


@pytest.mark.parametrize("change", ["cut", "changed", "gone"])
def test_damaged_sdmx_rows_are_noticed(publish, tmp_path, change):
    path = tmp_path / "people.csv"
    export_cube(publish(), path)
    text = path.read_text()
    match change:
        case "cut":
            path.write_text(text[:-20])
        case "changed":
            path.write_text(text.replace("_T", "_X", 1))
        case "gone":
            structure_path(path).unlink()
    with pytest.raises(ArchiveError, match="export again"):
        check_sdmx(path)
