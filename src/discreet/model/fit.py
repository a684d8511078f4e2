"""From released tables to a model of the whole joint: maximum entropy, fitted in stages. It sees public numbers only.

A table that explains the measurements with the most entropy is likelier than one with spikes, but tables of people are
far from uniform. So entropy is taken relative to a reference, and the reference is a coarser fit: the first stage fits
what the measurements tell of single attributes, relative to the uniform distribution; the second what they tell of
pairs, relative to the first; the last all measurements, relative to the second. Single attributes are known well and
are hardly shrunk; interactions of three and more are mostly noise, and are shrunk towards what pairs tell.

How strongly, λ, is chosen in each stage by Mallows' criterion [Some comments on C_p, 1973; for nonlinear fits Stein,
1981, and Ye, 1998]: Σ(n·M p − y)²/v + 2·dof is, up to a constant, an unbiased estimate of the error of the fitted
marginals, in units of the noise, whatever the law of the noise is, where the fit is nearly linear in it. dof, the
trace of the derivative of the fit by what was measured, is estimated with one fixed vector of signs [Girard, 1989;
Hutchinson, 1990], through all stages: a reference that follows the noise counts. λ goes down by a factor of 4 from
STRONGEST until the criterion rises; the least of a parabola through the last three is taken.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, log

import numpy as np
from numpy.typing import NDArray

from discreet.model.descent import dot
from discreet.model.dual import ROUGH, Dual, Potentials
from discreet.model.joint import PARTS, Joint
from discreet.model.log_linear import LogLinear
from discreet.model.measured import Measured, of_order, total_of
from discreet.model.signs import signs_of
from discreet.progress import Progress, silent
from discreet.query.lattice import Lattice

Vector = NDArray[np.float64]

STRONGEST, WEAKEST = 4.0, 4.0**-9
FACTOR = 4.0

GAIN = 0.9
"""A reference need not be the best: where a weaker λ leaves more than this of the criterion, it is weak enough."""

REFERENCES = (1, 2)
"""The numbers of attributes whose fits are references, where something finer was measured."""

MOST_SOLVING, SOLVED = 40, 0.03
"""The steps of the linear solver behind dof, and the share of its right-hand side that may be left."""


@dataclass(frozen=True, eq=False)
class _Stage:
    """A stage that was fitted: its dual, its potentials' vector, λ, and how its potentials move with the probe."""

    dual: Dual
    point: Vector
    strength: float
    tangent: Vector
    criterion: float = field(default=inf)


def fit(lattice: Lattice, measured: Sequence[Measured], progress: Progress = silent) -> LogLinear:
    """The model of everything that was measured. Deterministic, and free: requires released numbers only."""
    total = total_of(measured)
    if total < 1:
        return LogLinear(lattice, total, {one.mask: np.zeros(lattice.shape(one.mask)) for one in measured}, ())
    probe = [replace(one, values=signs_of(one, place)) for place, one in enumerate(measured)]
    orders = _orders(lattice, measured)
    reference: Potentials = {}
    tangent: Potentials = {}
    strengths: list[float] = []
    for number, stage_data in enumerate([*(of_order(lattice, measured, order) for order in orders), list(measured)]):
        progress("fitting the model", number / (len(orders) + 1))
        last = number == len(orders)
        moves = list(probe) if last else of_order(lattice, probe, orders[number])
        gain = 1.0 if last else GAIN
        stage = _fitted(Dual(lattice, stage_data, total, reference), moves, tangent, gain)
        strengths.append(stage.strength)
        reference = stage.dual.potentials(stage.point)
        tangent = _added(tangent, stage.dual.as_potentials(stage.tangent))
    progress("fitting the model", 1.0)
    return LogLinear(lattice, total, reference, tuple(strengths))


def refit(model: LogLinear, measured: Sequence[Measured]) -> LogLinear:
    """The model of other numbers from the same measurements, with the same λ: a replicate of the fit."""
    lattice, total = model.lattice, total_of(measured)
    if total < 1 or not model.strengths:
        return LogLinear(lattice, total, {one.mask: np.zeros(lattice.shape(one.mask)) for one in measured}, ())
    orders = _orders(lattice, measured)
    reference: Potentials = {}
    stages = [*(of_order(lattice, measured, order) for order in orders), list(measured)]
    for strength, data in zip(model.strengths, stages, strict=True):
        dual = Dual(lattice, data, total, reference)
        reference = dual.potentials(dual.solve(strength, np.zeros(dual.size)).point)
    return LogLinear(lattice, total, reference, model.strengths)


def _orders(lattice: Lattice, measured: Sequence[Measured]) -> list[int]:
    """The numbers of attributes of the references: coarser than the finest that was measured, and something tells."""
    finest = max(one.mask.bit_count() for one in measured)
    return [order for order in REFERENCES if order < finest and of_order(lattice, measured, order)]


def _added(some: Potentials, more: Potentials) -> Potentials:
    """The sum of potentials, cuboid by cuboid."""
    return {**some, **{mask: some[mask] + own if mask in some else own for mask, own in more.items()}}


def needed_bytes(lattice: Lattice, measured: Iterable[int]) -> int:
    """An upper estimate of what a fit to these cuboids keeps in memory: the tables of a pass, the vectors of the
    descent, and the joint."""
    masks = set(measured)
    coarse = {part for mask in masks for part in lattice.ancestors(mask) if part.bit_count() in REFERENCES}
    joint = Joint(lattice, tuple(sorted(masks | coarse)))
    numbers = sum(lattice.cells(mask) for mask in masks)
    return 8 * (joint.table_cells * (PARTS + 2) + 60 * numbers + 2 * joint.cells)


def _fitted(dual: Dual, probe: Sequence[Measured], tangent: Potentials, gain: float) -> _Stage:
    """A stage with the λ that has the least criterion; the search ends where it no longer falls to a share `gain`."""
    point, found = np.zeros(dual.size), list[_Stage]()
    strength = STRONGEST
    while strength >= WEAKEST:
        found.append(_at(dual, strength, point, probe, tangent, ROUGH))
        point = found[-1].point
        if len(found) > 1 and found[-1].criterion > gain * found[-2].criterion:
            break
        strength /= FACTOR
    at = min(range(len(found)), key=lambda place: found[place].criterion)
    best = found[at]
    if gain < 1:
        return best
    strength = best.strength
    if 0 < at < len(found) - 1:
        before, here, after = (found[at + k].criterion for k in (-1, 0, 1))
        bend = before - 2 * here + after
        # In steps of log λ, positive towards stronger.
        strength *= exp((after - before) / (2 * bend) * log(FACTOR)) if bend > 0 else 1.0
    return replace(best, strength=strength, point=dual.solve(strength, best.point).point)


def _at(
    dual: Dual,
    strength: float,
    start: Vector,
    probe: Sequence[Measured],
    tangent: Potentials,
    near: float | None = None,
) -> _Stage:
    """A stage with one λ: its fit, and Mallows' criterion."""
    point = dual.solve(strength, start, near).point
    expected = dual.expected(point)[1]
    noisy = dual.variances > 0
    variances = np.where(noisy, dual.variances, 1.0)
    residual = float(np.sum(((expected - dual.values) ** 2 / variances)[noisy]))
    moves = np.concatenate([one.values.reshape(-1) for one in probe])
    moved = _response(dual, strength, point, expected, moves - dual.moved_by(point, tangent, expected))
    freedom = dot(moves / variances, moves - strength * dual.variances * moved)
    return _Stage(dual, point, strength, moved, residual + 2 * freedom)


def _response(dual: Dual, strength: float, point: Vector, expected: Vector, change: Vector) -> Vector:
    """How potentials move with what was measured: (n·Cov(M) + λV)⁻¹ times its change, by conjugate gradients.

    Only the directions that noise can take are looked at: facts do not move.
    """
    free = dual.variances > 0
    diagonal = np.maximum(dual.curvature(), 0.0) + strength * dual.variances
    solution, left = np.zeros(dual.size), np.where(free, change, 0.0)
    weighted = left / diagonal
    direction, product = weighted.copy(), dot(left, weighted)
    enough = SOLVED**2 * product
    for _ in range(MOST_SOLVING):
        if product <= enough:
            break
        applied = np.where(free, dual.moved(point, direction, expected) + strength * dual.variances * direction, 0.0)
        step = product / dot(direction, applied)
        solution += step * direction
        left -= step * applied
        weighted = left / diagonal
        before, product = product, dot(left, weighted)
        direction = weighted + product / before * direction
    return solution
