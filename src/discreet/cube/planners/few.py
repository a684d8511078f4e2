"""Optimal where cuboids of a few of very many dimensions are published: sources among them and their subsets.

The landscape is that of `landscape.py`, on the closure of the published cuboids. Under Gaussian noise any start will
do; under Laplace noise small sources are worth nothing, and there are three starts: all cuboids, those that no other
one holds, and the Gaussian answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.cube.closure import MAX_PAIRS, Closure, Numbers, closure_of
from discreet.cube.planners.descent import descend_along
from discreet.cube.planners.landscape import ABSENT, EXPONENTS, log_weights_of, logits_of, shares_of
from discreet.cube.planners.optimal import BLUNT, SHARPENING
from discreet.cube.planners.task import Shares, Task
from discreet.query.lattice import MAX_DIMENSIONS

STEPS = 100
CRUMB = 1e-3
"""A share below this part of an even one is no source, if the plan is as good without it."""
AS_GOOD = 1e-4

ALIKE = 2e-3
"""Shares are rounded to powers of 1 + this, so that sources that are alike have one law of noise."""

FEW, SPARSER = 16, 4
"""With more dimensions than these, the published cuboids' subsets are the only sources, where the lattice has so many
times as many cuboids."""


def is_few(task: Task) -> bool:
    """Whether a task is planned on the closure of its cuboids."""
    dimensions = task.lattice.dimensions
    if dimensions > MAX_DIMENSIONS:
        return True
    if dimensions <= FEW or SPARSER * len(task.published) >= 1 << dimensions:
        return False
    listable = sum(3 ** mask.bit_count() for mask in task.published) <= MAX_PAIRS
    return listable and SPARSER * len(closure_of(task.lattice, task.published).masks) < 1 << dimensions


@dataclass(frozen=True)
class Slopes:
    """The logarithm of an objective over the shares of a closure's subsets, as logits, with its gradient.

    Shares are those of cuboids; or of residuals, where `yields` has the precision that a whole share gives each.
    """

    closure: Closure
    published: NDArray[np.int64]
    log_weights: Numbers
    power: int
    exponent: float | None
    yields: Numbers | None = None

    @classmethod
    def of(cls, task: Task) -> "Slopes":
        closure = closure_of(task.lattice, task.published)
        published = np.array([closure.numbers[mask] for mask in task.published])
        return cls(closure, published, log_weights_of(task), task.noise.power, EXPONENTS[task.objective])

    def over_residuals(self, yields: Numbers) -> "Slopes":
        """The same where each subset's share is for its own component alone."""
        return replace(self, yields=yields)

    def _to_components(self, precisions: Numbers) -> Numbers:
        """The precision of every subset's component, from those of the sources."""
        found: Numbers = self.closure.to_residuals @ precisions if self.yields is None else self.yields * precisions
        return found

    def _from_components(self, slope: Numbers) -> Numbers:
        """The transpose."""
        found: Numbers = self.closure.from_residuals @ slope if self.yields is None else self.yields * slope
        return found

    def evaluate(self, logits: Numbers, r: float) -> tuple[float, Numbers]:
        """The power mean with exponent r, and its gradient; see `landscape.evaluate`."""
        highest = logits.max()
        parts = np.exp(np.maximum(logits - highest, ABSENT))
        precisions, total = parts**self.power, parts.sum()
        closure = self.closure
        residuals = 1 / self._to_components(precisions)
        variances = (closure.to_variances @ residuals)[self.published]
        terms = self.log_weights * (r if self.exponent is None else 1) + r * np.log(variances)
        largest = terms.max()
        terms = np.exp(terms - largest)
        norm = terms.sum()
        slope = np.zeros(len(logits))
        slope[self.published] = terms / variances / norm
        slope = self._from_components((closure.from_variances @ slope) * residuals**2)
        value = (largest + np.log(norm)) / r + self.power * np.log(total)
        return float(value), self.power * (parts / total - slope * precisions)

    def value(self, shares: Numbers) -> float:
        """The logarithm of the objective itself, up to a constant."""
        return self.evaluate(logits_of(shares), self.exponent or 1e12)[0]

    def shares_by_number(self, shares: Shares) -> Numbers:
        """Shares by mask as an array over all subsets."""
        found = np.zeros(len(self.closure.masks))
        found[[self.closure.numbers[mask] for mask in shares]] = [float(share) for share in shares.values()]
        return found

    def descend(self, logits: Numbers, r: float) -> Numbers:
        """A point at the bottom of the valley that a point is in, for the power mean with exponent r."""
        return descend_along(lambda point: self.evaluate(point, r), logits, STEPS)


def optimise_few(task: Task) -> Shares:
    """Shares with a small objective after consistency, of sources within the closure of the published cuboids."""
    slopes = Slopes.of(task)
    blunt = slopes.exponent or BLUNT
    points = [slopes.descend(start, blunt) for start in _starts(task, slopes, blunt)]
    point = min(points, key=lambda point: slopes.evaluate(point, blunt)[0])
    for r in SHARPENING if slopes.exponent is None else ():
        point = slopes.descend(point, r)
    return by_mask(slopes, _rid_of_crumbs(slopes, shares_of(point)))


def descend_few(task: Task, shares: Shares) -> Shares:
    """Better shares in the valley that some are in, for the largest weight × ratio."""
    slopes = Slopes.of(task)
    point = logits_of(slopes.shares_by_number(shares))
    for r in (BLUNT, SHARPENING[1]):
        point = slopes.descend(point, r)
    return by_mask(slopes, _rid_of_crumbs(slopes, shares_of(point)))


def by_mask(slopes: Slopes, shares: Numbers) -> Shares:
    return {slopes.closure.masks[number]: float(shares[number]) for number in np.flatnonzero(shares)}


def _starts(task: Task, slopes: Slopes, blunt: float) -> Iterator[Numbers]:
    """Logits to descend from."""
    flat = np.zeros(len(slopes.closure.masks))
    if task.noise.power == 1:
        yield flat
        return
    finest = flat.copy()
    finest[_finest(slopes.closure)] = 1 / len(task.published)
    yield logits_of(finest)
    everything = flat.copy()
    everything[slopes.published] = 1 / len(task.published)
    yield logits_of(everything)
    gaussian = Slopes(slopes.closure, slopes.published, slopes.log_weights, 1, slopes.exponent)
    yield gaussian.descend(flat, blunt)


def _finest(closure: Closure) -> NDArray[np.int64]:
    """The numbers of the cuboids that no other one holds."""
    times = np.bincount(closure.subsets, minlength=len(closure.masks))
    return np.flatnonzero(times == 1)


def _rid_of_crumbs(slopes: Slopes, shares: Numbers) -> Numbers:
    """Shares without very small ones, where that is as good, and rounded."""
    kept = np.where(shares < CRUMB / np.count_nonzero(shares > 0), 0, shares)
    if (slopes.closure.to_residuals @ kept > 0).all() and slopes.value(kept) < slopes.value(shares) + AS_GOOD:
        shares = kept
    return alike(shares)


def alike(shares: Numbers) -> Numbers:
    """Shares rounded so that few are different; those that are nothing are 0."""
    rounded = np.zeros_like(shares)
    there = shares > np.exp(ABSENT) * 2
    rounded[there] = np.exp(np.round(np.log(shares[there]) / np.log1p(ALIKE)) * np.log1p(ALIKE))
    rounded /= rounded.sum()
    return rounded
