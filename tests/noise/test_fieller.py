"""Intervals of averages, against every average between the least and the greatest one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.noise.fieller import bounds, table

ENDS = [(-3.0, 5.0), (0.0, 7.0), (-4.0, -1.0), (2.0, 9.0), (6.0, 6.0), (0.0, 0.0)]


def width(average: float) -> float:
    return 4 + 2 * abs(average)


@pytest.mark.parametrize("ends", ENDS)
def test_the_width_of_a_table_is_nowhere_below_that_of_the_noise(ends):
    nodes, widths = table(*ends, width, 0.5)
    assert (nodes[0], nodes[-1]) == ends
    assert len(widths) == len(nodes) - 1 >= 1
    for first, last, told in zip(nodes[:-1], nodes[1:], widths, strict=True):
        least = max(width(first), width(last))
        assert told == least + 0.5
        assert all(width(average) <= least for average in np.linspace(first, last, 9))


@given(st.sampled_from(ENDS), st.integers(-60, 90), st.integers(-3, 20), st.integers(-2, 12).map(lambda n: float(n)))
def test_the_bounds_are_the_least_and_the_greatest_average_that_is_allowed(ends, total, count, surely):
    nodes, widths = table(*ends, width, 0.5)
    found = bounds(np.array(float(total)), np.array(float(count)), np.array(min(surely, count)), nodes, widths)
    tried = [
        average
        for first, last, told in zip(nodes[:-1], nodes[1:], widths, strict=True)
        for average in np.linspace(first, last, 201)
        if abs(total - average * count) <= told + 1e-9
    ]
    if not tried or min(surely, count) <= 0:
        assert found[0] <= (min(tried) if tried else ends[0])
        assert found[1] >= (max(tried) if tried else ends[1])
        return
    apart = (ends[1] - ends[0]) / (24 * 200) + 1e-9
    assert min(tried) - apart <= found[0] <= min(tried) + 1e-9
    assert max(tried) - 1e-9 <= found[1] <= max(tried) + apart


def test_many_cells_are_bounded_at_once():
    nodes, widths = table(-3.0, 5.0, width, 0.0)
    totals, counts, surely = np.array([[10.0, 0.0], [50.0, 3.0]]), np.full((2, 2), 20.0), np.array([[9.0, 0], [9, 9]])
    low, high = bounds(totals, counts, surely, nodes, widths)
    for cell in np.ndindex(2, 2):
        assert bounds(totals[cell], counts[cell], surely[cell], nodes, widths) == (low[cell], high[cell])
    assert (low[0, 1], high[0, 1]) == (-3, 5)
