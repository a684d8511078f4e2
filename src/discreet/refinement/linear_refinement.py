"""A linear refinement: what an analyst who knows some constants makes of noisy responses."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import InvalidFact
from discreet.refinement.constraints import Covariance, Floats, Matrix, sparse_of, vector

MOST_RESPONSES = 2000
"""A refinement is written out as a dense matrix for at most this many responses."""

ROUNDING = 1e-9
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class LinearRefinement:
    """refined = A·responses + D·constants + h [refinement, Definition 7].

    A is `on_responses`, D `on_constants`, h `offset`: a row for each output. `constraints` is the matrix whose rows
    give the constants from the true responses, and `queries` says what one row of the table at each point adds to each
    response (a column for a point). Both are needed only to tell what neighbours do to responses and constants;
    without `queries` the responses are counts of disjoint groups.
    """

    on_responses: Floats
    on_constants: Floats
    offset: Floats
    constraints: Floats | None = None
    queries: Floats | None = None

    @classmethod
    def of(
        cls,
        on_responses: ArrayLike,
        on_constants: ArrayLike,
        offset: ArrayLike | None = None,
        constraints: Matrix | None = None,
        queries: Matrix | None = None,
    ) -> "LinearRefinement":
        """Any linear refinement. Raises InvalidFact where shapes do not fit."""
        a, d = _dense(on_responses, "A"), _dense(on_constants, "D")
        outputs, responses, constants = a.shape[0], a.shape[1], d.shape[1]
        h = np.zeros(outputs) if offset is None else vector(offset, "h")
        _require_shape("D", d, (outputs, constants))
        _require_shape("h", h, (outputs,))
        b = None if constraints is None else _dense(constraints, "constraints")
        q = None if queries is None else _dense(queries, "queries")
        if b is not None:
            _require_shape("constraints", b, (constants, responses))
        if q is not None:
            _require_shape("queries", q, (responses, q.shape[1]))
        return cls(a, d, h, b, q)

    @classmethod
    def best(
        cls, constraints: Matrix, covariance: Matrix | None = None, queries: Matrix | None = None
    ) -> "LinearRefinement":
        """The refinement without bias that has the least variance: least squares [refinement, Theorem 3].

        A = 1 − DB and D = ΣBᵀ(BΣBᵀ)⁺, with B the constraints and Σ the covariance of the responses' noise.
        """
        b = _dense(constraints, "constraints")
        responses = b.shape[1]
        if responses > MOST_RESPONSES:
            raise InvalidFact(f"a refinement of {responses} responses is not written out; {MOST_RESPONSES} is the most")
        spread = Covariance.of(covariance, responses).times(sparse_of(b.T, "constraints")).toarray()
        d = spread @ np.linalg.pinv(b @ spread, rcond=1e-11, hermitian=True)
        a = np.eye(responses) - d @ b
        # A response that the constants determine has no share of its own, and not one of 10⁻¹⁶.
        return cls.of(np.where(np.abs(a) < TINY, 0.0, a), d, None, b, queries)

    def __call__(self, responses: ArrayLike, constants: ArrayLike) -> Floats:
        """The refined numbers."""
        x, c = vector(responses, "responses"), vector(constants, "constants")
        _require_shape("responses", x, self.on_responses.shape[1:])
        _require_shape("constants", c, self.on_constants.shape[1:])
        return self.on_responses @ x + self.on_constants @ c + self.offset

    def only(self, *outputs: int) -> "LinearRefinement":
        """The refinement that publishes only these outputs."""
        chosen = list(outputs)
        return LinearRefinement(
            self.on_responses[chosen], self.on_constants[chosen], self.offset[chosen], self.constraints, self.queries
        )

    @property
    def unbiased(self) -> bool:
        """Whether each output is, on average, the true response, for every truth: A + DB = 1 and h = 0."""
        if self.constraints is None or self.on_responses.shape[0] != self.on_responses.shape[1]:
            return False
        kept = self.on_responses + self.on_constants @ self.constraints
        return bool(np.allclose(kept, np.eye(len(kept)), atol=ROUNDING) and np.allclose(self.offset, 0, atol=ROUNDING))

    @property
    def constrained(self) -> bool:
        """Whether the outputs meet the constraints, whatever the responses and constants: BA = 0, BD = 1 and Bh = 0,
        constants being those of some truth. [refinement, Definition 4]"""
        if self.constraints is None or self.on_responses.shape[0] != self.on_responses.shape[1]:
            return False
        b = self.constraints
        zeros = (b @ self.on_responses, b @ self.on_constants @ b - b, b @ self.offset)
        return all(np.allclose(zero, 0, atol=ROUNDING) for zero in zeros)

    def variances(self, covariance: Matrix | None = None) -> Floats:
        """Of the outputs: the diagonal of A·Σ·Aᵀ."""
        moved = Covariance.of(covariance, self.on_responses.shape[1]).times(sparse_of(self.on_responses.T, "A"))
        found: Floats = np.einsum("ij,ji->i", self.on_responses, moved.toarray())
        return found


def _dense(given: Matrix, name: str) -> Floats:
    dense: Floats = sparse_of(given, name).toarray()
    return dense


def _require_shape(name: str, array: Floats, expected: tuple[int, ...]) -> None:
    if array.shape != expected:
        raise InvalidFact(f"{name} has the shape {array.shape}; it must be {expected}")
