"""Intervals of quantiles: the values that released counts allow."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.answer.index import Answers
from discreet.answer.past import CountBlock
from discreet.answer.quantiles import Histogram, codes_within, histogram_of, values_of
from discreet.domain.attribute import Bins, Integer
from discreet.domain.region import Box, Region
from discreet.noise.bits import Bits
from discreet.noise.law import Gaussian, Laplace

SURE = Fraction(19, 20)


def truth_of(counts, level):
    """The codes that hold the quantile."""
    upto = np.cumsum(counts)
    return np.flatnonzero((upto >= level * upto[-1]) & (upto - counts <= level * upto[-1]))


@pytest.mark.parametrize("noise", [Laplace(Fraction(3, 10)), Laplace(Fraction(20)), Gaussian(Fraction(400))])
@pytest.mark.parametrize("level", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
def test_the_true_quantile_is_within_as_often_as_it_says(noise, level):
    counts = np.random.default_rng(5).poisson(np.linspace(3, 40, 60))
    [true] = truth_of(counts, level)[-1:]
    bits, runs = Bits(), 1_500
    held = 0
    for drawn in noise.sample(runs * 60, bits).reshape(runs, 60):
        first, last = codes_within(level, Histogram(counts + drawn, np.ones(60, np.int64), noise), SURE)
        held += first <= true <= last
    assert held / runs >= 0.935


def test_sharp_counts_leave_one_code_and_dull_ones_leave_many():
    counts = np.full(50, 1000)
    sharp, dull = (
        codes_within(Fraction(1, 2), Histogram(counts, np.ones(50, np.int64), Laplace(Fraction(scale))), SURE)
        for scale in (1, 1000)
    )
    assert sharp[1] - sharp[0] <= 1
    assert dull[1] - dull[0] > 5


def test_counts_that_contradict_each_other_leave_every_code():
    histogram = Histogram(np.array([-10_000, 0, 1_000]), np.ones(3, np.int64), Laplace(Fraction(1)))
    assert codes_within(Fraction(1, 2), histogram, SURE) == (0, 2)


def test_counts_are_taken_from_the_sharpest_block_that_has_the_region_in_groups():
    past = Answers((4, 3))
    everything = Box((0, 0), (3, 2))
    fine, coarse = np.arange(12).reshape(4, 3), np.array([3, 12, 21, 30])
    laws = {(1, 0): Laplace(Fraction(2)), (2, 0): Laplace(Fraction(3))}
    past.add(CountBlock(everything, (0, 1), fine, laws[1, 0].variance, (1, 0)))
    found = histogram_of(Region((Box((0, 1), (3, 1)),)), 0, 3, past, laws.__getitem__)
    assert found.counts.tolist() == [1, 4, 7]  # the last code of the axis is for what has no value
    assert found.draws.tolist() == [1, 1, 1]
    past.add(CountBlock(everything, (0,), coarse, laws[2, 0].variance, (2, 0)))
    found = histogram_of(Region((everything,)), 0, 3, past, laws.__getitem__)
    assert (found.counts.tolist(), found.law) == ([3, 12, 21], laws[2, 0])
    assert histogram_of(Region((everything,)), 1, 3, past, laws.__getitem__).draws.tolist() == [4, 4, 4]
    assert histogram_of(Region((everything,)), 0, 3, Answers((4, 3)), laws.__getitem__) is None


def test_values_are_the_ends_of_bins_and_open_bins_have_none():
    assert values_of(Integer(name="age", source="age", low=10, high=20), 2, 5) == (12, 15)
    bins = Bins(name="income", source="income", edges=(None, Fraction(0), Fraction(10), None))
    assert values_of(bins, 0, 1) == (None, 10)
    assert values_of(bins, 1, 2) == (0, None)


def test_a_median_has_all_values_before_counts_were_released_and_fewer_after(vault):
    median = "SELECT MEDIAN(age) FROM people"
    before = vault.ask(median, scale=5)
    assert (before.only.low, before.only.high) == (0, 9)
    assert any("GROUP BY age" in note for note in before.notes)
    vault.ask("SELECT age, sex, COUNT(*) FROM people GROUP BY age, sex", scale=5)
    after = vault.ask(median, scale=5)
    assert 3 <= after.only.low <= 4 <= 5 <= after.only.high + 1 <= 7
    assert not any("GROUP BY age" in note for note in after.notes)
