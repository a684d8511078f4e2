"""The learner believes what the tables say: blindly their shares, and the truth where values go with codes."""

import numpy as np
import pytest

from discreet.microdata.measure import measure_guesses
from discreet.microdata.posterior import learn_beliefs


def buckets_of(values, size):
    """Buckets of consecutive people; the values listed, each bucket's sorted."""
    size_of = np.full(len(values) // size, size)
    return size_of, (np.sort(values.reshape(-1, size), axis=1).ravel(), size_of)


def test_without_learning_a_belief_is_the_share_in_the_bucket():
    size_of, listing = buckets_of(np.array([0, 0, 1, 2, 1, 1, 1, 2]), 4)
    blind = learn_beliefs([], [], size_of, listing, np.array([0.5, 0.5, 0.25]), rounds=0)
    assert blind.strength == pytest.approx([0.5] * 4 + [0.75] * 4)
    assert blind.value.tolist() == [0] * 4 + [1] * 4
    assert blind.over_limit == pytest.approx([1.0] * 4 + [1.5] * 4)


def people(correlated, seed=2, size=4, buckets=3000):
    chance = np.random.default_rng(seed)
    values = chance.integers(0, 4, size * buckets)
    code = np.where(chance.random(len(values)) < correlated, values, chance.integers(0, 4, len(values)))
    return values, code


def test_a_learner_finds_what_goes_with_a_code_and_nothing_where_nothing_does():
    for correlated, low, high in ((0.95, 0.9, 1.0), (0.0, 0.3, 0.6)):
        values, code = people(correlated)
        size_of, listing = buckets_of(values, 4)
        learnt = learn_beliefs([code], [4], size_of, listing, np.ones(4))
        assert low < (learnt.value == values).mean() < high
        assert np.all(learnt.strength <= 1 + 1e-9)


def test_people_of_a_bucket_share_what_is_listed_for_it():
    values, code = people(0.9)
    size_of, listing = buckets_of(values, 4)
    learnt = learn_beliefs([code], [4], size_of, listing, np.ones(4))
    assert learnt.strength.reshape(-1, 4).sum(axis=1).max() <= 4 + 1e-9


def test_guesses_are_measured_against_the_truth():
    values, code = people(0.95)
    other = np.random.default_rng(9).integers(0, 7, len(values))
    bucket = np.repeat(np.arange(1, 3001), 4)
    learnt = measure_guesses(bucket, np.stack([code, other, values], axis=1), [4, 7], 4)
    assert learnt.people == len(values)
    assert learnt.definetti > 0.9
    assert learnt.order < learnt.definetti
    assert 0.4 < learnt.blind < 0.55
