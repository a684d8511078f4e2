"""Refinement by LSQR: for very many constraints, however they are connected, as long as they are well conditioned."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

from discreet.errors import InvalidFact
from discreet.refinement.constraints import ROUNDING, Constraints, Contradiction, Floats, contradictory

MOST_STEPS = 1000
"""An iteration that has not converged after so many steps is given up."""

REFINEMENTS = 3
"""At most so many steps; each takes the rounding of the one before out."""


@dataclass(frozen=True, eq=False)
class Iterated:
    """Constraints on responses whose noises are independent, with these variances."""

    constraints: Constraints
    variances: Floats

    def refine(self, responses: Floats) -> Floats:
        """The least correction that meets the constraints; the least misfit where they contradict one another."""
        estimates = responses.copy()
        for _ in range(REFINEMENTS):
            if not len(self.constraints.broken(estimates, responses, ROUNDING)):
                break
            found, _ = _least_squares(self._rows, self.constraints.residuals(estimates) / self._lengths)
            estimates -= self._deviations * found
            if len(self.constraints.broken(estimates, responses)):
                break  # more of the same would not mend it
        return estimates

    def variances_of(self, combinations: sparse.csr_array) -> Floats:
        """Of combinations of the estimates, a row each: what the constraints do not explain of their noise."""
        noises = (combinations @ sparse.diags_array(self._deviations)).toarray()
        columns = self._rows.T.tocsr()
        return np.array([_least_squares(columns, noise)[1] for noise in noises])

    def refusal(self, estimates: Floats) -> InvalidFact:
        """Why estimates do not meet all constraints. Requires that they do not."""
        misfit = self.constraints.residuals(estimates) / self._lengths
        if np.linalg.norm(self._rows.T @ misfit) > 1e-6 * np.linalg.norm(misfit):
            return InvalidFact(
                f"{len(misfit)} constraints are too many, too entangled and too nearly dependent to be met; "
                "leave out those that follow from others"
            )
        # The misfit combines the rows to 0, and their constants not: it proves the contradiction.
        proof = misfit / self._lengths
        worst = int(np.argmax(np.abs(proof)))
        off = float(proof @ self.constraints.residuals(estimates)) / proof[worst]
        others = np.where(np.arange(len(proof)) == worst, 0.0, -proof / proof[worst])
        stated = float(self.constraints.constants[worst])
        return contradictory([Contradiction.of(others, worst, stated + off, stated)], 1)

    @cached_property
    def _deviations(self) -> Floats:
        return np.sqrt(self.variances)

    @cached_property
    def _lengths(self) -> Floats:
        """Of the constraints, where a response counts by its standard deviation; 1 for those without any noise."""
        weighted = self.constraints.matrix @ sparse.diags_array(self._deviations)
        lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1), np.float64))
        return np.where(lengths > 0, lengths, 1.0)

    @cached_property
    def _rows(self) -> sparse.csr_array:
        scaled = sparse.diags_array(1 / self._lengths) @ self.constraints.matrix @ sparse.diags_array(self._deviations)
        return scaled.tocsr()


def _least_squares(matrix: sparse.csr_array, target: Floats) -> tuple[Floats, float]:
    """The shortest solution with the least misfit, and the square of that."""
    found, _, _, misfit, *_ = lsqr(matrix, target, atol=1e-14, btol=1e-14, conlim=0, iter_lim=MOST_STEPS)
    return found, float(misfit) ** 2
