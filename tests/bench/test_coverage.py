"""Intervals hold as often as they say and are hardly wider than they must be: the figure's simulations, shortened."""

import pytest

from bench.coverage import KINDS, SCALES, covered

RUNS = 3_000
"""Seeded: the same draws each time. Of so many, 95% ± 1.2% hold at three deviations."""


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_as_often_as_they_say_and_hardly_more_often(kind, scale):
    found = covered(kind, scale, RUNS)
    assert 0.938 <= found.held <= found.most + 0.005
    assert found.width <= 1.1 * found.best
