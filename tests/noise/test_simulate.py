"""Made-up noise has the laws that real noise has, and comes again."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.noise.law import Gaussian, Laplace
from discreet.noise.simulate import simulated
from discreet.noise.spread import Draws


@pytest.mark.parametrize(
    "law", [Laplace(Fraction(1, 2)), Laplace(Fraction(30)), Gaussian(Fraction(1, 4)), Gaussian(Fraction(40_000))]
)
def test_it_has_the_variance_and_the_reach_of_its_law(law):
    drawn = simulated(law, 200, 500, key=3)
    assert drawn.var() == pytest.approx(law.variance, rel=0.05)
    width = law.halfwidth(Fraction(95, 100))
    assert (np.abs(drawn) <= width).mean() >= 0.945
    assert (np.abs(drawn) < width).mean() <= 0.955


def test_the_same_key_draws_the_same_and_another_one_other_noise():
    law = Laplace(Fraction(10))
    assert np.array_equal(simulated(law, 3, 50, 1), simulated(law, 3, 50, 1))
    assert not np.array_equal(simulated(law, 3, 50, 1), simulated(law, 3, 50, 2))


def test_a_sum_of_draws_that_are_as_good_as_none_is_none():
    hardly = Laplace(Fraction(1, 100_000))
    assert not simulated((Draws(1.0, hardly), Draws(-0.5, hardly)), 3, 40, 1).any()
