"""A million draws: the true scale passes, a scale 30% off does not, and OpenDP's sampler agrees.

Seeds are fixed, so a test that passes keeps passing; a right sampler fails one of these with probability 1e-4.
"""

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.noise.bits import SeededBits
from discreet.noise.laplace import laplace_halfwidth, laplace_variance, sample_laplace

DRAWS = 1_000_000
ACCEPTED = 1e-4  # p-value above which the stated law stands
REJECTED = 1e-12  # p-value below which a wrong one falls
SCALES = [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(100), Fraction(2000), Fraction(2**40)]


def cumulative(scale: Fraction, values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Pr[K <= k]."""
    q = np.exp(-1 / float(scale))
    tail = np.exp(-np.abs(values) / float(scale)) / (1 + q)
    return np.where(values < 0, tail, 1 - q * tail)


def chi_square(drawn: NDArray[np.int64], scale: Fraction) -> float:
    """The p-value over some forty cells about as likely as each other, fewer where single numbers are likelier."""
    edges = np.unique(np.round(stats.laplace.ppf(np.arange(1, 40) / 40) * float(scale)).astype(np.int64))
    expected = np.diff(np.concatenate(([0.0], cumulative(scale, edges), [1.0])))
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=expected.size)
    return float(stats.chisquare(observed, expected * drawn.size).pvalue)


def kolmogorov_smirnov(drawn: NDArray[np.int64], scale: Fraction) -> float:
    """The p-value of the largest gap between the two distribution functions (an upper bound: the law is discrete)."""
    values, counts = np.unique(drawn, return_counts=True)
    empirical = np.cumsum(counts) / drawn.size
    gap = np.max(np.abs(empirical - cumulative(scale, values)))
    return float(stats.kstwobign.sf(gap * np.sqrt(drawn.size)))


@pytest.fixture(scope="module", params=SCALES, ids=str)
def sample(request: pytest.FixtureRequest) -> tuple[Fraction, NDArray[np.int64]]:
    return request.param, sample_laplace(request.param, DRAWS, SeededBits(2008))


@pytest.mark.parametrize("test", [chi_square, kolmogorov_smirnov])
def test_the_true_scale_is_accepted(sample, test):
    scale, drawn = sample
    assert test(drawn, scale) > ACCEPTED


@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(13, 10)], ids=str)
@pytest.mark.parametrize("test", [chi_square, kolmogorov_smirnov])
def test_a_scale_30_percent_off_is_rejected(sample, test, factor):
    scale, drawn = sample
    assert test(drawn, scale * factor) < REJECTED


def test_the_sample_variance_is_the_stated_one_and_not_the_continuous_one(sample):
    scale, drawn = sample
    stated = laplace_variance(scale)
    squares = drawn.astype(np.float64) ** 2
    error = squares.std() / np.sqrt(DRAWS)
    assert abs(squares.mean() - stated) < 4 * error
    if scale <= 1:
        assert abs(squares.mean() - 2 * float(scale) ** 2) > 20 * error


def test_a_stated_interval_holds_as_often_as_stated(sample):
    scale, drawn = sample
    width = laplace_halfwidth(scale, 0.95)
    inside = float(cumulative(scale, np.array([width]))[0] - cumulative(scale, np.array([-width - 1]))[0])
    assert inside >= 0.95
    held = np.count_nonzero(np.abs(drawn) <= width)
    assert stats.binomtest(held, DRAWS, inside).pvalue > ACCEPTED


def test_every_lane_of_a_word_has_the_same_law(sample):
    _, drawn = sample
    lanes = np.abs(drawn[: DRAWS // 64 * 64].reshape(-1, 64))
    above = np.count_nonzero(lanes > np.median(lanes), axis=0)
    below = lanes.shape[0] - above
    assert stats.chi2_contingency(np.stack([above, below])).pvalue > ACCEPTED


@pytest.mark.parametrize("distance", [1, 64, 2048])
def test_draws_that_are_neighbours_in_a_word_a_block_or_a_row_are_independent(sample, distance):
    _, drawn = sample
    for marked in (drawn > 0, np.abs(drawn) > np.median(np.abs(drawn))):
        together = np.bincount(2 * marked[:-distance] + marked[distance:], minlength=4).reshape(2, 2)
        assert stats.chi2_contingency(together).pvalue > ACCEPTED


@pytest.mark.parametrize("scale", [1, 100], ids=str)
def test_opendp_draws_from_the_same_law_and_not_from_one_30_percent_off(scale):
    size = 40_000
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    peer = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=float(scale))
    theirs = np.array(peer([0] * size))
    edges = np.unique(np.quantile(theirs, np.arange(1, 20) / 20))

    def agreement(ours: NDArray[np.int64]) -> float:
        tables = [np.bincount(np.searchsorted(edges, drawn), minlength=edges.size + 1) for drawn in (ours, theirs)]
        return float(stats.chi2_contingency(np.stack(tables)).pvalue)

    assert agreement(sample_laplace(scale, DRAWS, SeededBits(1))) > 1e-6  # OpenDP's bits are not seeded
    for factor in (Fraction(7, 10), Fraction(13, 10)):
        assert agreement(sample_laplace(scale * factor, DRAWS, SeededBits(1))) < REJECTED
