from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product

import pytest

from discreet.ledger.capacity import capacity_at_all, capacity_at_volume, capacity_between_volumes

EPSILON, SCALE = Fraction(3, 10), Fraction(2000)


def test_the_bounds_of_the_papers_default_setting() -> None:
    # relaxation, Table 2 (bold): λ = 2000, ε = 0.3, s = 4%; Figure 11b's upper bound.
    assert capacity_at_volume(EPSILON, SCALE, Fraction(4, 100)) == Fraction(7812, 1) + Fraction(1, 2)
    assert capacity_between_volumes(EPSILON, SCALE, Fraction(4, 100)) == 15_000
    assert capacity_at_all(EPSILON, SCALE, 79 * 14 * 23 * 100) == 600 * 79 * 14 * 23 * 100


def test_the_two_bounds_agree_where_every_query_covers_half_the_domain() -> None:
    half = Fraction(1, 2)
    assert capacity_at_volume(EPSILON, SCALE, half) == capacity_between_volumes(EPSILON, SCALE, half)


def most_queries(points: int, regions: list[tuple[int, ...]], budget: int) -> int:
    """The largest multiset of regions whose L1 sensitivity, by its definition, is within the budget ελ."""
    best = 0
    # A region and its complement always hold some pair apart, so that none is asked more often than the budget.
    for asked in product(range(budget + 1), repeat=len(regions)):
        apart = (
            sum(times for times, region in zip(asked, regions, strict=True) if (one in region) != (two in region))
            for one, two in combinations(range(points), 2)
        )
        if max(apart) <= budget:
            best = max(best, sum(asked))
    return best


@pytest.mark.parametrize(("points", "size"), [(2, 1), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3), (5, 1)])
def test_no_queries_of_one_volume_pass_the_bound(points: int, size: int) -> None:
    regions = list(combinations(range(points), size))
    bound = capacity_at_volume(Fraction(1), Fraction(2), Fraction(size, points))
    assert most_queries(points, regions, budget=2) < bound


@pytest.mark.parametrize("points", [2, 3])
def test_no_queries_of_any_volume_pass_the_bound(points: int) -> None:
    regions = [region for size in range(1, points) for region in combinations(range(points), size)]
    assert most_queries(points, regions, budget=2) < capacity_at_all(Fraction(1), Fraction(2), points)


@pytest.mark.parametrize(
    ("bound", "outside"),
    [
        (capacity_at_volume, Fraction(0)),
        (capacity_at_volume, Fraction(1)),
        (capacity_between_volumes, Fraction(0)),
        (capacity_between_volumes, Fraction(2, 3)),
        (capacity_at_all, 1),
    ],
)
def test_a_volume_outside_its_range_is_refused(bound: Callable[..., Fraction], outside: Fraction) -> None:
    with pytest.raises(ValueError, match=r"above 0|two or more"):
        bound(EPSILON, SCALE, outside)
