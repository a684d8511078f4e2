"""Refinement: its time, its memory and its accuracy; and what the density ratio of refined releases comes to."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import discreet
from bench.figure import Figure
from discreet.noise.bits import Bits
from discreet.noise.laplace import sample_laplace

RESPONSES, CONSTRAINTS = 100_000, 10_000
PER_CONSTRAINT = 10
EPSILON = Fraction(1, 2)
DRAWS = 20_000_000
SURELY = 3.09  # normal deviations: 99.9%, one-sided

MEMORY = r"""
import re
from bench.facts import problem
from discreet.refinement.refine import refine
refined = refine(*problem())
refined.variances
# Not ru_maxrss, which a process has from its parent.
print(int(re.search(r"VmHWM:\s+(\d+)", open("/proc/self/status").read())[1]) / 1024)
"""


def figures() -> Iterator[Figure]:
    _ = discreet.refine(*problem(responses=300, constraints=30)).variances  # compile, or load
    yield from time_figures()
    yield memory_figure()
    yield accuracy_figure()
    yield from density_figures()


def problem(
    responses: int = RESPONSES, constraints: int = CONSTRAINTS, entries: int = PER_CONSTRAINT
) -> tuple[NDArray[np.float64], sparse.csr_array, NDArray[np.float64]]:
    """Responses and constraints with so many entries each, anywhere: the hardest kind, whose factor fills up."""
    generator = np.random.default_rng(1)
    rows, columns = np.repeat(np.arange(constraints), entries), generator.integers(0, responses, constraints * entries)
    matrix = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(constraints, responses))
    truth = generator.integers(0, 1000, responses).astype(np.float64)
    return truth + generator.laplace(scale=5, size=responses), matrix, matrix @ truth


def tree() -> tuple[NDArray[np.float64], sparse.csr_array, NDArray[np.float64]]:
    """A hierarchy of counts: every node but the 90,001 leaves is the sum of ten others."""
    nodes = np.arange(CONSTRAINTS)
    children = 1 + 10 * nodes[:, None] + np.arange(10)
    rows, columns = np.repeat(nodes, 11), np.hstack([nodes[:, None], children]).reshape(-1)
    entries = np.tile([-1.0] + [1.0] * 10, CONSTRAINTS)
    matrix = sparse.csr_array((entries, (rows, columns)), shape=(CONSTRAINTS, RESPONSES + 1))
    counts = np.random.default_rng(2).integers(0, 9, RESPONSES + 1).astype(np.float64)
    for node in nodes[::-1]:
        counts[node] = counts[children[node]].sum()
    return counts + np.random.default_rng(3).laplace(scale=5, size=len(counts)), matrix, np.zeros(CONSTRAINTS)


def time_figures() -> Iterator[Figure]:
    for name, given in (("anywhere", problem()), ("a tree", tree())):
        start = time.perf_counter()
        refined = discreet.refine(*given)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        variances = refined.variances
        note = (
            f"{len(refined.estimates):,} responses; all variances {time.perf_counter() - start:.2f} s more, "
            f"{variances.mean():.3f} of a response's on average"
        )
        yield Figure(f"refine, {CONSTRAINTS:,} constraints, {name}", seconds, 3, "lower", "s", note)


def memory_figure() -> Figure:
    """The most memory of a process that refines and computes every variance."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True, env=environment)
    note = "the whole process, with Python, SciPy and Numba; constraints anywhere"
    return Figure("refine and all variances, memory", float(done.stdout), 1000, "lower", "MB", note)


def accuracy_figure() -> Figure:
    """The worst deviation from a dense solve, relative to the largest number, on cases of different kinds."""
    worst = 0.0
    for seed in range(20):
        generator = np.random.default_rng(seed)
        responses, constraints, constants = problem(responses=200 + 20 * seed, constraints=20 + 8 * seed, entries=5)
        variances = 10.0 ** generator.uniform(-1, 1, len(responses))
        deviations = np.sqrt(variances)
        dense = constraints.toarray() * deviations
        expected = responses + deviations * (np.linalg.pinv(dense) @ (constants - constraints @ responses))
        found = discreet.refine(responses, constraints, constants, variances).estimates
        worst = max(worst, float(np.abs(found - expected).max() / np.abs(expected).max()))
    return Figure("refine, to a dense solve", worst, 1e-9, "lower", "", "20 systems, up to 172 constraints")


def density_figures() -> Iterator[Figure]:
    """Example 1 of the refinement seed: x̂1 = (x1 + c − x2)/2 on two tables that differ in one person, counted first."""
    refinement = discreet.LinearRefinement.best([[1, 1]])
    largest, _, where = log_ratio(1 / EPSILON)
    limit = discreet.rho(refinement, "add-remove").factor
    note = f"ε = {EPSILON}; for x̂1 ≥ {where} of {DRAWS:,} releases; towards {limit:.4g}"
    yield Figure("Example 1, log density ratio", largest / float(EPSILON), 1.7, "higher", "ε", note)
    scale = Fraction(discreet.calibrate(refinement, EPSILON, "add-remove")).limit_denominator(1 << 20)
    largest, surely, _ = log_ratio(scale)
    note = f"surely this much at 99.9%, one-sided; scale {float(scale):.4g}, estimate {largest / float(EPSILON):.3f}"
    yield Figure("Example 1, calibrated", surely / float(EPSILON), 1, "lower", "ε", note)


def log_ratio(scale: Fraction) -> tuple[float, float, float]:
    """Of Pr[x̂1 ≥ a] on the two tables: the largest that is measured to 5%, the largest that is sure, and its a."""
    bits = Bits()
    # The first table has one more in the first count and in the constant, so that its outputs are 1 higher.
    one, other = (
        shift + (sample_laplace(scale, DRAWS, bits) - sample_laplace(scale, DRAWS, bits)) / 2 for shift in (1, 0)
    )
    thresholds = np.arange(0, 40 * float(scale), 0.5)
    above = [DRAWS - np.searchsorted(np.sort(outputs), thresholds) for outputs in (one, other)]
    counts = np.minimum(*above) > 1000
    ratios = np.log(above[0][counts] / above[1][counts])
    errors = np.sqrt(1 / above[0][counts] + 1 / above[1][counts])
    place = int(np.argmax(np.where(errors < 0.05, ratios, -np.inf)))
    return float(ratios[place]), float((ratios - SURELY * errors).max()), float(thresholds[counts][place])
