"""Marginals counted natively, against NumPy."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.table import tally
from discreet.table.tally import count_marginals


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
    columns = [column.astype(np.min_scalar_type(size - 1)) for column, size in zip(codes, sizes, strict=True)]
    for axes, counts in zip(marginals, count_marginals(columns, sizes, marginals), strict=True):
        np.testing.assert_array_equal(counts, counted(codes, sizes, axes))


def test_blocks_and_cores_change_nothing(monkeypatch):
    monkeypatch.setattr(tally, "BLOCK_ROWS", 1000)
    monkeypatch.setattr("discreet.cores.ENOUGH", 10)
    codes = np.random.default_rng(1).integers(0, 4, (12, 3_500))
    marginals = list(combinations(range(12), 3))
    for axes, counts in zip(marginals, count_marginals(list(codes), [4] * 12, marginals), strict=True):
        np.testing.assert_array_equal(counts, counted(codes, [4] * 12, axes))


def test_no_rows_are_no_counts():
    nobody = [np.empty(0, np.uint8)] * 2
    assert [counts.tolist() for counts in count_marginals(nobody, [2, 3], [(), (0,), (1,)])] == [0, [0, 0], [0, 0, 0]]
