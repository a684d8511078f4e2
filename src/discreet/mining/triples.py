"""Three attributes in three databases that never meet: Pr[αβγ] from counts of each alone over common random subsets.

The paper leaves it open whether two databases' way has an extension [SuLQ, Section 7]. There is one, and it shows what
it costs. Let each person be in a subset with probability r, by themselves. Of three counts of the same subset the third
joint moment around their means is a sum over people, Σᵢ αᵢβᵢγᵢ·r(1 − r)(1 − 2r): who is chosen is independent from
person to person, and so is the noise of three databases, which has mean 0. So the mean of the products, divided by
n·r(1 − r)(1 − 2r), estimates Pr[αβγ] without bias; and every function of three attributes follows, with those of two
(`joint.py`) and of one. At r = 1/2, where pairs are found best, nothing shows: a subset and its rest are alike.

A product of three counts has a standard deviation of the order of Π√(n·r(1 − r)·p + σ²), that is n^(3/2), and what is
looked for is of the order n: so it takes a number of queries of the order n, where pairs take one that does not depend
on n. Smaller subsets are better, down to where noise is as large as they are; there the number is a multiple of the
noise's variance σ². A vault's σ² is itself some 26·T/δ² (`sulq.py`): with a δ of a useful size T queries never suffice.
"""

import math

import numpy as np

from discreet.errors import InvalidBudget
from discreet.mining.estimate import IntervalEstimate, deviations
from discreet.mining.joint import Numbers, Sample
from discreet.mining.party import Counts


def third_moment(rate: float) -> float:
    """r(1 − r)(1 − 2r): what one person with all three attributes adds to the third joint moment."""
    return rate * (1 - rate) * (1 - 2 * rate)


def share_of_all_three(
    samples: tuple[Sample, Sample, Sample], people: int, rate: float, confidence: float
) -> IntervalEstimate:
    """Pr[αβγ], without bias, from counts over the same random subsets, each person in one with probability `rate`, not
    1/2; with a Gaussian interval. Raises InvalidBudget."""
    if not 0 < rate < 1 or rate == 0.5:
        raise InvalidBudget("three attributes show in subsets of another rate than a half, between 0 and 1")
    many = len(samples[0].counts)
    if many < 4:
        raise InvalidBudget("three attributes take four subsets at least")
    one, two, three = (_around_mean(sample.counts) for sample in samples)
    products = one * two * three
    # Means that are the samples' own take off what each count adds to a product by itself.
    spread = products - (two @ three * one + one @ three * two + one @ two * three) / many
    # The mean of products around the samples' own means is (m − 1)(m − 2)/m² of the third moment.
    scale = people * third_moment(rate) * (many - 1) * (many - 2) / many**2
    value = float(products.mean()) / scale
    half = deviations(confidence) * float(spread.std(ddof=1)) / math.sqrt(many) / abs(scale)
    return IntervalEstimate(value, value - half, value + half)


def _around_mean(counts: Counts) -> Numbers:
    around: Numbers = counts - np.mean(counts)
    return around


def subsets_needed(
    people: int, rate: float, noise: float, shares: tuple[float, float, float], error: float, confidence: float
) -> int:
    """How many subsets find Pr[αβγ] within ±error with this confidence, where attributes are taken as independent and
    each answer has noise of this variance."""
    a, b, c = shares
    own = [people * rate * (1 - rate) * share + noise for share in shares]
    # Counts of one subset vary together, as it is larger or smaller: moments of Gaussian ones [Isserlis 1918].
    pairs = [people * rate * (1 - rate) * both for both in (b * c, a * c, a * b)]
    variance = math.prod(own) + sum(one * pair**2 for one, pair in zip(own, pairs, strict=True)) + 2 * math.prod(pairs)
    deviation = math.sqrt(variance) / (people * abs(third_moment(rate)))
    return max(4, math.ceil((deviations(confidence) * deviation / error) ** 2))


def best_rate(people: int, noise: float) -> float:
    """About the rate that takes the fewest subsets: such that noise is half as large as a subset's own variance."""
    return min(0.25, 2 * max(noise, 0.5) / people)
