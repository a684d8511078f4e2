"""Assignment: full buckets, kept limits, and every record once."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidLimits
from discreet.microdata.anatomy import anatomy_setting
from discreet.microdata.assign import assign
from discreet.microdata.limits import Limits
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.settings import Setting, two_size_setting
from experiments.buckets.tables import generated


def table_of(setting):
    """How many records of each value (lines) are in each bucket (columns)."""
    buckets = assign(setting).all_buckets()
    values = np.repeat(np.arange(len(setting.counts)), setting.counts)
    assert len(buckets) == setting.total
    table = np.zeros((len(setting.counts), setting.buckets), np.int64)
    np.add.at(table, (values, buckets), 1)
    return table


def assert_deals(setting, limits):
    table = table_of(setting)
    sizes = np.repeat(*np.array(setting.sizes).T)
    np.testing.assert_array_equal(table.sum(axis=0), sizes)
    np.testing.assert_array_equal(table.sum(axis=1), setting.counts)
    for line, limit in zip(table, limits, strict=True):
        assert all(Fraction(int(held), int(size)) <= limit for held, size in zip(line, sizes, strict=True) if held)


@st.composite
def demands(draw):
    counts = draw(st.lists(st.integers(0, 40), min_size=1, max_size=8).filter(any))
    return counts, Limits.linear(draw(st.sampled_from([1, "1.5", 2, 4])), draw(st.sampled_from([0, "0.05", "0.1"])))


@settings(max_examples=80)
@given(demands(), st.sampled_from([two_size_setting, multi_size_setting]))
def test_every_bucket_is_full_and_keeps_every_limit(demand, find):
    counts, limits = demand
    try:
        setting = find(counts, limits, max_size=30)
    except InvalidLimits:
        return
    assert_deals(setting, limits.of([f"x{i}" for i in range(1, len(counts) + 1)], counts))


# buckets, Example 3 and Figure 1
def test_example_3_has_no_value_twice_in_a_bucket_of_4():
    table = table_of(two_size_setting((1,) * 8 + (6,) * 4 + (9,) * 2, Limits.linear(2, 0.05)))
    assert table.shape == (14, 10)
    assert table[:, :9].max() == 1
    assert table[:, :9].sum(axis=0).tolist() == [4] * 9
    assert table[:8, 9].tolist() == [1] * 8


# buckets, Section 4.1: record t of value i goes to bucket (o1 + … + o(i−1) + t) mod b
def test_one_size_is_dealt_round_robin():
    setting = Setting(((3, 4),), ((5, 6, 1),))
    expected = [rank % 4 for rank in range(12)]
    assert assign(setting).all_buckets().tolist() == expected


def test_a_value_is_dealt_to_the_sizes_by_rank():
    setting = Setting(((2, 2), (3, 2)), ((1, 3), (4, 2)))
    assignment = assign(setting)
    assert assignment.all_buckets().tolist() == [0, 2, 3, 2, 3, 1, 0, 1, 2, 3]
    assert list(zip(assignment.value, assignment.first_rank, assignment.length, strict=True)) == [
        (0, 0, 1),
        (0, 1, 4),
        (1, 0, 3),
        (1, 3, 2),
    ]


@given(demands())
def test_runs_say_the_same_as_the_list_of_all_records(demand):
    counts, limits = demand
    try:
        setting = multi_size_setting(counts, limits, max_size=30)
    except InvalidLimits:
        return
    assignment = assign(setting)
    one_by_one = [assignment.bucket_of(value, rank) for value, count in enumerate(counts) for rank in range(count)]
    assert one_by_one == assignment.all_buckets().tolist()


def test_a_value_is_spread_evenly_over_the_buckets_of_a_size():
    counts = generated("OCC", 100_000)
    setting = two_size_setting(counts, Limits.linear(8, "0.02"))
    table, start = table_of(setting), 0
    for _, buckets in setting.sizes:
        columns = table[:, start : start + buckets]
        assert (columns.max(axis=1) - columns.min(axis=1)).max() <= 1
        start += buckets


@pytest.mark.parametrize("ell", [2, 3, 5])
def test_anatomy_deals_different_values_to_every_bucket(ell):
    assert table_of(anatomy_setting((5, 5, 4, 3, 3, 2), min(ell, 4))).max() == 1


def test_ten_million_records_need_few_runs():
    setting = two_size_setting(generated("OCC", 10_000_000), Limits.linear(8, "0.02"))
    assignment = assign(setting)
    assert len(assignment.value) <= 100
    sizes = np.bincount(assignment.all_buckets(), minlength=setting.buckets)
    np.testing.assert_array_equal(sizes, np.repeat(*np.array(setting.sizes).T))
