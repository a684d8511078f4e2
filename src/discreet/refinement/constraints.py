"""What is known of some numbers: linear constraints that hold exactly, and how their noises vary together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from discreet.errors import InvalidFact

Floats = NDArray[np.float64]
Matrix = ArrayLike | Any
"""Rows of numbers, or a SciPy sparse matrix."""

CONTRADICTION = 1e-7
"""A constraint that is off by more than this share of the numbers in it is broken."""

ROUNDING = 1e-14
"""A constraint that is off by less than this share is met as well as it can be."""

NEGLIGIBLE = 1e-6
"""A constraint with a smaller share in another one than this is not named."""

SHOWN = 3
"""A message has at most so many contradictions, and names at most so many constraints in each."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """matrix · truth = constants: a row for each constraint, a column for each response."""

    matrix: sparse.csr_array
    constants: Floats

    @classmethod
    def of(cls, matrix: Matrix | None, constants: ArrayLike | None, responses: int) -> "Constraints":
        """Raises InvalidFact where shapes do not fit or a number is not finite, and says which."""
        if matrix is None and constants is None:
            return cls(sparse.csr_array((0, responses)), np.zeros(0))
        if matrix is None or constants is None:
            raise InvalidFact("constraints and constants go together: give both, or neither")
        rows = sparse_of(matrix, "constraints")
        if rows.shape[1] != responses:
            raise InvalidFact(
                f"constraints have {rows.shape[1]} columns for {responses} responses; "
                "a row is a constraint, a column a response"
            )
        known = vector(constants, "constants")
        if len(known) != rows.shape[0]:
            raise InvalidFact(f"there are {rows.shape[0]} constraints and {len(known)} constants")
        return cls(rows, known)

    def residuals(self, estimates: Floats) -> Floats:
        """How far each constraint is off."""
        off: Floats = self.matrix @ estimates - self.constants
        return off

    def broken(self, estimates: Floats, responses: Floats, tolerance: float = CONTRADICTION) -> NDArray[np.intp]:
        """The constraints that are off by more than this share of the numbers in them, of either kind."""
        sizes = abs(self.matrix) @ np.maximum(np.abs(estimates), np.abs(responses)) + np.abs(self.constants)
        return np.flatnonzero(np.abs(self.residuals(estimates)) > tolerance * sizes)


@dataclass(frozen=True)
class Contradiction:
    """A constraint that others determine: they make its left side `implied`, and it says `stated`."""

    constraint: int
    others: tuple[int, ...]
    implied: float
    stated: float

    @classmethod
    def of(cls, shares: Floats, constraint: int, implied: float, stated: float) -> "Contradiction":
        """Of a constraint that is the sum of these shares of the others."""
        large = np.abs(shares) > NEGLIGIBLE * np.abs(shares).max(initial=1.0)
        return cls(constraint, tuple(np.flatnonzero(large).tolist()), implied, stated)

    def __str__(self) -> str:
        by = f"{named(self.others)} make{'s' * (len(self.others) == 1)} it" if self.others else "it is always"
        off = abs(self.implied - self.stated)
        return f"constraint {self.constraint} says {self.stated:.10g}, but {by} {self.implied:.10g}: off by {off:.10g}"


def contradictory(found: Sequence[Contradiction], count: int) -> InvalidFact:
    """The error that names them, of so many in all."""
    more = [f"and {count - len(found):,} more"] if count > len(found) else []
    shown = "; ".join([*map(str, found), *more])
    return InvalidFact(f"no numbers meet all constraints: {shown}; correct the constants, or leave one out")


def named(constraints: Sequence[int]) -> str:
    """Constraints by number, in words."""
    shown = [str(number) for number in constraints[:SHOWN]]
    if len(constraints) > SHOWN:
        others = len(constraints) - SHOWN
        return f"constraints {', '.join(shown)} and {others:,} other{'s' * (others > 1)}"
    return f"constraint{'s' * (len(shown) > 1)} {' and '.join(filter(None, [', '.join(shown[:-1]), shown[-1]]))}"


@dataclass(frozen=True, eq=False)
class Covariance:
    """Of the responses' noises: the variance of each, and where they are not independent the whole matrix."""

    variances: Floats
    matrix: sparse.csr_array | None = None

    @classmethod
    def of(cls, given: Matrix | None, responses: int) -> "Covariance":
        """None: all alike, with variance 1. A vector: independent. Raises InvalidFact."""
        if given is None:
            return cls(np.ones(responses))
        if sparse.issparse(given) or np.ndim(given) == 2:
            return cls._of_matrix(sparse_of(given, "covariance"), responses)
        variances = vector(given, "covariance")
        if len(variances) != responses:
            raise InvalidFact(f"there are {responses} responses and {len(variances)} variances")
        _require_nonnegative(variances)
        return cls(variances)

    @classmethod
    def _of_matrix(cls, matrix: sparse.csr_array, responses: int) -> "Covariance":
        if matrix.shape != (responses, responses):
            raise InvalidFact(f"covariance has the shape {matrix.shape} for {responses} responses")
        asymmetry = abs(matrix - matrix.T)
        if asymmetry.nnz and asymmetry.max() > 1e-9 * abs(matrix).max():
            raise InvalidFact("covariance is not symmetric")
        variances = matrix.diagonal()
        _require_nonnegative(variances)
        _require_within_variances(matrix, variances)
        if matrix.nnz == np.count_nonzero(variances):
            return cls(variances)
        return cls(variances, matrix)

    def times(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """Covariance · matrix."""
        return ((sparse.diags_array(self.variances) if self.matrix is None else self.matrix) @ matrix).tocsr()


def vector(given: ArrayLike, name: str) -> Floats:
    """A finite vector of floats, or InvalidFact."""
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidFact(f"{name} must be numbers") from None
    if array.ndim != 1:
        raise InvalidFact(f"{name} must be a vector; these have the shape {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise InvalidFact(f"{name}: number {bad[0]} is {array[bad[0]]}")
    return array


def sparse_of(given: Any, name: str) -> sparse.csr_array:
    """A finite sparse matrix of floats without stored zeros, or InvalidFact."""
    try:
        matrix = sparse.csr_array(given if sparse.issparse(given) else np.asarray(given), dtype=np.float64, copy=True)
    except (TypeError, ValueError):
        raise InvalidFact(f"{name} must be a matrix of numbers") from None
    if matrix.ndim != 2:
        raise InvalidFact(f"{name} must be a matrix; these have the shape {matrix.shape}")
    matrix.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(matrix.data))
    if len(bad):
        row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
        raise InvalidFact(f"{name}: row {row} has {matrix.data[bad[0]]} at column {matrix.indices[bad[0]]}")
    matrix.eliminate_zeros()
    return matrix


def _require_nonnegative(variances: Floats) -> None:
    if np.any(variances < 0):
        place = int(np.argmin(variances))
        raise InvalidFact(f"covariance: the variance of response {place} is {variances[place]:.6g}; none is below 0")


def _require_within_variances(matrix: sparse.csr_array, variances: Floats) -> None:
    """No two noises vary together by more than each does by itself."""
    pairs = matrix.tocoo()
    rows, columns = pairs.coords
    beyond = np.flatnonzero(pairs.data**2 > (1 + 1e-9) * variances[rows] * variances[columns])
    if len(beyond):
        row, column = rows[beyond[0]], columns[beyond[0]]
        raise InvalidFact(
            f"covariance: {pairs.data[beyond[0]]:.6g} between responses {row} and {column} is more than their "
            f"variances {variances[row]:.6g} and {variances[column]:.6g} allow"
        )
