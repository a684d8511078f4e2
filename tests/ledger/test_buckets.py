"""The histogram against the paper's examples, the grid, and an account by points."""

from collections.abc import Callable
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.ledger import buckets as module
from discreet.ledger.buckets import BucketedSpend, CutRule
from discreet.ledger.grid import GridSpend
from discreet.ledger.spend import MAX_UNITS, Cost

LIMIT = 20
Sizes = tuple[int, ...]


def one(box: Box, units: int = 1) -> Cost:
    return Cost(0, ((box, units),))


def people(age: tuple[int, int], income: tuple[int, int]) -> Box:
    """Ages 20 to 69 and incomes of 0 to 99 thousand, the data space of the paper's Figure 3, as codes."""
    return Box((age[0] - 20, income[0]), (age[1] - 20, income[1]))


R2, R3, R4 = people((30, 69), (0, 39)), people((30, 69), (40, 99)), people((20, 69), (40, 99))


def test_two_queries_that_part_a_tuple_are_two_sensitive_and_one_popular(domain_of: Callable[..., Domain]) -> None:
    """relaxation, Example 2: S_L1({q0, q0'}) = 2 for incomes ≥ 80k and < 80k of one age and zipcode."""
    rich, poor = Box((0, 8), (0, 9)), Box((0, 0), (0, 7))
    points = list(product(range(2), range(10)))
    sensitivity = max(
        sum(abs((a in region) - (b in region)) for region in (rich, poor))
        for a, b in combinations_with_replacement(points, 2)
    )
    histogram = BucketedSpend(domain_of(2, 10), 1)
    for region in (rich, poor):
        assert histogram.refusal(one(region)) is None
        histogram.add(one(region))
    assert sensitivity == 2 == 2 * histogram.spent_max  # Lemma 2, tight here


def test_popularity_counts_the_regions_over_a_point(domain_of: Callable[..., Domain]) -> None:
    """relaxation, Example 3, with q1 as it is drawn, from below 40k: as printed, r1 and r2 would be disjoint."""
    r1 = people((20, 50), (20, 70))
    maps = BucketedSpend(domain_of(50, 100), 2), GridSpend(domain_of(50, 100), 2)
    for popularity in maps:
        popularity.add(one(r1))
        popularity.add(one(R2))
        assert popularity.spent_max == 2
        assert popularity.left(Region((people((30, 50), (20, 39)),))) == 0
    by_point = 2 - maps[1].left_by((0, 1))
    assert {int(by_point[p]) for p in product(range(50), range(100)) if (p in r1) != (p in R2)} == {1}
    assert {int(by_point[p]) for p in product(range(50), range(100)) if p not in r1 and p not in R2} == {0}


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("cut_by", ["larger", "sum"])
@pytest.mark.parametrize(
    ("lowest_income", "below"),
    [
        (20, 2),  # as drawn in Figure 3, and as all counters in the text have it
        (40, 1),  # as printed: r1 and r2 are disjoint then, although Example 3 intersects them
    ],
)
def test_the_papers_example_bucket_by_bucket(
    domain_of: Callable[..., Domain], cut_by: CutRule, lowest_income: int, below: int
) -> None:
    """relaxation, Example 4: ελ/2 = 3; B1; then B2, B3; then B2, B4, B5, B6, B7."""
    histogram = BucketedSpend(domain_of(50, 100), 3, cut_by=cut_by)
    everybody = people((20, 69), (0, 99))
    histogram.add(one(people((20, 50), (lowest_income, 70))))
    assert dict(histogram.buckets) == {everybody: 1}
    histogram.add(one(R2))
    assert dict(histogram.buckets) == {everybody: 2}
    histogram.add(one(R3))
    b2 = people((20, 69), (0, 39))
    assert dict(histogram.buckets) == {b2: below, people((20, 69), (40, 99)): 2}
    assert histogram.refusal(one(R4)) is None
    histogram.add(one(R4))
    b7 = people((30, 50), (40, 70))
    assert dict(histogram.buckets) == {
        b2: below,
        people((20, 29), (40, 99)): 2,
        people((51, 69), (40, 99)): 2,
        people((30, 50), (71, 99)): 2,
        b7: 3,
    }
    refusal = histogram.refusal(one(people((40, 60), (60, 80))))
    assert refusal is not None
    assert (refusal.left, refusal.needed, refusal.where) == (0, 1, people((40, 50), (60, 70)))


@st.composite
def boxes(draw: st.DrawFn, sizes: Sizes) -> Box:
    ends = [sorted(draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))) for n in sizes]
    return Box(tuple(a for a, _ in ends), tuple(b for _, b in ends))


@st.composite
def stories(draw: st.DrawFn) -> tuple[Sizes, list[Cost]]:
    """The sizes of a domain, and charges on it."""
    sizes = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    piece = st.tuples(boxes(sizes), st.integers(0, 9))
    cost = st.builds(Cost, st.integers(0, 3), st.lists(piece, max_size=4).map(tuple))
    return sizes, draw(st.lists(cost, max_size=12))


@pytest.mark.usefixtures("either_way")
@given(stories(), st.sampled_from([1, 2, 3, 5, 1000]), st.sampled_from(["larger", "sum"]))
def test_the_histogram_never_undercounts_and_refuses_what_does_not_fit(
    domain_of: Callable[..., Domain], story: tuple[Sizes, list[Cost]], theta: int, cut_by: CutRule
) -> None:
    sizes, costs = story
    histogram = BucketedSpend(domain_of(*sizes), LIMIT, theta, cut_by)
    spent = dict.fromkeys(product(*map(range, sizes)), 0)
    for cost in costs:
        refusal = histogram.refusal(cost)
        if refusal is None:
            assert all(spent[p] + cost.at(p) <= LIMIT for p in spent)
            histogram.add(cost)
            spent = {p: spent[p] + cost.at(p) for p in spent}
        else:
            assert refusal.left < refusal.needed
            assert refusal.left == histogram.left(Region((refusal.where,)))
        parts = dict(histogram.buckets)
        assert len(parts) <= theta
        assert sum(box.volume for box in parts) == len(spent)
        bound = {p: counter for box, counter in parts.items() for p in spent if p in box}
        assert all(spent[p] <= bound[p] for p in spent)
        assert histogram.spent_max == max(bound.values())
        left = histogram.left_by(range(len(sizes)))
        assert all(left[p] == max(LIMIT - bound[p], 0) for p in spent)


@pytest.mark.usefixtures("either_way")
@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=3)
    .map(tuple)
    .flatmap(lambda sizes: st.tuples(st.just(sizes), st.lists(boxes(sizes), max_size=25))),
    st.integers(1, 4),
    st.sampled_from(["larger", "sum"]),
)
def test_with_buckets_enough_equal_charges_are_decided_as_by_the_grid(
    domain_of: Callable[..., Domain], story: tuple[Sizes, list[Box]], limit: int, cut_by: CutRule
) -> None:
    sizes, asked = story
    histogram, grid = BucketedSpend(domain_of(*sizes), limit, cut_by=cut_by), GridSpend(domain_of(*sizes), limit)
    for box in asked:
        refusal = grid.refusal(one(box))
        assert (histogram.refusal(one(box)) is None) == (refusal is None)
        if refusal is None:
            histogram.add(one(box))
            grid.add(one(box))


@pytest.mark.usefixtures("either_way")
@given(stories(), st.sampled_from([3, 1000]))
@settings(max_examples=50)
def test_equal_stories_make_equal_histograms(
    domain_of: Callable[..., Domain], story: tuple[Sizes, list[Cost]], theta: int
) -> None:
    sizes, costs = story
    first, second = (BucketedSpend(domain_of(*sizes), LIMIT, theta) for _ in range(2))
    for cost in costs:
        first.refusal(cost)
        first.add(cost)
    second.replay(costs)
    assert list(first.buckets) == list(second.buckets)


def test_long_axes_are_cut_at_the_borders_too(domain_of: Callable[..., Domain]) -> None:
    """A million codes are too many to have a place each when a cut is chosen."""
    domain = domain_of(1_000_000, 3)
    histogram, grid = BucketedSpend(domain, 4), GridSpend(domain, 4)
    random = np.random.default_rng(7)
    for code in range(300):
        low, width = (int(x) for x in random.integers(1, [900_000, 99_999]))
        cost = one(Box((low, code % 3), (low + width, 2)))
        refusal = grid.refusal(cost)
        assert (histogram.refusal(cost) is None) == (refusal is None)
        if refusal is None:
            grid.add(cost)
            histogram.add(cost)
    assert len(list(histogram.buckets)) > 100


def test_groups_cost_as_much_as_one_of_them(domain_of: Callable[..., Domain]) -> None:
    groups = Cost(0, tuple((Box((i, j, 0), (i, j, 9)), 3) for i in range(40) for j in range(25)))
    histogram = BucketedSpend(domain_of(50, 50, 10), 9)
    for _ in range(3):
        assert histogram.refusal(groups) is None
        histogram.add(groups)
    assert histogram.spent_max == 9
    assert histogram.refusal(groups) is not None
    assert histogram.refusal(one(Box((40, 0, 0), (49, 49, 9)), 9)) is None


def test_a_bucket_that_is_no_longer_split_counts_disjoint_boxes_of_one_charge_once(
    domain_of: Callable[..., Domain],
) -> None:
    histogram = BucketedSpend(domain_of(10), LIMIT, most_buckets=1)
    histogram.add(Cost(0, tuple((Box((code,), (code,)), units) for code, units in [(1, 2), (5, 7), (8, 3)])))
    assert histogram.spent_max == 7


def test_charges_everywhere_are_one_number_on_a_domain_of_any_size(domain_of: Callable[..., Domain]) -> None:
    histogram = BucketedSpend(domain_of(*[7] * 50), LIMIT)
    histogram.add(Cost(LIMIT - 1))
    assert histogram.refusal(Cost(1)) is None
    assert histogram.refusal(Cost(2)) is not None
    corner = Box((0,) * 50, (3,) * 50)
    histogram.add(one(corner))
    assert histogram.refusal(one(Box((2,) * 50, (6,) * 50))) is not None
    assert histogram.refusal(one(Box((4,) * 50, (6,) * 50))) is None
    assert histogram.left(Region((Box((4, *[0] * 49), (6,) * 50),))) == 1


@pytest.mark.parametrize("units", [LIMIT + 1, 2**63, 10**40])
def test_a_charge_above_the_whole_limit_is_refused_whatever_its_size(
    domain_of: Callable[..., Domain], units: int
) -> None:
    histogram = BucketedSpend(domain_of(3, 3), LIMIT)
    histogram.add(one(Box((0, 0), (1, 1)), 5))
    for cost in (Cost(units), one(Box((1, 1), (2, 2)), units)):
        refusal = histogram.refusal(cost)
        assert refusal is not None
        assert (refusal.left, refusal.needed) == (15, units)


def test_more_than_any_limit_is_not_counted_but_raised(domain_of: Callable[..., Domain]) -> None:
    histogram = BucketedSpend(domain_of(3), MAX_UNITS)
    histogram.add(one(Box((0,), (1,)), MAX_UNITS))
    histogram.add(one(Box((0,), (1,)), MAX_UNITS))
    with pytest.raises(OverflowError):
        histogram.add(one(Box((0,), (1,)), 1))


@pytest.mark.parametrize("box", [Box((0, 0), (3, 1)), Box((-1, 0), (0, 0)), Box((0,), (1,))])
def test_a_box_that_reaches_out_of_the_domain_is_refused(domain_of: Callable[..., Domain], box: Box) -> None:
    histogram = BucketedSpend(domain_of(3, 3), LIMIT)
    for use in (histogram.refusal, histogram.add):
        with pytest.raises(ValueError, match=r"domain|reshape"):
            use(one(box))


def test_when_notes_would_fill_the_memory_splitting_ends_and_nothing_is_undercounted(
    domain_of: Callable[..., Domain], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_PAGES", 64)
    random = np.random.default_rng(3)
    histogram, grid = BucketedSpend(domain_of(60, 60), 30), GridSpend(domain_of(60, 60), 30)
    for _ in range(2000):
        low, width = random.integers(0, 40, 2), random.integers(1, 20, 2)
        cost = one(Box(tuple(low.tolist()), tuple((low + width).tolist())))
        if histogram.refusal(cost) is None:
            assert grid.refusal(cost) is None
            histogram.add(cost)
            grid.add(cost)
    assert 1 < len(list(histogram.buckets)) <= 64
    assert (histogram.left_by((0, 1)) <= grid.left_by((0, 1))).all()
