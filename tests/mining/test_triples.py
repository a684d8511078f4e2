"""Three databases: the third joint moment, exactly; the estimate on simulated people; and what it takes."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import InvalidBudget
from discreet.mining.joint import Sample
from discreet.mining.sulq import exact_trials
from discreet.mining.triples import best_rate, share_of_all_three, subsets_needed, third_moment

EVEN = [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
ODD = [(1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]


@pytest.mark.parametrize("rate", [Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(4, 5)])
@pytest.mark.parametrize("people", [EVEN, ODD, [(1, 1, 1), (1, 1, 1), (0, 1, 0)], EVEN + ODD])
def test_the_third_joint_moment_counts_who_has_all_three(rate, people):
    """By enumerating every subset, in exact numbers."""
    moment, means = Fraction(0), [rate * sum(row[axis] for row in people) for axis in range(3)]
    for chosen in itertools.product((0, 1), repeat=len(people)):
        chance = math.prod(rate if one else 1 - rate for one in chosen)
        counts = [sum(row[axis] for row, one in zip(people, chosen, strict=True) if one) for axis in range(3)]
        moment += chance * math.prod(count - mean for count, mean in zip(counts, means, strict=True))
    everything = sum(all(row) for row in people)
    assert moment == everything * rate * (1 - rate) * (1 - 2 * rate)
    assert float(moment) == pytest.approx(everything * third_moment(float(rate)))


def simulated(kinds, copies, rate, many, noise, seed):
    rng = np.random.default_rng(seed)
    rows = np.array(kinds)
    taken = rng.binomial(copies, rate, (many, len(rows)))
    counts = taken @ rows + np.rint(rng.normal(0, math.sqrt(noise), (many, 3)))
    return tuple(Sample(counts[:, axis], noise) for axis in range(3))


@pytest.mark.parametrize("noise", [0.0, 4.0])
@pytest.mark.parametrize(("kinds", "truth"), [(EVEN, 0.0), (ODD, 0.25)])
def test_two_populations_that_agree_in_all_pairs_are_told_apart(kinds, truth, noise):
    # Parity: any two attributes are independent in both, and all three together are everything or nothing.
    people, rate = 200, 0.1
    samples = simulated(kinds, people // 4, rate, 60_000, noise, seed=7)
    found = share_of_all_three(samples, people, rate, 0.999)
    assert found.low <= truth <= found.high
    assert found.high - found.low < 0.25  # not both
    needed = subsets_needed(people, rate, noise, (0.5, 0.5, 0.5), (found.high - found.low) / 2, 0.999)
    assert 0.5 < needed / 60_000 < 2


def test_the_interval_holds_as_often_as_it_says():
    inside = 0
    for seed in range(300):
        found = share_of_all_three(simulated(ODD, 25, 0.2, 2000, 1.0, seed), 100, 0.2, 0.95)
        inside += found.low <= 0.25 <= found.high
    assert 270 <= inside <= 297


def test_it_takes_queries_in_proportion_to_people_and_a_vaults_noise_never_lets_it():
    halves = (0.5, 0.5, 0.5)
    small, large = (subsets_needed(people, 0.2, 0, halves, 0.05, 0.95) for people in (10**4, 10**6))
    assert large == pytest.approx(100 * small, rel=1e-3)
    for queries in (200, 2000):
        noise = exact_trials(queries, Fraction(1), Fraction(1, 10**6)) / 4
        for people in (10**5, 10**7):
            rates = [best_rate(people, noise) * factor for factor in (0.5, 1, 2)]
            needed = [subsets_needed(people, rate, noise, halves, 0.05, 0.95) for rate in rates if rate < 0.5]
            assert min(needed) > 1000 * queries


@pytest.mark.parametrize(("rate", "many"), [(0.5, 10), (0.0, 10), (1.0, 10), (0.2, 3)])
def test_what_tells_nothing_is_refused(rate, many):
    sample = Sample(np.zeros(many), 0.0)
    with pytest.raises(InvalidBudget):
        share_of_all_three((sample, sample, sample), 100, rate, 0.95)
