"""Mining across two parties: how near Δ is found, how often its interval holds it, and what the seed's method takes."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from bench.figure import Figure
from discreet.mining.accuracy import AccuracyTerms
from discreet.mining.attribute import BooleanAttribute
from discreet.mining.heavy import Search
from discreet.mining.learn import learn
from discreet.mining.statistics import StatisticsPlan
from discreet.mining.sulq import exact_trials, paper_trials
from experiments.sulq.simulated import Population, publish, sample_joint

QUERIES = 2000
DELTA, FAILURE = Fraction(1), Fraction(1, 10**6)
GAP = 0.1
RUNS = 1000


def figures() -> Iterator[Figure]:
    trials = exact_trials(QUERIES, DELTA, FAILURE)
    for people, bar in ((1_000_000, 0.05), (10_000_000, 0.03)):
        yield _error(people, bar, trials)
    yield from _coverage(trials)
    yield from _ratios(trials)
    yield _learnt()


def _error(people: int, bar: float, trials: int) -> Figure:
    """The error that 95% of runs stay under."""
    population = Population.of_two(people, 0.5, 0.5, GAP)
    gaps = [sample_joint(population, QUERIES, trials, np.random.default_rng(seed)).gap for seed in range(RUNS)]
    error = float(np.quantile([abs(gap.value - GAP) for gap in gaps], 0.95))
    paper = AccuracyTerms(people, *[paper_trials(QUERIES, DELTA, people) / 4] * 2).error_of_gap(QUERIES, 0.95)
    note = f"σ² = {trials / 4:,.0f}; with the paper's calibration ±{paper:,.0f}, that is: nothing"
    return Figure(f"|Δ̂ − Δ| at 95%, {people:,} people, {QUERIES:,} queries each", error, bar, "lower", "", note)


def _coverage(trials: int) -> Iterator[Figure]:
    population = Population.of_two(100_000, 0.5, 0.5, GAP)
    gaps = [sample_joint(population, QUERIES, trials, np.random.default_rng(seed)).gap for seed in range(RUNS)]
    covered = float(np.mean([gap.low <= GAP <= gap.high for gap in gaps]))
    note = f"{RUNS:,} runs, 100,000 people; 93% to 97%"
    yield Figure("95% intervals that hold Δ, at least", covered, 0.93, "higher", "", note)
    yield Figure("95% intervals that hold Δ, at most", covered, 0.97, "lower", "", note)


def _ratios(trials: int) -> Iterator[Figure]:
    """Queries that the seed's search takes, over those of regression, for Δ within ±0.05 at 95%."""
    terms = AccuracyTerms(1_000_000, trials / 4, trials / 4)
    regression, paper = terms.queries_for_gap(0.05, 0.95), Search(terms, (0.5, 0.5), 0.05, 0.95)
    for party, queries in (("α", paper.queries_alpha), ("β", paper.queries_beta)):
        note = f"{queries:,} against {regression:,}, for ±0.05 at 95%, a million people"
        yield Figure(f"{party}'s queries, paper's method / regression", queries / regression, 10, "higher", "×", note)


def _learnt() -> Figure:
    """Functions of six attributes from triples, against the error that the plan promises for the worst of them."""
    names, people, subsets = [f"a{place}" for place in range(6)], 100_000_000, 200
    trials = exact_trials(subsets * 160, DELTA, FAILURE)
    generator = np.random.default_rng(1)
    place = np.arange(64)
    cells = generator.multinomial(people, generator.dirichlet(np.full(64, 0.5)))
    held = {name: (place >> bit & 1).astype(bool) for bit, name in enumerate(names)}
    plan = StatisticsPlan(tuple(BooleanAttribute(name, name) for name in names), 3, subsets, people, trials, 0.95)
    function = "a0 AND a1 AND NOT a2 AND a3 AND (a4 OR a5)"
    met = held["a0"] & held["a1"] & ~held["a2"] & held["a3"] & (held["a4"] | held["a5"])
    errors = []
    for seed in range(40):
        published = publish(Population(cells, held, np.random.default_rng(seed)), plan)
        errors.append(abs(learn(published, function).probability.value - cells[met].sum() / people))
    note = f"{people:,} people, {plan.queries:,} queries in all, δ = 1; ±{plan.error:.2g} is promised for any function"
    return Figure(
        "a function of six learnt from triples, error at 95%", float(np.quantile(errors, 0.95)), 0.02, "lower", "", note
    )
