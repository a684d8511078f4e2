import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import DomainError, UnsupportedQuery
from discreet.query.lattice import Lattice

SEED = Lattice((2, 7, 5), ("sex", "age", "salary"))  # cubes, Example 2.1.1


@st.composite
def lattices(draw: st.DrawFn) -> Lattice:
    return Lattice(tuple(draw(st.lists(st.integers(2, 6), min_size=1, max_size=6))))


def test_a_mask_has_a_bit_for_each_of_its_dimensions_in_any_order() -> None:
    assert SEED.mask("salary", "sex") == SEED.mask("sex", "salary") == 0b101
    assert SEED.names_of(0b101) == ("sex", "salary")
    assert SEED.mask() == 0
    assert SEED.base == 0b111


@pytest.mark.parametrize(
    ("ancestor", "source", "magnification"),
    [  # cubes, Example 3.2.1 and Example 3.2.2
        (("age", "salary"), ("sex", "age", "salary"), 2),
        (("salary",), ("sex", "age", "salary"), 14),
        (("sex",), ("sex", "age", "salary"), 35),
        ((), ("sex", "age", "salary"), 70),
        ((), ("sex", "age"), 14),
        ((), ("sex",), 2),
        (("sex",), ("sex",), 1),
    ],
)
def test_magnifications_are_those_of_the_seed(ancestor: tuple, source: tuple, magnification: int) -> None:
    assert SEED.magnification(SEED.mask(*ancestor), SEED.mask(*source)) == magnification


def test_a_cuboid_has_no_magnification_from_a_source_that_lacks_a_dimension() -> None:
    with pytest.raises(UnsupportedQuery, match="cuboid age cannot be computed from cuboid sex"):
        SEED.magnification(SEED.mask("age"), SEED.mask("sex"))


@given(lattices())
def test_ancestors_are_the_sub_masks_and_cells_multiply(lattice: Lattice) -> None:
    for mask in range(lattice.base + 1):
        ancestors = list(lattice.ancestors(mask))
        assert sorted(ancestors) == [other for other in range(lattice.base + 1) if other | mask == mask]
        for ancestor in ancestors:
            assert lattice.cells(ancestor) * lattice.magnification(ancestor, mask) == lattice.cells(mask)
        assert lattice.cells(mask) * lattice.degree(mask) == lattice.cells(lattice.base)
        assert lattice.cell_counts[mask] == lattice.cells(mask)


def test_cuboids_are_chosen_all_by_their_dimensions_or_by_name() -> None:
    assert SEED.choose("all") == tuple(range(8))
    assert SEED.choose(0) == (0,)
    assert SEED.choose(1) == (0, 0b001, 0b010, 0b100)
    assert SEED.choose(3) == SEED.choose("all")
    assert SEED.choose([("age", "sex"), (), "salary"]) == (0, 0b011, 0b100)
    assert Lattice((3, 4, 5)).choose([(0, 2), 1]) == (0b010, 0b101)


@pytest.mark.parametrize(
    ("cuboids", "message"),
    [
        ([("sex", "aeg")], "no dimension 'aeg'; did you mean age"),
        ([("height",)], "no dimension 'height'; there are sex, age, salary"),
        ([("sex", "age"), ("age", "sex")], "cuboid sex,age is given twice"),
        ([("sex", "sex")], "dimension sex is given twice in one cuboid"),
        ([], "no cuboid to publish"),
        (4, "give a number from 0 to 3"),
        (-1, "give a number from 0 to 3"),
        (True, "not True"),
        ("some", "not 'some'"),
    ],
)
def test_an_impossible_choice_of_cuboids_is_refused(cuboids: object, message: str) -> None:
    with pytest.raises(UnsupportedQuery, match=message):
        SEED.choose(cuboids)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sizes", "names", "message"),
    [
        ((2, 1, 5), ("sex", "planet", "salary"), "dimension planet has 1 value; it needs at least 2"),
        ((2, 0), (), "dimension 1 has 0 values"),
        ((2, 3), ("a", "a"), "dimension a is named twice"),
        ((2, 3), ("a",), "there are 2 sizes and 1 names"),
        ((), (), "at least one dimension"),
    ],
)
def test_impossible_dimensions_are_refused(sizes: tuple[int, ...], names: tuple[str, ...], message: str) -> None:
    with pytest.raises(DomainError, match=message):
        Lattice(sizes, names)


@pytest.mark.parametrize(
    ("cuboids", "message"),
    [
        ("all", "has 1.1e\\+15 cuboids; choose those of a few dimensions each"),
        (5, "there are 2,369,936 cuboids of at most 5 of 50 dimensions; choose those of at most 4, which are 251,176"),
    ],
)
def test_more_cuboids_than_can_be_planned_are_refused_with_what_can_be(cuboids: object, message: str) -> None:
    with pytest.raises(UnsupportedQuery, match=message):
        Lattice((10,) * 50).choose(cuboids)  # type: ignore[arg-type]


def test_a_few_of_very_many_dimensions_are_chosen_by_number_or_by_name() -> None:
    wide = Lattice((10,) * 100)
    assert len(wide.choose(3)) == 166_751
    assert wide.choose([(0, 99), 7]) == (1 << 7, 1 << 99 | 1)
    assert wide.axes(1 << 99 | 1 << 3) == (3, 99)


def test_expected_variances_stand_beside_the_published_cuboids_and_default_to_1() -> None:
    published = SEED.choose(1)
    assert SEED.expect(published, {("age",): 3, "others": 7}) == (7, 7, 3, 7)
    assert SEED.expect(published, {(): 1, ("sex",): 2, ("age",): 3, ("salary",): 4}) == (1, 2, 3, 4)
    assert SEED.expect(published, None) == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({("age",): 3}, "cuboid total has no expected variance; each published cuboid needs one"),
        ({("age", "sex"): 2, "others": 1}, "has an expected variance, but is not published"),
        ({("age",): 0, "others": 1}, "expected of cuboid age must be above 0 and finite"),
        ({("age",): -4, "others": 1}, "above 0 and finite"),
        ({"others": 0}, "expected of the others must be above 0"),
        ({"others": float("nan")}, "above 0 and finite"),
        ({("ages",): 1, "others": 1}, "did you mean age"),
    ],
)
def test_impossible_expectations_are_refused(expected: dict, message: str) -> None:
    with pytest.raises(UnsupportedQuery, match=message):
        SEED.expect(SEED.choose(1), expected)


def test_weights_stand_beside_the_published_cuboids_and_default_to_1() -> None:
    published = SEED.choose(1)
    assert SEED.weigh(published, {("age",): 3, (): 0.5}) == (0.5, 1, 3, 1)
    assert SEED.weigh(published, None) == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({("age", "sex"): 2}, "is not published"),
        ({("age",): 0}, "above 0 and finite"),
        ({("age",): float("inf")}, "above 0 and finite"),
        ({("age",): float("nan")}, "above 0 and finite"),
        ({("ages",): 1}, "did you mean age"),
    ],
)
def test_impossible_weights_are_refused(weights: dict, message: str) -> None:
    with pytest.raises(UnsupportedQuery, match=message):
        SEED.weigh(SEED.choose(1), weights)


def test_every_cuboid_is_a_view_of_the_one_array() -> None:
    cube = np.zeros(SEED.cube_shape)
    for mask in range(8):
        view = SEED.cuboid_of(cube, mask)
        assert view.shape == SEED.shape(mask)
        view += 1
    assert cube.min() == cube.max() == 1
    assert SEED.cube_bytes == cube.nbytes
