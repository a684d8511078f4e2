"""People who are alike together: every bound is kept, whatever the order of the sweep."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidLimits
from discreet.microdata.demand import Demand
from discreet.microdata.limits import Limits
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.settings import two_size_setting
from discreet.microdata.similar import keep_together


@settings(max_examples=120)
@given(
    st.lists(st.integers(0, 5), min_size=4, max_size=120),
    st.integers(1, 6),
    st.integers(1, 30),
    st.booleans(),
)
def test_buckets_are_full_and_within_their_caps_along_every_sweep(values, slope, offset, multi):
    codes = np.array(values)
    counts = np.bincount(codes, minlength=6).tolist()
    try:
        choose = multi_size_setting if multi else two_size_setting
        demand = Demand.of(counts, Limits.linear(slope, f"{offset}/100"))
        setting = choose(demand.counts, demand.limits, None, 30)
    except InvalidLimits:
        return
    buckets = keep_together(codes, setting, demand)
    sizes = [size for size, number in setting.sizes for _ in range(number)]
    assert np.bincount(buckets, minlength=setting.buckets).tolist() == sizes
    held = np.zeros((setting.buckets, 6), np.int64)
    np.add.at(held, (buckets, codes), 1)
    for bucket, size in enumerate(sizes):
        assert all(n <= limit * size for n, limit in zip(held[bucket].tolist(), demand.limits, strict=True))


def test_neighbours_on_the_sweep_share_a_bucket():
    """Two groups that have other values: within their limits no bucket mixes them."""
    chance = np.random.default_rng(3)
    codes = np.concatenate([chance.permutation(np.repeat([0, 1, 2], 40)), chance.permutation(np.repeat([3, 4, 5], 40))])
    demand = Demand.of([40] * 6, Limits.constant("0.35"))
    setting = two_size_setting(demand.counts, demand.limits, 12, 12)
    buckets = keep_together(codes, setting, demand)
    groups = np.zeros((setting.buckets, 2), np.int64)
    np.add.at(groups, (buckets, np.arange(240) // 120), 1)
    assert (groups.min(axis=1) == 0).sum() >= setting.buckets - 2


def test_the_first_bucket_takes_those_who_come_first():
    codes = np.tile([0, 1, 2, 3], 10)
    demand = Demand.of([10] * 4, Limits.constant("1/4"))
    buckets = keep_together(codes, two_size_setting(demand.counts, demand.limits, 4, 4), demand)
    assert buckets.tolist() == [place // 4 for place in range(40)]
