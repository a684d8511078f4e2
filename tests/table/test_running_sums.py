"""Counts from running sums are those of the rows."""

import numpy as np
import pyarrow as pa
import pytest
from discreet.table.running_sums import MOST_AXES, MOST_POINTS, RunningSums
from discreet.table.table import open_table
from hypothesis import given
from hypothesis import strategies as st

from discreet.domain.attribute import Integer
from discreet.domain.domain import Domain
from discreet.domain.region import Box, Region
from discreet.query.query import Count, Sum
from discreet.table import table as table_module

SHAPE = (4, 3, 1, 5)


def domain_of(shape):
    return Domain("t", tuple(Integer(name=f"a{i}", source="a test", low=0, high=n - 1) for i, n in enumerate(shape)))


DOMAIN = domain_of(SHAPE)


@st.composite
def boxes(draw):
    ends = [sorted(draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))) for n in SHAPE]
    return Box(tuple(low for low, _ in ends), tuple(high for _, high in ends))


@given(
    st.lists(boxes(), max_size=4), st.permutations(DOMAIN.names), st.integers(0, len(SHAPE)), st.integers(0, 2**32 - 1)
)
def test_every_count_and_grouping_is_the_sum_over_the_points(listed, names, kept, seed):
    counts = np.random.default_rng(seed).integers(0, 100, SHAPE)
    query = Count(Region.of(listed), tuple(names[:kept]))
    inside = np.zeros(SHAPE, bool)
    for box in listed:
        inside[box.slices] = True
    axes = [DOMAIN.axis(name) for name in query.by]
    others = tuple(axis for axis in range(len(SHAPE)) if axis not in axes)
    expected = (counts * inside).sum(axis=others).transpose([sorted(axes).index(axis) for axis in axes])
    found = RunningSums.of(DOMAIN, counts.copy()).count(query)
    assert found.shape == expected.shape
    assert (found == expected).all()


@pytest.mark.parametrize(
    ("shape", "fits"),
    [((MOST_POINTS,), True), ((MOST_POINTS + 1,), False), ((2,) * MOST_AXES, True), ((1,) * (MOST_AXES + 1), False)],
)
def test_only_the_domain_decides_whether_sums_are_held(shape, fits):
    assert RunningSums.fit(domain_of(shape)) is fits


@pytest.mark.parametrize("held_at_once", [False, True])
def test_after_many_reads_or_at_once_counts_come_without_the_engine_and_are_the_same(monkeypatch, held_at_once):
    rng = np.random.default_rng(3)
    columns = {name: rng.integers(0, n, 500) for name, n in zip(DOMAIN.names, SHAPE, strict=True)}
    table = open_table(pa.table(columns), DOMAIN)
    asked = [Count(DOMAIN.slab("a0", 1, 2)), Count(DOMAIN.slab("a3", 0, 3), ("a1", "a0")), Count(Region(()), ("a2",))]
    before = table.evaluate(asked)
    if held_at_once:
        table = open_table(pa.table(columns), DOMAIN)
        table.hold()
    else:
        for _ in range(table_module.MANY_READS):
            table.evaluate(asked[:1])
    sums = table.evaluate([Sum("a3", DOMAIN.everything)])
    monkeypatch.setattr(table_module.Table, "_run", lambda *_: pytest.fail("the engine was asked"))
    for one, other in zip(before, table.evaluate(asked), strict=True):
        assert (one == other).all()
    assert sums[0] == columns["a3"].sum()
