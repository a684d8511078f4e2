"""Half-widths of a cube's cells."""

import math
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.cube.interval import cell_error, difference_halfwidth, halfwidth
from discreet.noise.law import Laplace
from discreet.noise.spread import Draws
from discreet.noise.spread import halfwidth as spread_halfwidth


def test_a_cuboid_of_base_is_a_sum_of_equal_draws_consistent_or_not(town):
    plan = town.plan(planner="base")
    twelve = spread_halfwidth((Draws(1.0, Laplace(Fraction(1)), 12),), Fraction(95, 100))
    for consistent in (True, False):
        assert halfwidth(plan, 0b001, consistent, 0.95) == twelve


def test_consistency_never_widens_an_interval_much(town):
    plan = town.plan(planner="bmaxg", epsilon="1/10")
    for mask in plan.published:
        assert halfwidth(plan, mask, True, 0.95) <= 1.12 * halfwidth(plan, mask, False, 0.95)


@pytest.mark.parametrize("epsilon", [1_000, 10**6, 6_398_720])
def test_noise_too_small_for_a_float_has_intervals_all_the_same(town, epsilon):
    plan = town.plan(planner="bmaxg", epsilon=epsilon)
    assert all(math.isfinite(halfwidth(plan, mask, True, 0.95)) for mask in plan.published)


@pytest.mark.parametrize("planner", ["base", "bmaxg"])
@pytest.mark.parametrize("known", [(), ((0b001, 3),)], ids=["without facts", "with a fact"])
def test_a_cell_s_error_has_the_plan_s_variance_and_draws_where_they_are_of_one_source(town, planner, known):
    plan = replace(town.plan(planner=planner, epsilon="1/10"), known=known)
    for mask in plan.published:
        names = plan.lattice.names_of(mask)
        raw, made = (cell_error(plan, mask, consistent) for consistent in (False, True))
        assert sum(draw.variance for draw in raw.draws) == pytest.approx(raw.variance)
        assert raw.variance == pytest.approx(plan.variance(*names, consistent=False))
        assert made.variance == pytest.approx(plan.variance(*names, consistent=True))
        if made.draws is not None:
            assert sum(draw.variance for draw in made.draws) == pytest.approx(made.variance)
        is_exact = bool(known) and mask in (0b000, 0b001)
        assert (made.variance == 0) == is_exact
        assert (made.draws is None) == (not is_exact and (planner == "bmaxg" or bool(known)))
        for error in (raw, made):
            alone, least = difference_halfwidth(raw, error, 0.0, 0.95), halfwidth(plan, mask, False, 0.95)
            assert least <= alone <= 1.2 * least
            assert difference_halfwidth(raw, error, 2.0, 0.95) >= alone


@pytest.mark.parametrize(("planner", "known"), [("bmaxg", ()), ("base", ((0b001, 3),)), ("bmaxg", ((0b001, 3),))])
def test_what_other_cells_and_facts_tell_narrows_intervals_as_it_does_variances(town, planner, known):
    plan = replace(town.plan(planner=planner, epsilon="1/100"), known=known)
    narrowed = 0
    for mask in plan.published:
        names = plan.lattice.names_of(mask)
        less = plan.variance(*names) / plan.variance(*names, consistent=False)
        if less < 0.75:
            narrowed += 1
            assert halfwidth(plan, mask, True, 0.95) < halfwidth(plan, mask, False, 0.95)
    assert narrowed
