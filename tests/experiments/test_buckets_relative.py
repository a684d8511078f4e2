"""The relative error of buckets: exact where buckets leave nothing open, and the queries are the seed's."""

import numpy as np
import pytest

from discreet.microdata.demand import Demand
from discreet.microdata.limits import Limits
from discreet.microdata.settings import Setting, two_size_setting
from experiments.buckets.fig5_baseline import one_bucket_error
from experiments.buckets.people import People
from experiments.buckets.relative import Dealt, along, count_queries, mean_errors, morton_keys, round_robin, sweep_keys


@pytest.fixture(scope="module")
def people():
    chance = np.random.default_rng(1)
    values = chance.choice(6, 3000, p=(0.25, 0.25, 0.2, 0.15, 0.1, 0.05))
    codes = np.stack([chance.integers(0, size, 3000) for size in (20, 2, 5)], axis=1)
    codes[:, 1] = values < 2  # goes with the value
    return People(("age", "sex", "region"), codes, values)


def test_single_records_have_no_error(people):
    single = Dealt.of(people, Setting(((1, 3000),), (people.counts,)), np.arange(3000, dtype=np.int32))
    assert mean_errors(people, {"single": single}, 30)["single"] == pytest.approx(0, abs=1e-5)


def test_queries_are_met_by_about_a_hundredth(people):
    shares = [query.actual / 3000 for query in count_queries(people, 400)]
    assert min(shares) > 0
    assert 0.01 < np.mean(shares) < 0.1  # values are rounded up


def test_people_who_are_alike_are_counted_better(people):
    demand = Demand.of(people.counts, Limits.linear(2, "0.1"))
    setting = two_size_setting(demand.counts, demand.limits, 20, 40)
    errors = mean_errors(
        people,
        {
            "lot": round_robin(people, setting),
            "sweep": along(people, setting, demand, sweep_keys(people)),
            "morton": along(people, setting, demand, morton_keys(people)),
        },
        200,
    )
    assert errors["sweep"] < 0.8 * errors["lot"]
    assert errors["morton"] < errors["lot"]


def test_keys_are_in_the_order_that_they_say(people):
    axes = people.by_entropy
    assert axes[0] == 1
    order = np.argsort(sweep_keys(people), kind="stable")
    assert (np.diff(people.codes[order][:, axes[0]]) >= 0).all()
    assert len(np.unique(morton_keys(people))) == len(np.unique(people.codes, axis=0))


def test_one_bucket_has_the_error_of_dealing_all_to_it(people):
    one = Dealt.of(people, Setting(((3000, 1),), (people.counts,)), np.zeros(3000, np.int32))
    assert one_bucket_error(people, 30) == pytest.approx(mean_errors(people, {"one": one}, 30)["one"])
