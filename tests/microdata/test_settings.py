"""One and two sizes: the seed's examples, brute force, and what is refused."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InvalidLimits
from discreet.microdata.limits import Limits
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.pairs import (
    FULL_PRUNING,
    LOSS_PRUNING,
    NO_PRUNING,
    line_of_pairs,
    most_buckets,
    search_pairs,
)
from discreet.microdata.settings import Setting, one_size_setting, two_size_setting
from experiments.buckets.tables import generated

# buckets, Example 3: 50 records, f' = 2·f + 0.05
EXAMPLE_3 = (1,) * 8 + (6,) * 4 + (9,) * 2
LIMITS_3 = Limits.linear(2, 0.05)

LARGEST = 8


def assert_keeps(setting: Setting, counts, limits) -> None:
    """Every record in a full bucket, and no more of a value in the buckets of a size than they may hold [Lemma 2]."""
    assert setting.counts == tuple(counts)
    assert list(setting.sizes) == sorted(setting.sizes)
    for (size, buckets), part in zip(setting.sizes, setting.parts, strict=True):
        assert buckets > 0
        assert sum(part) == size * buckets
        assert all(0 <= held <= limit * size // 1 * buckets for held, limit in zip(part, limits, strict=True))


@st.composite
def instances(draw):
    """A few values with a few records each, and limits that are at least the frequencies."""
    counts = draw(st.lists(st.integers(0, 8), min_size=1, max_size=5).filter(any))
    slack = draw(st.lists(st.integers(0, 12), min_size=len(counts), max_size=len(counts)))
    total = sum(counts)
    limits = tuple(
        min(Fraction(1), Fraction(count, total) + Fraction(more, 24)) for count, more in zip(counts, slack, strict=True)
    )
    return tuple(counts), limits


def can_be_divided(counts, limits, sizes):
    """Whether some numbers of records of each value fill the first size and leave what the second may hold: by looking
    at every sum that the values can make."""
    (small, b1), (large, b2) = sizes
    sums = {0}
    for count, limit in zip(counts, limits, strict=True):
        most_small, most_large = (limit * small // 1) * b1, (limit * large // 1) * b2
        sums = {
            total + here
            for total in sums
            for here in range(count + 1)
            if here <= most_small and count - here <= most_large
        }
    return small * b1 in sums


def least_loss(counts, limits, smallest, largest):
    """The least loss over all pairs of sizes and all numbers of buckets, or None."""
    total = sum(counts)
    losses = [
        b1 * (small - 1) ** 2 + b2 * (large - 1) ** 2
        for small, large in product(range(smallest, largest + 1), repeat=2)
        if small <= large
        for b2 in range(total // large + 1)
        for b1, left in [divmod(total - b2 * large, small)]
        if left == 0 and can_be_divided(counts, limits, ((small, b1), (large, b2)))
    ]
    return min(losses, default=None)


def test_example_3_has_nine_buckets_of_4_and_one_of_14():
    setting = two_size_setting(EXAMPLE_3, LIMITS_3)
    assert setting.sizes == ((4, 9), (14, 1))
    assert setting.loss == 250  # 9·3² + 13²
    assert setting.mse == 250 / 49
    assert_keeps(setting, EXAMPLE_3, LIMITS_3.of([str(i) for i in range(14)], EXAMPLE_3))


# buckets, Section 4.3: 42 records may go to the small buckets, which hold 36; six move to the large one
def test_example_3_divides_the_records_so_that_rare_values_share_the_large_bucket():
    small, large = two_size_setting(EXAMPLE_3, LIMITS_3).parts
    assert small[:8] == (0,) * 8
    assert large[:8] == (1,) * 8
    assert sum(large[8:]) == 6


def test_example_3_is_the_best_of_all_pairs_of_sizes_up_to_50():
    assert least_loss(EXAMPLE_3, LIMITS_3.of([str(i) for i in range(14)], EXAMPLE_3), 1, 50) == 250


# buckets, Section 6: "degenerates into ℓ-diversity with ℓ = ⌈1/f'⌉", in buckets of 3 and 4, without a value twice
def test_one_limit_for_all_values_is_no_diversity():
    counts, limits = (4, 2, 2, 2), (Fraction(9, 20),) * 4
    assert not can_be_divided(counts, limits, ((3, 2), (4, 1)))
    assert two_size_setting(counts, limits).sizes == ((5, 2),)


@pytest.mark.parametrize("pruning", ["full", "loss", "none"])
def test_example_3_holds_whatever_is_pruned(pruning):
    assert two_size_setting(EXAMPLE_3, LIMITS_3, pruning=pruning).loss == 250


# buckets, Example 4: |T| = 28, sizes 2 and 4
def test_example_4_lists_eight_pairs_from_14_and_0_to_0_and_7():
    b1, b2, fall, rise, last = line_of_pairs(28, 2, 4)
    pairs = [(b1 - place * fall, b2 + place * rise) for place in range(last + 1)]
    assert pairs == [(14, 0), (12, 1), (10, 2), (8, 3), (6, 4), (4, 5), (2, 6), (0, 7)]


@given(st.integers(1, 300), st.integers(1, 20), st.integers(1, 20))
def test_a_line_holds_exactly_the_pairs_that_fill_the_table(total, small, more):
    large = small + more
    b1, b2, fall, rise, last = line_of_pairs(total, small, large)
    pairs = [(b1 - place * fall, b2 + place * rise) for place in range(last + 1)]
    everything = ((divmod(total - few * large, small), few) for few in range(total // large + 1))
    assert pairs == [(many, few) for (many, left), few in everything if left == 0]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3)), min_size=1, max_size=6), st.integers(1, 9))
def test_most_buckets_is_where_filling_them_ends(values, size):
    counts, cap = (np.array(column, np.int64) for column in zip(*values, strict=True))
    fills = [
        int(np.minimum(cap * buckets, counts).sum()) >= size * buckets for buckets in range(counts.sum() // size + 2)
    ]
    most = most_buckets(size, counts.sum(), counts, cap)
    assert fills == [buckets <= most for buckets in range(len(fills))]


@settings(max_examples=300)
@given(instances())
def test_two_sizes_have_the_least_loss_that_brute_force_finds(instance):
    counts, limits = instance
    expected = least_loss(counts, limits, 1, LARGEST)
    if expected is None:
        with pytest.raises(InvalidLimits, match="would do"):
            two_size_setting(counts, limits, max_size=LARGEST)
    else:
        setting = two_size_setting(counts, limits, max_size=LARGEST)
        assert setting.loss == expected
        assert_keeps(setting, counts, limits)


@settings(max_examples=100)
@given(instances(), st.integers(1, 4))
def test_no_pruning_and_loss_pruning_find_the_same_loss(instance, min_size):
    counts, limits = instance
    smallest = min(min_size, sum(counts))
    losses = set()
    for pruning in ("full", "loss", "none"):
        try:
            losses.add(two_size_setting(counts, limits, smallest, LARGEST, pruning=pruning).loss)
        except InvalidLimits:
            losses.add(None)
    assert len(losses) == 1


@settings(max_examples=150)
@given(st.data())
def test_pruning_is_right_for_caps_that_no_limits_have(data):
    """Caps of real limits grow with the size, which hides cases where a small size can be filled and a large cannot."""
    values = data.draw(st.integers(1, 5))
    counts = np.array(data.draw(st.lists(st.integers(0, 6), min_size=values, max_size=values)))
    caps = np.array(data.draw(st.lists(st.integers(0, 4), min_size=7 * values, max_size=7 * values))).reshape(7, values)
    losses = []
    for pruning in (NO_PRUNING, LOSS_PRUNING, FULL_PRUNING):
        best = np.array([10**6])
        search_pairs(counts, caps, 1, 6, best, pruning)
        losses.append(int(best[0]))
    assert len(set(losses)) == 1


# PC holds for 1 bucket of 3 and 1 of 5, but only four records may go to the one of 5
def test_large_buckets_that_cannot_be_filled_are_not_chosen():
    counts, caps = np.array([2, 2, 2, 2]), np.array([0, 0, 0, 1, 0, 1])[:, None] * np.ones(4, np.int64)
    assert search_pairs(counts, caps, 3, 5, np.array([10**6]), FULL_PRUNING) == (0, 0, 0, 0)


@settings(max_examples=100)
@given(instances())
def test_one_size_is_the_smallest_that_brute_force_finds(instance):
    counts, limits = instance
    total = sum(counts)
    valid = [
        size
        for size in range(1, LARGEST + 1)
        if total % size == 0
        and all(count <= (limit * size // 1) * (total // size) for count, limit in zip(counts, limits, strict=True))
    ]
    if valid:
        setting = one_size_setting(counts, limits, max_size=LARGEST)
        assert setting.sizes == ((valid[0], total // valid[0]),)
        assert_keeps(setting, counts, limits)
    else:
        with pytest.raises(InvalidLimits, match=r"would do|allow two"):
            one_size_setting(counts, limits, max_size=LARGEST)


@pytest.mark.parametrize("table", ["OCC", "EDU"])
@pytest.mark.parametrize("theta", [2, 8, 32])
def test_large_tables_find_the_same_loss_with_and_without_pruning(table, theta):
    counts, limits = generated(table, 10_007), Limits.linear(theta, "0.02")
    full = two_size_setting(counts, limits)
    assert_keeps(full, counts, limits.of([str(i) for i in range(len(counts))], counts))
    assert full.loss == two_size_setting(counts, limits, pruning="none").loss


def test_the_only_size_allowed_is_used():
    assert two_size_setting((4, 4), (1, 1), min_size=4, max_size=4).sizes == ((4, 2),)


def test_a_table_of_one_record_is_one_bucket():
    setting = two_size_setting((1,), (1,))
    assert (setting.sizes, setting.loss, setting.mse) == (((1, 1),), 0, 0.0)


def test_settings_with_float_limits_are_exact():
    # ⌊0.29·100⌋ is 29: floating point has 28, and would find nothing
    assert two_size_setting((29, 71), (0.29, 1), min_size=100, max_size=100).sizes == ((100, 1),)


def test_two_billion_records_do_not_overflow():
    counts, limits = (2**31 - 1 - 2**20, 2**20), Limits.linear(2, "0.02")
    setting = two_size_setting(counts, limits, max_size=1024)
    assert setting.total == 2**31 - 1
    assert_keeps(setting, counts, limits.of(["x", "y"], counts))


# A limit of 0.035 needs buckets of 29: the values that 10 cannot serve are named, and 29 would do.
def test_limits_that_no_size_can_keep_are_refused_with_the_value_and_a_size_that_would_do():
    counts, limits = (10, 490, 500), ("0.035", 1, 1)
    with pytest.raises(InvalidLimits) as refused:
        two_size_setting(counts, limits, max_size=10, values=("HIV", "flu", "cold"))
    assert str(refused.value) == (
        "no buckets of at most 10 records keep the limits: HIV (limit 0.035) needs buckets of 29 or more; "
        "a max size of 29 would do"
    )
    assert two_size_setting(counts, limits, max_size=29)
    with pytest.raises(InvalidLimits):
        two_size_setting(counts, limits, max_size=28)


@settings(max_examples=100)
@given(instances(), st.integers(1, 5))
def test_the_size_that_is_said_to_do_is_the_smallest_that_does(instance, max_size):
    counts, limits = instance
    try:
        two_size_setting(counts, limits, max_size=max_size)
    except InvalidLimits as refused:
        advised = int(str(refused).rpartition("a max size of ")[2].split()[0])
        assert two_size_setting(counts, limits, max_size=advised)
        if advised > max_size + 1:
            with pytest.raises(InvalidLimits):
                two_size_setting(counts, limits, max_size=advised - 1)


# buckets, Lemma 1: limits that are the frequencies can always be kept, by large enough buckets
@pytest.mark.parametrize(
    ("counts", "size"), [((50_001, 49_999), 100_000), ((3000, 1500, 4500), 6), ((1400, 1407), 401)]
)
@pytest.mark.parametrize("choose", [one_size_setting, two_size_setting, multi_size_setting])
def test_limits_that_are_the_frequencies_are_kept_by_buckets_of_the_least_size(counts, size, choose):
    limits = [Fraction(count, sum(counts)) for count in counts]
    setting = choose(counts, limits, max_size=sum(counts))
    assert setting.sizes == ((size, sum(counts) // size),)
    assert_keeps(setting, counts, limits)


@pytest.mark.parametrize(
    ("counts", "limits", "choice", "message"),
    [
        ((), (), {}, "give a count"),
        ((0, 0), (1, 1), {}, "1 to 2\\^31"),
        ((3, -1), (1, 1), {}, "0 or more"),
        ((2**31, 1), (1, 1), {}, "1 to 2\\^31"),
        ((3, 4), (1,), {}, "a limit from 0 to 1 for each of 2"),
        ((3, 4), (1, 2), {}, "a limit from 0 to 1"),
        ((3, 4), (1, 1), {"values": ("x",)}, "a count"),
        ((3, 4), (1, "0.5"), {}, r"x2 \(limit 0.5, frequency 4/7\)"),
        ((3, 4), (1, 1), {"max_size": 0}, "sizes are 1 or more"),
        ((3, 4), (1, 1), {"min_size": 9, "max_size": 8}, "min_size is at most max_size"),
        ((3, 4), (1, 1), {"min_size": 9}, "too few for a bucket of 9"),
        ((50_001, 49_999), ("50001/100000", "49999/100000"), {}, "more than 1024.*a max size of 100000 would do"),
    ],
)
def test_bad_input_is_refused(counts, limits, choice, message):
    with pytest.raises(InvalidLimits, match=message):
        two_size_setting(counts, limits, **choice)
