"""A fact beside what was released: doubted where noise does not go by chance."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.domain.region import Box, Region
from discreet.facts.plausible import Doubt, doubts
from discreet.ledger.guarantee import PureDP
from discreet.ledger.receipt import Receipt
from discreet.noise.law import Laplace
from discreet.query.plan import Measurement, Plan
from discreet.query.query import Count, Residual, Sum
from discreet.release.release import Noisy, Release
from tests.facts.small import count, cuboid, small_domain

DOMAIN = small_domain(2, 3, 4)
ROW = Region((Box((0, 0, 0), (0, 2, 3)),))
UNEVEN = np.array([[600, 0, 0], [0, 0, 0]])
RESIDUAL = np.kron([[1], [-1]], [[1200, -600, -600]])
"""(2·I − 1) ⊗ (3·I − 1) of it."""


def released(query, units, scale=10):
    measurement = Measurement(query, Laplace(Fraction(scale)))
    noisy = Noisy(measurement, Fraction(1), np.asarray(units, np.int64))
    return Release(Plan((measurement,)), (noisy,), PureDP(Fraction(1), "add-remove"), 7, Receipt(7, b""))


@pytest.mark.parametrize(
    ("fact", "release", "deviations"),
    [
        # λ = 10: a standard deviation of 14.1
        (count(DOMAIN, (1, [(0, 0), (0, 2), (0, 3)]), value=100), released(Count(ROW), 141), None),
        (count(DOMAIN, (1, [(0, 0), (0, 2), (0, 3)]), value=100), released(Count(ROW), 241), 9.97),
        (count(DOMAIN, (1, [(0, 0), (0, 2), (0, 3)]), value=100), released(Count(DOMAIN.everything), 241), None),
        # A group, and a sum of groups
        (
            count(DOMAIN, (1, [(0, 0), (0, 2), (0, 3)]), value=100),
            released(Count(DOMAIN.everything, ("a",)), [241, 0]),
            9.97,
        ),
        (
            count(DOMAIN, (2, [(0, 1), (0, 1), (0, 3)]), value=100),
            released(Count(DOMAIN.everything, ("b",)), [0, 0, 9]),
            None,
        ),
        (
            count(DOMAIN, (2, [(0, 1), (0, 1), (0, 3)]), value=1000),
            released(Count(DOMAIN.everything, ("b",)), [0, 0, 9]),
            25.0,
        ),
        (
            count(DOMAIN, (1, [(0, 0), (0, 0), (0, 3)]), value=10**6),
            released(Count(DOMAIN.everything, ("b",)), [0, 0, 9]),
            None,
        ),
        # Cuboids are compared on what both roll up to
        (cuboid(DOMAIN, "ab", 100), released(Count(DOMAIN.everything), 600), None),
        (cuboid(DOMAIN, "ab", 100), released(Count(DOMAIN.everything), 741), 9.97),
        (cuboid(DOMAIN, "ab", 100), released(Count(DOMAIN.everything, ("c", "b")), np.full((4, 3), 50)), None),
        (cuboid(DOMAIN, "ab", 100), released(Count(DOMAIN.everything, ("c", "b")), np.full((4, 3), 150)), 14.1),
        (cuboid(DOMAIN, "ab", 100), released(Count(ROW), 0), None),
        (cuboid(DOMAIN, "ab", 100), released(Sum("c", DOMAIN.everything), 0), None),
        # A residual is compared with that of the same table
        (cuboid(DOMAIN, "ab", UNEVEN), released(Residual(DOMAIN.everything), 741), 9.97),
        (cuboid(DOMAIN, "ab", UNEVEN), released(Residual(DOMAIN.everything, ("b", "a")), RESIDUAL.T), None),
        (cuboid(DOMAIN, "ab", UNEVEN), released(Residual(DOMAIN.everything, ("b", "a")), RESIDUAL.T + 141), 9.97),
        (cuboid(DOMAIN, "ab", UNEVEN), released(Residual(DOMAIN.everything, ("c", "b")), np.full((4, 3), 999)), None),
        (cuboid(DOMAIN, "ab", UNEVEN), released(Residual(ROW, ("b",)), [999, 0, 0]), None),
        (count(DOMAIN, (1, [(0, 0), (0, 2), (0, 3)]), value=9), released(Residual(ROW, ("b",)), [999, 0, 0]), None),
    ],
)
def test_a_fact_is_doubted_by_standard_deviations(fact, release, deviations):
    found = doubts(fact, [release], DOMAIN)
    if deviations is None:
        assert not found
    else:
        assert [doubt.deviations for doubt in found] == [pytest.approx(deviations, rel=0.01)]
        said = abs(found[0].difference)
        assert f"release 7 makes this implausible: it says {said:,.0f} " in str(found[0])
        assert str(found[0]).endswith(f"which is {found[0].deviations:.1f} standard deviations off")


def test_true_facts_are_doubted_in_less_than_one_of_a_hundred_cases():
    rng = np.random.default_rng(11)
    truth = np.full((2, 3), 1000)
    fact = cuboid(DOMAIN, "ab", truth)
    doubted = sum(
        bool(
            doubts(
                fact,
                [released(Count(DOMAIN.everything, ("a", "b")), truth + rng.laplace(0, 10, (2, 3)).round())],
                DOMAIN,
            )
        )
        for _ in range(1000)
    )
    assert doubted <= 20  # at most 10 are expected; more than 20 has a probability below 0.002


@pytest.mark.parametrize(("difference", "words"), [(1234.0, "1,234 more"), (-7.0, "7 less")])
def test_a_doubt_says_which_way_the_release_is_off(difference, words):
    assert f"it says {words}, which is 9.0 standard deviations off" in str(Doubt(3, 9.0, 1, difference))
    assert f"it says {words} in the worst of 20 cells" in str(Doubt(3, 9.0, 20, difference))
