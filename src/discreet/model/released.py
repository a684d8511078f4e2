"""What was released of a table's rows, repeats put together: whole tables of codes, and other counts and sums."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.domain.domain import Domain
from discreet.noise.bits import Bits
from discreet.noise.law import Noise
from discreet.query.mesh import attributes_of, has_bins, most_added
from discreet.query.query import Count, Query, Residual, Sum
from discreet.release.release import Noisy, Release

Cells = NDArray[np.float64]
Ints = NDArray[np.int64]
Names = tuple[str, ...]

LEAST_VARIANCE = 1e-4
"""A number with less noise than that is taken to have so much: what it is off by nobody can tell."""


@dataclass(frozen=True)
class Drawn:
    """The noise of some numbers: a sum of independent draws, each of its law, times a factor."""

    size: int
    terms: tuple[tuple[float, Noise], ...]

    def sample(self, bits: Bits) -> Cells:
        made = np.zeros(self.size)
        for times, law in self.terms:
            made += times * law.sample(self.size, bits)
        return made

    def divided(self, by: float) -> "Drawn":
        return Drawn(self.size, tuple((times / by, law) for times, law in self.terms))


@dataclass
class _Repeated:
    """Answers to one question: their values, the variance of each, and the law of its noise times a factor."""

    names: Names
    """The attributes that it tells rows apart by, in the domain's order."""
    found: list[tuple[Cells, float, float, Noise]] = field(default_factory=list)
    charges: list[int] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.found[0][0].size

    @property
    def variance(self) -> float:
        return 1 / sum(1 / variance for _, variance, _, _ in self.found)

    def mean(self, places: Ints | None = None) -> tuple[Cells, float, Drawn]:
        """Their mean by precision, its variance and its noise; of the numbers at some places."""
        whole, terms, values = self.variance, [], np.zeros(self.found[0][0].shape)
        for own, variance, factor, law in self.found:
            share = whole / variance
            values += share * own
            terms.append((share * factor, law))
        values = values if places is None else values[places]
        return values, whole, Drawn(values.size, tuple(terms))


@dataclass(kw_only=True)
class ReleasedTable(_Repeated):
    """A whole table of codes, or its residual."""

    residual: bool


@dataclass(kw_only=True)
class ReleasedNumbers(_Repeated):
    """Any other count, or a sum."""

    query: Count | Sum
    most: float
    """The most that a row adds."""

    @property
    def sharpness(self) -> float:
        """The variance of its noise, where the most that a row adds is 1."""
        return self.variance / self.most**2


def read(releases: Iterable[Release], domain: Domain) -> tuple[list[ReleasedTable], list[ReleasedNumbers]]:
    """What releases tell of rows, in the order in which it was first released."""
    tables: dict[tuple[Names, bool], ReleasedTable] = {}
    asked: dict[Count | Sum, ReleasedNumbers] = {}
    for release in releases:
        for noisy in release.answers:
            query = noisy.measurement.query
            found: ReleasedTable | ReleasedNumbers
            if isinstance(query, Count | Residual) and _is_table(query, domain):
                names, values = _in_order(tuple(map(str, query.by)), noisy, domain)
                residual = isinstance(query, Residual)
                found = tables.setdefault((names, residual), ReleasedTable(names, residual=residual))
            elif isinstance(query, Count | Sum) and not (isinstance(query, Sum) and has_bins(query.of, domain)):
                names = names_in_order(attributes_of(query, domain), domain)
                most = most_added(query, domain)
                if not most:
                    continue
                values = noisy.units.reshape(-1).astype(np.float64) * float(noisy.grain)
                found = asked.setdefault(query, ReleasedNumbers(names, query=query, most=most))
            else:
                continue
            found.found.append((values, max(noisy.variance, LEAST_VARIANCE), float(noisy.grain), noisy.noise))
            found.charges.append(release.charge)
    return list(tables.values()), list(asked.values())


def names_in_order(names: Iterable[str], domain: Domain) -> Names:
    """Attributes in the domain's order, without those that have one value."""
    found = set(names)
    return tuple(name for name in domain.names if name in found and domain[name].size > 1)


def _is_table(query: Query, domain: Domain) -> bool:
    """Whether the answer has a number for every combination of codes of some attributes."""
    by = query.by
    return query.where == domain.everything and all(isinstance(group, str) for group in by) and len(set(by)) == len(by)


def _in_order(by: Names, noisy: Noisy, domain: Domain) -> tuple[Names, Cells]:
    """A table with its axes in the domain's order, without those that have one value."""
    axes = [domain.axis(name) for name in by]
    order = sorted(range(len(axes)), key=axes.__getitem__)
    names = names_in_order(by, domain)
    shape = [domain[name].size for name in names]
    return names, noisy.units.transpose(order).astype(np.float64).reshape(shape)
