"""Half-widths of a cube's cells."""

import math
from fractions import Fraction

import pytest

from discreet.cube.interval import halfwidth, sum_halfwidth


def test_a_cuboid_of_base_is_a_sum_of_equal_draws_consistent_or_not(town):
    plan = town.plan(planner="base")
    for consistent in (True, False):
        assert halfwidth(plan, 0b001, consistent, 0.95) == sum_halfwidth(Fraction(1), 12, 0.95)


def test_consistency_never_widens_an_interval_much(town):
    plan = town.plan(planner="bmaxg", epsilon="1/10")
    for mask in plan.published:
        assert halfwidth(plan, mask, True, 0.95) <= 1.12 * halfwidth(plan, mask, False, 0.95)


@pytest.mark.parametrize("epsilon", [1_000, 10**6, 6_398_720])
def test_noise_too_small_for_a_float_has_intervals_all_the_same(town, epsilon):
    plan = town.plan(planner="bmaxg", epsilon=epsilon)
    assert all(math.isfinite(halfwidth(plan, mask, True, 0.95)) for mask in plan.published)
