"""A cube in other shapes: made of what was released, roll-ups exact, intervals those of least squares."""

from itertools import combinations

import numpy as np
import pytest

from discreet.cube.cube import Cube
from discreet.errors import UnsupportedQuery

NAMES = ("sex", "age", "region")


def assert_roll_ups_fit(cube: Cube) -> None:
    for count in range(4):
        for names in combinations(NAMES, count):
            summed = cube[NAMES].sum([name for name in NAMES if name not in names])
            np.testing.assert_allclose(cube[names].values, summed.values, atol=1e-6)


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
@pytest.mark.parametrize("counts", ["real", "nonnegative", "whole"])
def test_every_shape_has_roll_ups_that_fit_and_comes_back_from_its_folder(publish, tmp_path, norm, counts):
    cube = publish().reshaped(norm=norm, counts=counts)
    assert_roll_ups_fit(cube)
    cells = cube[NAMES].values
    if counts != "real":
        assert cells.min() >= 0
    if counts == "whole":
        assert np.array_equal(cells, np.rint(cells))
    cube.save(tmp_path / "cube")
    back = Cube.load(tmp_path / "cube")
    assert (back.norm, back.counts) == (norm, counts)
    np.testing.assert_array_equal(back[NAMES].values, cells)


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_one_source_is_its_own_nearest_cube_in_every_norm(publish, norm):
    cube = publish(planner="base")
    np.testing.assert_allclose(cube.reshaped(norm=norm)[NAMES].values, cube[NAMES].values, atol=1e-6)


def test_least_squares_is_found_again_from_any_shape(publish):
    cube = publish()
    again = cube.reshaped(counts="whole").reshaped()
    np.testing.assert_allclose(again[NAMES].values, cube[NAMES].values, atol=1e-9)


def test_intervals_are_those_of_least_squares_cut_at_zero(publish):
    cube = publish()
    whole = cube.reshaped(counts="whole")
    (low, high), (low_cut, high_cut) = cube.interval("sex", "age"), whole.interval("sex", "age")
    np.testing.assert_allclose(low_cut, np.maximum(low, 0))
    np.testing.assert_allclose(high_cut, np.maximum(high, 0))


def test_a_cube_of_few_cuboids_whose_base_no_source_tells_can_be_whole_too(publish):
    cube = publish(cuboids=2)
    whole = cube.reshaped(counts="whole")
    np.testing.assert_allclose(whole["sex", "age"].sum("age"), whole["sex"])
    assert whole["age", "region"].values.min() >= 0


def test_what_cannot_be_reshaped_is_refused(publish):
    with pytest.raises(UnsupportedQuery, match="consistent cube"):
        publish(consistent=False).reshaped(counts="whole")
    with pytest.raises(UnsupportedQuery, match="one of l2, l1, linf"):
        publish().reshaped(norm="l3")
    with pytest.raises(UnsupportedQuery, match="one of real, nonnegative, whole"):
        publish().reshaped(counts="odd")


def test_a_norm_states_its_bound_and_least_squares_has_none(publish):
    bound = publish().reshaped(norm="linf").norm_bound(0.9)
    assert bound.probability == 0.9
    assert "no measured cell is further" in str(bound)
    with pytest.raises(UnsupportedQuery, match="intervals for every cell"):
        publish().norm_bound()
    with pytest.raises(UnsupportedQuery, match="whole counts are others"):
        publish().reshaped(norm="linf", counts="whole").norm_bound()
