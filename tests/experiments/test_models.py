"""The experiment on models: how errors are taken together."""

import numpy as np
import pytest

from experiments.models.error import SIZES, errors, resampled, variation

TRUTH = {0b01: np.array([0.0, 4.0, 30.0]), 0b10: np.array([6.0, 28.0]), 0b00: np.array(34.0)}
MADE = {0b01: np.array([1.0, 1.0, 32.0]), 0b10: np.array([5.0, 29.0]), 0b00: np.array(34.0)}


def test_errors_are_means_over_cells_of_a_size():
    found = dict(zip(SIZES, errors(MADE, TRUTH, 1), strict=True))
    assert {size: off for size, off in found.items() if off} == {0: 1.0, 2: 3.0, 5: 1.0, 20: 1.5}


def test_variation_is_the_share_of_people_who_would_have_to_be_elsewhere():
    assert variation(MADE, TRUTH, 1) == pytest.approx((3 / 34 + 1 / 34) / 2)
    assert variation(TRUTH, TRUTH, 1) == 0


def test_another_sample_has_as_many_people_and_none_where_nobody_is():
    base = np.array([[0.0, 10.0], [5.0, 85.0]])
    again = resampled(base)
    assert again.sum() == 100
    assert again[0, 0] == 0
