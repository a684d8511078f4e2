"""Shrunken counts against raw ones: mean squared errors over long GROUP BYs, most of whose groups are empty."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from bench.figure import Figure
from discreet.answer.shrink import LEAST_LINES, shrink
from discreet.noise.bits import SeededBits
from discreet.noise.law import Laplace
from discreet.noise.spread import Draws

CELLS = 1_331 * 10 * 2
OCCUPIED = 0.05
LARGEST = 20_000
SCALES = ("3/10", "1", "20", "100", "500")
RUNS = 40
"""Of the shortest GROUP BYs: their errors vary."""


def counts(cells: int, rng: np.random.Generator) -> np.ndarray:
    """Zipf's counts in 5% of the cells, nobody in the others."""
    return np.where(rng.random(cells) < OCCUPIED, np.minimum(rng.zipf(1.5, cells), LARGEST), 0)


def errors(true: np.ndarray, noise: Laplace, seed: int) -> np.ndarray:
    """The mean squared errors of the shrunken and of the raw counts."""
    seen = true + noise.sample(len(true), SeededBits(seed))
    shrunken = np.array(shrink(seen.tolist(), [(Draws(1.0, noise),)] * len(true)))
    return np.array([((shrunken - true) ** 2).mean(), ((seen - true) ** 2).mean()])


def figures() -> Iterator[Figure]:
    rng = np.random.default_rng(18)
    about = f"{CELLS:,} cells, 5% of them occupied, Zipf's counts"
    for scale in SCALES:
        own, raw = errors(counts(CELLS, rng), Laplace(Fraction(scale)), 18)
        name = f"squared error of shrunken counts, scale {float(Fraction(scale)):g}"
        yield Figure(name, float(own / raw), 0.3, "lower", "× raw", about)
    for name, made in (("sparse", counts), ("even", lambda cells, rng: rng.integers(0, 2000, cells))):
        found = sum(errors(made(LEAST_LINES, rng), Laplace(Fraction(100)), seed) for seed in range(RUNS))
        note = f"over {RUNS} GROUP BYs of the fewest lines that are shrunk; scale 100"
        title = f"squared error of shrunken counts, {LEAST_LINES} {name} lines"
        yield Figure(title, float(found[0] / found[1]), 1.0, "lower", "× raw", note)
