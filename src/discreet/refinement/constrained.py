"""Order, bounds and signs: the nearest estimates in a convex set [refinement, Section 4's future work].

A chain alone is solved by pooling adjacent violators, exactly; everything else by an interior-point solver, whose
result is polished on its active constraints, and believed for its residuals and duality gap, not for its word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse
from scipy.optimize import linprog

from discreet.errors import InvalidFact
from discreet.native import kernel
from discreet.refinement.constraints import Constraints, Covariance, Floats
from discreet.refinement.factored import Factored

MET = 1e-8
"""Constraints are met up to this share of the numbers in them and their noise; the distance is the least up to it."""

MOST_CORRELATED = 2000
"""A covariance matrix is factored densely for at most so many responses."""


@dataclass(frozen=True, eq=False)
class Shape:
    """Bounds of each number, and chains of places whose numbers ascend."""

    low: Floats
    high: Floats
    chains: tuple[NDArray[np.int64], ...] = ()

    @classmethod
    def of(
        cls,
        size: int,
        nonnegative: bool = False,
        bounds: tuple[ArrayLike | None, ArrayLike | None] | None = None,
        order: str | Sequence[Sequence[int]] | None = None,
    ) -> "Shape":
        """Raises InvalidFact where bounds cross or a chain leads outside."""
        below, above = (None, None) if bounds is None else bounds
        low, high = _bound(below, size, -np.inf, "the lower bounds"), _bound(above, size, np.inf, "the upper bounds")
        low = np.maximum(low, 0.0) if nonnegative else low
        crossed = np.flatnonzero(low > high)
        if len(crossed):
            place = crossed[0]
            raise InvalidFact(
                f"number {place} cannot be both at least {low[place]:.10g} and at most {high[place]:.10g}"
            )
        return cls(low, high, _chains(order, size))

    def inequalities(self) -> tuple[sparse.csr_array, Floats]:
        """Rows and limits: rows · x ≤ limits."""
        size = len(self.low)
        eye = sparse.eye_array(size, format="csr")
        above, below = np.flatnonzero(np.isfinite(self.high)), np.flatnonzero(np.isfinite(self.low))
        rows = [eye[above], -eye[below], *(eye[chain[:-1]] - eye[chain[1:]] for chain in self.chains)]
        limits = [self.high[above], -self.low[below], np.zeros(sum(len(chain) - 1 for chain in self.chains))]
        return sparse.vstack(rows, format="csr"), np.concatenate(limits)

    @property
    def separable(self) -> bool:
        """Whether no two chains meet, and each has the same bounds all along: pooling and clipping are exact then."""
        places = np.concatenate([np.zeros(0, np.int64), *self.chains])
        return len(np.unique(places)) == len(places) and all(
            np.all(bound == bound[:1]) for chain in self.chains for bound in (self.low[chain], self.high[chain])
        )


def nearest(responses: Floats, known: Constraints, noise: Covariance, shape: Shape) -> Floats:
    """The point nearest to the responses, by their covariance, with this shape, on the constraints.

    Raises InvalidFact where there is none, or where the solver's result does not stand up to its checks.
    """
    if not len(known.constants) and noise.matrix is None and shape.separable and np.all(noise.variances > 0):
        estimates = responses.copy()
        for chain in shape.chains:
            estimates[chain] = pool(responses[chain], 1 / noise.variances[chain])
        return np.clip(estimates, shape.low, shape.high)
    solved = _Program.of(responses, known, noise, shape).solve()
    return np.clip(solved, shape.low, shape.high)


def pool(values: Floats, weights: Floats) -> Floats:
    """The nearest ascending numbers, by Σ weight·(difference)²: adjacent violators are pooled."""
    pooled: Floats = _pool(np.ascontiguousarray(values), np.ascontiguousarray(weights))
    return pooled


@kernel
def _pool(values: Floats, weights: Floats) -> Floats:
    means, sizes, ends = np.empty(len(values)), np.empty(len(values)), np.empty(len(values), np.int64)
    blocks = 0
    for place in range(len(values)):
        mean, size = values[place], weights[place]
        while blocks and means[blocks - 1] >= mean:
            blocks -= 1
            size += sizes[blocks]
            mean += (means[blocks] - mean) * (sizes[blocks] / size)
        means[blocks], sizes[blocks], ends[blocks] = mean, size, place + 1
        blocks += 1
    pooled = np.empty(len(values))
    start = 0
    for block in range(blocks):
        pooled[start : ends[block]] = means[block]
        start = ends[block]
    return pooled


@dataclass(frozen=True, eq=False)
class _Program:
    """Least |y|² with x = responses + root·y, known · x = constants and rows · x ≤ limits; root·rootᵀ = covariance."""

    responses: Floats
    known: Constraints
    noise: Covariance
    root: sparse.csr_array
    rows: sparse.csr_array
    limits: Floats

    @classmethod
    def of(cls, responses: Floats, known: Constraints, noise: Covariance, shape: Shape) -> "_Program":
        return cls(responses, known, noise, _root(noise), *shape.inequalities())

    def solve(self) -> Floats:
        equal, unequal = (self.known.matrix @ self.root).tocsr(), (self.rows @ self.root).tocsr()
        matrix = sparse.vstack([equal, unequal], format="csr")
        sides = np.concatenate([-self.known.residuals(self.responses), self.limits - self.rows @ self.responses])
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64))
        lengths = np.where(lengths > 0, lengths, 1.0)
        matrix, sides = (sparse.diags_array(1 / lengths) @ matrix).tocsc(), sides / lengths
        # In units of the largest violation, the solver's tolerances mean the same for all problems.
        unit = float(np.concatenate([np.abs(sides[: equal.shape[0]]), -sides[equal.shape[0] :], [1e-300]]).max())
        found = _interior_point(matrix, sides / unit, equal.shape[0])
        if found is None:
            raise self._refusal()
        moved, duals, slacks = found
        active = np.flatnonzero(duals[equal.shape[0] :] > slacks[equal.shape[0] :])
        estimates = self.responses + self.root @ (moved * unit)
        least = _lower_bound(matrix, sides / unit, duals, equal.shape[0]) * unit**2
        return self._polished(estimates, active, least)

    def _polished(self, estimates: Floats, active: NDArray[np.intp], least: float) -> Floats:
        """The nearest point on the active constraints, if it passes; else the solver's, if that does."""
        known = Constraints(
            sparse.vstack([self.known.matrix, self.rows[active]], format="csr"),
            np.concatenate([self.known.constants, self.limits[active]]),
        )
        factored = Factored(known, self.noise)
        candidates = [factored.refine(self.responses)] if factored.fits else []
        for candidate in (*candidates, estimates):
            if self._passes(candidate, least):
                return candidate
        raise InvalidFact("the solver did not reach estimates that meet all constraints; scale them to similar sizes")

    def _passes(self, estimates: Floats, least: float) -> bool:
        """Whether estimates are feasible, and no further away than the least possible."""
        deviations = np.sqrt(self.noise.variances)
        sizes = np.abs(estimates) + deviations
        allowed = MET * (abs(self.rows) @ sizes + np.abs(self.limits))
        allowed_equal = MET * (abs(self.known.matrix) @ sizes + np.abs(self.known.constants))
        step = estimates - self.responses
        if self.noise.matrix is None:
            moved = np.divide(step, deviations, out=np.zeros_like(step), where=deviations > 0)
        else:
            moved = linalg.solve_triangular(self.root.toarray(), step, lower=True)
        distance = 0.5 * float(moved @ moved)
        return (
            bool(np.all(np.abs(self.known.residuals(estimates)) <= allowed_equal))
            and bool(np.all(self.rows @ estimates - self.limits <= allowed))
            and distance <= least + MET * max(1.0, distance)
        )

    def _refusal(self) -> InvalidFact:
        """What has to give, where as little as possible gives; a constraint rather than a bound."""
        count, size = self.known.matrix.shape
        eye, room = sparse.eye_array(count), sparse.eye_array(len(self.limits))
        costs = np.concatenate([np.zeros(size), np.ones(2 * count), np.full(len(self.limits), 2.0)])
        given = linprog(
            costs,
            A_eq=sparse.hstack([self.known.matrix, eye, -eye, sparse.csr_array((count, len(self.limits)))]),
            b_eq=self.known.constants,
            A_ub=sparse.hstack([self.rows, sparse.csr_array((len(self.limits), 2 * count)), -room]),
            b_ub=self.limits,
            bounds=[(None, None)] * size + [(0, None)] * (len(costs) - size),
        )
        if given.status != 0:
            return InvalidFact("no numbers meet all constraints, bounds and orders together")
        off = np.concatenate([np.abs(self.known.residuals(given.x[:size])), given.x[size + 2 * count :]])
        worst = int(np.argmax(off))
        places = " and ".join(map(str, self.rows[[worst - count]].indices)) if worst >= count else ""
        what = f"the bound or order of {places}" if places else f"constraint {worst}"
        return InvalidFact(
            f"no numbers meet all constraints, bounds and orders: {what} would be off by {off[worst]:.10g} at the least"
        )


def _interior_point(matrix: sparse.csc_array, sides: Floats, equalities: int) -> tuple[Floats, Floats, Floats] | None:
    """The least |y|²/2 under equalities, then inequalities, with its duals and slacks; None where there is none."""
    size = matrix.shape[1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones: list[Any] = [clarabel.ZeroConeT(equalities), clarabel.NonnegativeConeT(matrix.shape[0] - equalities)]
    objective = sparse.csc_matrix(sparse.eye_array(size))
    solver = clarabel.DefaultSolver(objective, np.zeros(size), sparse.csc_matrix(matrix), sides, cones, settings)
    solution = solver.solve()
    if solution.status in (clarabel.SolverStatus.PrimalInfeasible, clarabel.SolverStatus.AlmostPrimalInfeasible):
        return None
    return np.array(solution.x), np.array(solution.z), np.array(solution.s)


def _lower_bound(matrix: sparse.csc_array, sides: Floats, duals: Floats, equalities: int) -> float:
    """What |y|²/2 is at least, by any duals at all: weak duality."""
    valid = np.concatenate([duals[:equalities], np.maximum(duals[equalities:], 0.0)])
    pulled = matrix.T @ valid
    return -0.5 * float(pulled @ pulled) - float(sides @ valid)


def _root(noise: Covariance) -> sparse.csr_array:
    if noise.matrix is None:
        return sparse.diags_array(np.sqrt(noise.variances)).tocsr()
    if noise.matrix.shape[0] > MOST_CORRELATED:
        raise InvalidFact(f"with a covariance matrix, order and bounds take at most {MOST_CORRELATED} responses")
    try:
        return sparse.csr_array(linalg.cholesky(noise.matrix.toarray(), lower=True))
    except linalg.LinAlgError:
        raise InvalidFact("covariance is not positive definite") from None


def _bound(given: ArrayLike | None, size: int, otherwise: float, name: str) -> Floats:
    if given is None:
        return np.full(size, otherwise)
    try:
        bound = np.broadcast_to(np.asarray(given, np.float64), (size,)).copy()
    except (TypeError, ValueError):
        raise InvalidFact(f"{name} must be a number, or one for each of {size} responses") from None
    if np.any(np.isnan(bound)):
        raise InvalidFact(f"{name}: number {np.flatnonzero(np.isnan(bound))[0]} is nan")
    return bound


def _chains(order: str | Sequence[Sequence[int]] | None, size: int) -> tuple[NDArray[np.int64], ...]:
    if order is None:
        return ()
    if isinstance(order, str):
        whole = np.arange(size)
        match order:
            case "ascending":
                return (whole,)
            case "descending":
                return (whole[::-1].copy(),)
        raise InvalidFact(f'order is "ascending", "descending" or chains of places, not {order!r}')
    chains = tuple(np.asarray(chain) for chain in order)
    for number, chain in enumerate(chains):
        whole_numbers = chain.ndim == 1 and (not len(chain) or np.issubdtype(chain.dtype, np.integer))
        if not whole_numbers or np.any(chain < 0) or np.any(chain >= size) or len(np.unique(chain)) < len(chain):
            raise InvalidFact(f"chain {number} must be different places from 0 to {size - 1}")
    return tuple(chain.astype(np.int64) for chain in chains)
