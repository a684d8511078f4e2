"""From released tables to a mixture of products, where the joint is too large for `fit`. It sees public numbers only.

Minimised is, over shares w and distributions q of K groups,

    λ·n·Σ_k w_k·Σ_a KL(q_ka ‖ r_a)  +  Σ_c ‖n·M_c p − y_c‖² / (2 v_c),

where r_a is what the measurements tell of attribute a alone. The first term is an upper bound of λ·n·KL(p ‖ Π_a r_a),
the entropy that `fit` maximises, for KL is convex: groups differ from everybody as far as the measurements insist.
Without it a mixture of so many groups follows the noise.

It is not convex, so a path is followed instead: from groups that are fixed, small variations of everybody, down by Adam
[Kingma, Ba, 2015] for one λ after another, each a quarter of the last. As in `fit`, Mallows' criterion decides: for λ
how long, and after which λ it ends. Its degrees of freedom are those of the whole path, as Ye [On measuring and
correcting the effects of data mining and model selection, 1998] and Efron [The estimation of prediction error, 2004]
take them where there is no derivative to speak of: the path is gone twice, the second time with the measured numbers
moved by a standard deviation of their noise, up or down by a fixed vector of signs.

All pairs of attributes are worked on at once: with the groups' distributions end to end as rows of Q, their marginals
are the blocks of Qᵀ·diag(w)·Q.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from discreet.model.measured import Measured, of_order, total_of
from discreet.model.mixture import Cells, ProductMixture, marginal, starts_of, weighted
from discreet.model.signs import signs, signs_of
from discreet.progress import Progress, silent
from discreet.query.lattice import Lattice

Ints = NDArray[np.int64]

GROUPS = 300
VARIED = 0.5
"""How far the logarithms of a group's distributions are from everybody's at the start."""
LEAST = 1e-3
"""The least share of a value in everybody's distribution, where even shares are 1: what is measured below 0 is not."""

STRONGEST, WEAKEST, FACTOR = 0.25, 0.25 * 4.0**-5, 4.0
STEP, FORGETTING, FORGETTING_SQUARES = 0.05, 0.9, 0.99
ROUND = 25
"""Steps after which the criterion is looked at."""
FALLEN = 0.99
"""A λ is done with where a round leaves more than this share of what the criterion is above that of the truth."""
MOST_STEPS = 400
"""Of each λ."""


def fit_mixture(lattice: Lattice, measured: Sequence[Measured], progress: Progress = silent) -> ProductMixture:
    """The mixture of everything that was measured: released numbers only. Deterministic up to rounding.

    Requires that everything has noise: facts cannot be held exactly.
    """
    total = total_of(measured)
    probe = [replace(one, values=signs_of(one, place)) for place, one in enumerate(measured)]
    moved = [replace(one, values=one.values + sign.values) for one, sign in zip(measured, probe, strict=True)]
    path, beside = _Path.start(lattice, measured, total), _Path.start(lattice, moved, total)
    number = sum(one.values.size for one in measured)
    best, least = path.mixture(), inf
    strength = STRONGEST
    while strength >= WEAKEST and total >= 1:
        before = inf
        for _ in range(MOST_STEPS // ROUND):
            for _ in range(ROUND):
                path.step(strength)
                beside.step(strength)
            criterion = _criterion(path.mixture(), beside.mixture(), measured, probe)
            if criterion < least:
                best, least = path.mixture(), criterion
            # The truth itself would have the number of cells, on average.
            if criterion - number > FALLEN * (before - number):
                break
            before = criterion
        if best.strengths[-1:] != (strength,):
            break
        strength /= FACTOR
        progress("fitting the model", len(best.strengths) / 6)
    progress("fitting the model", 1.0)
    return best


def refit_mixture(mixture: ProductMixture, measured: Sequence[Measured]) -> ProductMixture:
    """The mixture of other numbers from the same measurements, by as many steps with the same λ."""
    path = _Path.start(mixture.lattice, measured, total_of(measured))
    for strength, steps in zip(mixture.strengths, mixture.steps, strict=True):
        for _ in range(steps):
            path.step(strength)
    return path.mixture()


def mixture_bytes(lattice: Lattice, measured: Iterable[int]) -> int:
    """An upper estimate of what a fit to these cuboids keeps in memory: twice each, the path and the one beside it."""
    values, measured = sum(lattice.sizes), list(measured)
    largest = max(map(lattice.cells, measured), default=0)
    return 8 * (2 * (12 * GROUPS * values + 5 * values**2) + 6 * sum(map(lattice.cells, measured)) + GROUPS * largest)


@dataclass(eq=False)
class _Path:
    """Where a descent is: logarithms of shares and distributions, and Adam's two means of each."""

    lattice: Lattice
    loss: "_Loss"
    everybody: Cells
    """The logarithms of r, end to end."""
    total: float
    logs: Cells
    share_logs: Cells
    means: list[Cells]
    squares: list[Cells]
    strengths: list[float] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    _taken: int = 0

    @classmethod
    def start(cls, lattice: Lattice, measured: Sequence[Measured], total: float) -> "_Path":
        everybody = np.concatenate(_everybody(lattice, measured))
        varied = VARIED * (signs(GROUPS * everybody.size, 0) + signs(GROUPS * everybody.size, 1)) / np.sqrt(2)
        logs = everybody + varied.reshape(GROUPS, everybody.size)
        share_logs = np.zeros(GROUPS)
        means, squares = ([np.zeros_like(logs), np.zeros_like(share_logs)] for _ in range(2))
        loss = _Loss.of(lattice, measured, total)
        return cls(lattice, loss, everybody, total, logs, share_logs, means, squares)

    def mixture(self) -> ProductMixture:
        shares, tables = self._distributions()
        return ProductMixture(self.lattice, self.total, shares, tables, tuple(self.strengths), tuple(self.steps))

    def _distributions(self) -> tuple[Cells, Cells]:
        starts = np.array(starts_of(self.lattice))
        return _softmax(self.share_logs, np.array([0])), _softmax(self.logs, starts)

    def step(self, strength: float) -> None:
        """One step of Adam."""
        if self.strengths[-1:] != [strength]:
            self.strengths.append(strength)
            self.steps.append(0)
        self.steps[-1] += 1
        self._taken += 1
        starts = np.array(starts_of(self.lattice))
        shares, tables = self._distributions()
        by_share, by_table = self.loss.slopes(shares, tables)
        above = np.log(np.maximum(tables, 1e-300)) - self.everybody
        by_share += strength * self.total * np.einsum("ks,ks->k", tables, above)
        by_table += strength * self.total * shares[:, np.newaxis] * above
        slopes = [_through(tables, by_table, starts), _through(shares, by_share, np.array([0]))]
        for place, (own, slope) in enumerate(zip((self.logs, self.share_logs), slopes, strict=True)):
            mean, square = self.means[place], self.squares[place]
            mean += (1 - FORGETTING) * (slope - mean)
            square += (1 - FORGETTING_SQUARES) * (slope * slope - square)
            root = np.sqrt(square / (1 - FORGETTING_SQUARES**self._taken)) + 1e-8
            own -= STEP / (1 - FORGETTING**self._taken) * mean / root


@dataclass(frozen=True, eq=False)
class _Loss:
    """Σ_c ‖n·M_c p − y_c‖² / (2 v_c): the pairs as blocks of one matrix, the others one by one."""

    total: float
    starts: tuple[int, ...]
    sizes: tuple[int, ...]
    pairs: Cells
    """What was measured of pairs, symmetric; and the precision of each, 0 where nothing was."""
    precision: Cells
    others: list[tuple[tuple[int, ...], Measured]]

    @classmethod
    def of(cls, lattice: Lattice, measured: Sequence[Measured], total: float) -> "_Loss":
        starts, values = starts_of(lattice), sum(lattice.sizes)
        weights, precision = np.zeros((values, values)), np.zeros((values, values))
        others = []
        for one in measured:
            axes = lattice.axes(one.mask)
            if len(axes) != 2 or not one.is_table:
                others.append((axes, one))
                continue
            rows, columns = (slice(starts[axis], starts[axis] + lattice.sizes[axis]) for axis in axes)
            for place, table in (((rows, columns), one.values), ((columns, rows), one.values.T)):
                weights[place] += table / one.variance
                precision[place] += 1 / one.variance
        pairs = np.divide(weights, precision, out=weights, where=precision > 0)
        return cls(total, starts, lattice.sizes, pairs, precision, others)

    def slopes(self, shares: Cells, tables: Cells) -> tuple[Cells, Cells]:
        """The gradient by shares and by the groups' distributions."""
        rooted = np.sqrt(shares)[:, np.newaxis] * tables
        off = rooted.T @ rooted
        off *= self.total
        off -= self.pairs
        off *= self.precision
        by_pairs = tables @ off
        by_share = self.total / 2 * np.einsum("ks,ks->k", tables, by_pairs)
        by_table = self.total * shares[:, np.newaxis] * by_pairs
        for axes, one in self.others:
            own = [self._of(tables, axis) for axis in axes]
            off = self.total / one.variance * one.back(one.of(self.total * marginal(shares, own)) - one.values)
            for place, axis in enumerate(axes):
                rest = weighted(np.ones(len(shares)), [*own[:place], *own[place + 1 :]])
                turned = np.moveaxis(off, place, -1).reshape(-1, off.shape[place])
                slope = rest @ turned
                self._of(by_table, axis)[...] += shares[:, np.newaxis] * slope
                if not place:
                    by_share += np.einsum("ks,ks->k", own[place], slope)
        return by_share, by_table

    def _of(self, tables: Cells, axis: int) -> Cells:
        return tables[:, self.starts[axis] : self.starts[axis] + self.sizes[axis]]


def _criterion(
    here: ProductMixture, beside: ProductMixture, measured: Sequence[Measured], probe: Sequence[Measured]
) -> float:
    """Mallows' criterion: squared residuals in units of the noise, and twice the degrees of freedom."""
    residual = freedom = 0.0
    for one, sign in zip(measured, probe, strict=True):
        expected = one.of(here.cuboid(one.mask))
        residual += float(((expected - one.values) ** 2).sum()) / one.variance
        freedom += float(((one.of(beside.cuboid(one.mask)) - expected) * sign.values).sum()) / one.variance
    return residual + 2 * freedom


def _everybody(lattice: Lattice, measured: Sequence[Measured]) -> list[Cells]:
    """The logarithms of what the measurements tell of each attribute alone; of one that none holds, that it is even."""
    known = {one.mask: one.values for one in of_order(lattice, measured, 1) if one.is_table}
    made = []
    for axis, size in enumerate(lattice.sizes):
        counts = known.get(1 << axis, np.ones(size))
        shares = np.maximum(counts / max(float(counts.sum()), 1.0), LEAST / size)
        made.append(np.log(shares / shares.sum()))
    return made


def _softmax(logs: Cells, starts: Ints) -> Cells:
    """Distributions of logarithms, end to end along the last axis."""
    sizes = np.diff([*starts.tolist(), logs.shape[-1]])
    made: Cells = np.exp(logs - np.repeat(np.maximum.reduceat(logs, starts, axis=-1), sizes, axis=-1))
    made /= np.repeat(np.add.reduceat(made, starts, axis=-1), sizes, axis=-1)
    return made


def _through(distributions: Cells, slopes: Cells, starts: Ints) -> Cells:
    """Slopes by distributions as slopes by their logarithms."""
    sizes = np.diff([*starts.tolist(), slopes.shape[-1]])
    moved: Cells = distributions * slopes
    moved -= distributions * np.repeat(np.add.reduceat(moved, starts, axis=-1), sizes, axis=-1)
    return moved
