"""Marginals counted natively: against NumPy, and against the engine's own GROUP BYs."""

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from discreet.table.table import open_table
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.query.query import Count
from discreet.table import table as table_module
from discreet.table import tally
from discreet.table.tally import count_marginals


def batch_of(codes):
    return pa.record_batch([pa.array(column) for column in codes], names=[f"a{axis}" for axis in range(len(codes))])


def counted(codes, sizes, axes):
    """The oracle."""
    shape = [sizes[axis] for axis in axes]
    keys = np.ravel_multi_index([codes[axis] for axis in axes], shape) if axes else np.zeros(codes.shape[1], int)
    return np.bincount(keys, minlength=int(np.prod(shape))).reshape(shape)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from([1, 2, 3, 10, 256, 257, 70_000]), min_size=1, max_size=4),
    st.integers(0, 200),
    st.integers(0, 99),
)
def test_every_marginal_of_any_order_is_that_of_numpy(sizes, rows, seed):
    rng = np.random.default_rng(seed)
    codes = np.array([rng.integers(0, size, rows) for size in sizes], np.int64).reshape(len(sizes), rows)
    marginals = [axes for count in range(3) for axes in combinations(range(len(sizes)), count)]
    marginals += [axes[::-1] for axes in marginals if len(axes) == 2]
    marginals = [axes for axes in marginals if np.prod([sizes[axis] for axis in axes]) < 10**6]
    rng.shuffle(marginals)
    marginals = [tuple(axes) for axes in marginals]
    batches = [batch_of(codes[:, : rows // 3]), batch_of(codes[:, rows // 3 :])]
    for axes, counts in zip(marginals, count_marginals(batches, sizes, marginals), strict=True):
        np.testing.assert_array_equal(counts, counted(codes, sizes, axes))


def test_blocks_and_cores_change_nothing(monkeypatch):
    monkeypatch.setattr(tally, "BLOCK_ROWS", 1000)
    monkeypatch.setattr("discreet.cores.ENOUGH", 10)
    codes = np.random.default_rng(1).integers(0, 4, (12, 3_500))
    marginals = list(combinations(range(12), 3))
    for axes, counts in zip(marginals, count_marginals([batch_of(codes)], [4] * 12, marginals), strict=True):
        np.testing.assert_array_equal(counts, counted(codes, [4] * 12, axes))


def test_no_rows_are_no_counts():
    assert [counts.tolist() for counts in count_marginals([], [2, 3], [(), (0,), (1,)])] == [0, [0, 0], [0, 0, 0]]


@pytest.fixture
def natively(monkeypatch):
    """Every two marginals share no scan, and are many."""
    monkeypatch.setattr(table_module, "MANY", 1)
    monkeypatch.setattr(table_module, "SHARED_SCAN_CELLS", 0)


@pytest.mark.usefixtures("natively")
def test_every_engine_gives_the_codes_that_are_counted(engine, people, domain, oracle, as_groups, tmp_path):
    table, truth = open_table(engine(people, tmp_path), domain), oracle(people, domain)
    everyone, young = domain.everything, domain.slab("age", 0, 4)
    plan = [
        Count(everyone, ("sex", "age")),
        Count(everyone),
        Count(everyone, ("income",)),
        Count(young, ("sex",)),
        Count(everyone, ("sex", "age")),
        Count(everyone, ("income", "sex", "age")),
    ]
    for reading in ("computed", "again, from memory"):
        answers = [as_groups(array) for array in table.evaluate(plan)]
        assert answers == [truth.answer(query) for query in plan], reading
