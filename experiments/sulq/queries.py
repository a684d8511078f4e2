"""The error of Δ̂ against the number of queries, by regression and by the seed's test with binary search."""

import numpy as np

from discreet.mining.accuracy import AccuracyTerms
from discreet.mining.implication import implication
from experiments.sulq.plot import COLOURS, label, panels, save, write_rows
from experiments.sulq.simulated import Population, sample_joint

PEOPLE = 1_000_000
GAP = 0.1
TRIALS = 208_390
"""Of 2,000 queries at δ = 1, failure bound 10^-6; kept beyond 2,000, which such a vault would not answer."""
QUERIES = (50, 100, 200, 500, 1000, 2000, 5000, 20_000)
ERRORS = (0.3, 0.2, 0.15, 0.1, 0.07)
RUNS, SEARCHES = 400, 20


def draw() -> None:
    figure, axes = panels(2)
    rows: list[tuple[object, ...]] = []
    for panel, trials, title in ((axes[0], TRIALS, "with noise, σ² = 52,098"), (axes[1], 2, "without noise")):
        lines = {"regression": _by_regression(trials), "the paper's search": _by_search(trials)}
        for (name, line), colour in zip(lines.items(), COLOURS, strict=False):
            panel.loglog(*zip(*line, strict=True), marker="o", color=colour, label=name)
            rows += [(name, trials / 4, queries, f"{error:.4g}") for queries, error in line]
        terms = AccuracyTerms(PEOPLE, trials / 4, trials / 4)
        planned = [(count, terms.error_of_gap(count, 0.95)) for count in QUERIES]
        panel.loglog(*zip(*planned, strict=True), ls=":", color=COLOURS[-1], label="regression, planned")
        label(panel, title, "queries to α's party", "error of Δ̂ that 95% of runs stay under")
    write_rows("queries", ("method", "noise_variance", "queries_alpha", "error"), rows)
    save(figure, "queries")


def _by_regression(trials: int) -> list[tuple[float, float]]:
    population = Population.of_two(PEOPLE, 0.5, 0.5, GAP)
    line = []
    for count in QUERIES:
        generator = np.random.default_rng(count)
        errors = [abs(sample_joint(population, count, trials, generator).gap.value - GAP) for _ in range(RUNS)]
        line.append((float(count), float(np.quantile(errors, 0.95))))
    return line


def _by_search(trials: int) -> list[tuple[float, float]]:
    line = []
    for error in ERRORS:
        runs = []
        for seed in range(SEARCHES):
            # A gap of its own for each run: a search in halves is exact for some.
            gap = float(np.random.default_rng(seed).uniform(-0.3, 0.3))
            population = Population.of_two(PEOPLE, 0.5, 0.5, gap, seed)
            sides = [(population.party(trials), name) for name in ("alpha", "beta")]
            found = implication(*sides, error=error, method="paper")
            runs.append((found.queries_alpha, abs(found.gap.value - gap)))
        queries, errors = zip(*runs, strict=True)
        line.append((float(np.mean(queries)), float(np.quantile(errors, 0.95))))
    return line
