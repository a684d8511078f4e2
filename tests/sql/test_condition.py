from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Region
from discreet.errors import UnsupportedQuery
from discreet.sql.codes import complement, merged
from discreet.sql.condition import MOST_BOXES, AllOf, AnyOf, Atom, Condition, region_of

DOMAIN = Domain("t", tuple(Integer(name=name, source="made for the tests", low=0, high=4) for name in "abc"))
WIDE = Domain("t", tuple(Integer(name=name, source="made for the tests", low=0, high=10**6) for name in "abcd"))

code_sets = st.sets(st.integers(0, 4)).map(lambda codes: merged((code, code) for code in codes))
atoms = st.builds(Atom, st.integers(0, 2), code_sets)
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: AllOf(tuple(parts))),
        st.lists(inner, max_size=3).map(lambda parts: AnyOf(tuple(parts))),
    ),
    max_leaves=10,
)


def holds(condition: Condition, point: tuple[int, ...]) -> bool:
    match condition:
        case Atom(axis, codes):
            return any(low <= point[axis] <= high for low, high in codes)
        case AllOf(parts):
            return all(holds(part, point) for part in parts)
        case AnyOf(parts):
            return any(holds(part, point) for part in parts)


@settings(max_examples=120)
@given(condition=conditions)
def test_a_region_holds_the_points_where_its_condition_does(condition: Condition) -> None:
    region = region_of(condition, DOMAIN)
    for point in product(range(5), repeat=3):
        assert (point in region) == holds(condition, point)
    assert region == Region.of(reversed(region.boxes))


def stripes(axis: int, number: int) -> Atom:
    return Atom(axis, tuple((4 * n, 4 * n) for n in range(number)))


def test_boxes_are_limited() -> None:
    assert len(region_of(stripes(0, MOST_BOXES), WIDE).boxes) == MOST_BOXES
    with pytest.raises(UnsupportedQuery, match="more than 2000 separate boxes"):
        region_of(stripes(0, MOST_BOXES + 1), WIDE)


def test_cells_are_limited() -> None:
    region_of(AllOf((Atom(0, ((3, 5),)), Atom(1, ((3, 5),)), stripes(2, 1))), WIDE, most_cells=18)
    with pytest.raises(UnsupportedQuery, match="18 cells, and at most 17"):
        region_of(AllOf((Atom(0, ((3, 5),)), AnyOf((Atom(1, ((3, 5),)), stripes(2, 1))))), WIDE, most_cells=17)


@given(codes=st.sets(st.integers(0, 9)))
def test_a_complement_holds_the_other_codes(codes: set[int]) -> None:
    inside = merged((code, code) for code in codes)
    outside = complement(inside, 10)
    listed = [code for low, high in (*inside, *outside) for code in range(low, high + 1)]
    assert sorted(listed) == list(range(10))
    assert all(high + 1 < low for (_, high), (low, _) in pairwise(inside))
