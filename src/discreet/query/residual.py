"""The residual of a table of counts: what its coarser tables do not tell of it, in whole numbers.

Over attributes of n_1, …, n_s values the residual of a table is ⊗ᵢ(nᵢ·I − 1·1ᵀ) applied to it: along each axis, n times
a number less the sum of its line. Divided by ∏nᵢ it is the table's component, the part that adds up to 0 along each
axis. Noise of variance τ² on every number then leaves the component with σ² = τ²/∏nᵢ², as ResidualPlanner measures it.
[Xiao, He, Zhang, Kifer: An Optimal and Scalable Matrix Mechanism for Noisy Marginals, NeurIPS 2023]

What a row moves. A row at x adds to the residual a column v_x of that matrix, and ⟨v_x, v_y⟩ is a product over the axes
of n(n − 1) where x and y agree, and −n where they do not, for (n·I − 1·1ᵀ)² = n·(n·I − 1·1ᵀ). Hence

    ‖v_x‖² = N = ∏ nᵢ(nᵢ − 1)   and   ⟨v_x, v_y⟩ ≥ −N/(m − 1),   m the least of the nᵢ,

since every axis where they differ makes a factor −1/(nᵢ − 1) of N, at most 1/(m − 1) in size. Let a rows of the region
be added, and r be removed. Together they move the residual by a squared length of at most (a + r)²·N; and of at most

    a²·N + r²·N + 2ar·N/(m − 1)  ≤  (a² + r²)·N·m/(m − 1).

`ledger/budget.py` allows for (a + r)² times the charge of a row under `add-remove`, and for a² + r² times it under
`replace`, whether rows are one person's or those of several whom facts tie together. So Gaussian noise of variance τ²
is charged N/(2τ²) = ∏(1 − 1/nᵢ)/(2σ²) in ρ under the one, and m/(m − 1) times that under the other, at every point of
the region; in μ² N times what it costs a count, as the coordinates of a move are whole numbers whose μ² add up. Without
axes the residual is the count, which has one sign: N = 1, both times.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidNoise, UnsupportedQuery
from discreet.ledger.budget import Budget
from discreet.ledger.guarantee import Neighbours
from discreet.noise.law import Gaussian, Law

MOST_SPREAD = 1 << 24
"""The largest ∏nᵢ: the residual of 2^38 rows is then within 62 bits. Beyond, numbers wrap, which is no less private:
sums and noise wrap alike, so that what comes out is made of the noisy number that would have been."""


def squared_move(sizes: Sequence[int], neighbours: Neighbours) -> Fraction:
    """The squared length that a row counts for: N, under `replace` N·m/(m − 1). Requires sizes of at least 2."""
    square = Fraction(prod(size * (size - 1) for size in sizes))
    if neighbours == "add-remove" or not sizes:
        return square
    return square * min(sizes) / (min(sizes) - 1)


def residual_loss(law: Law, sizes: Sequence[int], budget: Budget) -> Fraction:
    """What a residual costs a row of its region, before the factor."""
    if not isinstance(law, Gaussian):
        raise InvalidNoise("a residual is measured with Gaussian noise: one row moves all of its numbers")
    return budget.vector_loss(law, squared_move(sizes, budget.neighbours))


def require_residual(sizes: Sequence[int]) -> None:
    """Raise UnsupportedQuery where a table of such sizes has no residual, or one beyond what whole numbers hold."""
    if min(sizes, default=2) < 2:
        raise UnsupportedQuery("a residual is over attributes of at least 2 values each")
    if prod(sizes) > MOST_SPREAD:
        raise UnsupportedQuery(f"a residual has at most {MOST_SPREAD:,} numbers, and this one {prod(sizes):,}")


def residual_of(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """⊗ᵢ(nᵢ·I − 1·1ᵀ) applied to a table; a new array."""
    residual = table.copy()
    for axis, size in enumerate(table.shape):
        sums = residual.sum(axis=axis, keepdims=True)
        residual *= size
        residual -= sums
    return residual
