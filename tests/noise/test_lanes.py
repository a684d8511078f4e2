"""Bit planes become integers, whatever their number."""

import numpy as np
import pytest

from discreet.noise.lanes import gather_lanes


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("lane_words", [1, 3, 32])
@pytest.mark.parametrize("rows", [1, 2, 17, 31, 32, 33, 56, 63])
def test_lane_values_are_the_sums_of_their_planes(rows, lane_words):
    planes = np.random.default_rng(rows).integers(0, 2**64, (rows, lane_words), np.uint64)
    values = np.full(64 * lane_words, -1)
    gather_lanes.sized(rows)(planes, np.empty((32, lane_words), np.uint64), values)
    for lane in range(values.size):
        digits = [int(planes[i, lane // 64]) >> (lane % 64) & 1 for i in range(rows)]
        assert values[lane] == sum(digit << i for i, digit in enumerate(digits))
