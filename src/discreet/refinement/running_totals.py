"""Running totals of n periods from n noisy numbers: which combination of periods to measure at the end of each.

Total i is the sum of periods 1 … i: A x with A the lower triangle of ones. What is measured at the end of period i is
row i of a lower-triangular matrix of whole numbers W, in grains of 1/GRAINS: W x + z, exactly, and with fresh noise z
for each. The totals are computed from them alone: A x + A W⁻¹ z. A row of period j is charged for column j of W; no
choice has a smaller product of the longest column and the longest row of A W⁻¹ but for the rounding.
[Denisov, McMahan, Rush, Smith, Thakurta 2022; proof: running_totals.md]
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UnsupportedQuery

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_PERIODS = 512
"""A strategy for more periods takes minutes to find."""
GRAINS = 1 << 12
"""A weight is a whole number of 1/GRAINS: what rounding adds to a variance is below one part in a thousand."""
CLOSE = 1e-4
"""A strategy is looked for until it is proved to be this close to the best, relatively."""
MOST_ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class RunningStrategy:
    """What is measured at the end of each period: row i of `weights`, whole grains, over the periods up to i."""

    weights: Ints

    def __post_init__(self) -> None:
        rows = self.weights
        if rows.ndim != 2 or rows.shape[0] != rows.shape[1] or not rows.size:
            raise ValueError("a strategy has a row and a column for each period")
        if np.triu(rows, 1).any() or not np.diagonal(rows).all():
            raise ValueError("what is measured at the end of a period is of it, and of none after it")

    @property
    def periods(self) -> int:
        return len(self.weights)

    @cached_property
    def squared_columns(self) -> tuple[int, ...]:
        """What each period is charged for, exactly: the squared length of its column, in squared grains."""
        return tuple(sum(int(weight) ** 2 for weight in column) for column in self.weights.T)

    @cached_property
    def summed_columns(self) -> tuple[int, ...]:
        """The same for Laplace noise: the sum of its column, in grains."""
        return tuple(sum(abs(int(weight)) for weight in column) for column in self.weights.T)

    @cached_property
    def combinations(self) -> Floats:
        """Row i says how total i is computed from the numbers measured up to then, in grains: A W⁻¹."""
        from scipy.linalg import solve_triangular

        ones = np.tril(np.ones(self.weights.shape))
        # X W = A, transposed: Wᵀ Xᵀ = Aᵀ, whose solution is upper triangular.
        return np.tril(solve_triangular(self.weights.astype(np.float64), ones.T, trans="T", lower=True).T)

    @cached_property
    def variances(self) -> Floats:
        """The variance of each total, for noise of variance 1 in squared grains."""
        return np.asarray((self.combinations**2).sum(axis=1))

    @property
    def worst(self) -> float:
        """The largest variance of a total, times 2ρ, where ρ is the most that a row of one period costs."""
        return max(self.squared_columns) * float(self.variances.max())


def best_strategy(periods: int) -> RunningStrategy:
    """The strategy for Gaussian noise with the least largest variance, for what it costs: but for rounding, as close as
    `CLOSE`."""
    _require_periods(periods)
    gram = _best_gram(periods)
    # L with LᵀL = gram, lower triangular: Cholesky's factor, seen from the other corner.
    lower = np.linalg.cholesky(gram[::-1, ::-1])[::-1, ::-1].T
    return RunningStrategy(np.rint(lower * GRAINS).astype(np.int64))


def block_strategy(periods: int) -> RunningStrategy:
    """A strategy for Laplace noise: each period by itself, but the last of a block of so many, at the end of which the
    whole block is measured instead. Blocks are as long as makes the largest variance least: 1, where that is best."""
    _require_periods(periods)
    length = min(range(1, periods + 1), key=lambda own: ((own > 1) + 1) ** 2 * _most_added_up(periods, own))
    weights = np.eye(periods, dtype=np.int64) * GRAINS
    for end in range(length, periods + 1, length):
        weights[end - 1, end - length : end] = GRAINS
    return RunningStrategy(weights)


def _most_added_up(periods: int, length: int) -> int:
    """How many measurements a total adds up at most, with blocks of this length."""
    return max(total // length + total % length for total in range(1, periods + 1))


def _require_periods(periods: int) -> None:
    if not 1 <= periods <= MOST_PERIODS:
        raise UnsupportedQuery(f"running totals are of 1 to {MOST_PERIODS} periods, not {periods:,}; take longer ones")


def least_possible(periods: int) -> float:
    """A bound from below that is nearly reached: no linear strategy, triangular or not, has a smaller `worst`."""
    _, sizes, _ = _decomposed(*_best_weights(periods))
    return float(sizes.sum()) ** 2


def _best_gram(periods: int) -> Floats:
    """CᵀC of the best C whose columns have length 1 at most."""
    rows, columns = _best_weights(periods)
    _, sizes, right = _decomposed(rows, columns)
    gram = (right.T * sizes) @ right / np.sqrt(np.outer(columns, columns))
    return np.asarray(gram / np.diagonal(gram).max())


def _best_weights(periods: int) -> tuple[Floats, Floats]:
    """How much each total and each period matters where all that matter are as bad as the worst: rows and columns,
    each of sum 1, for which the weighted triangle has the largest sum of singular values."""
    rows, columns = np.full((2, periods), 1 / periods)
    for _ in range(MOST_ROUNDS):
        left, sizes, right = _decomposed(rows, columns)
        of_rows, of_columns = (left**2 @ sizes) / rows, (sizes @ right**2) / columns
        # The product of the longest row and column is that of a strategy; the sum of sizes is below that of any.
        if np.sqrt(of_rows.max() * of_columns.max()) <= (1 + CLOSE) * sizes.sum():
            break
        rows, columns = (weights * lengths for weights, lengths in ((rows, of_rows), (columns, of_columns)))
        rows, columns = rows / rows.sum(), columns / columns.sum()
    return rows, columns


def _decomposed(rows: Floats, columns: Floats) -> tuple[Floats, Floats, Floats]:
    """The singular vectors and values of the triangle of ones with its rows and columns weighted."""
    ones = np.tril(np.ones((len(rows), len(columns))))
    left, sizes, right = np.linalg.svd(np.sqrt(rows)[:, None] * ones * np.sqrt(columns))
    return left, sizes, right
