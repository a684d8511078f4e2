"""The labelled view: cuboids by name, slices, roll-ups, variances and intervals."""

import numpy as np
import pytest

from discreet.errors import ArchiveError, InvalidNoise, UnsupportedQuery


def test_a_cuboid_has_the_labels_of_the_domain(publish):
    cuboid = publish()["sex", "age"]
    assert cuboid.dims == ("sex", "age")
    assert list(cuboid.coords["sex"].values) == ["F", "M"]
    assert list(cuboid.coords["age"].values) == ["18", "19", "20"]
    frame = cuboid.to_pandas()
    assert frame.loc["F", "19"] == cuboid.sel(sex="F", age="19").item()


def test_a_missing_value_is_a_label_like_any_other(publish):
    assert list(publish()["region"].coords["region"].values) == ["north", "east", "south", "(missing)"]


def test_axes_come_in_the_order_that_was_asked_for(publish):
    cube = publish()
    np.testing.assert_array_equal(cube["age", "sex"], cube["sex", "age"].values.T)
    assert cube["age", "sex"].dims == ("age", "sex")


def test_the_total_is_the_cuboid_without_dimensions(publish):
    cube = publish()
    assert cube[()].shape == ()
    assert cube[()].item() == pytest.approx(cube["sex"].values.sum())


def test_a_cuboid_that_is_not_published_is_rolled_up_from_one_that_is(publish):
    cube = publish(cuboids=[("sex", "age")])
    np.testing.assert_allclose(cube["sex"], cube["sex", "age"].sum("age"))
    assert cube.variance("sex") == pytest.approx(cube.plan.variance("sex"))


def test_without_consistency_an_unpublished_cuboid_comes_from_its_best_source(publish):
    cube = publish(cuboids=[("sex", "age")], planner="base", consistent=False)
    np.testing.assert_array_equal(cube["sex"], cube.sources[0b011].sum(axis=1))


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("region",), "no published cuboid holds region"),
        (("sex", "region"), "no published cuboid holds sex, region"),
        (("agee",), "did you mean age"),
        (("sex", "sex"), "given twice"),
    ],
)
def test_a_cuboid_that_is_not_there_is_a_clear_error(publish, names, problem):
    cube = publish(cuboids=[("sex", "age")])
    with pytest.raises(UnsupportedQuery, match=problem):
        cube[names]
    with pytest.raises(UnsupportedQuery, match=problem):
        cube.variance(*names)


def test_a_slice_is_the_cube_of_those_people(publish):
    cube = publish()
    women = cube.slice(sex="F")
    assert women.names == ("age", "region")
    np.testing.assert_array_equal(women["region", "age"], cube["sex", "region", "age"].sel(sex="F"))
    assert women[()].item() == cube["sex"].sel(sex="F").item()
    assert women.variance("age") == cube.variance("sex", "age")
    np.testing.assert_array_equal(women.slice(age=19)["region"], women["age", "region"].sel(age="19"))


def test_a_roll_up_leaves_dimensions_out(publish):
    cube = publish()
    rolled = cube.slice(sex="M").roll_up("age")
    assert rolled.names == ("region",)
    np.testing.assert_array_equal(rolled["region"], cube["sex", "region"].sel(sex="M"))


@pytest.mark.parametrize(
    ("narrow", "problem"),
    [
        (lambda cube: cube.slice(sex="X"), "sex has no value 'X'; there are F, M"),
        (lambda cube: cube.slice(sexx="F"), "did you mean sex"),
        (lambda cube: cube.slice(sex="F")["sex"], "already sliced or rolled up; there are age, region"),
        (lambda cube: cube.roll_up("age").slice(age=18), "already sliced or rolled up"),
        (lambda cube: cube.roll_up("age", "age"), "given twice"),
    ],
)
def test_narrowing_by_what_is_not_there_is_a_clear_error(publish, narrow, problem):
    with pytest.raises(UnsupportedQuery, match=problem):
        narrow(publish())


def test_a_slice_cannot_be_saved_by_itself(publish, tmp_path):
    with pytest.raises(ArchiveError, match="save that"):
        publish().slice(sex="F").save(tmp_path / "cube")


def test_an_interval_is_the_cuboid_give_or_take_its_halfwidth(publish):
    cube = publish()
    low, high = cube.interval("sex", "age", confidence=0.9)
    np.testing.assert_allclose((low + high) / 2, cube["sex", "age"])
    np.testing.assert_allclose((high - low) / 2, cube.halfwidth("sex", "age", confidence=0.9))


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5])
def test_a_confidence_that_makes_no_sense_is_refused(publish, confidence):
    with pytest.raises(InvalidNoise, match="between 0 and 1"):
        publish().interval("sex", confidence=confidence)


def test_cuboids_cannot_be_changed_by_accident(publish):
    cuboid = publish()["sex", "age"]
    with pytest.raises(ValueError, match="read-only"):
        cuboid.values[0, 0] = 0


def test_a_cube_describes_itself_in_notebooks_too(publish):
    cube = publish(planner="bmax")
    assert repr(cube) == "<Cube of people: sex 2 × age 3 × region 4; 8 cuboids, 60 cells>"
    shown = cube._repr_html_()
    assert "sex 2 × age 3 × region 4" in shown
    assert "bmax" in shown
    assert "ε = 1, neighbours: add-remove" in shown
