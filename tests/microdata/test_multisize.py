"""Many sizes, by recursion and by integer program, and Anatomy: each against the others, and against brute force."""

import random
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidLimits, UnsupportedQuery
from discreet.microdata import optimal, rounding
from discreet.microdata.anatomy import anatomy_loss, anatomy_setting, diversity
from discreet.microdata.demand import Demand
from discreet.microdata.flow import divide_by_flow
from discreet.microdata.limits import Limits
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.prices import proof_by, proved_loss
from discreet.microdata.program import Program, Solution
from discreet.microdata.settings import two_size_setting
from experiments.buckets.tables import generated
from tests.patience import PATIENCE

optimal_setting = partial(optimal.optimal_setting, seconds=PATIENCE)
THETAS = (2, 4, 8, 16, 32)
LARGEST = 7


def assert_keeps(setting, demand):
    assert setting.counts == demand.counts
    caps = demand.caps(setting.sizes[-1][0])
    for (size, buckets), part in zip(setting.sizes, setting.parts, strict=True):
        assert sum(part) == size * buckets
        assert np.all(np.array(part) <= caps[size] * buckets)


@st.composite
def instances(draw):
    counts = draw(st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any))
    slack = draw(st.lists(st.integers(0, 12), min_size=len(counts), max_size=len(counts)))
    total = sum(counts)
    limits = tuple(
        min(Fraction(1), Fraction(count, total) + Fraction(more, 24)) for count, more in zip(counts, slack, strict=True)
    )
    return tuple(counts), limits


def least_loss(counts, limits, largest):
    """The least loss of all buckets that hold the records, filled one by one."""
    allowed = {size: [limit * size // 1 for limit in limits] for size in range(1, largest + 1)}

    @cache
    def best(left):
        if not any(left):
            return 0
        losses = []
        for size in range(1, min(largest, sum(left)) + 1):
            most = [*map(min, left, allowed[size])]
            losses += [
                (size - 1) ** 2 + rest
                for bucket in fillings(size, most)
                if (rest := best(tuple(a - b for a, b in zip(left, bucket, strict=True)))) is not None
            ]
        return min(losses, default=None)

    return best(counts)


def fillings(size, most):
    """The ways to fill a bucket with at most so many of each value."""
    if not most:
        return [()] if size == 0 else []
    return [(held, *rest) for held in range(min(size, most[0]) + 1) for rest in fillings(size - held, most[1:])]


@settings(max_examples=100)
@given(instances())
def test_the_integer_program_has_the_least_loss_that_brute_force_finds(instance):
    counts, limits = instance
    expected = least_loss(counts, limits, LARGEST)
    if expected is None:
        with pytest.raises(InvalidLimits):
            optimal_setting(counts, limits, max_size=LARGEST)
    else:
        setting = optimal_setting(counts, limits, max_size=LARGEST)
        assert setting.loss == expected
        assert_keeps(setting, Demand.of(counts, limits))


# HiGHS 1.12 with its presolve, without bounds on the variables: 25, 49, and none
@pytest.mark.parametrize(
    ("counts", "limits", "largest", "loss"),
    [
        ((1, 2, 3), ("1/4", 1, "0.52"), 6, 10),
        ((1, 4, 1, 2), ("83/400", "0.55", "0.175", 1), 8, 26),
        ((1, 1, 1, 1, 1), ("0.7", "0.41", "0.25", "0.5", "0.31"), 5, 16),
    ],
)
def test_what_the_solver_once_missed_is_found(counts, limits, largest, loss):
    setting = optimal_setting(counts, limits, max_size=largest)
    assert (setting.loss, setting.least) == (loss, loss)
    assert_keeps(setting, Demand.of(counts, limits))


def random_instance(draw):
    """Up to ten records of two to five values, with limits near and far."""
    counts = [1] * draw.randint(2, 5)
    for _ in range(draw.randint(0, 10 - len(counts))):
        counts[draw.randrange(len(counts))] += 1
    shares = [Fraction(count, sum(counts)) for count in counts]
    reach = [Fraction(draw.randint(0, 400), 400) * draw.choice([1, Fraction(1, 4)]) for _ in counts]
    return tuple(counts), tuple(f + (1 - f) * more for f, more in zip(shares, reach, strict=True)), draw.randint(3, 8)


def test_the_integer_program_agrees_with_brute_force_on_1000_random_tables():
    draw = random.Random(23)
    for _ in range(1000):
        counts, limits, largest = random_instance(draw)
        expected = least_loss(counts, limits, largest)
        try:
            setting = optimal_setting(counts, limits, max_size=largest)
        except InvalidLimits:
            assert expected is None
        else:
            assert setting.loss == setting.least == expected
            assert_keeps(setting, Demand.of(counts, limits))


@settings(max_examples=150)
@given(instances())
def test_many_sizes_lose_at_most_what_two_do_and_at_least_the_least(instance):
    counts, limits = instance
    try:
        two = two_size_setting(counts, limits, max_size=LARGEST)
    except InvalidLimits:
        with pytest.raises(InvalidLimits):
            multi_size_setting(counts, limits, max_size=LARGEST)
        return
    multi = multi_size_setting(counts, limits, max_size=LARGEST)
    seeds = multi_size_setting(counts, limits, max_size=LARGEST, rounds=False)
    assert_keeps(multi, Demand.of(counts, limits))
    assert_keeps(seeds, Demand.of(counts, limits))
    assert least_loss(counts, limits, LARGEST) <= multi.loss <= seeds.loss <= two.loss


# buckets, Figure 4: on 300,000 records
@pytest.mark.parametrize("table", ["OCC", "EDU"])
@pytest.mark.parametrize("theta", THETAS)
def test_many_sizes_lose_less_than_two_and_two_less_than_anatomy(table, theta):
    counts, limits = generated(table, 300_000), Limits.linear(theta, "0.02")
    two, multi = two_size_setting(counts, limits), multi_size_setting(counts, limits)
    assert_keeps(multi, Demand.of(counts, limits))
    assert multi.loss <= two.loss <= anatomy_loss(300_000, diversity(counts, limits))


@pytest.mark.parametrize(("table", "theta"), [("EDU", theta) for theta in THETAS] + [("OCC", 32)])
def test_many_sizes_come_within_a_twentieth_of_the_integer_program(table, theta):
    counts, limits = generated(table, 300_000), Limits.linear(theta, "0.02")
    least = optimal_setting(counts, limits)
    assert_keeps(least, Demand.of(counts, limits))
    assert least.loss * (1 - 1e-5) <= multi_size_setting(counts, limits).loss <= 1.05 * least.loss


@pytest.mark.parametrize("rows", [300, 3000, 30_000])
@pytest.mark.parametrize("table", ["OCC", "EDU"])
def test_many_sizes_are_within_a_twentieth_on_small_tables_too(table, rows):
    for theta in (2, 8, 32):
        counts, limits = generated(table, rows), Limits.linear(theta, "0.02")
        multi = multi_size_setting(counts, limits)
        assert_keeps(multi, Demand.of(counts, limits))
        proved = multi.loss <= 1.05 * multi.least
        assert proved or multi.loss <= 1.05 * optimal_setting(counts, limits).least


def test_the_loss_that_prices_prove_is_below_all_settings_and_many_sizes_within_a_twentieth_on_1000_random_tables():
    draw, found = random.Random(5), 0
    for _ in range(1000):
        counts, limits, largest = random_instance(draw)
        expected = least_loss(counts, limits, largest)
        try:
            multi = multi_size_setting(counts, limits, max_size=largest)
        except InvalidLimits:
            continue
        found += 1
        assert multi.least <= expected <= multi.loss <= 1.05 * expected
        assert_keeps(multi, Demand.of(counts, limits))
    assert found > 500


def test_any_prices_prove_a_loss_that_no_setting_is_below():
    draw = random.Random(7)
    for _ in range(300):
        counts, limits, largest = random_instance(draw)
        expected = least_loss(counts, limits, largest)
        if expected is None:
            continue
        demand = Demand.of(counts, limits)
        program = Program.of(demand, demand.smallest_size, min(largest, demand.total))
        for spread in (0.5, 5, 50, 1e9):
            prices = np.array([draw.gauss(0, spread) for _ in counts])
            assert proved_loss(counts, proof_by(program, prices)) <= expected


# buckets, Example 5: 11 values, room for all of them together, and for each; yet 50 records have only 30 places
def test_example_5_three_sizes_can_pass_the_conditions_for_two_and_have_no_division():
    counts = np.array([5] * 10 + [20])
    caps = np.array([[0] * 10 + [20], [0] * 10 + [20], [5] * 10 + [20]])
    sizes, buckets = np.array([20, 20, 30]), np.array([1, 1, 1])
    held = np.minimum(caps * buckets[:, None], counts)
    assert np.all(held.sum(axis=0) >= counts)  # PC, extended
    assert np.all(held.sum(axis=1) >= sizes * buckets)  # FC, extended
    assert sizes @ buckets == counts.sum()  # CC
    assert divide_by_flow(counts, caps, sizes, buckets) is None


def test_a_flow_divides_the_records_where_that_is_possible():
    counts, caps = np.array([5, 5, 20]), np.array([[0, 0, 2], [2, 2, 5], [2, 2, 9]])
    sizes, buckets = np.array([2, 5, 10]), np.array([5, 2, 1])
    parts = divide_by_flow(counts, caps, sizes, buckets)
    np.testing.assert_array_equal(parts.sum(axis=0), counts)
    np.testing.assert_array_equal(parts.sum(axis=1), sizes * buckets)
    assert np.all(parts <= caps * buckets[:, None])


def test_example_3_gains_nothing_from_a_third_size_in_the_recursion():
    counts, limits = (1,) * 8 + (6,) * 4 + (9,) * 2, Limits.linear(2, 0.05)
    least = optimal_setting(counts, limits)
    assert least.loss <= multi_size_setting(counts, limits).loss <= 250
    assert multi_size_setting(counts, limits, rounds=False).loss == 250


def test_the_only_size_allowed_is_used():
    assert multi_size_setting((4, 4), (1, 1), min_size=4, max_size=4).sizes == ((4, 2),)


def test_too_many_values_for_an_integer_program_are_refused_with_what_works():
    with pytest.raises(UnsupportedQuery, match="take sizes multi or two"):
        optimal_setting((10,) * 1000, Limits.constant(0.1))


def test_an_integer_program_out_of_time_has_what_was_found_and_a_bound():
    counts, limits = generated("OCC", 3000), Limits.linear(2, "0.02")
    setting = optimal_setting(counts, limits, seconds=0)
    assert_keeps(setting, Demand.of(counts, limits))
    assert 0.8 * setting.loss < setting.least <= setting.loss <= multi_size_setting(counts, limits).loss


def test_an_answer_of_the_solver_that_does_not_hold_exactly_is_not_taken(monkeypatch):
    counts, limits = generated("EDU", 300), Limits.linear(8, "0.02")
    monkeypatch.setattr(rounding, "divide_by_flow", lambda *_: None)
    assert optimal_setting(counts, limits).loss == multi_size_setting(counts, limits).loss


@pytest.mark.parametrize("claim", ["nothing", "worse"])
def test_a_solver_that_claims_nothing_or_worse_is_asked_again_without_its_presolve(monkeypatch, claim):
    counts, limits, honest = (1, 2, 3), ("1/4", 1, "0.52"), Program.whole

    def lies(program, gap, seconds, presolve=True, nodes=None):
        if not presolve:
            return honest(program, gap, seconds, presolve, nodes)
        if claim == "nothing":
            return Solution(None, 0.0, done=True)
        return Solution((program.sizes == 6).astype(float), 25.0, done=True)

    monkeypatch.setattr(Program, "whole", lies)
    setting = optimal_setting(counts, limits, max_size=6)
    assert (setting.loss, setting.least) == (10, 10)


def test_the_integer_program_comes_within_a_twentieth_of_its_bound_on_small_and_large_tables():
    for table, theta, rows in [("EDU", 2, 300), ("EDU", 8, 3000), ("EDU", 32, 300), ("OCC", 32, 300)]:
        setting = optimal_setting(generated(table, rows), Limits.linear(theta, "0.02"))
        assert setting.loss <= 1.05 * setting.least


# buckets, Remark 1 and Section 7.1
@pytest.mark.parametrize(("table", "theta", "ell"), [("OCC", 2, 43), ("OCC", 32, 13), ("EDU", 2, 35), ("EDU", 32, 7)])
def test_anatomy_needs_one_diversity_for_the_strictest_limit(table, theta, ell):
    assert diversity(generated(table, 300_000), Limits.linear(theta, "0.02")) == ell


@pytest.mark.parametrize(("total", "ell", "loss"), [(12, 3, 16), (13, 3, 3 * 4 + 9), (7, 4, 36), (5, 5, 16)])
def test_anatomys_loss_is_that_of_buckets_of_ell_and_one_more(total, ell, loss):
    assert anatomy_loss(total, ell) == loss


@settings(max_examples=150)
@given(st.lists(st.integers(0, 30), min_size=1, max_size=9).filter(any), st.integers(1, 6))
def test_anatomy_has_a_setting_exactly_where_no_value_is_too_frequent(counts, ell):
    total = sum(counts)
    if ell > total or max(counts) * ell > total:
        with pytest.raises(InvalidLimits, match=r"diversity|ℓ is from 1"):
            anatomy_setting(counts, ell)
        return
    setting = anatomy_setting(counts, ell)
    assert setting.loss == anatomy_loss(total, ell)
    assert setting.counts == tuple(counts)
    for (size, buckets), part in zip(setting.sizes, setting.parts, strict=True):
        assert sum(part) == size * buckets
        assert size >= ell
        assert max(part) <= buckets


def test_anatomy_names_the_value_that_is_too_frequent():
    with pytest.raises(InvalidLimits, match=r"and flu has; at most 1-diversity"):
        anatomy_setting((1, 9), 2, values=("HIV", "flu"))
