"""The dual of a maximum-entropy fit: one potential for each measured number.

Over all tables p with total n, and a reference q, the fit minimises

    λ·n·KL(p ‖ q) + Σ_c ‖n·M_c p − y_c‖² / (2 v_c).

Its minimum is p(x) ∝ q(x)·exp(Σ_c θ_c(x_c)) at the θ that minimises

    F(θ) = n·log Z(θ) − θ·y + (λ/2)·Σ v·θ²,    gradient n·M p(θ) − y + λ·v·θ,

which is smooth and convex. A fact has v = 0: the same function, and the constraint n·M_c p = y_c holds where its
gradient is 0. A cell that a fact says is empty has the potential −∞ from the start.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from discreet.model.descent import Descent, descend, dot
from discreet.model.joint import Joint
from discreet.model.measured import Measured
from discreet.query.lattice import Lattice

Cells = NDArray[np.float64]
Vector = NDArray[np.float64]
Potentials = Mapping[int, Cells]

NEAR, ROUGH = 0.01, 0.03
"""A fit is done where its gradient is, on the average, this share of the noise's standard deviation; a rough one, on
the way to λ, where it is three times that."""

EXACT = 0.01
"""What stands for the standard deviation of a fact, there: it is met to NEAR·EXACT rows."""

MOST_EVALUATIONS = 2000
STEP = 1e-5
"""How far potentials are moved, at most, to see how the marginals move."""


class Dual:
    """The dual of a fit to some measurements, with potentials that are added to theirs: those of the reference."""

    def __init__(
        self, lattice: Lattice, measured: Sequence[Measured], total: float, reference: Potentials | None = None
    ) -> None:
        self.lattice, self.measured, self.total = lattice, tuple(measured), total
        self.reference = dict(reference or {})
        self.joint = Joint(lattice, tuple(sorted({one.mask for one in measured} | self.reference.keys())))
        ends = np.cumsum([one.values.size for one in measured]).tolist()
        self._places = [slice(end - one.values.size, end) for one, end in zip(measured, ends, strict=True)]
        self.values = self._joined([one.values for one in measured])
        self.variances = np.concatenate([np.full(one.values.size, one.variance) for one in measured])
        self.passes = 0

    @property
    def size(self) -> int:
        return self.values.size

    @cached_property
    def _empty(self) -> dict[int, Cells]:
        """−∞ for the cells that facts say are empty."""
        made: dict[int, Cells] = {}
        for one in self.measured:
            if not one.variance and not one.residual:
                made[one.mask] = np.where(one.empty, -inf, made.get(one.mask, 0.0))
        return made

    def potentials(self, point: Vector) -> dict[int, Cells]:
        """The potentials of every cuboid, the reference's and empty cells included."""
        made = dict(self.reference)
        for mask, empty in self._empty.items():
            made[mask] = made[mask] + empty if mask in made else empty
        for one, place in zip(self.measured, self._places, strict=True):
            own = one.back(point[place].reshape(one.values.shape))
            made[one.mask] = made[one.mask] + own if one.mask in made else own
        return made

    def expected(self, point: Vector, move: Potentials | None = None) -> tuple[float, Vector]:
        """log Z, and what would be measured without noise; `move` is added to the potentials."""
        potentials = self.potentials(point)
        for mask, own in (move or {}).items():
            potentials[mask] = potentials[mask] + own
        self.passes += 1
        log_z, marginals = self.joint.marginals(potentials)
        if log_z == inf:
            return inf, self.values
        return log_z, self.total * self._joined([one.of(marginals[one.mask]) for one in self.measured])

    def solve(self, strength: float, start: Vector, near: float | None = None) -> Descent:
        """The least of F from a start, in units in which its curvature is about the same along every potential."""
        curvature = self.curvature()
        ridge = strength * self.variances
        scale = 1 / np.sqrt(curvature + ridge)
        noise = np.where(self.variances > 0, self.variances, EXACT**2)

        def evaluate(point: Vector) -> tuple[float, Vector]:
            theta = point * scale
            log_z, expected = self.expected(theta)
            if log_z == inf:
                return inf, point
            value = self.total * log_z - dot(theta, self.values) + dot(ridge * theta, theta) / 2
            return value, scale * (expected - self.values + ridge * theta)

        def is_enough(_: Vector, gradient: Vector) -> bool:
            return float(np.mean((gradient / scale) ** 2 / noise)) <= (NEAR if near is None else near) ** 2

        found = descend(evaluate, start / scale, is_enough, MOST_EVALUATIONS)
        return Descent(found.point * scale, found.value, found.gradient / scale, found.evaluations)

    def curvature(self) -> Vector:
        """About the diagonal of the Hessian of n·log Z: the measured counts, as far as noise lets them be told."""
        parts = []
        for one in self.measured:
            if one.sums is not None:
                parts.append(one.sums.lengths * np.maximum(np.abs(one.values), np.sqrt(one.variance) or 1.0))
            elif one.residual:
                move = float(prod(size * (size - 1) for size in one.values.shape))
                parts.append(np.full(one.values.size, move * self.total / one.values.size))
            else:
                parts.append(np.maximum(one.values.reshape(-1), np.sqrt(one.variance) or 1.0))
        return np.concatenate(parts)

    def moved(self, point: Vector, direction: Vector, expected: Vector) -> Vector:
        """How what is expected moves with the point: n·Cov(M) times the direction, by a small step."""
        step = STEP / max(float(np.abs(direction).max()), 1e-300)
        return (self.expected(point + step * direction)[1] - expected) / step

    def moved_by(self, point: Vector, move: Potentials, expected: Vector) -> Vector:
        """The same for a move of the reference's potentials."""
        largest = max((float(np.abs(own).max()) for own in move.values()), default=0.0)
        if not largest:
            return np.zeros(self.size)
        step = STEP / largest
        small = {mask: step * own for mask, own in move.items()}
        return (self.expected(point, small)[1] - expected) / step

    def as_potentials(self, direction: Vector) -> dict[int, Cells]:
        """A direction of the point as a move of potentials."""
        move: dict[int, Cells] = {}
        for one, place in zip(self.measured, self._places, strict=True):
            own = one.back(direction[place].reshape(one.values.shape))
            move[one.mask] = move[one.mask] + own if one.mask in move else own
        return move

    @staticmethod
    def _joined(tables: Sequence[Cells]) -> Vector:
        return np.concatenate([table.reshape(-1) for table in tables])
