"""The error of Δ̂ against the number of people, for vaults of so many queries in all, and what the seed's ways take."""

import math
from fractions import Fraction

import numpy as np

from discreet.mining.accuracy import AccuracyTerms
from discreet.mining.heavy import Search
from discreet.mining.sulq import exact_trials, paper_trials
from experiments.sulq.plot import COLOURS, label, panels, save, write_rows
from experiments.sulq.simulated import Population, sample_joint

PEOPLE = (10_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
BUDGETS = (200, 2000, 20_000)
GAP = 0.1
RUNS = 300
DELTA, FAILURE = Fraction(1), Fraction(1, 10**6)


def draw() -> None:
    figure, (panel,) = panels(1, width=7)
    rows: list[tuple[object, ...]] = []
    for queries, colour in zip(BUDGETS, COLOURS, strict=False):
        trials = exact_trials(queries, DELTA, FAILURE)
        line = [(people, _error(people, queries, trials)) for people in PEOPLE]
        panel.loglog(*zip(*line, strict=True), marker="o", color=colour, label=f"regression, T = {queries:,}")
        for people, error in line:
            terms = AccuracyTerms(people, trials / 4, trials / 4)
            paper = paper_trials(queries, DELTA, people) / 4
            by_paper = AccuracyTerms(people, paper, paper).error_of_gap(queries, 0.95)
            rows.append((people, queries, f"{trials / 4:.0f}", f"{error:.4g}", f"{by_paper:.4g}", _of_search(terms)))
    best = [(people, _least(people)) for people in PEOPLE]
    panel.loglog(*zip(*best, strict=True), ls=":", color=COLOURS[-1], label="the best T for so many people")
    panel.axhline(0.05, color="#999999", lw=0.8)
    label(panel, "δ = 1, p = 1/2, Δ = 0.1", "people on the roster", "error of Δ̂ that 95% of runs stay under")
    header = ("people", "queries", "noise_variance", "error", "error_with_the_papers_noise", "queries_of_the_search")
    write_rows("people", header, rows)
    save(figure, "people")


def _error(people: int, queries: int, trials: int) -> float:
    population, generator = Population.of_two(people, 0.5, 0.5, GAP), np.random.default_rng(people)
    errors = [abs(sample_joint(population, queries, trials, generator).excess.value - GAP / 2) for _ in range(RUNS)]
    # Of the excess, which is not clipped to what is possible: an error above 1 is one, too.
    return 2 * float(np.quantile(errors, 0.95))


def _least(people: int) -> float:
    """The planned error at the T where noise and sampling are alike: σ² = n/16."""
    each = exact_trials(2000, DELTA, FAILURE) / 4 / 2000
    queries = max(16, round(people / 16 / each))
    return AccuracyTerms(people, people / 16, people / 16).error_of_gap(queries, 0.95)


def _of_search(terms: AccuracyTerms) -> str:
    """α's queries for Δ within ±0.05 by the seed's search, with the same noise."""
    queries = Search(terms, (0.5, 0.5), 0.05, 0.95).queries_alpha
    return f"{queries:,}" if math.isfinite(queries) else ""
