"""Estimates: combinations and means, and how far off they may be."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.estimate import Estimate, combined, ratio
from discreet.domain.region import Box, Region

PLACE = Region((Box((0,), (0,)),))
SURE = Fraction(19, 20)


def measured(value, scale):
    return Estimate(value, 2.0 * scale**2, "measured", PLACE, Fraction(scale))


def test_fresh_draws_add_their_variances_and_others_their_deviations():
    fresh = combined([(1, measured(5, 3)), (-2, measured(7, 1))])
    assert (fresh.value, fresh.variance, fresh.kind) == (-9, 18 + 4 * 2, "measured")
    old = Estimate(7, 2.0, "derived", PLACE)
    assert combined([(1, old), (1, old)]).variance == pytest.approx((2 * 2**0.5) ** 2)


def test_fieller_holds_the_true_mean_as_often_as_it_says():
    # 20,000 noisy sums and counts around a true mean of 4.
    rng = np.random.default_rng(3)
    runs, rows, total, scale = 20_000, 400, 1600, 20.0
    counts, sums = rows + rng.laplace(0, scale, runs), total + rng.laplace(0, 9 * scale, runs)
    hits = 0
    for count, summed in zip(counts, sums, strict=True):
        found = ratio(
            Estimate(summed, 2 * (9 * scale) ** 2, "measured", PLACE),
            Estimate(count, 2 * scale**2, "measured", PLACE),
            SURE,
            0.0,
            9.0,
        )
        hits += found.low <= 4 <= found.high
    assert 0.945 <= hits / runs <= 0.975


def test_a_count_that_may_be_zero_leaves_the_mean_open():
    found = ratio(measured(100, 10), measured(3, 10), SURE, 0.0, 99.0)
    assert (found.low, found.high) == (0.0, 99.0)
    assert ratio(measured(100, 10), measured(-3, 10), SURE, 0.0, 99.0).value is None


def test_a_mean_stays_between_the_least_and_the_greatest_value():
    found = ratio(measured(10_000, 1), measured(50, 1), SURE, 0.0, 99.0)
    assert found.value == 99.0
