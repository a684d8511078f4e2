"""What knowing some people of a bucket brings: the formulas against counting all that could be."""

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.microdata.corruption import ListedValues, corruption


def listed_of(buckets, fakes, people=None):
    """Listings with counts that make every listing a fake as likely as any other."""
    bucket = np.repeat(np.arange(len(buckets)), [len(values) for values in buckets])
    value = np.array([value for values in buckets for value in sorted(values)])
    sizes = np.array([len(values) - fakes for values in buckets]) if people is None else people
    return ListedValues.of(bucket, value, sizes, np.zeros(int(value.max()) + 1, np.int64), fakes)


def believed(values, fakes, known, target):
    """The largest belief over all ways to know people, by going through all choices of fakes."""
    once = [value for value, times in Counter(values).items() if times == 1]
    best = Fraction(0)
    size = len(values) - fakes
    for struck in set(itertools.combinations(sorted(values), min(known, size - 1))):
        weight, total = Fraction(0), 0
        for fake in itertools.combinations(once, fakes):
            real = Counter(values) - Counter(fake)
            left = real - Counter(struck)
            if left.total() != real.total() - len(struck):
                continue  # somebody known would have a fake
            total += 1
            weight += Fraction(left[target], left.total())
        if total:
            best = max(best, weight / total)
    return best


buckets = st.lists(st.integers(0, 4), min_size=2, max_size=6)


@settings(max_examples=150)
@given(buckets, st.integers(0, 2), st.integers(0, 3))
def test_belief_is_the_largest_over_all_that_could_be(values, fakes, known):
    alone = sum(times == 1 for times in Counter(values).values())
    if fakes > alone or len(values) - fakes < 1:
        return
    listed = listed_of([values], fakes)
    found = dict(zip(listed.value.tolist(), listed.belief(known).tolist(), strict=True))
    for value in found:
        assert found[value] == pytest.approx(float(believed(values, fakes, known, value)), abs=1e-12)


@pytest.mark.parametrize(("size", "fakes", "known", "belief"), [(5, 0, 0, 1 / 5), (5, 2, 0, 1 / 7), (5, 2, 3, 1 / 4)])
def test_distinct_values_are_the_seeds_case(size, fakes, known, belief):
    # buckets, Section 6: |g| − q + σ values remain.
    listed = listed_of([list(range(size + fakes))], fakes)
    assert listed.belief(known) == pytest.approx(belief)


@pytest.mark.parametrize("fakes", [0, 1, 2, 5])
def test_with_all_others_known_a_value_is_real_with_one_in_one_plus_fakes(fakes):
    # buckets, Section 6: "Even if all but one record in a bucket are corrupted, … only 1/(1 + σ) certainty".
    listed = listed_of([list(range(4 + fakes))], fakes)
    assert listed.belief(3) == pytest.approx(1 / (1 + fakes))
    assert corruption(listed, (Fraction(1),) * 9, 3).if_distinct == pytest.approx(1 / (1 + fakes))


def test_fakes_dilute_nothing_that_is_listed_twice():
    listed = listed_of([[0, 0, 1, 2, 3]], 2)
    assert listed.belief(0)[0] == pytest.approx(2 / 3)


def test_who_knows_frequencies_knows_which_listings_are_mostly_real():
    listed = listed_of([[0, 1, 2], [0, 1, 2], [0, 1, 3]], 1)
    known = ListedValues(listed.bucket, listed.value, listed.times, listed.people, np.array([3, 2, 1, 0]), 1)
    assert known.real_share.tolist() == pytest.approx([1, 2 / 3, 1 / 2, 0])
    assert known.belief(0)[0] == pytest.approx(1 / 2)
    assert np.bincount(known.bucket, weights=known.expected) == pytest.approx([2, 2, 2])


def test_beliefs_above_a_limit_are_counted():
    found = corruption(
        listed_of([[0, 1], [0, 2], [1, 2, 3]], 0), (Fraction(1, 2), Fraction(1), Fraction(1, 2), Fraction(1)), 1
    )
    assert (found.most, found.above, found.pairs) == (1.0, 3, 7)
