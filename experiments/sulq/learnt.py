"""Functions of four and six of Adult's attributes, made Boolean, learnt from published pairs and triples."""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations
from operator import xor

import numpy as np
from numpy.typing import NDArray

from discreet.mining.attribute import BooleanAttribute
from discreet.mining.joint import spread_of
from discreet.mining.learn import learn
from discreet.mining.statistics import Statistics, StatisticsPlan, conjunctions
from discreet.mining.sulq import exact_trials
from discreet.sql.formula import Formula
from experiments.sulq.plot import COLOURS, label, panels, save, write_rows
from experiments.sulq.simulated import Population, publish
from experiments.tables.tables import adult

YES = {
    "workclass": ("Private",),
    "education": ("Bachelors", "Masters", "Doctorate", "Prof-school"),
    "marital_status": ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"),
    "occupation": ("Exec-managerial", "Prof-specialty"),
    "relationship": ("Husband", "Wife"),
    "race": ("White",),
    "sex": ("Male",),
    "income": (">50K",),
}
"""Which values make each attribute true."""

SUBSETS = 200
TIMES = (1, 10, 100, 1000, 10_000)
"""Adult's people, each so many times: the same shares, more people."""
FUNCTIONS, PUBLICATIONS = 10, 6
KINDS = ("conjunction", "random", "parity")
WAYS = {"Walsh": "-", "the seed's sum": "--", "Walsh, no noise": ":"}


def draw() -> None:
    figure, axes = panels(2)
    rows: list[tuple[object, ...]] = []
    people = int(adult_cells().sum())
    for panel, arity in zip(axes, (2, 3), strict=True):
        found = [mean_errors(times, arity) for times in TIMES]
        for kind, colour in zip(KINDS, COLOURS, strict=False):
            for way, look in WAYS.items():
                line = [errors[kind, way] for errors in found]
                at = [people * times for times in TIMES]
                panel.loglog(at, line, marker="o", ls=look, color=colour, label=f"{kind}, {way}")
                rows += [(2 * arity, kind, way, n, f"{error:.4g}") for n, error in zip(at, line, strict=True)]
        label(panel, f"functions of {2 * arity}, from conjunctions of {arity}", "people", "mean error")
    write_rows("learnt", ("attributes", "function", "way", "people", "mean_error"), rows)
    save(figure, "learnt")


def mean_errors(times: int, arity: int) -> Mapping[tuple[str, str], float]:
    """The mean distance from the truth, by kind of function and way to learn it, over several publications."""
    trials = exact_trials(SUBSETS * conjunctions(len(YES), arity), Fraction(1), Fraction(1, 10**6))
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    for seed in range(PUBLICATIONS):
        noisy, exact = (_published(times, arity, coins, seed) for coins in (trials, 2))
        generator = np.random.default_rng(seed)
        for kind in KINDS:
            for _ in range(FUNCTIONS):
                formula = some_function(kind, 2 * arity, generator)
                right = share_of(formula)
                estimates = (
                    learn(noisy, formula).probability.value,
                    sum_of_rows(noisy, formula),
                    learn(exact, formula).probability.value,
                )
                for way, estimate in zip(WAYS, estimates, strict=True):
                    errors[kind, way].append(abs(min(max(estimate, 0.0), 1.0) - right))
    return {key: float(np.mean(each)) for key, each in errors.items()}


def _published(times: int, arity: int, trials: int, seed: int) -> Statistics:
    population = Population(adult_cells() * times, predicates(), np.random.default_rng(seed))
    attributes = tuple(BooleanAttribute(name, name) for name in YES)
    return publish(population, StatisticsPlan(attributes, arity, SUBSETS, population.people, trials, 0.95))


@cache
def adult_cells() -> NDArray[np.int64]:
    """How many of Adult's people have each combination of the Boolean attributes, the first the lowest bit."""
    table = adult()
    combination = np.zeros(len(table.rows), np.int64)
    for place, (name, values) in enumerate(YES.items()):
        column = table.domain.axis(name)
        codes = [table.domain[name].labels.index(value) for value in values]
        combination |= np.isin(table.rows[:, column], codes).astype(np.int64) << place
    return np.bincount(combination, minlength=1 << len(YES))


def predicates() -> dict[str, NDArray[np.bool_]]:
    combination = np.arange(1 << len(YES))
    return {name: (combination >> place & 1).astype(np.bool_) for place, name in enumerate(YES)}


def some_function(kind: str, size: int, generator: np.random.Generator) -> Formula:
    """A function of so many random attributes: a conjunction of literals, any truth table, or a parity."""
    chosen = np.sort(generator.choice(len(YES), size, replace=False))
    index = np.arange(1 << size)
    match kind:
        case "conjunction":
            table = index == generator.integers(1 << size)
        case "random":
            table = generator.integers(0, 2, 1 << size).astype(np.bool_)
        case _:
            table = reduce(xor, (index >> bit & 1 for bit in range(size))).astype(np.bool_)
    return Formula(kind, tuple(list(YES)[place] for place in chosen), table)


def share_of(formula: Formula) -> float:
    held = predicates()
    index = sum(held[name].astype(np.int64) << place for place, name in enumerate(formula.names))
    return float(adult_cells()[formula.table[index]].sum() / adult_cells().sum())


def sum_of_rows(statistics: Statistics, formula: Formula) -> float:
    """The seed's way: halve the attributes once, and sum the rows of the truth table. [SuLQ, Section 6]"""
    arity, patterns = statistics.arity, 1 << statistics.arity
    halves = formula.names[:arity], formula.names[arity:]
    sizes = statistics.sizes.astype(np.float64)
    shares, rests = [], []
    for names in halves:
        counts = _table(statistics, names).astype(np.float64)
        share = counts @ sizes / (sizes @ sizes)
        shares.append(share)
        rests.append(counts - share[:, None] * sizes)
    covariances = rests[0] @ rests[1].T / (len(sizes) - 1) / spread_of(statistics.sizes, statistics.people)
    rows = formula.table.reshape(patterns, patterns).T  # the first half has the lower bits
    return float((rows * (np.outer(*shares) + covariances)).sum())


def _table(statistics: Statistics, names: tuple[str, ...]) -> NDArray[np.int64]:
    return statistics.counts[list(combinations(statistics.names, statistics.arity)).index(names)]
