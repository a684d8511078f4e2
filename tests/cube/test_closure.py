"""Closures: the variances of a few cuboids are those of the whole lattice."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cube.closure import closure_of
from discreet.cube.variances import OverClosure, OverLattice, exactness_of
from discreet.errors import UnsupportedQuery
from discreet.query.lattice import Lattice


@st.composite
def measured_lattices(draw):
    lattice = Lattice(tuple(draw(st.lists(st.integers(2, 6), min_size=1, max_size=5))))
    masks = draw(st.lists(st.integers(0, lattice.base), min_size=1, max_size=6, unique=True))
    return lattice, {mask: draw(st.sampled_from([0.5, 1.0, 7.0, 90.0])) for mask in masks}


@given(measured_lattices())
def test_both_ways_to_keep_account_state_the_same_variances_and_the_same_best_sources(case):
    lattice, sources = case
    whole, few = OverLattice(lattice, sources), OverClosure(lattice, sources)
    masks = range(lattice.base + 1)
    for consistent in (True, False):
        np.testing.assert_allclose(few.variances(masks, consistent), whole.variances(masks, consistent), rtol=1e-12)
    for mask in masks:
        one, other = few.best_source(mask), whole.best_source(mask)
        assert (one is None) == (other is None) == (whole.variances([mask], False)[0] == inf)
        if one is not None and other is not None:
            reached = [lattice.magnification(mask, source) * sources[source] for source in (one, other)]
            assert reached[0] == pytest.approx(reached[1])


@given(measured_lattices())
def test_a_closure_holds_every_subset_once_and_each_before_what_holds_it(case):
    lattice, sources = case
    closure = closure_of(lattice, sources)
    assert set(closure.masks) == {subset for mask in sources for subset in lattice.ancestors(mask)}
    for number, mask in enumerate(closure.masks):
        row = closure.subsets[closure.starts[number] : closure.starts[number + 1]]
        assert [closure.masks[subset] for subset in row] == list(lattice.ancestors(mask))
        assert max(row) == number == closure.numbers[mask]


def test_many_dimensions_are_kept_account_of_by_closure():
    assert isinstance(exactness_of(Lattice((2,) * 20), {1: 1.0}), OverLattice)
    assert isinstance(exactness_of(Lattice((2,) * 21), {1: 1.0}), OverClosure)


@pytest.mark.parametrize("finest", [16, 30, 59])
def test_cuboids_with_too_many_subsets_are_refused_with_what_to_do(finest):
    lattice = Lattice((2,) * 60)
    with pytest.raises(UnsupportedQuery, match=f"cuboids of {finest} of 60 dimensions .* fewer dimensions, such as 3"):
        closure_of(lattice, [(1 << finest) - 1, (1 << finest) - 1 << 60 - finest])
