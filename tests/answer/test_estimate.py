"""Estimates: combinations and means, and how far off they may be."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.estimate import Estimate, combined, released
from discreet.answer.fieller import ratio
from discreet.answer.index import Answers
from discreet.answer.past import CountBlock, PastAnswer
from discreet.domain.region import Box, Region
from discreet.noise.bits import Bits
from discreet.noise.law import Gaussian, Laplace
from discreet.noise.spread import Draws, halfwidth

PLACE = Region((Box((0,), (0,)),))
SURE = Fraction(19, 20)


def measured(value, scale, source=1, kind="measured"):
    noise = Laplace(Fraction(scale))
    return Estimate(value, noise.variance, kind, PLACE, (Draws(1.0, noise),), sources=frozenset({(source, 0)}))


def test_independent_draws_add_their_variances_and_others_their_deviations():
    apart = combined([(1, measured(5, 3)), (-2, measured(7, 1, source=2, kind="derived"))])
    assert (apart.value, apart.kind) == (-9, "measured")
    assert apart.variance == pytest.approx(Laplace(3).variance + 4 * Laplace(1).variance)
    assert apart.halfwidth(SURE) == halfwidth([Draws(1.0, Laplace(3)), Draws(2.0, Laplace(1))], SURE)
    both = combined([(1, measured(7, 1)), (1, measured(7, 1))])
    assert both.variance == pytest.approx(4 * Laplace(1).variance)
    # Whatever they have in common: if it is all of it, the error is twice that of one.
    assert both.halfwidth(SURE) >= 2 * measured(7, 1).halfwidth(SURE)


def test_a_sum_of_released_answers_has_the_variance_of_its_draws_and_names_where_they_are_from():
    past, laws = Answers((4, 3)), {(1, 0): Laplace(Fraction(3)), (2, 0): Gaussian(Fraction(5)), (3, 1): Laplace(2)}
    block = CountBlock(Box((0, 0), (3, 2)), (0, 1), np.arange(12).reshape(4, 3), laws[3, 1].variance, (3, 1))
    terms = [
        (0.5, PastAnswer(PLACE, 10, laws[1, 0].variance, (1, 0))),
        (-2.0, PastAnswer(PLACE, 7, laws[2, 0].variance, (2, 0))),
        (0.25, block.total(Box((1, 0), (2, 2)))),
    ]
    found = released(terms, "derived", PLACE, past, laws.__getitem__)
    assert found.value == 5 - 14 + 0.25 * sum(range(3, 9))
    drawn = {draw.law: (abs(draw.weight), draw.count) for draw in found.draws}
    assert drawn == {laws[1, 0]: (0.5, 1), laws[2, 0]: (2.0, 1), laws[3, 1]: (0.25, 6)}
    assert found.variance == pytest.approx(sum(draw.variance for draw in found.draws))
    assert (found.sources, found.terms, found.kind) == (frozenset(laws), tuple(terms), "derived")


def test_an_estimate_with_variance_says_which_draws_it_has():
    with pytest.raises(ValueError, match="which draws"):
        Estimate(7, 2.0, "derived", PLACE)


@pytest.mark.parametrize("scale", ["3/10", "1", "20"])
@pytest.mark.parametrize(("rows", "mean"), [(400, 4), (90, 9), (1000, 0.5)])
def test_fieller_holds_the_true_mean_as_often_as_it_says(scale, rows, mean):
    noise, bits, runs = Fraction(scale), Bits(), 4_000
    counts = rows + Laplace(noise).sample(runs, bits)
    sums = round(mean * rows) + Laplace(9 * noise).sample(runs, bits)
    found = [
        ratio(measured(int(total), 9 * noise), measured(int(count), noise, source=2), SURE, 0.0, 9.0)
        for total, count in zip(sums, counts, strict=True)
    ]
    held = np.mean([one.low <= round(mean * rows) / rows <= one.high for one in found])
    assert 0.94 <= held <= (1 if mean in (0, 9) or scale == "3/10" else 0.98)


def test_the_least_and_the_greatest_value_may_be_below_zero():
    found = ratio(measured(-400, 10), measured(100, 1, source=2), SURE, -9.0, 9.0)
    assert found.low < -4 < found.high < 0


def test_an_average_that_noise_put_out_of_reach_may_be_anything():
    # No average between 0 and 99 makes a sum of about −500 of 50 people.
    found = ratio(measured(-500, 10), measured(50, 1, source=2), SURE, 0.0, 99.0)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 99.0)


def test_parts_with_draws_in_common_have_a_wider_mean():
    both = combined([(1, measured(100, 10)), (1, measured(100, 10))])
    alone = ratio(measured(200, 10), measured(100, 1, source=2), SURE, 0.0, 9.0)
    shared = ratio(both, measured(100, 1, source=2), SURE, 0.0, 9.0)
    assert shared.low < alone.low < 2 < alone.high < shared.high


def test_a_count_that_may_be_zero_leaves_the_mean_open():
    found = ratio(measured(100, 10), measured(3, 10, source=2), SURE, 0.0, 99.0)
    assert (found.low, found.high) == (0.0, 99.0)
    assert ratio(measured(100, 10), measured(-3, 10, source=2), SURE, 0.0, 99.0).value is None


def test_a_mean_stays_between_the_least_and_the_greatest_value():
    found = ratio(measured(10_000, 1), measured(50, 1, source=2), SURE, 0.0, 99.0)
    assert found.value == 99.0
