"""Fakes cannot be told by the limits, the setting or what goes with whom; associations are learnt where they are."""

import numpy as np
import pytest
from scipy import sparse, stats

from discreet.errors import InvalidLimits
from discreet.microdata.assign import assign
from discreet.microdata.associations import RARE, learn_associations
from discreet.microdata.fakes import choose_fakes
from discreet.microdata.limits import Limits
from discreet.microdata.multisize import multi_size_setting
from discreet.microdata.settings import Setting, two_size_setting
from discreet.noise.bits import SeededBits


def dealt(values, counts, limits, seed, **sizes):
    """A setting, and each record's bucket, dealt by lot."""
    setting = two_size_setting(counts, limits, **sizes)
    order = np.lexsort((np.random.default_rng(seed).random(len(values)), values))
    bucket = np.empty(len(values), np.int64)
    bucket[order] = assign(setting).all_buckets()
    return setting, bucket


@pytest.fixture(scope="module")
def ward():
    """40,000 people, nobody with z = 0 has value 5; in buckets of 4 by lot, of more kinds than round-robin makes."""
    chance = np.random.default_rng(5)
    values = chance.choice(8, 40_000, p=(0.2, 0.18, 0.15, 0.13, 0.12, 0.1, 0.07, 0.05))
    z = np.where(values == 5, 1, chance.integers(0, 2, 40_000))
    setting = Setting(((4, 10_000),), (tuple(np.bincount(values).tolist()),))
    return values, z, setting, chance.permutation(40_000) // 4


def choose(ward, number, people=None):
    values, z, setting, bucket = ward
    by_bucket = np.argsort(bucket, kind="stable")
    known = [z[by_bucket]] if people is None else people
    return choose_fakes(number, setting, bucket, values, known, [2] * len(known), SeededBits(1))


def test_every_bucket_has_as_many_fakes_that_nobody_in_it_has(ward):
    values, _, setting, bucket = ward
    fakes = choose(ward, 2)
    assert np.bincount(fakes.bucket).tolist() == [2] * setting.buckets
    real = set(zip(bucket.tolist(), values.tolist(), strict=True))
    listed = list(zip(fakes.bucket.tolist(), fakes.value.tolist(), strict=True))
    assert len(set(listed)) == len(listed)
    assert not real & set(listed)


def test_a_fake_is_a_value_that_buckets_of_its_size_really_hold():
    counts = [300, 300, 300, 40, 30]
    values = np.repeat(np.arange(5), counts)
    setting, bucket = dealt(values, counts, Limits.linear(1, "0.05"), 2, max_size=40)
    parts = dict(zip([size for size, _ in setting.sizes], setting.parts, strict=True))
    room = min(sum(n > 0 for n in part) for part in setting.parts)
    sizes = np.bincount(bucket)
    try:
        fakes = choose_fakes(1, setting, bucket, values, [], [], SeededBits(1))
    except InvalidLimits:
        assert room <= 5
        return
    assert all(parts[sizes[b]][v] > 0 for b, v in zip(fakes.bucket.tolist(), fakes.value.tolist(), strict=True))


def test_fakes_avoid_those_who_are_taken_not_to_have_them(ward):
    """With associations, value 5 is a fake only where everybody could have it, or where there is no other choice."""
    _, z, setting, bucket = ward
    blind, seeing = choose(ward, 1, people=[]), choose(ward, 1)
    objecting = np.bincount(bucket[z == 0], minlength=setting.buckets) > 0

    def wrong(fakes):
        return int(((fakes.value == 5) & objecting[fakes.bucket]).sum())

    assert wrong(blind) > 100
    assert wrong(seeing) == seeing.excludable < wrong(blind) / 20


def test_fakes_are_drawn_in_proportion_to_what_is_dealt(ward):
    """In buckets that lack two values, one of them is drawn: a binomial test, both sides."""
    values, _, setting, bucket = ward
    fakes = choose(ward, 1, people=[])
    held = np.zeros((setting.buckets, 8), np.bool_)
    held[bucket, values] = True
    size = np.bincount(bucket)[fakes.bucket]
    some = size == setting.sizes[0][0]
    part = np.array(setting.parts[0], np.float64)
    absent = ~held[fakes.bucket[some]] * part
    expected = absent[:, 6] / absent.sum(axis=1)
    drawn = (fakes.value[some] == 6).sum()
    z_score = (drawn - expected.sum()) / np.sqrt((expected * (1 - expected)).sum())
    assert 2 * stats.norm.sf(abs(z_score)) > 1e-4


def test_too_many_fakes_are_refused_with_what_would_do(ward):
    with pytest.raises(InvalidLimits, match="values to choose fakes from, and 6 are asked for"):
        choose(ward, 6)


def listed_of(values, bucket, setting):
    ones = np.ones(len(values), np.int64)
    return sparse.csr_array((ones, (bucket, values)), shape=(setting.buckets, len(setting.counts)))


def test_an_association_is_learnt_where_it_is_and_nowhere_else(ward):
    values, z, setting, bucket = ward
    noise = np.random.default_rng(6).integers(0, 5, len(values))
    found, nothing = learn_associations([z, noise], bucket, listed_of(values, bucket, setting), [2, 5])
    assert found.excluded[0, 5]
    assert found.excluded.sum() == 1
    assert not nothing.excluded.any()


def test_rates_are_unbiased_and_their_errors_are_right(ward):
    """The estimates of independent codes scatter around 1 as their standard errors say: both sides."""
    values, _, setting, bucket = ward
    scores = []
    for seed in range(30):
        noise = np.random.default_rng(seed).integers(0, 4, len(values))
        [learnt] = learn_associations([noise], bucket, listed_of(values, bucket, setting), [4])
        scores.append(((learnt.rate - 1) / learnt.error).ravel())
    scores = np.concatenate(scores)
    assert abs(scores.mean()) < 0.25
    assert 0.8 < scores.std() < 1.2


def random_world(chance):
    """A skewed table in buckets of several sizes, codes that go with the values or do not, and how often they really
    do: learnt rates, errors, and the truth; or None where the table is too small to learn from."""
    many, codes = int(chance.integers(5, 15)), int(chance.integers(2, 6))
    shares = chance.dirichlet(np.full(many, 0.6)) + 0.003
    values = np.sort(chance.choice(many, 2000, p=shares / shares.sum()))
    counts = np.bincount(values, minlength=many)
    limits = Limits.linear(int(chance.choice([2, 4, 8])), "0.02")
    setting = multi_size_setting(counts.tolist(), limits, rounds=False)
    if counts.min() == 0 or setting.buckets < 3 * many:
        return None
    bucket = np.empty(len(values), np.int64)
    bucket[np.lexsort((chance.random(len(values)), values))] = assign(setting).all_buckets()
    likely = chance.dirichlet(np.ones(codes), many if chance.random() < 0.5 else 1) * np.ones((many, 1))
    code = (chance.random(len(values))[:, None] > np.cumsum(likely, axis=1)[values, :-1]).sum(axis=1)
    [learnt] = learn_associations([code], bucket, listed_of(values, bucket, setting), [codes])
    truth = np.zeros((codes, many))
    np.add.at(truth, (code, values), 1)
    common = np.maximum(truth.sum(axis=1, keepdims=True) / len(values), 1e-12)
    return learnt, truth / counts / common


def test_errors_are_right_with_buckets_of_mixed_sizes_in_1000_random_worlds():
    chance = np.random.default_rng(23)
    squares, struck, wrong = [], 0, 0
    for _ in range(1000):
        world = random_world(chance)
        if world is None:
            continue
        learnt, truth = world
        told = np.isfinite(learnt.error) & (learnt.error > 1e-9)
        squares.append((((learnt.rate - truth)[told] / learnt.error[told]) ** 2).mean())
        struck += int(learnt.excluded.sum())
        wrong += int((learnt.excluded & (truth > RARE)).sum())
    assert len(squares) > 300
    # Unweighted the deviations are 2.0 on average and up to 5.6, and half of what is struck out is not rare.
    assert 0.7 < np.sqrt(np.mean(squares)) < 1.2
    assert struck > 20
    assert wrong <= 0.1 * struck  # 5 of 101
