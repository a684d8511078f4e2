"""Consistency by linear programs: the cube with fitting roll-ups that is nearest to its sources in L1 or in L∞.

Distances are counted in scales of each source's noise: |ĉ(a) − c̃(a)|/scale(a), which for one scale are programs 4.3 and
4.4 of the cubes seed. Least squares is more accurate, has exact variances and takes any size; these are here for their
bounds, which hold for all cells at once, or in sum, with no word on the distribution in between.

The bounds [cubes, Theorems 4.2.1 and 4.2.2, for unequal scales and discrete noise]. The true cube is feasible and the
found one optimal, so either distance from the truth is at most twice that of the noise. Laplace: the discrete noise has
Pr[|Y| ≥ k] = 2q^k/(1+q) ≤ q^(k−1/2) with q = exp(−1/scale), so that |Y| is at most scale·X + 1/2 with X of the standard
exponential distribution, in the order of distributions. Over n cells, max X ≤ ln(n/δ) with probability 1 − δ, and
Σ X ≤ t·n with probability 1 − (t·e^(1−t))^n for t > 1. Gaussian: the noise is σ-subgaussian [Canonne, Kamath, Steinke
2020], so max |Y|/σ ≤ √(2·ln(2n/δ)), and Σ Y²/σ² ≤ t·n with probability 1 − (t·e^(1−t))^(n/2), hence Σ |Y|/σ ≤ n·√t.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import brentq, linprog

from discreet.cube.consistency import Source
from discreet.errors import UnsupportedQuery
from discreet.noise.law import Gaussian, Noise
from discreet.query.lattice import Lattice

Norm = Literal["l1", "linf"]

MOST_CELLS = 20_000
"""Base cells and source cells together. Beyond it a program takes minutes, and least squares is there."""

FEASIBLE = 1e-6
"""How far a solution may be from its own constraints, in scales of noise."""


@dataclass(frozen=True)
class NormBound:
    """What holds for all source cells with a probability: for linf, |ĉ − c| ≤ `within` scales of its noise at every
    cell; for l1, Σ |ĉ − c| / scale ≤ `within`. Rounding every cell to the nearest whole number adds `rounding`."""

    norm: Norm
    probability: float
    within: float
    rounding: float

    def __str__(self) -> str:
        each = self.norm == "linf"
        cells, whose = ("no measured cell is", "its") if each else ("all measured cells together are not", "their")
        return (
            f"at {self.probability:.4g}, {cells} further from the truth than {self.within:,.4g} scales of {whose} "
            f"noise ({self.rounding:,.2g} more if rounded)"
        )


def nearest(lattice: Lattice, sources: Iterable[Source], laws: Mapping[int, Noise], norm: Norm) -> NDArray[np.float64]:
    """The base cells of the cube nearest to its sources, by HiGHS. Raises UnsupportedQuery beyond MOST_CELLS."""
    require_small(lattice, laws, norm)
    sums, noisy, scales = _system(lattice, list(sources), laws)
    scaled = sparse.diags_array(1 / scales) @ sums
    cells, rows = sums.shape[1], sums.shape[0]
    slack = sparse.csr_array(np.ones((rows, 1))) if norm == "linf" else sparse.eye_array(rows, format="csr")
    slacks = slack.shape[1]
    program = linprog(
        np.concatenate([np.zeros(cells), np.ones(slacks)]),
        A_ub=sparse.block_array([[scaled, -slack], [-scaled, -slack]], format="csr"),
        b_ub=np.concatenate([noisy, -noisy]) / np.concatenate([scales, scales]),
        bounds=[(None, None)] * cells + [(0, None)] * slacks,
        method="highs-ipm",  # on these programs thirty times as fast as the simplex method
    )
    if program.status != 0:
        raise UnsupportedQuery(
            f"the {norm} program was not solved (HiGHS: {program.message}); publish by least squares"
        )
    found: NDArray[np.float64] = program.x[:cells]
    distances = np.abs(scaled @ found - noisy / scales)
    if not np.all(distances <= program.x[cells:] + FEASIBLE):
        raise UnsupportedQuery(f"the {norm} program's solution does not meet its constraints; publish by least squares")
    return found.reshape(lattice.sizes)


def require_small(lattice: Lattice, laws: Mapping[int, Noise], norm: str) -> None:
    """Refuse what a linear program cannot do in reasonable time: before anything is spent."""
    if norm not in get_args(Norm):
        raise UnsupportedQuery(f"a norm is l2, l1 or linf, not {norm!r}")
    cells = lattice.cells(lattice.base) + sum(lattice.cells(mask) for mask in laws)
    if cells > MOST_CELLS:
        raise UnsupportedQuery(
            f"the {norm} program would have {cells:,} cells, and at most {MOST_CELLS:,} are solved; publish by least "
            "squares (l2), or with fewer dimensions"
        )


def norm_bound(lattice: Lattice, laws: Mapping[int, Noise], norm: Norm, probability: float = 0.95) -> NormBound:
    """How near the truth the nearest cube is, before anything is drawn."""
    counts = np.array([lattice.cells(mask) for mask in laws])
    scales = np.array([float(law.scale) for law in laws.values()])
    cells, failure = int(counts.sum()), 1 - probability
    gaussian = any(isinstance(law, Gaussian) for law in laws.values())
    if norm == "linf":
        noise = math.sqrt(2 * math.log(2 * cells / failure)) if gaussian else math.log(cells / failure)
        rounding = float(0.5 / scales.min())
    else:
        stretch = _stretch(cells / 2 if gaussian else cells, failure)
        noise = cells * (math.sqrt(stretch) if gaussian else stretch)
        rounding = float(0.5 * (counts / scales).sum())
    discreteness = 0.0 if gaussian else rounding  # 1/2 a cell both times
    return NormBound(norm, probability, 2 * (noise + discreteness), rounding)


def _stretch(exponent: float, failure: float) -> float:
    """The t > 1 with (t·e^(1−t))^exponent = failure."""
    aim = math.log(failure) / exponent
    return float(brentq(lambda t: math.log(t) + 1 - t - aim, 1.0, 2 - 2 * aim))


def _system(
    lattice: Lattice, sources: list[Source], laws: Mapping[int, Noise]
) -> tuple[sparse.csr_array, NDArray[np.float64], NDArray[np.float64]]:
    """Which base cells every source cell sums, what it came out as, and the scale of its noise."""
    blocks = []
    for mask, _ in sources:
        block = sparse.csr_array(np.ones((1, 1)))
        for axis, size in enumerate(lattice.sizes):
            kept = mask >> axis & 1
            block = sparse.kron(block, sparse.eye_array(size) if kept else np.ones((1, size)), format="csr")
        blocks.append(block)
    noisy = np.concatenate([np.asarray(table, np.float64).reshape(-1) for _, table in sources])
    scales = np.concatenate([np.full(lattice.cells(mask), float(laws[mask].scale)) for mask, _ in sources])
    return sparse.csr_array(sparse.vstack(blocks)), noisy, scales
