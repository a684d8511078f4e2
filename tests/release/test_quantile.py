"""Quantiles: the exponential mechanism on ranks, its sensitivity, its probabilities and its error."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.domain.attribute import Category, Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.noise.bits import SeededBits
from discreet.query.query import Quantile
from discreet.release.quantile import MOST_PARTS, candidate_codes, distances, draw_quantiles, rank_error, rank_margin

DOMAIN = Domain(
    "people",
    (
        Integer(name="age", source="s", low=20, high=25, outside="other", null=True),
        Category(name="sex", source="s", values=("F", "M")),
    ),
)

histograms = st.lists(st.integers(0, 12), min_size=1, max_size=8)
levels = st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)]) | st.fractions(
    0, 1, max_denominator=MOST_PARTS
)


def utilities(counts, level, margin):
    """By the definition: minus the distance of the rank asked for from the ranks that a code's rows have."""
    total = sum(counts)
    rank = sorted([Fraction(margin), level * total, Fraction(total - margin)])[1]
    result = []
    for code in range(len(counts)):
        below, upto = sum(counts[:code]), sum(counts[: code + 1])
        result.append(-max(below - rank, rank - upto, Fraction(0)))
    return result


def probabilities(counts, level, scale):
    found = utilities(counts, level, rank_margin(scale, len(counts)))
    weights = np.array([math.exp(float(u / (2 * scale))) for u in found])
    return weights / weights.sum()


def whole_distances(counts, level, margin):
    rows, parts = distances(np.array([counts], np.int64), level, margin)
    assert np.all((parts >= 0) & (parts < level.denominator))
    return [
        row + Fraction(part, level.denominator) for row, part in zip(rows[0].tolist(), parts[0].tolist(), strict=True)
    ]


@settings(max_examples=300)
@given(
    counts=histograms | st.lists(st.integers(0, 2**58), min_size=1, max_size=8),
    level=levels,
    margin=st.integers(0, 20) | st.integers(0, 2**56),
)
def test_distances_are_those_of_the_definition(counts, level, margin):
    assert [-distance for distance in whole_distances(counts, level, margin)] == utilities(counts, level, margin)


@settings(max_examples=200)
@given(counts=histograms, level=levels, margin=st.integers(0, 20), data=st.data())
def test_one_row_changes_no_utility_by_more_than_one(counts, level, margin, data):
    code = data.draw(st.integers(0, len(counts) - 1))
    more = [*counts[:code], counts[code] + 1, *counts[code + 1 :]]
    before, after = utilities(counts, level, margin), utilities(more, level, margin)
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= 1


@given(counts=histograms, level=levels, margin=st.integers(0, 20))
def test_some_code_has_the_rank_asked_for(counts, level, margin):
    assert min(whole_distances(counts, level, margin)) == 0


@settings(max_examples=100)
@given(
    counts=histograms, level=levels, scale=st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(5)]), data=st.data()
)
def test_the_loss_for_one_row_is_at_most_one_over_the_scale(counts, level, scale, data):
    code = data.draw(st.integers(0, len(counts) - 1))
    more = [*counts[:code], counts[code] + 1, *counts[code + 1 :]]
    ratio = probabilities(counts, level, scale) / probabilities(more, level, scale)
    assert np.abs(np.log(ratio)).max() <= 1 / scale + 1e-9


@settings(max_examples=100)
@given(
    counts=st.lists(st.integers(0, 200), min_size=1, max_size=12),
    level=levels,
    scale=st.sampled_from([Fraction(1, 2), Fraction(2), Fraction(10)]),
    confidence=st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)]),
)
def test_the_rank_is_as_close_as_is_said_at_least_as_often(counts, level, scale, confidence):
    bound = rank_error(scale, len(counts), confidence)
    found = utilities(counts, level, rank_margin(scale, len(counts)))
    far = sum(p for p, u in zip(probabilities(counts, level, scale), found, strict=True) if -u > bound)
    assert far <= float(1 - confidence) + 1e-12


CASES = {
    "a median": ([5, 9, 1, 0, 7, 3], Fraction(1, 2), Fraction(3)),
    "a minimum": ([0, 0, 9, 30, 7, 3], Fraction(0), Fraction(2)),
    "a maximum": ([9, 30, 7, 3, 0, 0], Fraction(1), Fraction(2)),
    "a decile of few": ([1, 0, 2, 0, 1, 0], Fraction(1, 10), Fraction(1, 2)),
    "nobody": ([0, 0, 0, 0, 0, 0], Fraction(1, 2), Fraction(1)),
}


@pytest.mark.parametrize(("counts", "level", "scale"), CASES.values(), ids=CASES.keys())
def test_codes_are_drawn_with_their_probabilities_and_not_with_others(counts, level, scale):
    draws, query = 4000, Quantile("age", level, DOMAIN.everything, ("sex",))
    histogram = np.array([[*counts, 50, 50]] * draws)  # people with other or missing ages, who are not looked at
    drawn = draw_quantiles(query, scale, histogram, DOMAIN, SeededBits(3))
    assert drawn.shape == (draws,)
    seen = np.bincount(drawn, minlength=len(counts))
    assert seen.size == len(counts)
    assert chisquare(seen, probabilities(counts, level, scale) * draws).pvalue > 1e-6
    if any(counts):
        assert chisquare(seen, probabilities(counts, level, scale * Fraction(3, 10)) * draws).pvalue < 1e-6


def test_a_draw_is_a_code_of_the_attribute_and_of_the_region():
    where = DOMAIN.slab("age", 2, 4).union(DOMAIN.slab("age", 7, 7))
    query = Quantile("age", Fraction(1, 2), where)
    assert candidate_codes(query, DOMAIN) == [2, 3, 4]
    bits = SeededBits(4)
    drawn = {int(draw_quantiles(query, Fraction(10), np.arange(8), DOMAIN, bits)) for _ in range(200)}
    assert drawn == {2, 3, 4}
    assert candidate_codes(Quantile("age", Fraction(1, 2), Region(())), DOMAIN) == []


@given(empty=st.integers(1, 200), people=st.integers(1, 20), scale=st.sampled_from([Fraction(1, 2), Fraction(3)]))
def test_an_extreme_rarely_lies_beyond_the_data(empty, people, scale):
    """Without the margin every empty code beyond the data would be as good as the true extreme."""
    counts = [0] * empty + [1000] * people
    assert probabilities(counts, Fraction(0), scale)[:empty].sum() < 1 / 20
    assert probabilities(counts[::-1], Fraction(1), scale)[people:].sum() < 1 / 20
