"""Refinement by a sparse factor of BΣBᵀ, with B the constraints and Σ the covariance of the noise."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InvalidFact
from discreet.refinement.cholesky import DEPENDENT, Elimination, Factor, factor
from discreet.refinement.constraints import (
    ROUNDING,
    SHOWN,
    Constraints,
    Contradiction,
    Covariance,
    Floats,
    contradictory,
)

MOST_CORE = 5500
"""The largest dense core of a factor: 484 MB with its inverse."""

MOST_PAIRS = 4_000_000
"""Systems with more pairs of constraints that share a response are not factored."""

MOST_DENSE = 2000
CROWDED = 8
"""Up to MOST_DENSE constraints, any two of which share more responses than CROWDED on average, make a full matrix."""

DENSE_ENTRIES = 50_000_000
"""Larger matrices are multiplied as sparse ones, even where they are not."""

ALIKE = 1e3
"""Variances that differ by less than this factor neither hide a dependence nor feign one."""

REFINEMENTS = 3
"""At most so many steps; each takes the rounding of the one before out."""

GONE = 1e-11
"""What is left of a variance is 0 where it is less than this share of it: rounding."""

BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Factored:
    """Constraints that are few, or loosely enough connected, for a factor; `fits` says whether they are."""

    constraints: Constraints
    covariance: Covariance

    @cached_property
    def fits(self) -> bool:
        """Whether the factor and its inverse take less than half a gigabyte."""
        return self._dense or (self._pairs <= MOST_PAIRS and len(self._elimination.core) <= MOST_CORE)

    def refine(self, responses: Floats) -> Floats:
        """x + ΣBᵀ(BΣBᵀ)⁻¹(c − Bx), over constraints of which none follows from the others."""
        estimates = responses.copy()
        for _ in range(REFINEMENTS):
            if not len(self.constraints.broken(estimates, responses, ROUNDING)):
                break
            estimates -= self._spread @ self._factor.solve(self.constraints.residuals(estimates))
        return estimates

    @cached_property
    def variances(self) -> Floats:
        """The diagonal of Σ − ΣBᵀ(BΣBᵀ)⁻¹BΣ, exactly."""
        if self.covariance.matrix is None and not self._dense:
            gained = self._factor.quadratic_forms(self._spread.T.tocsc())
        else:
            gained = np.concatenate([self._gained(first) for first in range(0, self._spread.shape[0], BLOCK)])
        return _left(self.covariance.variances, gained)

    def _gained(self, first: int) -> Floats:
        """What constraints take off the variances of a block of responses."""
        known = self._spread[first : first + BLOCK].T.toarray()
        gained: Floats = np.sum(known * self._factor.solve(known), axis=0)
        return gained

    def variances_of(self, combinations: sparse.csr_array) -> Floats:
        """Of combinations of the estimates, a row each."""
        noise = self.covariance.times(combinations.T.tocsr())
        before = np.asarray(combinations.multiply(noise.T).sum(axis=1), np.float64)
        known = (self.constraints.matrix @ noise).toarray()
        return _left(before, np.sum(known * self._factor.solve(known), axis=0))

    def refusal(self, estimates: Floats, broken: NDArray[np.intp]) -> InvalidFact:
        """Why estimates do not meet some constraints."""
        dependent = broken[~self._choice.kept[broken]]
        if len(dependent) < len(broken):
            return InvalidFact(
                f"constraint {np.setdiff1d(broken, dependent)[0]} nearly follows from others, too nearly to be met; "
                "leave one of them out"
            )
        return contradictory([self._contradiction(int(row), estimates) for row in dependent[:SHOWN]], len(dependent))

    def _contradiction(self, row: int, estimates: Floats) -> Contradiction:
        shares = self._choice.solve(self._choice_matrix[:, [row]].toarray()[:, 0])
        stated = float(self.constraints.constants[row])
        # The estimates meet the other constraints, hence whatever follows from them.
        return Contradiction.of(shares, row, stated + float(self.constraints.residuals(estimates)[row]), stated)

    @cached_property
    def _spread(self) -> sparse.csr_array:
        """ΣBᵀ: where a shortfall of the constraints goes."""
        return self.covariance.times(self.constraints.matrix.T.tocsr())

    @cached_property
    def _pairs(self) -> float:
        """How often two constraints share a response, all in all."""
        return float(np.sum(np.diff(self._spread.indptr).astype(np.float64) ** 2))

    @property
    def _dense(self) -> bool:
        """Whether constraints are few, and share so many responses that most are neighbours."""
        count = len(self.constraints.constants)
        return count <= MOST_DENSE and self._pairs > CROWDED * count**2

    @cached_property
    def _elimination(self) -> Elimination:
        if self._dense:
            return Elimination([], [], list(range(len(self.constraints.constants))))
        return Elimination.of((abs(self.constraints.matrix) @ abs(self._spread)).tocsr())

    def _gram(self, spread: sparse.csr_array) -> sparse.csr_array:
        """B·spread."""
        if self._dense and spread.shape[0] * spread.shape[1] <= DENSE_ENTRIES:
            return sparse.csr_array(self.constraints.matrix.toarray() @ spread.toarray())
        return (self.constraints.matrix @ spread).tocsr()

    @cached_property
    def _choice(self) -> Factor:
        """Of a largest choice of constraints of which none follows from the others."""
        return factor(self._choice_matrix, self._elimination, DEPENDENT)

    @cached_property
    def _choice_matrix(self) -> sparse.csr_array:
        """BΣBᵀ; where variances differ so much that they could be taken for a dependence, as if they did not."""
        if self._alike:
            return self._gram(self._spread)
        free = sparse.diags_array((self.covariance.variances > 0).astype(np.float64))
        return self._gram((free @ self.constraints.matrix.T).tocsr())

    @cached_property
    def _factor(self) -> Factor:
        if self._alike:
            return self._choice
        chosen = sparse.diags_array(self._choice.kept.astype(np.float64))
        return factor((chosen @ self._gram(self._spread) @ chosen).tocsr(), self._elimination, 0.0)

    @property
    def _alike(self) -> bool:
        positive = self.covariance.variances[self.covariance.variances > 0]
        return (
            self.covariance.matrix is not None or not len(positive) or positive.max() <= ALIKE * float(positive.min())
        )


def _left(before: Floats, gained: Floats) -> Floats:
    left = before - gained
    return np.where(left > GONE * before, left, 0.0)
