"""Example 1 of the refinement seed: two counts, their sum known, and what the density ratio of the refined ones is.

The exact ratio of discrete noise, and that of simulated releases.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.noise.bits import Bits
from discreet.noise.laplace import sample_laplace
from discreet.refinement.linear_refinement import LinearRefinement
from discreet.refinement.rho import calibrate
from experiments.facts.plot import COLOURS, panels, save, write_rows

EPSILON = Fraction(1, 2)
FURTHEST = 24
DRAWS = 10_000_000

Floats = NDArray[np.float64]


def exact_log_ratio(scale: Fraction, outputs: Floats) -> Floats:
    """Of Pr[x̂1 = x] on a table and on its neighbour, whose first count and constant are both one lower.

    x̂1 = μ1 + (n1 − n2)/2, and the difference of two discrete Laplace draws has Pr[k] ∝ (|k| + (1 + q²)/(1 − q²))·q^|k|.
    """
    q = np.exp(-1 / float(scale))

    def log_mass(k: Floats) -> Floats:
        return np.log(np.abs(k) + (1 + q * q) / (1 - q * q)) + np.abs(k) * np.log(q)

    return log_mass(2 * (outputs - 1)) - log_mass(2 * outputs)


def simulated_log_ratio(scale: Fraction, outputs: Floats, draws: int) -> Floats:
    """The same, counted; nan where an output came up fewer than 1,000 times."""
    bits = Bits()
    counts = []
    for shift in (1, 0):
        halves = 2 * shift + sample_laplace(scale, draws, bits) - sample_laplace(scale, draws, bits)
        low = int(halves.min())
        found = np.bincount(halves - low)
        at = (2 * outputs).astype(np.int64) - low
        inside = (at >= 0) & (at < len(found))
        counts.append(np.where(inside, found[np.clip(at, 0, len(found) - 1)], 0))
    enough = np.minimum(*counts) >= 1000
    return np.log(np.where(enough, counts[0], np.nan) / np.where(enough, counts[1], np.nan))


def draw() -> None:
    scales = {
        "noise for ε on the responses": 1 / EPSILON,
        "calibrated noise": Fraction(
            calibrate(LinearRefinement.best([[1, 1]]), EPSILON, "add-remove")
        ).limit_denominator(1000),
    }
    outputs = np.arange(-FURTHEST, FURTHEST + 0.5, 0.5)
    figure, (panel,) = panels(1, width=7.5)
    rows = []
    for colour, (name, scale) in zip((COLOURS[4], COLOURS[1]), scales.items(), strict=True):
        exact = exact_log_ratio(scale, outputs) / float(EPSILON)
        counted = simulated_log_ratio(scale, outputs, DRAWS) / float(EPSILON)
        panel.plot(outputs, exact, color=colour, label=f"{name}: scale {float(scale):g}")
        panel.plot(outputs, counted, ".", color=colour, markersize=4)
        rows += [(name, x, f"{a:.5f}", f"{b:.5f}") for x, a, b in zip(outputs, exact, counted, strict=True)]
    for bound in (-2, -1, 1, 2):
        panel.axhline(bound, color="#999999", linewidth=0.8, linestyle=":")
    panel.set_yticks([-2, -1, 0, 1, 2], labels=["−2ε", "−ε", "0", "ε", "2ε"])
    panel.set_xlabel("refined first count, less the smaller table's own")
    panel.set_title(f"log density ratio of neighbours; dots: {DRAWS:,} simulated releases", fontsize=10, loc="left")
    panel.legend(frameon=False, fontsize=9)
    save(figure, "example1")
    write_rows("example1", ("noise", "output", "log ratio / epsilon", "simulated"), rows)
