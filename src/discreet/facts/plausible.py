"""How far a fact is from what was released. A fact is never compared with the table: the difference would tell."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.domain.region import Box
from discreet.facts.contradiction import roll_up
from discreet.facts.facts import CountFact, Fact
from discreet.query.query import Count, Residual
from discreet.query.residual import residual_of
from discreet.release.release import Noisy, Release

DOUBT = 100
"""A true fact is doubted in less than one of so many cases."""


@dataclass(frozen=True)
class Doubt:
    """A release from which a fact is `deviations` standard deviations away, at the worst of the `cells` compared; there
    the release says `difference` more."""

    charge: int
    deviations: float
    cells: int
    difference: float

    def __str__(self) -> str:
        where = f" in the worst of {self.cells:,} cells" if self.cells > 1 else ""
        more = "more" if self.difference > 0 else "less"
        return (
            f"release {self.charge} makes this implausible: it says {abs(self.difference):,.0f} {more}{where}, which "
            f"is {self.deviations:.1f} standard deviations off"
        )


def doubts(fact: Fact, releases: Iterable[Release], domain: Domain) -> tuple[Doubt, ...]:
    """The releases that a fact is too far from: further than Laplace noise goes by chance, cells and all."""
    found = []
    for release in releases:
        for noisy in release.answers:
            for differences, variances in _compared(fact, noisy, domain):
                away = np.abs(differences) / np.sqrt(variances)
                # Of Laplace noise a share of exp(−√2·z) lies beyond z standard deviations; of Gaussian noise less.
                if away.size and away.max() > math.log(DOUBT * away.size) / math.sqrt(2):
                    worst = int(away.argmax())
                    found.append(
                        Doubt(release.charge, float(away.max()), away.size, float(differences.reshape(-1)[worst]))
                    )
    return tuple(found)


def _compared(fact: Fact, noisy: Noisy, domain: Domain) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Differences between a fact and a measurement, where both speak of the same people, with their variances."""
    query = noisy.measurement.query
    if isinstance(query, Residual):
        if query.by:
            yield from _beside_residual(fact, query, noisy, domain)
            return
        query = Count(query.where)  # without axes they are the same
    if not isinstance(query, Count):
        return
    if isinstance(fact, CountFact):
        weights = _weights(fact, query, domain)
        if weights is not None:
            estimate = float((weights * noisy.units).sum())
            yield np.array([estimate - fact.value]), np.array([noisy.variance * float((weights**2).sum())])
    elif query.where == domain.everything:
        common = [name for name in fact.by if name in query.by]
        axes = {name: place for place, name in enumerate(query.by)}
        gone = tuple(place for name, place in axes.items() if name not in common)
        kept = [name for name in query.by if name in common]
        summed = np.asarray(noisy.units.sum(axis=gone), np.float64).transpose([kept.index(name) for name in common])
        draws = noisy.units.size // max(summed.size, 1)
        yield summed - roll_up(fact, common), np.full(summed.shape, draws * noisy.variance)


def _beside_residual(
    fact: Fact, query: Residual, noisy: Noisy, domain: Domain
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """A residual beside that of a cuboid that is known."""
    if isinstance(fact, CountFact) or query.where != domain.everything or not set(query.by) <= set(fact.by):
        return
    known = [name for name in fact.by if name in query.by]
    table = roll_up(fact, query.by).transpose([known.index(name) for name in query.by])
    yield np.asarray(noisy.units - residual_of(table), np.float64), np.full(table.shape, noisy.variance)


def _weights(fact: CountFact, query: Count, domain: Domain) -> NDArray[np.int64] | None:
    """How often each group of a measurement counts in a fact; None where the fact cuts through a group."""
    if not query.by and len(fact.terms) == 1 and fact.terms[0][1] == query.where:
        return np.array(fact.terms[0][0])
    names = [group for group in query.by if isinstance(group, str)]
    if len(query.where.boxes) != 1 or len(names) < len(query.by):
        return None
    [where], axes = query.where.boxes, [domain.axis(name) for name in names]
    weights = np.zeros([domain.shape[axis] for axis in axes], np.int64)
    for times, region in fact.terms:
        for box in region.boxes:
            if not _aligned(box, where, axes):
                return None
            weights[tuple(slice(box.low[axis], box.high[axis] + 1) for axis in axes)] += times
    return weights


def _aligned(box: Box, where: Box, axes: list[int]) -> bool:
    return where.covers(box) and all(
        axis in axes or (box.low[axis], box.high[axis]) == (where.low[axis], where.high[axis])
        for axis in range(len(box.low))
    )
