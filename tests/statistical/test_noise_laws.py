"""A million draws of each law: the true scale passes, one 30% off does not, and OpenDP's samplers agree.

Seeds are fixed, so a test that passes keeps passing; a right sampler fails one of these with probability 1e-4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray
from scipy import stats

from discreet.noise.binomial import sample_binomial
from discreet.noise.bits import Bits, SeededBits
from discreet.noise.deviation import gaussian_halfwidth, gaussian_variance, laplace_halfwidth, laplace_variance
from discreet.noise.gaussian import sample_gaussian
from discreet.noise.laplace import sample_laplace

DRAWS = 1_000_000
ACCEPTED = 1e-4  # p-value above which the stated law stands
REJECTED = 1e-12  # p-value below which a wrong one falls
OPENDP_ACCEPTED = 1e-9  # the same for bits that are not seeded, hence the chance of a false alarm

Draws = NDArray[np.int64]


@dataclass(frozen=True)
class Law:
    """A sampler, the distribution function it is to follow at a multiple of its scale, and what a release states."""

    name: str
    draw: Callable[[int, Bits], Draws]
    cumulative: Callable[[Draws, float], NDArray[np.float64]]
    variance: float
    halfwidth: int | None = None


def laplace(scale: Fraction | int) -> Law:
    def cumulative(values: Draws, factor: float) -> NDArray[np.float64]:
        rate = 1 / (float(scale) * factor)
        tail = np.exp(-rate * np.abs(values)) / (1 + np.exp(-rate))
        return np.where(values < 0, tail, 1 - np.exp(-rate) * tail)

    def draw(size: int, bits: Bits) -> Draws:
        return sample_laplace(scale, size, bits)

    return Law(f"laplace {scale}", draw, cumulative, laplace_variance(scale), laplace_halfwidth(scale, 0.95))


def gaussian(sigma_squared: Fraction | int) -> Law:
    def cumulative(values: Draws, factor: float) -> NDArray[np.float64]:
        sigma = float(sigma_squared) ** 0.5 * factor
        if sigma > 10_000:
            return stats.norm.cdf((values + 0.5) / sigma)  # the difference is below 1e-9
        support = np.arange(-int(12 * sigma) - 12, int(12 * sigma) + 13)
        sums = np.cumsum(np.exp(-(support**2) / (2 * sigma**2)))
        return sums[np.clip(values - support[0], 0, support.size - 1)] / sums[-1]

    def draw(size: int, bits: Bits) -> Draws:
        return sample_gaussian(sigma_squared, size, bits)

    variance, halfwidth = gaussian_variance(sigma_squared), gaussian_halfwidth(sigma_squared, 0.95)
    return Law(f"gaussian {sigma_squared}", draw, cumulative, variance, halfwidth)


def binomial(trials: int) -> Law:
    def cumulative(values: Draws, factor: float) -> NDArray[np.float64]:
        others = 2 * round(trials * factor**2 / 2)
        if others > 10**8:
            return stats.norm.cdf((2 * values + 1) / others**0.5)  # the difference is below 1e-8
        return stats.binom.cdf(values + others // 2, others, 0.5)

    return Law(f"binomial {trials}", lambda size, bits: sample_binomial(trials, size, bits), cumulative, trials / 4)


LAWS = [
    *(laplace(scale) for scale in (Fraction(1, 3), 1, Fraction(7, 2), 100, 2000, 2**40)),
    *(gaussian(sigma_squared) for sigma_squared in (Fraction(1, 4), 1, Fraction(77, 10), 2500, 2**60)),
    *(binomial(trials) for trials in (10, 1000, 1026, 10**6, 10**12)),
]


def chi_square(drawn: Draws, law: Law, factor: float) -> float:
    """The p-value over some forty cells, fewer where single numbers are likelier."""
    edges = np.unique(np.round(stats.laplace.ppf(np.arange(1, 40) / 40) * (law.variance / 2) ** 0.5).astype(np.int64))
    expected = np.diff(np.concatenate(([0.0], law.cumulative(edges, factor), [1.0]))).clip(1e-15)
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=expected.size)
    return float(stats.chisquare(observed, expected * drawn.size).pvalue)


def kolmogorov_smirnov(drawn: Draws, law: Law, factor: float) -> float:
    """The p-value of the largest gap between the two distribution functions (an upper bound: the law is discrete)."""
    values, counts = np.unique(drawn, return_counts=True)
    gap = np.max(np.abs(np.cumsum(counts) / drawn.size - law.cumulative(values, factor)))
    return float(stats.kstwobign.sf(gap * np.sqrt(drawn.size)))


@pytest.fixture(scope="module", params=LAWS, ids=lambda law: law.name)
def sample(request: pytest.FixtureRequest) -> tuple[Law, Draws]:
    return request.param, request.param.draw(DRAWS, SeededBits(2008))


@pytest.mark.parametrize("p_value", [chi_square, kolmogorov_smirnov])
def test_the_true_scale_is_accepted_and_one_30_percent_off_is_rejected(sample, p_value):
    law, drawn = sample
    assert p_value(drawn, law, 1.0) > ACCEPTED
    assert p_value(drawn, law, 0.7) < REJECTED
    assert p_value(drawn, law, 1.3) < REJECTED


def test_the_sample_has_the_stated_variance(sample):
    law, drawn = sample
    squares = drawn.astype(np.float64) ** 2
    assert abs(squares.mean() - law.variance) < 4 * squares.std() / np.sqrt(DRAWS)


def test_at_small_scales_the_variance_is_not_the_continuous_one():
    for law, continuous in [(laplace(Fraction(1, 3)), 2 / 9), (laplace(1), 2.0), (gaussian(Fraction(1, 4)), 1 / 4)]:
        squares = law.draw(DRAWS, SeededBits(1)).astype(np.float64) ** 2
        assert abs(squares.mean() - continuous) > 20 * squares.std() / np.sqrt(DRAWS)


@pytest.mark.parametrize(
    "sample", [law for law in LAWS if law.halfwidth is not None], indirect=True, ids=lambda law: law.name
)
def test_a_stated_interval_holds_as_often_as_stated(sample):
    law, drawn = sample
    ends = np.array([-law.halfwidth - 1, law.halfwidth])
    below, upto = law.cumulative(ends, 1.0)
    assert upto - below >= 0.95
    assert stats.binomtest(np.count_nonzero(np.abs(drawn) <= law.halfwidth), DRAWS, upto - below).pvalue > ACCEPTED


def test_every_lane_of_a_word_has_the_same_law(sample):
    _, drawn = sample
    lanes = drawn[: DRAWS // 64 * 64].reshape(-1, 64)
    for marked in (lanes > 0, np.abs(lanes) > np.median(np.abs(drawn))):
        above = np.count_nonzero(marked, axis=0)
        assert stats.chi2_contingency(np.stack([above, lanes.shape[0] - above])).pvalue > ACCEPTED


@pytest.mark.parametrize("distance", [1, 64, 2048])
def test_draws_that_are_neighbours_in_a_word_a_row_or_a_block_are_independent(sample, distance):
    _, drawn = sample
    for marked in (drawn > 0, np.abs(drawn) > np.median(np.abs(drawn))):
        together = np.bincount(2 * marked[:-distance] + marked[distance:], minlength=4).reshape(2, 2)
        assert stats.chi2_contingency(together).pvalue > ACCEPTED


@pytest.mark.alarm(OPENDP_ACCEPTED)
@pytest.mark.parametrize(
    ("ours", "make", "metric", "scale"),
    [
        (laplace, "make_laplace", dp.l1_distance(T="i64"), 1),
        (laplace, "make_laplace", dp.l1_distance(T="i64"), 100),
        (lambda sigma: gaussian(Fraction(sigma) ** 2), "make_gaussian", dp.l2_distance(T="f64"), 3),
        (lambda sigma: gaussian(Fraction(sigma) ** 2), "make_gaussian", dp.l2_distance(T="f64"), 50),
    ],
    ids=["laplace 1", "laplace 100", "gaussian 3", "gaussian 50"],
)
def test_opendp_draws_from_the_same_law_and_not_from_one_30_percent_off(ours, make, metric, scale):
    dp.enable_features("contrib")
    peer = getattr(dp.m, make)(dp.vector_domain(dp.atom_domain(T="i64")), metric, scale=float(scale))
    theirs = np.array(peer([0] * 40_000))
    edges = np.unique(np.quantile(theirs, np.arange(1, 20) / 20))

    def agreement(factor: Fraction) -> float:
        drawn = ours(scale * factor).draw(DRAWS, SeededBits(1))
        tables = [np.bincount(np.searchsorted(edges, side), minlength=edges.size + 1) for side in (drawn, theirs)]
        return float(stats.chi2_contingency(np.stack(tables)).pvalue)

    assert agreement(Fraction(1)) > OPENDP_ACCEPTED
    assert agreement(Fraction(7, 10)) < REJECTED
    assert agreement(Fraction(13, 10)) < REJECTED
