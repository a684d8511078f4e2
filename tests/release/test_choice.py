"""Choices: the exponential mechanism on distances, its sensitivity, its probabilities, and what they lose at most."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.domain.attribute import Category
from discreet.domain.domain import Domain
from discreet.errors import InvalidNoise, UnsupportedQuery
from discreet.ledger.budget import PureBudget
from discreet.noise.bits import SeededBits
from discreet.noise.law import Exponential, Laplace
from discreet.query.choice import MOST, Candidate, utilities
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Choice, query_from_json, query_to_json
from discreet.release import choice as choosing
from discreet.release.choice import counts_for, draw_choice, require_choosable

DOMAIN = Domain(
    "people",
    (Category(name="sex", source="s", values=("F", "M")), Category(name="job", source="s", values=("a", "b", "c"))),
)
CANDIDATES = (
    Candidate(("sex",), (1, 2), 1),
    Candidate(("job",), (0, 0, 3), 0),
    Candidate(("sex", "job"), (1, 0, 0, 0, 1, 0), 2),
)
CHOICE = Choice(CANDIDATES, DOMAIN.everything)
POINTS = list(product(range(2), range(3)))


def counted(rows):
    """The marginals of a table, row by row."""
    sex, job, both = np.zeros(2, np.int64), np.zeros(3, np.int64), np.zeros((2, 3), np.int64)
    for a, b in rows:
        sex[a] += 1
        job[b] += 1
        both[a, b] += 1
    return [sex, job, both]


def utility(rows, candidate):
    """By the definition, cell by cell, from the rows themselves."""
    axes = [DOMAIN.axis(name) for name in candidate.by]
    cells = product(*(range(DOMAIN.shape[axis]) for axis in axes))
    return (
        sum(
            abs(sum(tuple(row[axis] for axis in axes) == cell for row in rows) - expected)
            for cell, expected in zip(cells, candidate.expected, strict=True)
        )
        - candidate.allowance
    )


def probabilities(rows, scale):
    weights = [math.exp(utility(rows, one) / (2 * scale)) for one in CANDIDATES]
    return [weight / sum(weights) for weight in weights]


@given(st.lists(st.sampled_from(POINTS), max_size=6))
def test_a_utility_is_the_distance_from_what_is_expected_less_the_allowance(rows):
    assert utilities(CANDIDATES, counted(rows)).tolist() == [utility(rows, one) for one in CANDIDATES]


@given(st.lists(st.sampled_from(POINTS), max_size=6), st.sampled_from(POINTS))
def test_a_row_moves_every_utility_by_one_at_most(rows, more):
    moved = utilities(CANDIDATES, counted([*rows, more])) - utilities(CANDIDATES, counted(rows))
    assert np.abs(moved).max() <= 1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3)])
def test_no_two_neighbours_tell_more_than_is_charged_by_brute_force(neighbours, scale):
    budget = PureBudget(Fraction(100), neighbours)
    paid = Plan((Measurement(CHOICE, Exponential(scale)),)).cost(DOMAIN, budget)
    charged = float(budget.amount_of(paid.peak))
    worst = 0.0
    for size in range(4):
        for rows in combinations_with_replacement(POINTS, size):
            added = [(*rows, point) for point in POINTS]
            replaced = [(*rows[1:], point) for point in POINTS] if rows else []
            for other in added if neighbours == "add-remove" else replaced:
                one, two = probabilities(rows, float(scale)), probabilities(other, float(scale))
                worst = max(worst, *(abs(math.log(p / q)) for p, q in zip(one, two, strict=True)))
    assert worst <= charged * (1 + 1e-12)
    assert worst > charged / 4  # what is charged is not far above what can be lost


def test_choices_have_the_stated_probabilities_and_not_those_of_a_scale_that_is_off_by_a_third():
    rows, scale, draws = [(0, 0), (0, 0), (1, 0), (1, 1)], Fraction(2), 20_000
    bits = SeededBits(3)
    drawn = np.array([draw_choice(CHOICE, scale, counted(rows), bits) for _ in range(draws)])
    found = np.bincount(drawn, minlength=3)
    assert chisquare(found, draws * np.array(probabilities(rows, 2.0))).pvalue > 1e-4
    for wrong in (2 / 1.3, 2 * 1.3):
        assert chisquare(found, draws * np.array(probabilities(rows, wrong))).pvalue < 1e-6


def test_a_choice_comes_back_from_the_journal_as_it_was():
    assert query_from_json(query_to_json(CHOICE)) == CHOICE
    assert [count.by for count in counts_for(CHOICE)] == [("sex",), ("job",), ("sex", "job")]


def test_a_choice_looks_at_so_many_counts_and_no_more(monkeypatch):
    cells = sum(len(candidate.expected) for candidate in CHOICE.candidates)
    monkeypatch.setattr(choosing, "CHOICE_CELLS", cells)
    require_choosable(CHOICE, DOMAIN)
    monkeypatch.setattr(choosing, "CHOICE_CELLS", cells - 1)
    with pytest.raises(UnsupportedQuery, match=f"would look at {cells} counts, and at most {cells - 1}"):
        require_choosable(CHOICE, DOMAIN)


def test_what_is_no_choice_is_refused():
    short = Candidate(("sex",), (1,), 0)
    for candidates in [(short,), (CHOICE.candidates[1], short), (short, CHOICE.candidates[1])]:
        with pytest.raises(UnsupportedQuery, match="a number for each of its cells"):
            require_choosable(Choice(candidates, DOMAIN.everything), DOMAIN)
    with pytest.raises(UnsupportedQuery, match="one candidate or more"):
        Choice((), DOMAIN.everything)
    with pytest.raises(UnsupportedQuery, match="each once"):
        Candidate(("sex", "sex"), (1,), 0)
    with pytest.raises(UnsupportedQuery, match="at most"):
        Candidate(("sex",), (MOST, 1), 0)
    with pytest.raises(InvalidNoise, match="exponential mechanism"):
        Measurement(CHOICE, Laplace(Fraction(1)))
