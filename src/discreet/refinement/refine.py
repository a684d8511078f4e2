"""Refine: better estimates, of noisy responses and what is known to hold exactly. It reads and spends nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from numpy.typing import ArrayLike

from discreet.errors import InvalidFact
from discreet.refinement.constraints import Constraints, Covariance, Floats, Matrix, sparse_of, vector
from discreet.refinement.factored import Factored
from discreet.refinement.iterated import Iterated
from discreet.refinement.linear_refinement import LinearRefinement


@dataclass(frozen=True, eq=False)
class Refined:
    """Estimates that meet the constraints.

    `unbiased` says whether they are right on average, where the responses are and the constraints hold: yes for linear
    constraints; not where order, bounds or signs were enforced, which move estimates to one side. `residuals` is how
    far each constraint is off, which is rounding.
    """

    estimates: Floats
    residuals: Floats
    unbiased: bool
    constraints: Constraints = field(repr=False)
    covariance: Covariance = field(repr=False)

    @cached_property
    def variances(self) -> Floats:
        """Of each estimate, exactly: where no covariance was given, in units of one response's variance.

        Raises InvalidFact where order, bounds or signs were enforced (the variance then depends on the truth), or where
        the constraints are too entangled for all variances at once.
        """
        self._require_linear()
        factored = Factored(self.constraints, self.covariance)
        if not factored.fits:
            raise InvalidFact(
                "the constraints are too entangled for all variances at once; "
                "ask for those that matter: variances_of([[1, 0, …]])"
            )
        return factored.variances

    def variances_of(self, combinations: Matrix) -> Floats:
        """Of combinations of the estimates, exactly: a row of coefficients for each."""
        self._require_linear()
        rows = sparse_of(combinations, "combinations")
        if rows.shape[1] != len(self.estimates):
            raise InvalidFact(f"combinations have {rows.shape[1]} columns for {len(self.estimates)} estimates")
        factored = Factored(self.constraints, self.covariance)
        if factored.fits or self.covariance.matrix is not None:
            return factored.variances_of(rows)
        return Iterated(self.constraints, self.covariance.variances).variances_of(rows)

    def rule(self, queries: Matrix | None = None) -> LinearRefinement:
        """The refinement that was applied, as matrices: for `rho` and `calibrate`."""
        self._require_linear()
        covariance = self.covariance.variances if self.covariance.matrix is None else self.covariance.matrix
        return LinearRefinement.best(self.constraints.matrix, covariance, queries)

    def _require_linear(self) -> None:
        if not self.unbiased:
            raise InvalidFact("order, bounds and signs make an estimate that is not linear: its variance is not known")


def refine(
    responses: ArrayLike,
    constraints: Matrix | None = None,
    constants: ArrayLike | None = None,
    covariance: Matrix | None = None,
    *,
    nonnegative: bool = False,
    bounds: tuple[ArrayLike | None, ArrayLike | None] | None = None,
    order: str | Sequence[Sequence[int]] | None = None,
) -> Refined:
    """The estimates nearest to the responses, by their covariance, that meet everything that is known.

    `constraints · truth = constants`, a row for each constraint; some may follow from others, and where they contradict
    one another InvalidFact names them. `covariance` is None (all responses alike), a vector of variances, or a matrix.
    Linear constraints alone give the best linear estimate without bias [refinement, Theorem 3].

    `nonnegative`, `bounds` (low, high; each a number, a vector or None) and `order` ("ascending", "descending", or
    chains of places whose true values ascend) are enforced as well: the nearest point of a convex set, with a bias.
    """
    x = vector(responses, "responses")
    known = Constraints.of(constraints, constants, len(x))
    noise = Covariance.of(covariance, len(x))
    if nonnegative or bounds is not None or order is not None:
        from discreet.refinement.constrained import Shape, nearest  # the solver takes its time to import

        shape = Shape.of(len(x), nonnegative, bounds, order)
        estimates = nearest(x, known, noise, shape)
        return Refined(estimates, known.residuals(estimates), False, known, noise)
    estimates = project(x, known, noise)
    return Refined(estimates, known.residuals(estimates), True, known, noise)


def project(responses: Floats, known: Constraints, noise: Covariance) -> Floats:
    """The estimates under linear constraints alone. Raises InvalidFact, which names constraints that contradict.

    A factor is made only where an iteration does not come to them: it costs up to 17 times as much, where constraints
    are anywhere (bench/facts.py).
    """
    factored = Factored(known, noise)
    if noise.matrix is None:
        iterated = Iterated(known, noise.variances)
        estimates = iterated.refine(responses)
        if not len(known.broken(estimates, responses)):
            return estimates
        if not factored.fits:
            raise iterated.refusal(estimates)
    elif not factored.fits:
        raise InvalidFact("the constraints are too entangled for a covariance matrix; give a vector of variances")
    estimates = factored.refine(responses)
    broken = known.broken(estimates, responses)
    if len(broken):
        raise factored.refusal(estimates, broken)
    return estimates
