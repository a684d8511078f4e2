"""Published statistics: what to publish, and any function of twice as many attributes from the file alone."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from discreet.errors import PartyError, UnsupportedQuery
from discreet.mining.joint import spread_of
from discreet.mining.learn import learn
from discreet.mining.statistics import (
    BooleanAttribute,
    Statistics,
    StatisticsPlan,
    conjunctions,
    plan_statistics,
    subsets_by_the_seed,
    worst_deviation,
)
from discreet.sql.formula import read_formula
from experiments.sulq.simulated import Population, publish

NAMES = tuple(f"a{place}" for place in range(6))
ATTRIBUTES = tuple(BooleanAttribute(name, name) for name in NAMES)
PARITY = "((a0 <> a1) <> (a2 <> a3)) <> (a4 <> a5)"


def population(people: int = 10_000_000, seed: int = 5) -> Population:
    """Six attributes that hang together every which way."""
    generator = np.random.default_rng(seed)
    cells = generator.multinomial(people, generator.dirichlet(np.full(64, 0.5)))
    place = np.arange(64)
    held = {name: (place >> bit & 1).astype(bool) for bit, name in enumerate(NAMES)}
    return Population(cells, held, generator)


def published(arity: int, subsets: int, trials: int = 20_000, people: int = 10_000_000, seed: int = 5) -> Statistics:
    everyone = population(people)
    everyone.generator = np.random.default_rng(seed)
    return publish(everyone, StatisticsPlan(ATTRIBUTES, arity, subsets, people, trials, 0.95))


def truth(function: str, everyone: Population) -> float:
    formula = read_formula(function, NAMES)
    index = sum(everyone.predicates[name].astype(int) << place for place, name in enumerate(formula.names))
    return everyone.cells[formula.table[index]].sum() / everyone.people


@pytest.mark.parametrize(
    ("arity", "function"),
    [
        (1, "a0 AND a1"),
        (1, "a0 <> a5"),
        (2, "a0 AND a1 AND NOT a2 AND a3"),
        (2, "(a0 <> a1) <> (a2 <> a3)"),
        (2, "a0 OR (a1 AND a4)"),
        (2, "NOT a3"),
        (2, "a2 OR NOT a2"),
        (3, "a0 AND a1 AND NOT a2 AND a3 AND (a4 OR a5)"),  # the issue's own
        (3, PARITY),
        (3, "a0 AND a2 AND a4 AND a5"),
    ],
)
def test_functions_of_twice_the_arity_are_learnt(arity, function):
    found = learn(published(arity, 200), function, confidence=0.999)
    estimate, exact = found.probability, truth(function, population())
    assert estimate.low <= exact <= estimate.high
    assert estimate.halfwidth <= 0.15


@pytest.mark.parametrize(
    ("arity", "function"), [(2, "a0 AND a1 AND NOT a2 AND a3"), (2, "a0 <> (a1 <> a4)"), (3, PARITY)]
)
def test_intervals_of_learnt_functions_cover_as_often_as_they_say(arity, function):
    exact = truth(function, population())
    runs = [learn(published(arity, 60, seed=seed), function).probability for seed in range(200)]
    covered = np.mean([run.low <= exact <= run.high for run in runs])
    # A share of 200 that is 0.95 is below 0.90 or above 0.995 twice in 1000.
    assert 0.90 <= covered <= 0.995
    assert abs(np.mean([run.value for run in runs]) - exact) < 4 * np.std([run.value for run in runs]) / 200**0.5


def test_learning_is_the_sum_over_the_truth_table():
    """Where nobody is missing and every set parts in one way, the Walsh sum is the seed's sum of rows."""
    statistics = published(1, 50)
    having = statistics.counts[:2, 1]
    counts = np.stack([statistics.sizes - having, having], axis=1)
    two = replace(statistics, attributes=ATTRIBUTES[:2], counts=counts)
    lacking_a, having_a, lacking_b, having_b = counts.reshape(4, -1).astype(float)
    sizes = two.sizes.astype(float)

    def row(first, second):
        """Pr of a conjunction: Pr·Pr and the covariance of counts over subsets. [SuLQ, Section 6]"""
        shares = [sizes @ counts / (sizes @ sizes) for counts in (first, second)]
        rests = [counts - share * sizes for counts, share in zip((first, second), shares, strict=True)]
        covariance = rests[0] @ rests[1] / (len(sizes) - 1) / spread_of(two.sizes, two.people)
        return shares[0] * shares[1] + covariance

    by_rows = row(having_a, lacking_b) + row(lacking_a, having_b)
    assert learn(two, "a0 <> a1").probability.value == pytest.approx(by_rows, abs=1e-9)


def test_more_tables_take_noise_out_of_a_set():
    """a0 <> a1 is (1 − χ)/2 of a set that is in one table, and a0 of one that is in 5; 1 is in all 15."""
    many = published(2, 60, trials=10**9)
    few = replace(many, attributes=ATTRIBUTES[:2], counts=many.counts[:1])
    width = {
        (function, size): learn(statistics, function).probability.halfwidth
        for function in ("a0 <> a1", "a0")
        for size, statistics in (("many", many), ("few", few))
    }
    for function, tables in (("a0 <> a1", 1), ("a0", 5)):
        ratio = ((1 / 15 + 1 / tables) / 2) ** 0.5
        assert width[function, "many"] == pytest.approx(ratio * width[function, "few"], rel=0.2)


def test_people_of_the_roster_who_are_in_no_table_count_as_meeting_nothing():
    statistics = published(2, 300)
    half = replace(statistics, people=2 * statistics.people, sizes=2 * statistics.sizes)
    # Twice the roster, none of the new half in the table: every share is halved. The subsets' sizes double, and vary.
    for function in ("a0", "NOT a0", "a0 AND a1"):
        both = [learn(one, function).probability.value for one in (statistics, half)]
        assert both[1] == pytest.approx(both[0] / 2, abs=1e-3)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("a0 AND a1 AND a2 AND a3 AND a4", "has 5 attributes; from conjunctions of 2 literals.*at most 4"),
        ("a0 AND a9", "no attribute 'a9'; there are a0, a1"),
        ("a0 > 3", "'a0 > 3' is not supported here"),
        ("a0 AND", "not understood|missing"),
        ("", "not understood|missing|nothing"),
        ("a0; a1", "one statement|not understood|statement"),
        ("a0 GROUP BY a1", "GROUP is not supported"),
        ("t.a0", "not supported here"),
    ],
)
def test_what_cannot_be_learnt_is_refused(function, why):
    with pytest.raises(UnsupportedQuery, match=why):
        learn(published(2, 20), function)


@pytest.mark.parametrize(
    ("k", "arity", "count"),
    [(6, 3, 160), (6, 2, 60), (8, 2, 112), (4, 4, 16), (100, 3, 1_293_600)],  # C(k,ℓ)·2^ℓ
)
def test_the_exact_number_of_conjunctions(k, arity, count):
    assert conjunctions(k, arity) == count


def test_a_plan_says_what_it_takes_and_what_all_longer_conjunctions_would():
    party = population().party(20_000, queries=10**6)
    plan = plan_statistics(ATTRIBUTES, party, arity=3, subsets=400)
    assert plan.queries == 400 * 20 * 8
    assert plan.queries_naive == 64
    # Only many attributes make it worth the while: 400 subsets of C(100,3)·2^3 against C(100,6)·2^6.
    wide = StatisticsPlan(tuple(BooleanAttribute(f"b{i}", "TRUE") for i in range(100)), 3, 400, 10**8, 2, 0.95)
    assert wide.queries_naive / wide.queries == pytest.approx(147, rel=0.01)


def test_an_error_is_turned_into_subsets_and_back():
    party = population().party(20_000, queries=10**7)
    plan = plan_statistics(ATTRIBUTES, party, arity=2, error=0.05)
    assert plan.error <= 0.05
    assert replace(plan, subsets=plan.subsets - 2).error > 0.05


def test_the_planned_error_holds_for_the_worst_function():
    plan = StatisticsPlan(ATTRIBUTES, 3, 60, 10_000_000, 2_000_000, 0.95)
    widths = [learn(published(3, 60, trials=2_000_000, seed=seed), PARITY).probability.halfwidth for seed in range(5)]
    assert max(widths) <= plan.error


def test_the_arity_is_as_large_as_what_is_left_allows():
    party = population().party(20_000, queries=20_000)
    assert plan_statistics(ATTRIBUTES, party, subsets=100).arity == 3
    assert plan_statistics(ATTRIBUTES, party, subsets=200).arity == 2
    assert plan_statistics(ATTRIBUTES, party, subsets=1000).arity == 1


def test_what_does_not_fit_is_refused_with_what_would():
    party = population().party(20_000, queries=10_000)
    why = r"400 subsets × C\(6,3\) × 2\^3 = 64,000 queries, and 10,000 are left; 62 subsets would fit.*or 3 attributes"
    with pytest.raises(PartyError, match=why):
        plan_statistics(ATTRIBUTES, party, arity=3, subsets=400)


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"arity": 0}, "from 1 to 6"),
        ({"arity": 7}, "from 1 to 6"),
        ({"subsets": 3}, "fewer than 16"),
        ({"error": 0}, "0.05"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(wish, why):
    with pytest.raises(PartyError, match=why):
        plan_statistics(ATTRIBUTES, population().party(20_000), **wish)


def test_the_seeds_formula():
    # SuLQ, Section 6: t = O(2^{4ℓ}(log(1/ε) + ℓ)(log(1/δ) + ℓ log k + log log(1/ε))/ε²)
    by_hand = 2**8 * (np.log(10) + 2) * (np.log(20) + 2 * np.log(10) + np.log(np.log(10))) / 0.01
    assert subsets_by_the_seed(2, 10, 0.1, 0.05) == np.ceil(by_hand)


def test_the_worst_deviation_bounds_every_function_on_any_data():
    """Gaussian quadratic forms: Var(x'Fy) ≤ 2·tr(F'ΣFΣ), for Σ = w(diag p − pp') + σ²I and random 0/1 F."""
    generator = np.random.default_rng(1)
    people, noise = 40_000, 100.0
    spread = people / 4
    for arity in (1, 2, 3):
        size = 1 << arity
        for _ in range(50):
            shares = generator.dirichlet(np.ones(size) * generator.choice([0.1, 1, 10]), 2)
            first, second = (spread * (np.diag(p) - np.outer(p, p)) + noise * np.eye(size) for p in shares)
            function = generator.integers(0, 2, (size, size))
            variance = 2 * np.trace(function.T @ first @ function @ second) / spread**2
            assert variance**0.5 <= worst_deviation(arity, people, noise)


def test_counts_are_in_the_order_of_tuples_and_patterns():
    statistics = published(2, 20, trials=2)
    for place, chosen in enumerate(combinations(NAMES, 2)):
        for pattern in range(4):
            met = np.ones(64, bool)
            for bit, name in enumerate(chosen):
                met &= population().predicates[name] == bool(pattern >> bit & 1)
            expected = population().cells[met].sum() / 2
            assert statistics.counts[place, pattern].mean() == pytest.approx(expected, rel=0.05, abs=2000)
