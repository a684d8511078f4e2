"""Laws of noise as others use them: what each says of itself is what its probabilities say."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.errors import InvalidNoise
from discreet.noise.bits import SeededBits
from discreet.noise.law import LEAST_VARIANCE, Binomial, Exponential, Gaussian, Laplace, law_from_json, law_to_json

REACH = 400
LAWS = [Laplace(Fraction(7, 2)), Laplace(Fraction(10)), Gaussian(Fraction(2)), Gaussian(Fraction(81, 4)), Binomial(64)]


def probabilities(law) -> np.ndarray:
    """Pr[K = k] for k = 0 … REACH, by the law's definition."""
    distances = np.arange(REACH + 1, dtype=float)
    match law:
        case Laplace():
            weights = np.exp(-distances / float(law.scale))
        case Gaussian():
            weights = np.exp(-(distances**2) / (2 * float(law.sigma_squared)))
        case Binomial(trials=trials):
            weights = np.array([math.comb(trials, trials // 2 + k) for k in range(trials // 2 + 1)], float)
            weights = np.pad(weights, (0, REACH + 1 - weights.size))
    return weights / (weights[0] + 2 * weights[1:].sum())


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_variance_is_that_of_its_probabilities(law):
    squares = np.arange(REACH + 1, dtype=float) ** 2
    assert law.variance == pytest.approx(2 * float(squares @ probabilities(law)), rel=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("confidence", ["1/2", "9/10", "95/100", "999/1000"])
def test_the_halfwidth_is_the_least_that_holds_enough(law, confidence):
    exact = probabilities(law)
    within = exact[0] + 2 * np.concatenate([[0.0], np.cumsum(exact[1:])])
    assert law.halfwidth(Fraction(confidence)) == np.flatnonzero(within >= float(Fraction(confidence)))[0]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_continuous_law_is_the_one_of_its_name_and_scale(law):
    scale = float(law.scale)
    continuous = stats.laplace(scale=scale) if isinstance(law, Laplace) else stats.norm(scale=scale)
    assert float(law.continuous_variance) == pytest.approx(continuous.var(), rel=1e-12)
    for confidence in ("1/2", "95/100", "999/1000"):
        width = law.continuous_halfwidth(Fraction(confidence))
        assert width == pytest.approx(continuous.interval(float(Fraction(confidence)))[1], rel=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_so_many_numbers_are_drawn_with_its_spread(law):
    drawn = law.sample(4_000, SeededBits(5))
    assert drawn.shape == (4_000,)
    # Five standard deviations of the mean of squares, of which a Laplace number's have the widest law.
    assert float((drawn**2).mean()) == pytest.approx(law.variance, rel=5 * math.sqrt(5 / 4_000))


@pytest.mark.parametrize(
    ("law", "scale", "squared"),
    [
        (Laplace(Fraction(3, 2)), 1.5, Fraction(9, 4)),
        (Gaussian(Fraction(9, 4)), 1.5, Fraction(9, 4)),
        (Binomial(10), math.sqrt(2.5), Fraction(5, 2)),
        (Exponential(Fraction(3, 2)), 1.5, Fraction(9, 4)),
    ],
)
def test_the_scale_and_its_exact_square_belong_together(law, scale, squared):
    assert float(law.scale) == pytest.approx(scale, rel=1e-15)
    assert law.scale_squared == squared
    assert law_from_json(law_to_json(law)) == law


def test_a_spread_is_multiplied_exactly_but_that_of_coins_is_not():
    assert Laplace(Fraction(3)).times(Fraction(1, 2)) == Laplace(Fraction(3, 2))
    assert Gaussian(Fraction(3)).times(Fraction(1, 2)) == Gaussian(Fraction(3, 4))
    assert Binomial(10).times(Fraction(1)) == Binomial(10)
    with pytest.raises(InvalidNoise, match="binomial noise is for counts of people"):
        Binomial(10).times(Fraction(2))


@pytest.mark.parametrize("law", [Laplace(Fraction(1, 10_000)), Gaussian(Fraction(1, 10_000))], ids=repr)
def test_what_practically_never_strays_has_a_variance_that_can_be_divided_by(law):
    assert law.variance == LEAST_VARIANCE
