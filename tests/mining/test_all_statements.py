"""All statements about a row at once, and sets that are chosen afterwards: the bounds against enumeration."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from discreet.mining.sulq import (
    exact_trials,
    failure_for_all,
    failure_if_linked,
    heaviest_share,
    loss_of,
    trials_for_all,
)


def coins(trials):
    return np.array([math.comb(trials, heads) / 2**trials for heads in range(trials + 1)])


def laws(trials, told):
    """The joint law of the answers, one axis a query, where a row has these bits."""
    law = np.ones(())
    for bit in told:
        one = np.concatenate([np.zeros(bit), coins(trials), np.zeros(1 - bit)])
        law = np.multiply.outer(law, one)
    return law


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("trials", "delta"), [(60, 1.0), (200, 0.8), (400, 0.5)])
def test_some_statement_of_all_is_breached_no_more_often_than_the_bound_says(seed, trials, delta):
    draw = random.Random(seed)
    rows, queries = 4, 2  # two bits, sixteen statements
    prior = np.array([draw.choice([0.05, 0.3, 1.0]) for _ in range(rows)])
    prior /= prior.sum()
    told = [[draw.randint(0, 1) for _ in range(queries)] for _ in range(rows)]
    law = np.stack([laws(trials, bits) for bits in told])
    worst = np.zeros(law.shape[1:])
    for size in range(1, rows):
        for chosen in itertools.combinations(range(rows), size):
            inside = np.isin(np.arange(rows), chosen)
            one, other = (np.tensordot(prior[part] / prior[part].sum(), law[part], 1) for part in (inside, ~inside))
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = np.abs(np.log(one) - np.log(other))
            worst = np.fmax(worst, np.where((one == 0) & (other == 0), 0, moved))
    bound = failure_for_all(trials, queries, Fraction(delta), rows)
    assert max(float(law[row][worst > delta].sum()) for row in range(rows)) <= bound


def test_the_coins_for_all_statements_keep_the_bound_and_grow_with_the_number_of_bits_alone():
    few = exact_trials(100, Fraction(1), Fraction(1, 10**4))
    for bits in (2, 8):
        trials = trials_for_all(100, Fraction(1), Fraction(1, 10**4), 2**bits)
        assert failure_for_all(trials, 100, Fraction(1), 2**bits) <= 1e-4
        assert trials < few * 4 * (1 + bits)


@pytest.mark.parametrize("trials", [40, 100, 300])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_nobody_finds_a_very_heavy_set(trials, share):
    subsets = ((1, 1, 1), (1, 1, 0))
    tables = list(itertools.product((0, 1), repeat=3))
    joint = []
    for table in tables:
        chance = math.prod(share if bit else 1 - share for bit in table)
        law = np.ones(())
        for chosen in subsets:
            count = sum(bit for bit, in_it in zip(table, chosen, strict=True) if in_it)
            law = np.multiply.outer(law, np.concatenate([np.zeros(count), coins(trials), np.zeros(3 - count)]))
        joint.append(chance * law)
    held = np.stack([sum(law for law, table in zip(joint, tables, strict=True) if table[row]) for row in range(3)])
    likeliest = float(held.max(axis=0).sum())  # of one row; sets of more are no heavier
    for delta in (0.3, 0.6, 1.0):
        failure = loss_of(trials, len(subsets), Fraction(delta)).failure
        assert likeliest <= heaviest_share(share, Fraction(delta), failure, 3)
    assert likeliest > share


@pytest.mark.parametrize("linked", [1, 2, 3])
@pytest.mark.parametrize(("trials", "delta"), [(100, 2.0), (400, 1.5), (1600, 1.0)])
def test_rows_that_are_always_equal_are_breached_no_more_often_than_the_bound_says(linked, trials, delta):
    # A group of rows with one bit: 1 for all, or 0. Two queries, about any number of them each.
    for about in itertools.product(range(linked + 1), repeat=2):
        with_bit, without = np.ones(()), np.ones(())
        for moved in about:
            with_bit = np.multiply.outer(with_bit, np.concatenate([np.zeros(moved), coins(trials)]))
            without = np.multiply.outer(without, np.concatenate([coins(trials), np.zeros(moved)]))
        with np.errstate(divide="ignore", invalid="ignore"):
            loss = np.abs(np.log(with_bit) - np.log(without))
        breached = np.where((with_bit == 0) & (without == 0), 0, loss) > delta
        worst = max(float(with_bit[breached].sum()), float(without[breached].sum()))
        assert worst <= failure_if_linked(trials, 2, Fraction(delta), linked)
    assert failure_if_linked(trials, 2, Fraction(delta), 3) >= failure_if_linked(trials, 2, Fraction(delta), 1)
